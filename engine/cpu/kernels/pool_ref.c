// SPDX-License-Identifier: Apache-2.0
// Reference pooling, one to three spatial axes, any numeric type.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"

struct pool {
	struct pk_window geom;
	enum pk_dtype dtype;
	bool average, count_pad;
};

static bool supports(const struct pk_node *node)
{
	struct pk_window geom;
	enum pk_dtype dtype = node->inputs[0]->dtype;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	bool known = fn == PK_FN_POOL_MAX ? pk_number_is_float(dtype) || pk_number_is_int(dtype)
					  : fn == PK_FN_POOL_AVG && pk_number_is_float(dtype);
	return known && pk_check_same_dtype(node) && pk_window_init(&geom, node);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pool *s = pk_arena_new(arena, struct pool);
	if (!s)
		return -ENOMEM;
	pk_window_init(&s->geom, node);
	s->dtype = node->inputs[0]->dtype;
	s->average = pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_AVG;
	s->count_pad = pk_node_int(node, PK_ATTR_COUNT_PAD) != 0;
	*state = s;
	return 0;
}

// Of the window's cells along axis: those inside the input are first..last (of k), and `counted`
// lie inside the padded input (with ceil_mode a window can reach beyond that too).
struct span {
	int64_t base, first, last, counted;
};

static struct span window_span(const struct pk_window *g, int axis, int64_t o)
{
	struct span s = {.base = o * g->stride[axis] - g->pad[axis], .first = 0, .last = -1};
	int64_t end = g->in[axis] + g->pad_end[axis];
	bool any = false;
	for (int64_t k = 0; k < g->kernel[axis]; k++) {
		int64_t i = s.base + k * g->dilation[axis];
		s.counted += i < end;
		if (i < 0 || i >= g->in[axis])
			continue;
		s.first = any ? s.first : k;
		s.last = k;
		any = true;
	}
	return s;
}

static double window_value(
	const struct pool *s, const void *x, int64_t plane, const struct span at[3])
{
	const struct pk_window *g = &s->geom;
	double sum = 0, most = -INFINITY;
	int64_t n = 0;
	for (int64_t kd = at[0].first; kd <= at[0].last; kd++) {
		for (int64_t kh = at[1].first; kh <= at[1].last; kh++) {
			int64_t row = (at[0].base + kd * g->dilation[0]) * g->in[1] + at[1].base +
				      kh * g->dilation[1];
			for (int64_t kw = at[2].first; kw <= at[2].last; kw++, n++) {
				double v = pk_number_f(s->dtype, x,
					plane + row * g->in[2] + at[2].base + kw * g->dilation[2]);
				sum += v;
				most = v > most || isnan(v) ? v : most;
			}
		}
	}
	if (!s->average)
		return most;
	if (s->count_pad)
		n = at[0].counted * at[1].counted * at[2].counted;
	return n ? sum / (double)n : 0;
}

static void run(const struct pk_cpu_call *call)
{
	const struct pool *s = call->state;
	const struct pk_window *g = &s->geom;
	int64_t idx = 0;
	struct span at[3];
	for (int64_t plane = 0; plane < g->batch * g->in_c; plane++) {
		for (int64_t od = 0; od < g->out[0]; od++) {
			at[0] = window_span(g, 0, od);
			for (int64_t oh = 0; oh < g->out[1]; oh++) {
				at[1] = window_span(g, 1, oh);
				for (int64_t ow = 0; ow < g->out[2]; ow++) {
					at[2] = window_span(g, 2, ow);
					pk_number_set_f(s->dtype, call->outputs[0], idx++,
						window_value(s, call->inputs[0],
							plane * g->in_plane, at));
				}
			}
		}
	}
}

const struct pk_cpu_kernel pk_kernel_pool_ref = {
	.op = PK_OP_POOL,
	.name = "pool_ref",
	.supports = supports,
	.setup = setup,
	.run = run,
};

static bool index_supports(const struct pk_node *node)
{
	struct pk_window geom;
	enum pk_dtype dtype = node->inputs[0]->dtype;
	return (pk_number_is_float(dtype) || pk_number_is_int(dtype)) &&
	       node->outputs[0]->dtype == PK_I64 && pk_window_init(&geom, node);
}

static int index_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pool *s = pk_arena_new(arena, struct pool);
	if (!s)
		return -ENOMEM;
	pk_window_init(&s->geom, node);
	s->dtype = node->inputs[0]->dtype;
	*state = s;
	return 0;
}

// The first of the largest cells, flat over the whole input.
static int64_t window_index(
	const struct pool *s, const void *x, int64_t plane, const struct span at[3])
{
	const struct pk_window *g = &s->geom;
	double most = -INFINITY;
	int64_t best = -1;
	for (int64_t kd = at[0].first; kd <= at[0].last; kd++) {
		for (int64_t kh = at[1].first; kh <= at[1].last; kh++) {
			int64_t row = (at[0].base + kd * g->dilation[0]) * g->in[1] + at[1].base +
				      kh * g->dilation[1];
			for (int64_t kw = at[2].first; kw <= at[2].last; kw++) {
				int64_t i =
					plane + row * g->in[2] + at[2].base + kw * g->dilation[2];
				double v = pk_number_f(s->dtype, x, i);
				if (best < 0 || v > most) {
					most = v;
					best = i;
				}
			}
		}
	}
	return best < 0 ? plane : best;
}

static void index_run(const struct pk_cpu_call *call)
{
	const struct pool *s = call->state;
	const struct pk_window *g = &s->geom;
	int64_t *y = call->outputs[0];
	struct span at[3];
	for (int64_t plane = 0; plane < g->batch * g->in_c; plane++) {
		for (int64_t od = 0; od < g->out[0]; od++) {
			at[0] = window_span(g, 0, od);
			for (int64_t oh = 0; oh < g->out[1]; oh++) {
				at[1] = window_span(g, 1, oh);
				for (int64_t ow = 0; ow < g->out[2]; ow++) {
					at[2] = window_span(g, 2, ow);
					*y++ = window_index(
						s, call->inputs[0], plane * g->in_plane, at);
				}
			}
		}
	}
}

const struct pk_cpu_kernel pk_kernel_pool_index_ref = {
	.op = PK_OP_POOL_INDEX,
	.name = "pool_index_ref",
	.supports = index_supports,
	.setup = index_setup,
	.run = index_run,
};
