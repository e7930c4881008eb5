// SPDX-License-Identifier: Apache-2.0
// What the rows of our own GPU kernels share.
#include "engine/cuda/kernels/row_util.h"

#include <assert.h>
#include <string.h>

#include "engine/cpu/kernel.h"

static bool tensor_ok(const struct pk_cuda_tensor *t)
{
	int64_t extent = 1;
	if (t->dtype == PK_DTYPE_NONE)
		return true;
	if (t->elements < 1 || t->elements > PK_MAX_ELEMENTS)
		return false;
	for (int i = 0; i < t->shape.rank; i++) {
		if (t->shape.dims[i] < 1 || t->strides[i] < 0 || t->strides[i] > PK_MAX_ELEMENTS)
			return false;
		extent += (t->shape.dims[i] - 1) * t->strides[i];
	}
	return extent <= PK_MAX_ELEMENTS;
}

bool pk_cu_node_ok(const struct pk_cuda_call *call)
{
	for (int i = 0; i < call->node->n_inputs; i++) {
		if (!tensor_ok(&call->inputs[i]))
			return false;
	}
	for (int i = 0; i < call->node->n_outputs; i++) {
		if (!tensor_ok(&call->outputs[i]))
			return false;
	}
	return pk_cpu_kernel_reference(call->node) != NULL;
}

int pk_cu_dtype(enum pk_dtype dtype)
{
	static const int table[PK_N_DTYPES] = {
		[PK_F32] = PK_CU_F32,
		[PK_F16] = PK_CU_F16,
		[PK_I8] = PK_CU_I8,
		[PK_U8] = PK_CU_U8,
		[PK_BOOL] = PK_CU_BOOL,
		[PK_I16] = PK_CU_I16,
		[PK_U16] = PK_CU_U16,
		[PK_I32] = PK_CU_I32,
		[PK_U32] = PK_CU_U32,
		[PK_I64] = PK_CU_I64,
	};
	return (unsigned)dtype < PK_N_DTYPES ? table[dtype] : 0;
}

bool pk_cu_is_float(enum pk_dtype dtype)
{
	return dtype == PK_F32 || dtype == PK_F16;
}

const struct pk_cuda_tensor *pk_cu_input(const struct pk_cuda_call *call, int idx)
{
	bool there = idx < call->node->n_inputs && call->node->inputs[idx];
	return there ? &call->inputs[idx] : NULL;
}

void pk_cu_launch(struct pk_cuda_launch *out, const char *function, int64_t n)
{
	memset(out, 0, sizeof(*out));
	out->function = function;
	out->grid[0] = (uint32_t)((n + PK_CU_BLOCK - 1) / PK_CU_BLOCK);
	out->grid[1] = out->grid[2] = 1;
	out->block[0] = PK_CU_BLOCK;
	out->block[1] = out->block[2] = 1;
}

void pk_cu_pointer(struct pk_cuda_launch *out, enum pk_cuda_pointer_kind kind, int idx)
{
	assert(out->n_pointers < PK_CUDA_MAX_POINTERS);
	out->pointers[out->n_pointers++] =
		(struct pk_cuda_pointer){.kind = (uint8_t)kind, .idx = (uint8_t)idx};
}

void pk_cu_params(struct pk_cuda_launch *out, const void *params, size_t n)
{
	assert(n <= PK_CUDA_MAX_PARAMS);
	memcpy(out->params, params, n);
	out->params_bytes = n;
}

bool pk_cu_has_pads(const struct pk_cuda_tensor *y)
{
	return y->layout == PK_CUDA_NHWC && y->channels > y->shape.dims[1];
}

void pk_cu_launch_pads(const struct pk_cuda_tensor *y, struct pk_cuda_launch *out)
{
	size_t bytes = pk_dtype_bytes(y->dtype);
	struct pk_cu_pads p = {
		.pixels = (int)(y->elements / y->channels),
		.channels = (int)y->shape.dims[1],
		.padded = (int)y->channels,
	};
	pk_cu_launch(out, bytes == 1 ? "pads_b1" : bytes == 2 ? "pads_b2" : "pads_b4", p.pixels);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
}

void pk_cu_axis_order(const struct pk_cuda_tensor *t, int order[])
{
	static const int nhwc[] = {0, 2, 3, 1};
	for (int i = 0; i < t->shape.rank; i++)
		order[i] = t->layout == PK_CUDA_NHWC ? nhwc[i] : i;
}
