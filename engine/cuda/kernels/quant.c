// SPDX-License-Identifier: Apache-2.0
// Rows of quant.cu.
#include <string.h>

#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

static const char *entry_of(const struct pk_cuda_call *call)
{
	static const struct {
		enum pk_op op;
		enum pk_dtype from, to;
		const char *name;
	} entries[] = {
		{PK_OP_QUANTIZE, PK_F16, PK_I8, "quantize_f16_i8"},
		{PK_OP_QUANTIZE, PK_F16, PK_U8, "quantize_f16_u8"},
		{PK_OP_QUANTIZE, PK_F32, PK_I8, "quantize_f32_i8"},
		{PK_OP_QUANTIZE, PK_F32, PK_U8, "quantize_f32_u8"},
		{PK_OP_DEQUANTIZE, PK_I8, PK_F16, "dequantize_i8_f16"},
		{PK_OP_DEQUANTIZE, PK_U8, PK_F16, "dequantize_u8_f16"},
		{PK_OP_DEQUANTIZE, PK_I32, PK_F16, "dequantize_i32_f16"},
		{PK_OP_DEQUANTIZE, PK_I8, PK_F32, "dequantize_i8_f32"},
		{PK_OP_DEQUANTIZE, PK_U8, PK_F32, "dequantize_u8_f32"},
		{PK_OP_DEQUANTIZE, PK_I32, PK_F32, "dequantize_i32_f32"},
	};
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (call->node->op == entries[i].op && call->inputs[0].dtype == entries[i].from &&
			call->outputs[0].dtype == entries[i].to)
			return entries[i].name;
	}
	return NULL;
}

// Scale and zero point are vectors or single numbers: of rank 4 they would be laid otherwise.
static bool supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *zero = pk_cu_input(call, 2);
	return pk_cu_node_ok(call) && entry_of(call) && call->inputs[1].layout == PK_CUDA_DENSE &&
	       (!zero || zero->layout == PK_CUDA_DENSE);
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	bool one_scale = call->inputs[1].elements == 1, pads = pk_cu_has_pads(y);
	int64_t axis = one_scale ? -1 : pk_node_int(call->node, PK_ATTR_AXIS);
	int order[PK_MAX_RANK] = {0};
	if (idx == 0 && pads) {
		pk_cu_launch_pads(y, out);
		return true;
	}
	if (idx > pads)
		return false;
	struct pk_cu_quant p = {
		.rank = y->shape.rank, .n = 1, .has_zero = pk_cu_input(call, 2) != NULL};
	pk_cu_axis_order(y, order);
	for (int i = 0; i < p.rank; i++) {
		p.dims[i] = (int)y->shape.dims[order[i]];
		p.x[i] = (int)x->strides[order[i]];
		p.y[i] = (int)y->strides[order[i]];
		p.scale[i] = order[i] == axis;
		p.n *= p.dims[i];
	}
	pk_cu_launch(out, entry_of(call), p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_INPUT, 1);
	pk_cu_pointer(out, PK_CUDA_INPUT, p.has_zero ? 2 : 1);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

#define ROW(id, text)                                                                              \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.supports = supports,                                                              \
		.source = "quant.cu",                                                              \
		.launch = launch,                                                                  \
	};
ROW(QUANTIZE, quantize_element)
ROW(DEQUANTIZE, dequantize_element)
