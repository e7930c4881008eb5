// SPDX-License-Identifier: Apache-2.0
// Linear and cubic resizing of f32 pictures: rows across once, kept while they are needed, then
// down.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/resize.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define TAPS_MAX 8 // wider filters are the reference's

struct resize {
	int64_t planes, in_h, in_w, out_h, out_w;
	struct pk_resize_axis down, across;
	float *weights; // across, [tap][out_w]
};

static int64_t taps_of(const struct pk_node *node, int axis)
{
	double scale = pk_node_attr(node, PK_ATTR_SCALES)->f[axis];
	int64_t taps = pk_node_int(node, PK_ATTR_MODE) == PK_MODE_CUBIC ? 4 : 2;
	bool wide = pk_node_int(node, PK_ATTR_ANTIALIAS) && scale < 1;
	return wide ? (int64_t)((double)taps / scale) + 2 : taps;
}

static bool supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	const struct pk_attr_value *scales = pk_node_attr(node, PK_ATTR_SCALES);
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	if (!pk_check_all_dtype(node, PK_F32) || x->rank < 2 || x->rank != y->rank ||
		(mode != PK_MODE_LINEAR && mode != PK_MODE_CUBIC) ||
		pk_node_int(node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE)
		return false;
	for (int axis = 0; axis < x->rank; axis++) {
		if (!pk_resize_axis_ok(node, axis))
			return false;
		if (axis < x->rank - 2 ? x->dims[axis] != y->dims[axis] || scales->f[axis] != 1
				       : taps_of(node, axis) > TAPS_MAX)
			return false;
	}
	return pk_shape_elements(y) > 0;
}

static size_t workspace(const struct pk_node *node)
{
	const struct pk_shape *y = pk_check_out_shape(node);
	return (size_t)y->dims[y->rank - 1] * TAPS_MAX * 2 * sizeof(float);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct resize *s = pk_arena_new(arena, struct resize);
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	if (!s)
		return -ENOMEM;
	s->in_h = x->dims[x->rank - 2];
	s->in_w = x->dims[x->rank - 1];
	s->out_h = y->dims[x->rank - 2];
	s->out_w = y->dims[x->rank - 1];
	s->planes = pk_shape_elements(y) / (s->out_h * s->out_w);
	if (pk_resize_axis_init(&s->down, node, x->rank - 2, arena) < 0 ||
		pk_resize_axis_init(&s->across, node, x->rank - 1, arena) < 0)
		return -ENOMEM;
	int64_t n_taps = s->across.n_taps;
	s->weights = pk_arena_array(arena, (size_t)(s->out_w * n_taps), sizeof(*s->weights));
	if (!s->weights)
		return -ENOMEM;
	for (int64_t i = 0; i < s->out_w * n_taps; i++)
		s->weights[i] = (float)s->across.weights[i];
	*state = s;
	return 0;
}

static void row_across(const struct resize *s, const float *x, float *restrict out)
{
	const int64_t *idx = s->across.idx, n = s->across.n_taps;
	const float *w = s->weights;
	if (n == 2) {
		for (int64_t i = 0; i < s->out_w; i++)
			out[i] = w[2 * i] * x[idx[2 * i]] + w[2 * i + 1] * x[idx[2 * i + 1]];
		return;
	}
	for (int64_t i = 0; i < s->out_w; i++) {
		float sum = 0;
		for (int64_t t = 0; t < n; t++)
			sum += w[i * n + t] * x[idx[i * n + t]];
		out[i] = sum;
	}
}

// Rows that have been resampled across, by input row: slot = row modulo the number of slots, which
// exceeds the span of one window.
struct rows {
	int64_t held[2 * TAPS_MAX]; // -1: none
	float *data;
};

static const float *row_at(const struct resize *s, struct rows *rows, const float *x, int64_t row)
{
	int64_t slot = row % (2 * TAPS_MAX);
	float *data = rows->data + slot * s->out_w;
	if (rows->held[slot] != row) {
		row_across(s, x + row * s->in_w, data);
		rows->held[slot] = row;
	}
	return data;
}

static void output_row(
	const struct resize *s, struct rows *rows, const float *x, int64_t oh, float *restrict y)
{
	memset(y, 0, (size_t)s->out_w * sizeof(*y));
	for (int64_t t = oh * s->down.n_taps; t < (oh + 1) * s->down.n_taps; t++) {
		float w = (float)s->down.weights[t];
		if (w == 0)
			continue;
		const float *row = row_at(s, rows, x, s->down.idx[t]);
		for (int64_t i = 0; i < s->out_w; i++)
			y[i] += w * row[i];
	}
}

static void run(const struct pk_cpu_call *call)
{
	const struct resize *s = call->state;
	struct rows rows = {.data = call->workspace};
	for (int64_t plane = 0; plane < s->planes; plane++) {
		const float *x = (const float *)call->inputs[0] + plane * s->in_h * s->in_w;
		float *y = (float *)call->outputs[0] + plane * s->out_h * s->out_w;
		memset(rows.held, 0xff, sizeof(rows.held));
		for (int64_t oh = 0; oh < s->out_h; oh++)
			output_row(s, &rows, x, oh, y + oh * s->out_w);
	}
}

const struct pk_cpu_kernel pk_kernel_resize_rows = {
	.op = PK_OP_RESIZE,
	.name = "resize_rows",
	.rank = 10,
	.supports = supports,
	.workspace = workspace,
	.setup = setup,
	.run = run,
};
