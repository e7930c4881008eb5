// SPDX-License-Identifier: Apache-2.0
// Vector rows of unary functions and softmax: what they accept.
#include "engine/cpu/kernels/math_fast.h"

#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/tile.h"

static bool unary_supports(const struct pk_node *node)
{
	return pk_check_all_dtype(node, PK_F32) &&
	       pk_math_has_unary(pk_node_fn(node, PK_ATTR_FN)) &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int unary_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_math_unary *s = pk_arena_new(arena, struct pk_math_unary);
	if (!s)
		return -ENOMEM;
	s->fn = pk_node_fn(node, PK_ATTR_FN);
	s->alpha = (float)pk_node_float(node, PK_ATTR_ALPHA);
	s->beta = (float)pk_node_float(node, PK_ATTR_BETA);
	s->n = pk_shape_elements(pk_check_out_shape(node));
	*state = s;
	return 0;
}

static bool softmax_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	return pk_check_all_dtype(node, PK_F32) && axis >= 0 && axis < x->rank &&
	       x->dims[axis] > 0 && pk_node_fn(node, PK_ATTR_FN) == PK_FN_SOFTMAX &&
	       pk_shape_equal(x, pk_check_out_shape(node));
}

static int softmax_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_math_softmax *s = pk_arena_new(arena, struct pk_math_softmax);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	if (!s)
		return -ENOMEM;
	s->outer = s->inner = 1;
	s->n = x->dims[axis];
	for (int i = 0; i < axis; i++)
		s->outer *= x->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		s->inner *= x->dims[i];
	*state = s;
	return 0;
}

#define ROW(id, op_id, isa, suffix, rank_value)                                                    \
	const struct pk_cpu_kernel pk_kernel_##id##_vec##suffix = {                                \
		.op = op_id,                                                                       \
		.name = #id "_vec" #suffix,                                                        \
		.rank = rank_value,                                                                \
		.in_place = op_id == PK_OP_UNARY,                                                  \
		.supports = id##_supports_##isa,                                                   \
		.setup = id##_setup,                                                               \
		.run = pk_math_##id##_run_##isa,                                                   \
	};

#define ROWS(isa, has_isa, suffix, rank_value)                                                     \
	static bool unary_supports_##isa(const struct pk_node *node)                               \
	{                                                                                          \
		return (has_isa) && unary_supports(node);                                          \
	}                                                                                          \
	static bool softmax_supports_##isa(const struct pk_node *node)                             \
	{                                                                                          \
		return (has_isa) && softmax_supports(node);                                        \
	}                                                                                          \
	ROW(unary, PK_OP_UNARY, isa, suffix, rank_value)                                           \
	ROW(softmax, PK_OP_SOFTMAX, isa, suffix, rank_value)

ROWS(plain, true, , 10)
#if defined(__x86_64__)
ROWS(avx2, pk_tile_has_avx2(), _avx2, 110)
#endif
