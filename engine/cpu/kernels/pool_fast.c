// SPDX-License-Identifier: Apache-2.0
// Pooling of f32 pictures in two steps: rows of the window into one line, then columns.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

struct pool {
	struct pk_window geom;
	bool average;
	float *inverse_rows, *inverse_columns; // of the cells counted per output coordinate
};

static bool supports(const struct pk_node *node)
{
	struct pk_window g;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	return pk_check_all_dtype(node, PK_F32) && pk_check_in_shape(node, 0)->rank <= 4 &&
	       (fn == PK_FN_POOL_MAX || fn == PK_FN_POOL_AVG) && pk_window_init(&g, node);
}

static size_t workspace(const struct pk_node *node)
{
	struct pk_window g;
	pk_window_init(&g, node);
	return (size_t)g.in[2] * sizeof(float);
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

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pool *s = pk_arena_new(arena, struct pool);
	if (!s)
		return -ENOMEM;
	bool count_pad = pk_node_int(node, PK_ATTR_COUNT_PAD) != 0;
	pk_window_init(&s->geom, node);
	s->average = pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_AVG;
	s->inverse_rows = inverse_counts(&s->geom, 1, count_pad, arena);
	s->inverse_columns = inverse_counts(&s->geom, 2, count_pad, arena);
	*state = s;
	return s->inverse_rows && s->inverse_columns ? 0 : -ENOMEM;
}

// max: keeps NaN, as the reference does.
static void merge_row(bool average, float *restrict line, const float *x, int64_t n)
{
	if (average) {
		for (int64_t i = 0; i < n; i++)
			line[i] += x[i];
	} else {
		for (int64_t i = 0; i < n; i++)
			line[i] = x[i] > line[i] || x[i] != x[i] ? x[i] : line[i];
	}
}

// All rows under output row oh.
static void merge_rows(const struct pool *s, const float *x, int64_t oh, float *line)
{
	const struct pk_window *g = &s->geom;
	float start = s->average ? 0 : -INFINITY;
	for (int64_t i = 0; i < g->in[2]; i++)
		line[i] = start;
	for (int64_t k = 0; k < g->kernel[1]; k++) {
		int64_t ih = oh * g->stride[1] + k * g->dilation[1] - g->pad[1];
		if (ih >= 0 && ih < g->in[1])
			merge_row(s->average, line, x + ih * g->in[2], g->in[2]);
	}
}

static void merge_column(const struct pool *s, const float *line, int64_t k, float *restrict y)
{
	const struct pk_window *g = &s->geom;
	int64_t stride = g->stride[2], base = k * g->dilation[2] - g->pad[2];
	int64_t first = base < 0 ? (-base + stride - 1) / stride : 0;
	int64_t end = g->in[2] <= base ? 0 : (g->in[2] - 1 - base) / stride + 1;
	end = PK_MIN(end, g->out[2]);
	if (first >= end)
		return;
	if (stride == 1) {
		merge_row(s->average, y + first, line + base + first, end - first);
		return;
	}
	for (int64_t o = first; o < end; o++) {
		float v = line[base + o * stride];
		y[o] = s->average ? y[o] + v : v > y[o] || v != v ? v : y[o];
	}
}

static void run(const struct pk_cpu_call *call)
{
	const struct pool *s = call->state;
	const struct pk_window *g = &s->geom;
	const float *x = call->inputs[0];
	float *y = call->outputs[0], *line = call->workspace;
	float start = s->average ? 0 : -INFINITY;
	for (int64_t plane = 0; plane < g->batch * g->in_c; plane++, x += g->in_plane) {
		for (int64_t oh = 0; oh < g->out[1]; oh++, y += g->out[2]) {
			merge_rows(s, x, oh, line);
			for (int64_t i = 0; i < g->out[2]; i++)
				y[i] = start;
			for (int64_t k = 0; k < g->kernel[2]; k++)
				merge_column(s, line, k, y);
			for (int64_t i = 0; s->average && i < g->out[2]; i++)
				y[i] *= s->inverse_rows[oh] * s->inverse_columns[i];
		}
	}
}

const struct pk_cpu_kernel pk_kernel_pool_line = {
	.op = PK_OP_POOL,
	.name = "pool_line",
	.rank = 20,
	.supports = supports,
	.workspace = workspace,
	.setup = setup,
	.run = run,
};
