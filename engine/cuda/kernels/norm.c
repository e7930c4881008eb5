// SPDX-License-Identifier: Apache-2.0
// Rows of norm.cu: softmax and the normalisations.
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"
#include "engine/cuda/kernels/rows.h"

// Axes reduced by each operator.
static unsigned axes_of(const struct pk_node *node)
{
	unsigned all = (1u << node->inputs[0]->shape.rank) - 1;
	switch (node->op) {
	case PK_OP_SOFTMAX:
		return 1u << pk_node_int(node, PK_ATTR_AXIS);
	case PK_OP_LAYER_NORM:
		return all & ~((1u << pk_node_int(node, PK_ATTR_AXIS)) - 1);
	case PK_OP_INSTANCE_NORM:
		return all & ~3u;
	default:
		return 0;
	}
}

static bool make(const struct pk_cuda_call *call, struct pk_cu_rows *p)
{
	const struct pk_node *node = call->node;
	struct pk_cu_rows_layout layout = {.x = &call->inputs[0], .gone = axes_of(node)};
	int64_t step = 1;
	for (int axis = layout.x->shape.rank - 1; axis >= 0; axis--) {
		layout.y[axis] = call->outputs[0].strides[axis];
		if (node->op == PK_OP_LAYER_NORM && layout.gone >> axis & 1) {
			layout.scale[axis] = step;
			step *= layout.x->shape.dims[axis];
		}
	}
	if (node->op == PK_OP_BATCH_NORM || node->op == PK_OP_INSTANCE_NORM)
		layout.scale[1] = 1;
	if (!pk_cu_rows_make(&layout, p))
		return false;
	if (node->op == PK_OP_SOFTMAX)
		p->fn = (int)pk_node_fn(node, PK_ATTR_FN);
	else
		p->epsilon = (float)pk_node_float(node, PK_ATTR_EPSILON);
	if (pk_cu_input(call, 2))
		p->flags |= PK_CU_HAS_BIAS;
	return true;
}

static const char *entry_of(const struct pk_cuda_call *call)
{
	bool half = call->inputs[0].dtype == PK_F16;
	switch (call->node->op) {
	case PK_OP_SOFTMAX:
		return half ? "softmax_f16" : "softmax_f32";
	case PK_OP_BATCH_NORM:
		return half ? "batch_norm_f16" : "batch_norm_f32";
	default:
		return half ? "norm_f16" : "norm_f32";
	}
}

// Scales and the like are dense floats: of rank 4 they would be laid otherwise.
static bool supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	struct pk_cu_rows p;
	if (!pk_cu_node_ok(call) || !pk_cu_is_float(x->dtype) || y->dtype != x->dtype)
		return false;
	for (int i = 1; i < call->node->n_inputs; i++) {
		const struct pk_cuda_tensor *t = pk_cu_input(call, i);
		if (t && (t->dtype != PK_F32 || t->layout != PK_CUDA_DENSE))
			return false;
	}
	return make(call, &p);
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	bool pads = pk_cu_has_pads(&call->outputs[0]);
	struct pk_cu_rows p;
	if (idx == 0 && pads) {
		pk_cu_launch_pads(&call->outputs[0], out);
		return true;
	}
	if (idx > pads || !make(call, &p))
		return false;
	pk_cu_rows_launch(&p, entry_of(call), out);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	int n = call->node->op == PK_OP_BATCH_NORM ? 5 : call->node->op == PK_OP_SOFTMAX ? 1 : 3;
	for (int i = 1; i < n; i++) // a bias that is left out is never followed
		pk_cu_pointer(out, PK_CUDA_INPUT, pk_cu_input(call, i) ? i : 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	return true;
}

#define ROW(id, text)                                                                              \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.supports = supports,                                                              \
		.source = "norm.cu",                                                               \
		.launch = launch,                                                                  \
	};
ROW(SOFTMAX, softmax_rows)
ROW(LAYER_NORM, layer_norm_rows)
ROW(INSTANCE_NORM, instance_norm_rows)
ROW(BATCH_NORM, batch_norm_rows)
