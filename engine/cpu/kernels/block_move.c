// SPDX-License-Identifier: Apache-2.0
// Rows for pools, resizing, reduction, arithmetic and reorders of blocked pictures.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/block.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/resize.h"
#include "engine/cpu/kernels/tile.h"

static bool is_blocked(const struct pk_value *value, int lanes)
{
	return value->block == lanes && pk_shape_elements(&value->shape) > 0;
}

static bool pool_supports(const struct pk_node *node, int lanes)
{
	struct pk_window g;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	return pk_check_all_dtype(node, PK_F32) && is_blocked(node->inputs[0], lanes) &&
	       is_blocked(node->outputs[0], lanes) &&
	       (fn == PK_FN_POOL_MAX || fn == PK_FN_POOL_AVG) && pk_window_init(&g, node);
}

static size_t pool_scratch(const struct pk_node *node, int lanes)
{
	struct pk_window g;
	pk_window_init(&g, node);
	return (size_t)(g.in[2] * lanes) * sizeof(float);
}

static float *inverse_counts(
	const struct pk_window *g, int axis, bool count_pad, struct pk_arena *arena)
{
	float *out = pk_arena_array(arena, (size_t)g->out[axis] + 1, sizeof(*out));
	int64_t low = count_pad ? -g->pad[axis] : 0;
	int64_t high = count_pad ? g->in[axis] + g->pad_end[axis] : g->in[axis];
	for (int64_t o = 0; out && o < g->out[axis]; o++) {
		int64_t n = 0;
		for (int64_t k = 0; k < g->kernel[axis]; k++) {
			int64_t i = o * g->stride[axis] + k * g->dilation[axis] - g->pad[axis];
			n += i >= low && i < high;
		}
		out[o] = n ? 1 / (float)n : 0;
	}
	return out;
}

static int pool_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_pool *s = pk_arena_new(arena, struct pk_block_pool);
	if (!s)
		return -ENOMEM;
	bool count_pad = pk_node_int(node, PK_ATTR_COUNT_PAD) != 0;
	pk_window_init(&s->geom, node);
	s->blocks = pk_block_count(s->geom.in_c, lanes);
	s->average = pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_AVG;
	s->inverse_rows = inverse_counts(&s->geom, 1, count_pad, arena);
	s->inverse_columns = inverse_counts(&s->geom, 2, count_pad, arena);
	*state = s;
	return s->inverse_rows && s->inverse_columns ? 0 : -ENOMEM;
}

static bool resize_supports(const struct pk_node *node, int lanes)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	const struct pk_attr_value *scales = pk_node_attr(node, PK_ATTR_SCALES);
	if (!pk_check_all_dtype(node, PK_F32) || !is_blocked(node->inputs[0], lanes) ||
		!is_blocked(node->outputs[0], lanes) || scales->n != 4 ||
		pk_node_int(node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE)
		return false;
	for (int axis = 0; axis < 4; axis++) {
		if (!pk_resize_axis_ok(node, axis) ||
			(axis < 2 && (x->dims[axis] != y->dims[axis] || scales->f[axis] != 1)))
			return false;
	}
	return true;
}

static size_t resize_scratch(const struct pk_node *node, int lanes)
{
	return (size_t)(pk_check_in_shape(node, 0)->dims[3] * lanes) * sizeof(float);
}

static int nearest_taps(
	struct pk_block_taps *t, const struct pk_node *node, int axis, struct pk_arena *arena)
{
	int64_t n = pk_check_out_shape(node)->dims[axis];
	t->n = 1;
	t->idx = pk_arena_array(arena, (size_t)n, sizeof(*t->idx));
	t->weights = pk_arena_array(arena, (size_t)n, sizeof(*t->weights));
	if (!t->idx || !t->weights)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++) {
		t->idx[i] = PK_MAX(pk_resize_nearest(node, axis, i), 0);
		t->weights[i] = 1;
	}
	return 0;
}

static int resize_taps(
	struct pk_block_taps *t, const struct pk_node *node, int axis, struct pk_arena *arena)
{
	if (pk_node_int(node, PK_ATTR_MODE) == PK_MODE_NEAREST)
		return nearest_taps(t, node, axis, arena);
	struct pk_resize_axis taps;
	int r = pk_resize_axis_init(&taps, node, axis, arena);
	if (r < 0)
		return r;
	size_t n = (size_t)(taps.n_taps * pk_check_out_shape(node)->dims[axis]);
	t->n = taps.n_taps;
	t->idx = taps.idx;
	t->weights = pk_arena_array(arena, n, sizeof(*t->weights));
	for (size_t i = 0; t->weights && i < n; i++)
		t->weights[i] = (float)taps.weights[i];
	return t->weights ? 0 : -ENOMEM;
}

static int resize_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_resize *s = pk_arena_new(arena, struct pk_block_resize);
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	if (!s)
		return -ENOMEM;
	s->n_blocks = x->dims[0] * pk_block_count(x->dims[1], lanes);
	for (int i = 0; i < 2; i++) {
		s->in[i] = x->dims[2 + i];
		s->out[i] = y->dims[2 + i];
	}
	*state = s;
	int r = resize_taps(&s->down, node, 2, arena);
	return r < 0 ? r : resize_taps(&s->across, node, 3, arena);
}

// Over the whole plane; the output is blocked or plain.
static bool reduce_supports(const struct pk_node *node, int lanes)
{
	const struct pk_attr_value *axes = pk_node_attr(node, PK_ATTR_AXES);
	const struct pk_value *x = node->inputs[0], *y = node->outputs[0];
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	return pk_check_all_dtype(node, PK_F32) && is_blocked(x, lanes) &&
	       (y->block == 0 || y->block == lanes) &&
	       (fn == PK_FN_REDUCE_MEAN || fn == PK_FN_REDUCE_SUM || fn == PK_FN_REDUCE_MAX) &&
	       axes->n == 2 && axes->i[0] == 2 && axes->i[1] == 3 &&
	       pk_shape_elements(&y->shape) == x->shape.dims[0] * x->shape.dims[1];
}

static int reduce_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_reduce *s = pk_arena_new(arena, struct pk_block_reduce);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	if (!s)
		return -ENOMEM;
	s->batch = x->dims[0];
	s->c = x->dims[1];
	s->blocks = pk_block_count(s->c, lanes);
	s->plane = x->dims[2] * x->dims[3];
	s->fn = pk_node_fn(node, PK_ATTR_FN);
	s->scale = s->fn == PK_FN_REDUCE_MEAN ? 1 / (float)s->plane : 1;
	s->blocked_out = node->outputs[0]->block != 0;
	*state = s;
	return 0;
}

enum operand { OPERAND_NONE, OPERAND_FULL, OPERAND_CHANNELS, OPERAND_NUMBER };

// One value per channel, at the same bytes in both layouts unless blocks are padded.
static bool is_channels(const struct pk_value *x, const struct pk_shape *y, int lanes)
{
	const struct pk_shape *s = &x->shape;
	int64_t elements = pk_shape_elements(s);
	if (s->rank < 3 || s->rank > 4 || s->dims[s->rank - 1] != 1 || s->dims[s->rank - 2] != 1 ||
		s->dims[s->rank - 3] != y->dims[1] ||
		(elements != y->dims[1] && elements != y->dims[0] * y->dims[1]))
		return false;
	return x->block == lanes || (x->block == 0 && y->dims[1] % lanes == 0);
}

static enum operand operand_of(const struct pk_node *node, int idx, int lanes)
{
	const struct pk_value *x = node->inputs[idx];
	const struct pk_shape *y = pk_check_out_shape(node);
	if (x->block == lanes && pk_shape_equal(&x->shape, y))
		return OPERAND_FULL;
	if (x->block == 0 && pk_shape_elements(&x->shape) == 1)
		return OPERAND_NUMBER;
	return is_channels(x, y, lanes) ? OPERAND_CHANNELS : OPERAND_NONE;
}

static bool binary_supports(const struct pk_node *node, int lanes)
{
	static const bool known[PK_N_FNS] = {
		[PK_FN_ADD] = true,
		[PK_FN_SUB] = true,
		[PK_FN_MUL] = true,
		[PK_FN_DIV] = true,
		[PK_FN_MIN] = true,
		[PK_FN_MAX] = true,
	};
	if (!pk_check_all_dtype(node, PK_F32) || !is_blocked(node->outputs[0], lanes) ||
		(node->op == PK_OP_BINARY && !known[pk_node_fn(node, PK_ATTR_FN)]))
		return false;
	enum operand a = operand_of(node, 0, lanes), b = operand_of(node, 1, lanes);
	return a != OPERAND_NONE && b != OPERAND_NONE && (a == OPERAND_FULL || b == OPERAND_FULL);
}

static void init_operand(struct pk_block_binary *s, const struct pk_node *node, int idx, int lanes)
{
	enum operand kind = operand_of(node, idx, lanes);
	const struct pk_shape *x = pk_check_in_shape(node, idx);
	s->number[idx] = kind == OPERAND_NUMBER;
	s->pixel_step[idx] = kind == OPERAND_FULL ? lanes : 0;
	if (kind == OPERAND_NUMBER)
		return;
	s->block_step[idx] = kind == OPERAND_FULL ? s->plane * lanes : lanes;
	bool per_picture = x->rank == 4 && x->dims[0] == s->batch;
	s->picture_step[idx] = per_picture ? s->blocks * s->block_step[idx] : 0;
}

static int binary_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_binary *s = pk_arena_new(arena, struct pk_block_binary);
	const struct pk_shape *y = pk_check_out_shape(node);
	if (!s)
		return -ENOMEM;
	s->batch = y->dims[0];
	s->blocks = pk_block_count(y->dims[1], lanes);
	s->plane = y->dims[2] * y->dims[3];
	s->prelu = node->op == PK_OP_PRELU;
	s->fn = s->prelu ? PK_FN_NONE : pk_node_fn(node, PK_ATTR_FN);
	init_operand(s, node, 0, lanes);
	init_operand(s, node, 1, lanes);
	*state = s;
	return 0;
}

#define prelu_supports binary_supports
#define prelu_setup    binary_setup

static bool reorder_supports(const struct pk_node *node, int lanes)
{
	const struct pk_value *x = node->inputs[0], *y = node->outputs[0];
	return pk_check_all_dtype(node, PK_F32) && x->shape.rank == 4 &&
	       ((x->block == 0 && is_blocked(y, lanes)) || (is_blocked(x, lanes) && y->block == 0));
}

static int reorder_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_reorder *s = pk_arena_new(arena, struct pk_block_reorder);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	if (!s)
		return -ENOMEM;
	s->batch = x->dims[0];
	s->c = x->dims[1];
	s->blocks = pk_block_count(s->c, lanes);
	s->plane = x->dims[2] * x->dims[3];
	s->to_blocked = node->outputs[0]->block != 0;
	*state = s;
	return 0;
}

static size_t no_scratch(const struct pk_node *node, int lanes)
{
	return 0;
}
#define reduce_scratch  no_scratch
#define binary_scratch  no_scratch
#define prelu_scratch   no_scratch
#define reorder_scratch no_scratch

// Rows: the same functions bound to an instruction set's lanes.
#define ROW(id, op_id, run_id, isa, suffix, lanes, has_isa, order, in_place_value)                 \
	static bool id##_supports_##isa(const struct pk_node *node)                                \
	{                                                                                          \
		return (has_isa) && id##_supports(node, lanes);                                    \
	}                                                                                          \
	static size_t id##_scratch_##isa(const struct pk_node *node)                               \
	{                                                                                          \
		return id##_scratch(node, lanes);                                                  \
	}                                                                                          \
	static int id##_setup_##isa(                                                               \
		const struct pk_node *node, struct pk_arena *arena, const void **state)            \
	{                                                                                          \
		return id##_setup(node, arena, state, lanes);                                      \
	}                                                                                          \
	const struct pk_cpu_kernel pk_kernel_block_##id##suffix = {                                \
		.op = op_id,                                                                       \
		.name = "block_" #id #suffix,                                                      \
		.rank = 200 + (order),                                                             \
		.in_place = in_place_value,                                                        \
		.blocked = true,                                                                   \
		.supports = id##_supports_##isa,                                                   \
		.scratch = id##_scratch_##isa,                                                     \
		.setup = id##_setup_##isa,                                                         \
		.run = pk_block_##run_id##_run_##isa,                                              \
	};

#define ROWS(isa, suffix, lanes, has_isa, order)                                                   \
	ROW(pool, PK_OP_POOL, pool, isa, suffix, lanes, has_isa, order, false)                     \
	ROW(resize, PK_OP_RESIZE, resize, isa, suffix, lanes, has_isa, order, false)               \
	ROW(reduce, PK_OP_REDUCE, reduce, isa, suffix, lanes, has_isa, order, false)               \
	ROW(binary, PK_OP_BINARY, binary, isa, suffix, lanes, has_isa, order, true)                \
	ROW(prelu, PK_OP_PRELU, binary, isa, suffix, lanes, has_isa, order, true)                  \
	ROW(reorder, PK_OP_REORDER, reorder, isa, suffix, lanes, has_isa, order, false)

ROWS(plain, , PK_BLOCK_LANES_PLAIN, true, 0)
#if defined(__x86_64__)
ROWS(avx2, _avx2, PK_BLOCK_LANES_AVX2, pk_tile_has_avx2(), 1)
ROWS(avx512, _avx512, PK_BLOCK_LANES_AVX512, pk_tile_has_avx512(), 2)
#endif
