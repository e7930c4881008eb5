// SPDX-License-Identifier: Apache-2.0
// The layout rule, and conversion on the host.
#include "engine/cuda/layout.h"

#include <string.h>

static bool is_nhwc(const struct pk_value *value)
{
	bool fits = value->dtype == PK_F32 || value->dtype == PK_I8 || value->dtype == PK_U8;
	return value->shape.rank == 4 && fits && !value->is_input && !value->is_output;
}

static void lay_nhwc(struct pk_cuda_tensor *t)
{
	const int64_t *dims = t->shape.dims;
	t->layout = PK_CUDA_NHWC;
	t->channels =
		(dims[1] + PK_CUDA_CHANNEL_STEP - 1) / PK_CUDA_CHANNEL_STEP * PK_CUDA_CHANNEL_STEP;
	t->strides[1] = 1;
	t->strides[3] = t->channels;
	t->strides[2] = t->strides[3] * dims[3];
	t->strides[0] = t->strides[2] * dims[2];
	t->elements = t->strides[0] * dims[0];
}

static void lay_dense(struct pk_cuda_tensor *t)
{
	int64_t stride = 1;
	t->layout = PK_CUDA_DENSE;
	for (int i = t->shape.rank - 1; i >= 0; i--) {
		t->strides[i] = stride;
		stride *= t->shape.dims[i];
	}
	t->elements = stride;
}

void pk_cuda_tensor_of(
	const struct pk_value *value, enum pk_dtype float_type, struct pk_cuda_tensor *out)
{
	bool nhwc = is_nhwc(value);
	*out = (struct pk_cuda_tensor){.dtype = value->dtype, .shape = value->shape};
	if (nhwc && value->dtype == PK_F32)
		out->dtype = float_type;
	if (nhwc)
		lay_nhwc(out);
	else
		lay_dense(out);
}

size_t pk_cuda_tensor_bytes(const struct pk_cuda_tensor *tensor)
{
	return (size_t)tensor->elements * pk_dtype_bytes(tensor->dtype);
}

bool pk_cuda_tensor_equal(const struct pk_cuda_tensor *a, const struct pk_cuda_tensor *b)
{
	return a->dtype == b->dtype && a->layout == b->layout &&
	       pk_shape_equal(&a->shape, &b->shape);
}

// One element between a host type and the device's: the same, or F32 and F16.
static void move_element(enum pk_dtype to_type, void *to, enum pk_dtype from_type, const void *from)
{
	float f;
	uint16_t h;
	if (to_type == from_type) {
		memcpy(to, from, pk_dtype_bytes(to_type));
	} else if (to_type == PK_F16) {
		memcpy(&f, from, sizeof(f));
		h = pk_f32_to_f16(f);
		memcpy(to, &h, sizeof(h));
	} else {
		memcpy(&h, from, sizeof(h));
		f = pk_f16_to_f32(h);
		memcpy(to, &f, sizeof(f));
	}
}

struct walk {
	const struct pk_cuda_tensor *tensor;
	int64_t at[4]; // n, c, h, w
};

// Element index in NHWC of the next element in dense order.
static int64_t walk_next(struct walk *walk)
{
	const struct pk_cuda_tensor *t = walk->tensor;
	int64_t index = 0;
	for (int i = 0; i < 4; i++)
		index += walk->at[i] * t->strides[i];
	for (int i = 3; i >= 0; i--) {
		if (++walk->at[i] < t->shape.dims[i])
			break;
		walk->at[i] = 0;
	}
	return index;
}

void pk_cuda_to_device_form(const struct pk_value *value, const struct pk_cuda_tensor *tensor,
	const void *dense, void *out)
{
	size_t host_bytes = pk_dtype_bytes(value->dtype), bytes = pk_dtype_bytes(tensor->dtype);
	int64_t n = pk_shape_elements(&value->shape);
	if (tensor->layout == PK_CUDA_DENSE) {
		memcpy(out, dense, pk_cuda_tensor_bytes(tensor));
		return;
	}
	memset(out, 0, pk_cuda_tensor_bytes(tensor));
	struct walk walk = {.tensor = tensor};
	for (int64_t i = 0; i < n; i++)
		move_element(tensor->dtype, (char *)out + (size_t)walk_next(&walk) * bytes,
			value->dtype, (const char *)dense + (size_t)i * host_bytes);
}

void pk_cuda_to_host_form(const struct pk_value *value, const struct pk_cuda_tensor *tensor,
	const void *device_form, void *dense)
{
	size_t host_bytes = pk_dtype_bytes(value->dtype), bytes = pk_dtype_bytes(tensor->dtype);
	int64_t n = pk_shape_elements(&value->shape);
	if (tensor->layout == PK_CUDA_DENSE) {
		memcpy(dense, device_form, pk_cuda_tensor_bytes(tensor));
		return;
	}
	struct walk walk = {.tensor = tensor};
	for (int64_t i = 0; i < n; i++)
		move_element(value->dtype, (char *)dense + (size_t)i * host_bytes, tensor->dtype,
			(const char *)device_form + (size_t)walk_next(&walk) * bytes);
}
