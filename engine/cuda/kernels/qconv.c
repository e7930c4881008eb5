// SPDX-License-Identifier: Apache-2.0
// Row of qconv.cu.
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/quant.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

#define ALIGN 16 // bytes, of the weights

static const char *entry_of(const struct pk_cuda_call *call)
{
	static const struct {
		enum pk_dtype to;
		const char *i8, *u8;
	} entries[] = {
		{PK_I8, "qconv_i8_i8", "qconv_u8_i8"},
		{PK_U8, "qconv_i8_u8", "qconv_u8_u8"},
		{PK_I32, "qconv_i8_i32", "qconv_u8_i32"},
		{PK_F32, "qconv_i8_f32", "qconv_u8_f32"},
		{PK_F16, "qconv_i8_f16", "qconv_u8_f16"},
	};
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (call->outputs[0].dtype == entries[i].to)
			return call->inputs[0].dtype == PK_I8 ? entries[i].i8 : entries[i].u8;
	}
	return NULL;
}

static void make(const struct pk_cuda_call *call, struct pk_cu_conv *p)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	struct pk_window g;
	struct pk_quant q;
	int n = x->shape.rank - 2;
	pk_window_init(&g, call->node);
	pk_quant_init(&q, call->node, g.out_c);
	size_t head = sizeof(struct pk_cu_qconv_head) + (size_t)g.out_c * 8;
	*p = (struct pk_cu_conv){
		.channels = (int)(y->layout == PK_CUDA_NHWC ? y->channels : g.out_c),
		.out_c = (int)g.out_c,
		.in_c = (int)(g.in_c / g.group),
		.group_in = (int)(g.in_c / g.group),
		.group_out = (int)(g.out_c / g.group),
		.across = (int)((g.out[2] + PK_CU_PIXELS - 1) / PK_CU_PIXELS),
		.act = (int)q.act,
		.alpha = q.alpha,
		.beta = q.beta,
		.weights = (int)((head + ALIGN - 1) / ALIGN * ALIGN),
		.x_n = (int)x->strides[0],
		.x_c = (int)x->strides[1],
		.y_n = (int)y->strides[0],
		.y_c = (int)y->strides[1],
	};
	for (int i = 0; i < 3; i++) {
		p->in[i] = (int)g.in[i];
		p->out[i] = (int)g.out[i];
		p->kernel[i] = (int)g.kernel[i];
		p->stride[i] = (int)g.stride[i];
		p->dilation[i] = (int)g.dilation[i];
		p->pad[i] = (int)g.pad[i];
	}
	for (int i = 0; i < n; i++) {
		p->x_s[3 - n + i] = (int)x->strides[2 + i];
		p->y_s[3 - n + i] = (int)y->strides[2 + i];
	}
	p->n = (int)(g.batch * g.out[0] * g.out[1] * p->across * p->channels);
}

static bool window_ok(const struct pk_window *g)
{
	int64_t out_c = (g->out_c + 7) / 8 * 8;
	for (int i = 0; i < 3; i++) {
		if (g->pad[i] > INT32_MAX / 8 || g->pad[i] < -INT32_MAX / 8 ||
			(g->out[i] + 3) * g->stride[i] > INT32_MAX / 8 ||
			g->kernel[i] * g->dilation[i] > INT32_MAX / 8)
			return false;
	}
	return g->batch * g->out[0] * g->out[1] * (g->out[2] + 3) * out_c <= INT32_MAX &&
	       g->in_c * out_c * g->kernel_plane <= INT32_MAX / 4;
}

static bool supports(const struct pk_cuda_call *call)
{
	struct pk_window g;
	struct pk_quant q;
	if (!pk_cu_node_ok(call) || !pk_window_init(&g, call->node) || !window_ok(&g) ||
		!pk_quant_init(&q, call->node, g.out_c) || !entry_of(call))
		return false;
	for (int i = 1; i < call->node->n_inputs; i++) {
		const struct pk_value *v = call->node->inputs[i];
		if (v && !v->data && !v->elided)
			return false;
	}
	return true;
}

static size_t pack_bytes(const struct pk_cuda_call *call)
{
	struct pk_cu_conv p;
	make(call, &p);
	int64_t cells = (int64_t)p.kernel[0] * p.kernel[1] * p.kernel[2];
	return (size_t)p.weights + (size_t)(cells * p.in_c * p.out_c) * sizeof(int16_t);
}

// A number of a constant operand; 0 when it is left out.
static int32_t zero_of(const struct pk_cuda_call *call, int operand, enum pk_dtype dtype, int64_t i)
{
	const struct pk_value *v = pk_check_input(call->node, operand);
	return v ? pk_quant_get(dtype, v->data, i) : 0;
}

static void pack_head(const struct pk_cuda_call *call, const struct pk_cu_conv *p, char *out)
{
	const struct pk_value *bias = pk_check_input(call->node, PK_QUANT_BIAS);
	const struct pk_value *mult = pk_check_input(call->node, PK_QUANT_MULT);
	const struct pk_value *scale = pk_check_input(call->node, PK_QUANT_Y_SCALE);
	struct pk_cu_qconv_head head = {
		.y_scale = scale ? *(const float *)scale->data : 1,
		.x_zero = zero_of(call, PK_QUANT_X_ZERO, call->inputs[0].dtype, 0),
		.y_zero = zero_of(call, PK_QUANT_Y_ZERO, call->outputs[0].dtype, 0),
		.has_scale = scale != NULL,
	};
	bool one = mult && pk_shape_elements(&mult->shape) == 1;
	memcpy(out, &head, sizeof(head));
	int32_t *sums = (int32_t *)(void *)(out + sizeof(head));
	float *factors = (float *)(void *)(sums + p->out_c);
	for (int m = 0; m < p->out_c; m++) {
		sums[m] = bias ? ((const int32_t *)bias->data)[m] : 0;
		factors[m] = mult ? ((const float *)mult->data)[one ? 0 : m] : 1;
	}
}

static void pack(const struct pk_cuda_call *call, void *out)
{
	const struct pk_value *w = call->node->inputs[1];
	struct pk_cu_conv p;
	struct pk_quant q;
	make(call, &p);
	pk_quant_init(&q, call->node, p.out_c);
	int64_t cells = (int64_t)p.kernel[0] * p.kernel[1] * p.kernel[2];
	memset(out, 0, pack_bytes(call));
	pack_head(call, &p, out);
	int16_t *weights = (int16_t *)(void *)((char *)out + p.weights);
	for (int64_t m = 0; m < p.out_c; m++) {
		int32_t zero = zero_of(call, PK_QUANT_W_ZERO, q.w, m * q.w_zero_step);
		for (int64_t i = 0; i < p.in_c * cells; i++) {
			int32_t v = pk_quant_get(q.w, w->data, m * p.in_c * cells + i) - zero;
			weights[(i % cells * p.in_c + i / cells) * p.out_c + m] = (int16_t)v;
		}
	}
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_conv p;
	if (idx > 0)
		return false;
	make(call, &p);
	pk_cu_launch(out, entry_of(call), p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_PACKED, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_qconv_direct = {
	.op = PK_OP_QCONV,
	.name = "qconv_direct",
	.host_inputs = 0xfe,
	.supports = supports,
	.pack_bytes = pack_bytes,
	.pack = pack,
	.source = "qconv.cu",
	.launch = launch,
};
