// SPDX-License-Identifier: Apache-2.0
// Rows of copy.cu that move elements along strides. Channels of padding in the result get their
// zeros by a first launch of their own.
#include <string.h>

#include "engine/cpu/kernels/walk.h"
#include "engine/cuda/kernels/move.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

static void begin(const struct pk_cuda_call *call, int input, struct pk_cu_move *out)
{
	memset(out, 0, sizeof(*out));
	out->from = call->inputs[input].dtype;
	out->to = call->outputs[0].dtype;
}

// Fills *out with the part-th move of the operator; false: there are no more.
typedef bool make_fn(const struct pk_cuda_call *call, int part, struct pk_cu_move *out);

static bool slice(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (part > 0)
		return false;
	begin(call, 0, out);
	for (int i = 0; i < y->shape.rank; i++) {
		int64_t step = pk_node_attr(call->node, PK_ATTR_STEPS)->i[i];
		int64_t src = y->shape.dims[i] > 1 ? step * x->strides[i] : 0;
		pk_cu_move_axis(out, y->shape.dims[i], src, y->strides[i]);
		out->src_offset += pk_node_attr(call->node, PK_ATTR_STARTS)->i[i] * x->strides[i];
	}
	return true;
}

static bool transpose(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (part > 0)
		return false;
	begin(call, 0, out);
	for (int i = 0; i < y->shape.rank; i++) {
		int64_t from = pk_node_attr(call->node, PK_ATTR_PERM)->i[i];
		pk_cu_move_axis(out, y->shape.dims[i], x->strides[from], y->strides[i]);
	}
	return true;
}

static bool expand(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (part > 0)
		return false;
	begin(call, 0, out);
	for (int i = 0; i < y->shape.rank; i++) {
		int from = i - (y->shape.rank - x->shape.rank);
		bool moves = from >= 0 && x->shape.dims[from] != 1;
		pk_cu_move_axis(out, y->shape.dims[i], moves ? x->strides[from] : 0, y->strides[i]);
	}
	return true;
}

static bool tile(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (part > 0)
		return false;
	begin(call, 0, out);
	for (int i = 0; i < x->shape.rank; i++) {
		int64_t n = x->shape.dims[i];
		pk_cu_move_axis(out, y->shape.dims[i] / n, 0, n * y->strides[i]);
		pk_cu_move_axis(out, n, x->strides[i], y->strides[i]);
	}
	return true;
}

static bool depth_to_space(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	const int64_t *from = x->strides, *to = y->strides, *dims = x->shape.dims;
	int64_t block = pk_node_int(call->node, PK_ATTR_BLOCK);
	bool dcr = pk_node_int(call->node, PK_ATTR_MODE) == PK_MODE_DCR;
	int64_t inner = (dcr ? y->shape.dims[1] : 1) * from[1]; // from column to column of a block
	if (part > 0)
		return false;
	begin(call, 0, out);
	pk_cu_move_axis(out, dims[0], from[0], to[0]);
	pk_cu_move_axis(out, y->shape.dims[1], (dcr ? 1 : block * block) * from[1], to[1]);
	pk_cu_move_axis(out, dims[2], from[2], block * to[2]);
	pk_cu_move_axis(out, block, block * inner, to[2]);
	pk_cu_move_axis(out, dims[3], from[3], block * to[3]);
	pk_cu_move_axis(out, block, inner, to[3]);
	return true;
}

static bool space_to_depth(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	const int64_t *from = x->strides, *to = y->strides, *dims = y->shape.dims;
	int64_t block = pk_node_int(call->node, PK_ATTR_BLOCK), c = x->shape.dims[1];
	if (part > 0)
		return false;
	begin(call, 0, out);
	pk_cu_move_axis(out, dims[0], from[0], to[0]);
	pk_cu_move_axis(out, block, from[2], block * c * to[1]);
	pk_cu_move_axis(out, block, from[3], c * to[1]);
	pk_cu_move_axis(out, c, from[1], to[1]);
	pk_cu_move_axis(out, dims[2], block * from[2], to[2]);
	pk_cu_move_axis(out, dims[3], block * from[3], to[3]);
	return true;
}

// One move an operand.
static bool concat(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int64_t axis = pk_node_int(call->node, PK_ATTR_AXIS);
	if (part >= call->node->n_inputs)
		return false;
	begin(call, part, out);
	const struct pk_cuda_tensor *x = &call->inputs[part];
	for (int i = 0; i < x->shape.rank; i++)
		pk_cu_move_axis(out, x->shape.dims[i], x->strides[i], y->strides[i]);
	for (int i = 0; i < part; i++)
		out->dst_offset += call->inputs[i].shape.dims[axis] * y->strides[axis];
	return true;
}

// Where one side is dense it is walked by the axes of the other.
static bool view(const struct pk_cuda_call *call, int part, struct pk_cu_move *out)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	const struct pk_cuda_tensor *by = x->layout == PK_CUDA_DENSE ? y : x;
	int64_t dense[PK_MAX_RANK] = {0};
	bool same = pk_shape_equal(&x->shape, &y->shape);
	if (part > 0 || (!same && x->layout == PK_CUDA_NHWC && y->layout == PK_CUDA_NHWC))
		return false;
	begin(call, 0, out);
	pk_walk_dense_strides(&by->shape, dense);
	for (int i = 0; i < by->shape.rank; i++)
		pk_cu_move_axis(out, by->shape.dims[i],
			x->layout == PK_CUDA_DENSE ? dense[i] : x->strides[i],
			y->layout == PK_CUDA_DENSE ? dense[i] : y->strides[i]);
	return true;
}

static make_fn *maker_of(enum pk_op op)
{
	static make_fn *const table[PK_N_OPS] = {
		[PK_OP_SLICE] = slice,
		[PK_OP_TRANSPOSE] = transpose,
		[PK_OP_EXPAND] = expand,
		[PK_OP_TILE] = tile,
		[PK_OP_DEPTH_TO_SPACE] = depth_to_space,
		[PK_OP_SPACE_TO_DEPTH] = space_to_depth,
		[PK_OP_CONCAT] = concat,
		[PK_OP_RESHAPE] = view,
		[PK_OP_IDENTITY] = view,
	};
	return table[op];
}

static bool supports(const struct pk_cuda_call *call)
{
	make_fn *make = pk_cu_node_ok(call) ? maker_of(call->node->op) : NULL;
	struct pk_cuda_launch scratch;
	struct pk_cu_move move;
	int part = 0;
	for (; make && make(call, part, &move); part++) {
		pk_cu_move_fold(&move);
		if (!pk_cu_move_launch(&move, &scratch))
			return false;
	}
	return part > 0;
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_move move;
	bool pads = pk_cu_has_pads(&call->outputs[0]);
	if (idx == 0 && pads) {
		pk_cu_launch_pads(&call->outputs[0], out);
		return true;
	}
	if (!maker_of(call->node->op)(call, idx - pads, &move))
		return false;
	pk_cu_move_fold(&move);
	pk_cu_move_launch(&move, out);
	pk_cu_pointer(out, PK_CUDA_INPUT, call->node->op == PK_OP_CONCAT ? idx - pads : 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	return true;
}

#define ROW(id, text, may_alias)                                                                   \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.in_place = may_alias,                                                             \
		.supports = supports,                                                              \
		.source = "copy.cu",                                                               \
		.launch = launch,                                                                  \
	};
ROW(SLICE, slice_copy, false)
ROW(TRANSPOSE, transpose_copy, false)
ROW(EXPAND, expand_copy, false)
ROW(TILE, tile_copy, false)
ROW(DEPTH_TO_SPACE, depth_to_space_copy, false)
ROW(SPACE_TO_DEPTH, space_to_depth_copy, false)
ROW(CONCAT, concat_copy, false)
ROW(RESHAPE, reshape_copy, false)
ROW(IDENTITY, identity_copy, true)
