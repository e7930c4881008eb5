// SPDX-License-Identifier: Apache-2.0
// Rows of reduce.cu.
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"
#include "engine/cuda/kernels/rows.h"

static unsigned axes_of(const struct pk_node *node)
{
	unsigned gone = 0;
	if (node->op == PK_OP_ARG_REDUCE)
		return 1u << pk_node_int(node, PK_ATTR_AXIS);
	const struct pk_attr_value *axes = pk_node_attr(node, PK_ATTR_AXES);
	for (int i = 0; i < axes->n; i++)
		gone |= 1u << axes->i[i];
	return gone;
}

static bool make(const struct pk_cuda_call *call, struct pk_cu_rows *p)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	struct pk_cu_rows_layout layout = {.x = &call->inputs[0], .gone = axes_of(call->node)};
	bool same_rank = y->shape.rank == layout.x->shape.rank;
	int at = 0; // axis of y
	for (int axis = 0; axis < layout.x->shape.rank; axis++) {
		bool gone = layout.gone >> axis & 1;
		if (!gone && at < y->shape.rank)
			layout.y[axis] = y->strides[at];
		at += same_rank || !gone;
	}
	if (!pk_cu_rows_make(&layout, p))
		return false;
	p->fn = (int)pk_node_fn(call->node, PK_ATTR_FN);
	return true;
}

static const char *reduce_entry(const struct pk_cuda_call *call)
{
	enum pk_dtype from = call->inputs[0].dtype, to = call->outputs[0].dtype;
	if (from == PK_F32 && to == PK_F32)
		return "reduce_f32_f32";
	if (from == PK_F16)
		return to == PK_F16 ? "reduce_f16_f16" : to == PK_F32 ? "reduce_f16_f32" : NULL;
	return NULL;
}

static bool reduce_supports(const struct pk_cuda_call *call)
{
	struct pk_cu_rows p;
	return pk_cu_node_ok(call) && reduce_entry(call) && make(call, &p);
}

// A result of rank 4 may have channels of padding.
static bool launch_rows(const struct pk_cuda_call *call, int idx, const char *entry,
	const struct pk_cu_rows *p, struct pk_cuda_launch *out)
{
	bool pads = pk_cu_has_pads(&call->outputs[0]);
	if (idx == 0 && pads) {
		pk_cu_launch_pads(&call->outputs[0], out);
		return true;
	}
	if (idx > pads)
		return false;
	pk_cu_rows_launch(p, entry, out);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	return true;
}

static bool reduce_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_rows p;
	return make(call, &p) && launch_rows(call, idx, reduce_entry(call), &p, out);
}

const struct pk_cuda_row pk_cuda_row_reduce_rows = {
	.op = PK_OP_REDUCE,
	.name = "reduce_rows",
	.supports = reduce_supports,
	.source = "reduce.cu",
	.launch = reduce_launch,
};

static const char *arg_entry(const struct pk_cuda_call *call)
{
	enum pk_dtype from = call->inputs[0].dtype;
	return from == PK_F16 ? "arg_reduce_f16" : from == PK_F32 ? "arg_reduce_f32" : NULL;
}

static bool arg_supports(const struct pk_cuda_call *call)
{
	struct pk_cu_rows p;
	return pk_cu_node_ok(call) && arg_entry(call) && make(call, &p);
}

static bool arg_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_rows p;
	if (!make(call, &p))
		return false;
	if (pk_node_int(call->node, PK_ATTR_SELECT_LAST))
		p.flags |= PK_CU_SELECT_LAST;
	if (p.fn == PK_FN_REDUCE_MAX)
		p.flags |= PK_CU_LARGEST;
	return launch_rows(call, idx, arg_entry(call), &p, out);
}

const struct pk_cuda_row pk_cuda_row_arg_reduce_rows = {
	.op = PK_OP_ARG_REDUCE,
	.name = "arg_reduce_rows",
	.supports = arg_supports,
	.source = "reduce.cu",
	.launch = arg_launch,
};
