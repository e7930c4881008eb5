// SPDX-License-Identifier: Apache-2.0
// Kernels that only move elements along strides: slice, transpose, expand, tile, depth-to-space.
#include <errno.h>
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/walk.h"

// Axes in the order of the dense output; the input is read along `src` strides.
struct move {
	struct pk_walk walk; // operands: output, input
	size_t bytes;        // of one element
	int64_t src_offset;  // elements
};

struct axes {
	int n;
	int64_t dims[PK_WALK_RANK], src[PK_WALK_RANK];
};

static void add_axis(struct axes *axes, int64_t dim, int64_t src_stride)
{
	axes->dims[axes->n] = dim;
	axes->src[axes->n++] = src_stride;
}

static int make_state(const struct pk_node *node, struct pk_arena *arena, const struct axes *axes,
	int64_t src_offset, const void **state)
{
	struct move *s = pk_arena_new(arena, struct move);
	int64_t dst[PK_WALK_RANK] = {0}, step = 1;
	struct pk_shape none = {0};
	if (!s)
		return -ENOMEM;
	for (int i = axes->n - 1; i >= 0; i--) {
		dst[i] = step;
		step *= axes->dims[i];
	}
	pk_walk_init(&s->walk, &none);
	if (axes->n) {
		s->walk.rank = axes->n;
		memcpy(s->walk.dims, axes->dims, sizeof(axes->dims));
		s->walk.n = step;
	}
	pk_walk_add(&s->walk, dst);
	pk_walk_add(&s->walk, axes->src);
	pk_walk_fold(&s->walk);
	s->bytes = pk_dtype_bytes(node->outputs[0]->dtype);
	s->src_offset = src_offset;
	*state = s;
	return 0;
}

static void run(const struct pk_cpu_call *call)
{
	const struct move *s = call->state;
	const struct pk_walk *w = &s->walk;
	const int64_t bytes = (int64_t)s->bytes;
	struct pk_walk_pos pos = {0};
	if (!w->n)
		return;
	do {
		pk_walk_copy_run((char *)call->outputs[0] + pos.off[0] * bytes,
			pk_walk_stride(w, 0),
			(const char *)call->inputs[0] + (s->src_offset + pos.off[1]) * bytes,
			pk_walk_stride(w, 1), pk_walk_inner(w), s->bytes);
	} while (pk_walk_next(w, &pos));
}

static bool slice_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	const struct pk_attr_value *starts = pk_node_attr(node, PK_ATTR_STARTS);
	const struct pk_attr_value *steps = pk_node_attr(node, PK_ATTR_STEPS);
	if (!pk_check_same_dtype(node) || x->rank != y->rank || starts->n < x->rank ||
		steps->n < x->rank)
		return false;
	for (int i = 0; i < x->rank; i++) {
		int64_t step = steps->i[i], start = starts->i[i];
		if (y->dims[i] == 0)
			continue;
		if (step > PK_MAX_ELEMENTS || step < -PK_MAX_ELEMENTS || start < 0 ||
			start >= x->dims[i])
			return false;
		int64_t last = start + (y->dims[i] - 1) * step;
		if (last < 0 || last >= x->dims[i])
			return false;
	}
	return true;
}

static int slice_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t dense[PK_MAX_RANK] = {0}, offset = 0;
	struct axes axes = {0};
	pk_walk_dense_strides(x, dense);
	for (int i = 0; i < x->rank; i++) {
		bool one = y->dims[i] <= 1; // its step may be anything
		int64_t step = one ? 0 : pk_node_attr(node, PK_ATTR_STEPS)->i[i];
		add_axis(&axes, y->dims[i], step * dense[i]);
		if (y->dims[i] > 0)
			offset += pk_node_attr(node, PK_ATTR_STARTS)->i[i] * dense[i];
	}
	return make_state(node, arena, &axes, offset, state);
}

const struct pk_cpu_kernel pk_kernel_slice_ref = {
	.op = PK_OP_SLICE,
	.name = "slice_ref",
	.supports = slice_supports,
	.setup = slice_setup,
	.run = run,
};

static bool transpose_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	const struct pk_attr_value *perm = pk_node_attr(node, PK_ATTR_PERM);
	unsigned seen = 0;
	if (!pk_check_same_dtype(node) || x->rank != y->rank || perm->n != x->rank)
		return false;
	for (int i = 0; i < x->rank; i++) {
		if (perm->i[i] < 0 || perm->i[i] >= x->rank || (seen & 1u << perm->i[i]) ||
			x->dims[perm->i[i]] != y->dims[i])
			return false;
		seen |= 1u << perm->i[i];
	}
	return true;
}

static int transpose_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t dense[PK_MAX_RANK] = {0};
	struct axes axes = {0};
	pk_walk_dense_strides(x, dense);
	for (int i = 0; i < x->rank; i++) {
		int64_t from = pk_node_attr(node, PK_ATTR_PERM)->i[i];
		add_axis(&axes, x->dims[from], dense[from]);
	}
	return make_state(node, arena, &axes, 0, state);
}

const struct pk_cpu_kernel pk_kernel_transpose_ref = {
	.op = PK_OP_TRANSPOSE,
	.name = "transpose_ref",
	.supports = transpose_supports,
	.setup = transpose_setup,
	.run = run,
};

static bool expand_supports(const struct pk_node *node)
{
	struct pk_shape joint;
	return pk_check_same_dtype(node) &&
	       pk_shape_broadcast(pk_check_in_shape(node, 0), pk_check_out_shape(node), &joint) &&
	       pk_shape_equal(&joint, pk_check_out_shape(node));
}

static int expand_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t dense[PK_MAX_RANK] = {0};
	struct axes axes = {0};
	pk_walk_dense_strides(x, dense);
	for (int i = 0; i < y->rank; i++) {
		int from = i - (y->rank - x->rank);
		bool moves = from >= 0 && x->dims[from] != 1;
		add_axis(&axes, y->dims[i], moves ? dense[from] : 0);
	}
	return make_state(node, arena, &axes, 0, state);
}

const struct pk_cpu_kernel pk_kernel_expand_ref = {
	.op = PK_OP_EXPAND,
	.name = "expand_ref",
	.supports = expand_supports,
	.setup = expand_setup,
	.run = run,
};

static bool tile_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	if (!pk_check_same_dtype(node) || x->rank != y->rank)
		return false;
	for (int i = 0; i < x->rank; i++) {
		if (x->dims[i] ? y->dims[i] % x->dims[i] != 0 : y->dims[i] != 0)
			return false;
	}
	return true;
}

static int tile_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t dense[PK_MAX_RANK] = {0};
	struct axes axes = {0};
	pk_walk_dense_strides(x, dense);
	for (int i = 0; i < x->rank; i++) {
		add_axis(&axes, x->dims[i] ? y->dims[i] / x->dims[i] : 0, 0);
		add_axis(&axes, x->dims[i], dense[i]);
	}
	return make_state(node, arena, &axes, 0, state);
}

const struct pk_cpu_kernel pk_kernel_tile_ref = {
	.op = PK_OP_TILE,
	.name = "tile_ref",
	.supports = tile_supports,
	.setup = tile_setup,
	.run = run,
};

// deep: the side with more channels; wide: the other one.
static bool blocks_ok(
	const struct pk_node *node, const struct pk_shape *deep, const struct pk_shape *wide)
{
	int64_t block = pk_node_int(node, PK_ATTR_BLOCK);
	if (!pk_check_same_dtype(node) || deep->rank != 4 || wide->rank != 4 || block < 1 ||
		block > 1 << 15)
		return false;
	return deep->dims[0] == wide->dims[0] && deep->dims[1] == wide->dims[1] * block * block &&
	       wide->dims[2] == deep->dims[2] * block && wide->dims[3] == deep->dims[3] * block;
}

static bool d2s_supports(const struct pk_node *node)
{
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	return (mode == PK_MODE_DCR || mode == PK_MODE_CRD) &&
	       blocks_ok(node, pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int d2s_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	bool dcr = pk_node_int(node, PK_ATTR_MODE) == PK_MODE_DCR;
	int64_t block = pk_node_int(node, PK_ATTR_BLOCK), w = x->dims[3], hw = x->dims[2] * w;
	int64_t block_step = dcr ? y->dims[1] * hw : hw; // of the inner block axis
	struct axes axes = {0};
	add_axis(&axes, x->dims[0], x->dims[1] * hw);
	add_axis(&axes, y->dims[1], dcr ? hw : block * block * hw);
	add_axis(&axes, x->dims[2], w);
	add_axis(&axes, block, block * block_step);
	add_axis(&axes, w, 1);
	add_axis(&axes, block, block_step);
	return make_state(node, arena, &axes, 0, state);
}

const struct pk_cpu_kernel pk_kernel_depth_to_space_ref = {
	.op = PK_OP_DEPTH_TO_SPACE,
	.name = "depth_to_space_ref",
	.supports = d2s_supports,
	.setup = d2s_setup,
	.run = run,
};

static bool s2d_supports(const struct pk_node *node)
{
	return blocks_ok(node, pk_check_out_shape(node), pk_check_in_shape(node, 0));
}

static int s2d_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t block = pk_node_int(node, PK_ATTR_BLOCK), w = x->dims[3], hw = x->dims[2] * w;
	struct axes axes = {0};
	add_axis(&axes, x->dims[0], x->dims[1] * hw);
	add_axis(&axes, block, w);
	add_axis(&axes, block, 1);
	add_axis(&axes, x->dims[1], hw);
	add_axis(&axes, y->dims[2], block * w);
	add_axis(&axes, y->dims[3], block);
	return make_state(node, arena, &axes, 0, state);
}

const struct pk_cpu_kernel pk_kernel_space_to_depth_ref = {
	.op = PK_OP_SPACE_TO_DEPTH,
	.name = "space_to_depth_ref",
	.supports = s2d_supports,
	.setup = s2d_setup,
	.run = run,
};
