// SPDX-License-Identifier: Apache-2.0
// Packs the constants of convolutions.
#include "engine/cuda/cudnn/pack.h"

#include <string.h>

#include "base/checked.h"
#include "engine/cuda/cudnn/constants.h"

#define IN_BIAS    2
#define IN_MULT    3
#define IN_X_ZERO  4
#define IN_Y_SCALE 6
#define IN_Y_ZERO  7

static size_t bytes_of(int type)
{
	switch (type) {
	case PK_CUDNN_DATA_HALF:
		return 2;
	case PK_CUDNN_DATA_FLOAT:
		return 4;
	default:
		return 1;
	}
}

static size_t place(size_t *end, size_t bytes)
{
	size_t at = pk_align_up(*end, PK_CUDA_ALIGN);
	*end = at == SIZE_MAX || bytes > SIZE_MAX - PK_CUDA_ALIGN - at ? SIZE_MAX - PK_CUDA_ALIGN
								       : at + bytes;
	return at;
}

void pk_cudnn_packing_of(const struct pk_cudnn_fusion *fusion, struct pk_cudnn_packing *out)
{
	const int64_t *d = fusion->w.dims;
	struct pk_shape shape = {.rank = 4, .dims = {d[0], d[1], d[2], d[3]}};
	int64_t n = pk_shape_elements(&shape);
	size_t end = 0, vector = (size_t)fusion->channels * sizeof(float);
	*out = (struct pk_cudnn_packing){.total = SIZE_MAX};
	if (n < 0)
		return;
	out->weights = place(&end, (size_t)n * bytes_of(fusion->w.type));
	if (pk_cudnn_fusion_uses(fusion, PK_CUDNN_SCALE))
		out->scale = place(&end, vector);
	if (pk_cudnn_fusion_uses(fusion, PK_CUDNN_BIAS))
		out->bias = place(&end, vector);
	if (fusion->n_scalars)
		out->scalars = place(&end, (size_t)fusion->n_scalars * PK_CUDNN_SCALAR_STRIDE);
	out->total = end >= SIZE_MAX - PK_CUDA_ALIGN ? SIZE_MAX : end;
}

static void put_weight(void *out, int type, int64_t at, const void *data, int64_t from)
{
	switch (type) {
	case PK_CUDNN_DATA_HALF:
		((uint16_t *)out)[at] = pk_f32_to_f16(((const float *)data)[from]);
		break;
	case PK_CUDNN_DATA_FLOAT:
		((float *)out)[at] = ((const float *)data)[from];
		break;
	default:
		((int8_t *)out)[at] = ((const int8_t *)data)[from];
		break;
	}
}

static void pack_weights(const struct pk_value *weights, const struct pk_cudnn_tensor *w, void *out)
{
	const int64_t *d = weights->shape.dims;
	for (int64_t k = 0; k < d[0]; k++) {
		for (int64_t c = 0; c < d[1]; c++) {
			for (int64_t rs = 0; rs < d[2] * d[3]; rs++) {
				int64_t at = (k * d[2] * d[3] + rs) * w->dims[1] + c;
				int64_t from = (k * d[1] + c) * d[2] * d[3] + rs;
				put_weight(out, w->type, at, weights->data, from);
			}
		}
	}
}

static const void *data_of(const struct pk_cuda_call *call, int idx)
{
	const struct pk_node *node = call->node;
	return idx < node->n_inputs && node->inputs[idx] ? node->inputs[idx]->data : NULL;
}

static float multiplier(const struct pk_cuda_call *call, int64_t channel)
{
	const float *mult = data_of(call, IN_MULT);
	return mult[pk_shape_elements(&call->node->inputs[IN_MULT]->shape) == 1 ? 0 : channel];
}

// A number of type i8, u8 or i32 as it stands.
static int zero_point(const struct pk_cuda_call *call, int idx)
{
	const void *data = data_of(call, idx);
	if (!data)
		return 0;
	switch (call->node->inputs[idx]->dtype) {
	case PK_I8:
		return *(const int8_t *)data;
	case PK_U8:
		return *(const uint8_t *)data;
	default:
		return 0;
	}
}

static int64_t sum_of_weights(const struct pk_value *weights, int64_t channel)
{
	const int64_t *d = weights->shape.dims, n = d[1] * d[2] * d[3];
	const int8_t *w = (const int8_t *)weights->data + channel * n;
	int64_t sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += w[i];
	return sum;
}

// The integer sums' bias, less what the zero point of x adds to every sum, in floats.
static void pack_quantized_bias(const struct pk_cuda_call *call, float *out)
{
	const struct pk_value *weights = call->node->inputs[1];
	const int32_t *bias = data_of(call, IN_BIAS);
	int x_zero = zero_point(call, IN_X_ZERO);
	for (int64_t k = 0; k < weights->shape.dims[0]; k++) {
		double sum = bias ? bias[k] : 0;
		if (x_zero)
			sum -= (double)x_zero * (double)sum_of_weights(weights, k);
		out[k] = (float)(sum * (double)multiplier(call, k));
	}
}

static void pack_bias(const struct pk_cuda_call *call, float *out)
{
	const float *bias = data_of(call, IN_BIAS);
	if (call->node->op == PK_OP_QCONV)
		pack_quantized_bias(call, out);
	else
		memcpy(out, bias,
			(size_t)pk_shape_elements(&call->node->inputs[IN_BIAS]->shape) *
				sizeof(*bias));
}

static float scalar_value(const struct pk_cuda_call *call, const struct pk_cudnn_scalar *scalar)
{
	switch (scalar->source) {
	case PK_CUDNN_INVERSE_Y_SCALE:
		return 1.0f / *(const float *)data_of(call, IN_Y_SCALE);
	case PK_CUDNN_Y_ZERO:
		return (float)zero_point(call, IN_Y_ZERO);
	default:
		return scalar->value;
	}
}

void pk_cudnn_pack(const struct pk_cuda_call *call, const struct pk_cudnn_fusion *fusion,
	const struct pk_cudnn_packing *packing, void *out)
{
	char *bytes = out;
	memset(out, 0, packing->total);
	pack_weights(call->node->inputs[1], &fusion->w, bytes + packing->weights);
	if (pk_cudnn_fusion_uses(fusion, PK_CUDNN_SCALE)) {
		float *scale = (float *)(void *)(bytes + packing->scale);
		for (int64_t k = 0; k < call->node->inputs[1]->shape.dims[0]; k++)
			scale[k] = multiplier(call, k);
	}
	if (pk_cudnn_fusion_uses(fusion, PK_CUDNN_BIAS))
		pack_bias(call, (float *)(void *)(bytes + packing->bias));
	for (int i = 0; i < fusion->n_scalars; i++) {
		float value = scalar_value(call, &fusion->scalars[i]);
		memcpy(bytes + packing->scalars + (size_t)i * PK_CUDNN_SCALAR_STRIDE, &value,
			sizeof(value));
	}
}
