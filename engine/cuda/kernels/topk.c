// SPDX-License-Identifier: Apache-2.0
// Row of topk.cu.
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"
#include "engine/cuda/kernels/rows.h"

#define N_MAX 65536 // elements a row: the work grows with their square

static bool make(const struct pk_cuda_call *call, struct pk_cu_rows *p)
{
	int64_t axis = pk_node_int(call->node, PK_ATTR_AXIS);
	struct pk_cu_rows_layout layout = {.x = &call->inputs[0], .gone = 1u << axis};
	for (int i = 0; i < layout.x->shape.rank; i++) {
		layout.y[i] = call->outputs[0].strides[i];
		layout.scale[i] = call->outputs[1].strides[i];
	}
	if (!pk_cu_rows_make(&layout, p))
		return false;
	p->parts = (int)pk_node_int(call->node, PK_ATTR_K); // a thread an element needs no parts
	p->flags = pk_node_int(call->node, PK_ATTR_LARGEST) ? PK_CU_LARGEST : 0;
	return true;
}

static bool supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	struct pk_cu_rows p;
	return pk_cu_node_ok(call) && pk_cu_is_float(x->dtype) && y->dtype == x->dtype &&
	       call->outputs[1].layout == PK_CUDA_DENSE && make(call, &p) && p.n <= N_MAX;
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
	pk_cu_launch(out, call->inputs[0].dtype == PK_F16 ? "top_k_f16" : "top_k_f32",
		(int64_t)p.rows * p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 1);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_top_k_count = {
	.op = PK_OP_TOP_K,
	.name = "top_k_count",
	.supports = supports,
	.source = "topk.cu",
	.launch = launch,
};
