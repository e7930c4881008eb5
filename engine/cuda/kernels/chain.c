// SPDX-License-Identifier: Apache-2.0
// Rows of chain.cu: each elementwise operator as a program of one step.
#include <string.h>

#include "engine/cpu/kernels/walk.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

// Strides of operand t along the axes of y, in y's order; 0 where it broadcasts.
static void strides_along(const struct pk_cuda_tensor *t, const struct pk_cuda_tensor *y,
	const int *order, int64_t *out)
{
	for (int i = 0; i < y->shape.rank; i++) {
		int axis = order[i] - (y->shape.rank - t->shape.rank);
		bool moves = axis >= 0 && t->shape.dims[axis] != 1;
		out[i] = moves ? t->strides[axis] : 0;
	}
}

// The axes of the output that fold, then (with padding) the channels by themselves.
static bool set_axes(const struct pk_cuda_call *call, struct pk_cu_chain *p)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int order[PK_MAX_RANK] = {0}, rank = y->shape.rank;
	int64_t strides[PK_WALK_MAX_OPERANDS][PK_WALK_RANK] = {0};
	bool pads = pk_cu_has_pads(y);
	struct pk_shape outer = {.rank = pads ? rank - 1 : rank};
	struct pk_walk walk;
	pk_cu_axis_order(y, order);
	for (int i = 0; i < outer.rank; i++)
		outer.dims[i] = y->shape.dims[order[i]];
	pk_walk_init(&walk, &outer);
	for (int k = 0; k <= call->node->n_inputs; k++) {
		strides_along(k ? &call->inputs[k - 1] : y, y, order, strides[k]);
		pk_walk_add(&walk, strides[k]);
	}
	pk_walk_fold(&walk);
	if (walk.rank + pads > PK_CU_CH_RANK)
		return false;
	p->rank = walk.rank + pads;
	for (int i = 0; i < walk.rank; i++)
		p->dims[i] = (int)walk.dims[i];
	if (pads)
		p->dims[walk.rank] = (int)y->shape.dims[1];
	for (int k = 0; k <= call->node->n_inputs; k++) {
		struct pk_cu_operand *o = k ? &p->in[k - 1] : &p->out[0];
		for (int i = 0; i < walk.rank; i++)
			o->strides[i] = (int)walk.strides[k][i];
		if (pads)
			o->strides[walk.rank] = k ? (int)strides[k][rank - 1] : 1;
	}
	p->inner = pads ? (int)y->channels : p->dims[p->rank - 1];
	return true;
}

// The operator as a step's code; -1: none.
static int code_of(const struct pk_node *node)
{
	switch (node->op) {
	case PK_OP_UNARY:
	case PK_OP_BINARY:
		return (int)pk_node_fn(node, PK_ATTR_FN);
	case PK_OP_WHERE:
		return PK_CU_SELECT;
	case PK_OP_PRELU:
		return PK_CU_PRELU;
	case PK_OP_CAST:
		return PK_FN_NONE;
	default:
		return -1;
	}
}

static bool make(const struct pk_cuda_call *call, struct pk_cu_chain *p)
{
	const struct pk_node *node = call->node;
	int code = code_of(node);
	int64_t groups = 1;
	memset(p, 0, sizeof(*p));
	p->n_inputs = node->n_inputs;
	p->n_outputs = p->n_steps = 1;
	if (code < 0 || node->n_inputs > 3 || node->n_outputs != 1 || !set_axes(call, p))
		return false;
	for (int k = 0; k < node->n_inputs; k++)
		p->in[k].dtype = pk_cu_dtype(call->inputs[k].dtype);
	p->out[0].dtype = pk_cu_dtype(call->outputs[0].dtype);
	p->from[0] = (unsigned char)node->n_inputs;
	p->steps[0] = (struct pk_cu_step){
		.code = (unsigned char)code,
		.dst = (unsigned char)node->n_inputs,
		.a = 0,
		.b = node->n_inputs > 1,
		.c = node->n_inputs > 2 ? 2 : 0,
	};
	if (node->op == PK_OP_UNARY) {
		p->steps[0].alpha = (float)pk_node_float(node, PK_ATTR_ALPHA);
		p->steps[0].beta = (float)pk_node_float(node, PK_ATTR_BETA);
	}
	for (int i = 0; i < p->rank - 1; i++)
		groups *= p->dims[i];
	p->groups = (int)(groups * ((p->inner + PK_CU_LANES - 1) / PK_CU_LANES));
	return true;
}

static bool by_float(const struct pk_cuda_call *call)
{
	bool any = pk_cu_is_float(call->outputs[0].dtype);
	for (int i = 0; i < call->node->n_inputs; i++)
		any |= pk_cu_is_float(call->inputs[i].dtype);
	return any;
}

static bool supports(const struct pk_cuda_call *call)
{
	struct pk_cu_chain p;
	if (!pk_cu_node_ok(call) || !make(call, &p) || !p.out[0].dtype)
		return false;
	for (int i = 0; i < p.n_inputs; i++) {
		if (!p.in[i].dtype)
			return false;
	}
	return true;
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_chain p;
	if (idx > 0 || !make(call, &p))
		return false;
	pk_cu_launch(out, by_float(call) ? "chain_float" : "chain_int", p.groups);
	for (int i = 0; i < PK_CU_INPUTS; i++) // spare pointers are never followed
		pk_cu_pointer(out, PK_CUDA_INPUT, i < p.n_inputs ? i : 0);
	for (int i = 0; i < PK_CU_OUTPUTS; i++)
		pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

#define ROW(id, text)                                                                              \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.in_place = true,                                                                  \
		.supports = supports,                                                              \
		.source = "chain.cu",                                                              \
		.launch = launch,                                                                  \
	};
ROW(UNARY, unary_chain)
ROW(BINARY, binary_chain)
ROW(WHERE, where_chain)
ROW(PRELU, prelu_chain)
ROW(CAST, cast_chain)
