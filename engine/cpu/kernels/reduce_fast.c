// SPDX-License-Identifier: Apache-2.0
// Sums, means and extremes of f32 over the innermost axes.
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define LANES 16 // partial results, so that the loop vectorises without reordering by the compiler

typedef float row_fn(const float *x, int64_t n);

#define ROW(name, expr)                                                                            \
	static float name##_row(const float *x, int64_t n)                                         \
	{                                                                                          \
		float part[LANES];                                                                 \
		int64_t i = 0;                                                                     \
		for (int l = 0; l < LANES; l++)                                                    \
			part[l] = x[l < n ? l : 0];                                                \
		for (i = LANES; i + LANES <= n; i += LANES) {                                      \
			for (int l = 0; l < LANES; l++) {                                          \
				float u = part[l], v = x[i + l];                                   \
				part[l] = expr;                                                    \
			}                                                                          \
		}                                                                                  \
		float all = part[0];                                                               \
		for (int l = 1; l < LANES && l < n; l++) {                                         \
			float u = all, v = part[l];                                                \
			all = expr;                                                                \
		}                                                                                  \
		for (; i < n; i++) {                                                               \
			float u = all, v = x[i];                                                   \
			all = expr;                                                                \
		}                                                                                  \
		return all;                                                                        \
	}
ROW(sum, u + v)
ROW(max, u != u || u > v ? u : v)
ROW(min, u != u || u < v ? u : v)

struct reduce {
	int64_t outer, n;
	row_fn *row;
	float scale;
};

static row_fn *row_of(enum pk_fn fn)
{
	switch (fn) {
	case PK_FN_REDUCE_SUM:
	case PK_FN_REDUCE_MEAN:
		return sum_row;
	case PK_FN_REDUCE_MAX:
		return max_row;
	case PK_FN_REDUCE_MIN:
		return min_row;
	default:
		return NULL;
	}
}

// The axes must be the last ones, in order.
static bool supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	const struct pk_attr_value *axes = pk_node_attr(node, PK_ATTR_AXES);
	int64_t n = 1;
	if (!pk_check_all_dtype(node, PK_F32) || !row_of(pk_node_fn(node, PK_ATTR_FN)) ||
		axes->n < 1 || axes->n > x->rank)
		return false;
	for (int i = 0; i < axes->n; i++) {
		if (axes->i[i] != x->rank - axes->n + i)
			return false;
		n *= x->dims[axes->i[i]];
	}
	return n > 0 && pk_shape_elements(pk_check_out_shape(node)) == pk_shape_elements(x) / n;
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct reduce *s = pk_arena_new(arena, struct reduce);
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	if (!s)
		return -ENOMEM;
	s->outer = pk_shape_elements(pk_check_out_shape(node));
	s->n = s->outer ? pk_shape_elements(pk_check_in_shape(node, 0)) / s->outer : 0;
	s->row = row_of(fn);
	s->scale = fn == PK_FN_REDUCE_MEAN && s->n ? 1 / (float)s->n : 1;
	*state = s;
	return 0;
}

static void run(const struct pk_cpu_call *call)
{
	const struct reduce *s = call->state;
	for (int64_t i = 0; i < s->outer; i++)
		((float *)call->outputs[0])[i] =
			s->row((const float *)call->inputs[0] + i * s->n, s->n) * s->scale;
}

const struct pk_cpu_kernel pk_kernel_reduce_rows = {
	.op = PK_OP_REDUCE,
	.name = "reduce_rows",
	.rank = 10,
	.supports = supports,
	.setup = setup,
	.run = run,
};
