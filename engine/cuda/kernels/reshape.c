// SPDX-License-Identifier: Apache-2.0
// Row of copy.cu's reshape: between two NHWC tensors of other shapes, whose orders in memory have
// no axes in common.
#include "engine/cpu/kernels/walk.h"
#include "engine/cuda/kernels/move.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

static const char *entry_of(const struct pk_cuda_call *call)
{
	enum pk_dtype from = call->inputs[0].dtype, to = call->outputs[0].dtype;
	static const char *const by_bytes[] = {
		[1] = "reshape_b1", [2] = "reshape_b2", [4] = "reshape_b4"};
	return from == to && pk_dtype_bytes(from) <= 4 ? by_bytes[pk_dtype_bytes(from)] : NULL;
}

static bool supports(const struct pk_cuda_call *call)
{
	return pk_cu_node_ok(call) && call->inputs[0].layout == PK_CUDA_NHWC &&
	       call->outputs[0].layout == PK_CUDA_NHWC && entry_of(call);
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	struct pk_cu_reshape p = {.n = 1, .src_rank = x->shape.rank, .dst_rank = y->shape.rank};
	int order[PK_MAX_RANK] = {0};
	int64_t logical[PK_MAX_RANK] = {0};
	bool pads = pk_cu_has_pads(y);
	if (idx == 0 && pads) {
		pk_cu_launch_pads(y, out);
		return true;
	}
	if (idx > pads)
		return false;
	pk_cu_axis_order(y, order);
	pk_walk_dense_strides(&y->shape, logical);
	for (int i = 0; i < p.dst_rank; i++) {
		p.dst_dims[i] = (int)y->shape.dims[order[i]];
		p.dst[i] = (int)y->strides[order[i]];
		p.logical[i] = (int)logical[order[i]];
		p.n *= p.dst_dims[i];
	}
	for (int i = 0; i < p.src_rank; i++) {
		p.src_dims[i] = (int)x->shape.dims[i];
		p.src[i] = (int)x->strides[i];
	}
	pk_cu_launch(out, entry_of(call), p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_reshape_nhwc = {
	.op = PK_OP_RESHAPE,
	.name = "reshape_nhwc",
	.rank = 1,
	.supports = supports,
	.source = "copy.cu",
	.launch = launch,
};
