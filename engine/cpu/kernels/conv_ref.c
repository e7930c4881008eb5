// SPDX-License-Identifier: Apache-2.0
// Reference convolution and transposed convolution, one to three spatial axes, sums in double.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/scalar.h"

struct conv {
	struct pk_window geom;
	pk_scalar_unary *act;
	double alpha, beta;
	int64_t residual; // PK_RESIDUAL_*
	bool has_bias;
};

static bool conv_supports(const struct pk_node *node)
{
	struct pk_window geom;
	return pk_check_all_dtype(node, PK_F32) && pk_window_init(&geom, node) &&
	       pk_check_conv_bias(node) && pk_check_conv_residual(node) &&
	       pk_scalar_unary_fn(pk_node_fn(node, PK_ATTR_ACT));
}

static struct conv *new_state(
	const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct conv *s = pk_arena_new(arena, struct conv);
	if (!s)
		return NULL;
	pk_window_init(&s->geom, node);
	s->act = pk_scalar_unary_fn(pk_node_fn(node, PK_ATTR_ACT));
	s->alpha = pk_node_float(node, PK_ATTR_ALPHA);
	s->beta = pk_node_float(node, PK_ATTR_BETA);
	s->residual = PK_RESIDUAL_NONE;
	s->has_bias = pk_check_input(node, 2) != NULL;
	*state = s;
	return s;
}

static int conv_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct conv *s = new_state(node, arena, state);
	if (!s)
		return -ENOMEM;
	s->residual = pk_node_int(node, PK_ATTR_RESIDUAL);
	return 0;
}

static size_t conv_workspace(const struct pk_node *node)
{
	struct pk_window geom;
	pk_window_init(&geom, node);
	return (size_t)geom.out[2] * sizeof(double);
}

// Adds one tap of the kernel, in row x of the input, to a row of sums.
static void add_tap(
	double *sums, const struct pk_window *g, const float *x, double weight, int64_t kx)
{
	int64_t base = kx * g->dilation[2] - g->pad[2], stride = g->stride[2];
	int64_t first = base < 0 ? (-base + stride - 1) / stride : 0;
	int64_t last = g->in[2] - 1 < base ? -1 : (g->in[2] - 1 - base) / stride;
	last = PK_MIN(last, g->out[2] - 1);
	for (int64_t o = first; o <= last; o++)
		sums[o] += weight * (double)x[base + o * stride];
}

// Input coordinate of output o under tap k along axis; false outside.
static bool in_coord(const struct pk_window *g, int axis, int64_t o, int64_t k, int64_t *out)
{
	*out = o * g->stride[axis] + k * g->dilation[axis] - g->pad[axis];
	return *out >= 0 && *out < g->in[axis];
}

// One input channel under its kernel plane, into the sums of output row (od, oh).
static void add_channel(double *sums, const struct pk_window *g, const float *x, const float *w,
	const int64_t at[2])
{
	int64_t id, ih;
	for (int64_t kd = 0; kd < g->kernel[0]; kd++) {
		if (!in_coord(g, 0, at[0], kd, &id))
			continue;
		for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
			if (!in_coord(g, 1, at[1], kh, &ih))
				continue;
			const float *row = x + (id * g->in[1] + ih) * g->in[2];
			const float *taps = w + (kd * g->kernel[1] + kh) * g->kernel[2];
			for (int64_t kw = 0; kw < g->kernel[2]; kw++)
				add_tap(sums, g, row, (double)taps[kw], kw);
		}
	}
}

static void finish_row(
	const struct conv *s, const double *sums, float *y, const float *residual, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double v = sums[i];
		if (s->residual == PK_RESIDUAL_BEFORE_ACT)
			v += (double)residual[i];
		v = s->act(v, s->alpha, s->beta);
		if (s->residual == PK_RESIDUAL_AFTER_ACT)
			v += (double)residual[i];
		y[i] = (float)v;
	}
}

// Output channel m of picture n.
static void conv_channel(const struct pk_cpu_call *call, int64_t n, int64_t m)
{
	const struct conv *s = call->state;
	const struct pk_window *g = &s->geom;
	const float *bias = s->has_bias ? call->inputs[2] : NULL, *residual = NULL;
	int64_t per_group = g->in_c / g->group, group = m / (g->out_c / g->group);
	const float *x =
		(const float *)call->inputs[0] + (n * g->in_c + group * per_group) * g->in_plane;
	const float *w = (const float *)call->inputs[1] + m * per_group * g->kernel_plane;
	int64_t plane = (n * g->out_c + m) * g->out_plane;
	double *sums = call->workspace;
	if (s->residual != PK_RESIDUAL_NONE)
		residual = call->inputs[3];
	for (int64_t row = 0; row < g->out[0] * g->out[1]; row++) {
		int64_t at[2] = {row / g->out[1], row % g->out[1]};
		int64_t off = plane + row * g->out[2];
		for (int64_t i = 0; i < g->out[2]; i++)
			sums[i] = bias ? (double)bias[m] : 0;
		for (int64_t c = 0; c < per_group; c++)
			add_channel(sums, g, x + c * g->in_plane, w + c * g->kernel_plane, at);
		finish_row(s, sums, (float *)call->outputs[0] + off,
			residual ? residual + off : NULL, g->out[2]);
	}
}

static void conv_run(const struct pk_cpu_call *call)
{
	const struct conv *s = call->state;
	for (int64_t n = 0; n < s->geom.batch; n++) {
		for (int64_t m = 0; m < s->geom.out_c; m++)
			conv_channel(call, n, m);
	}
}

const struct pk_cpu_kernel pk_kernel_conv_ref = {
	.op = PK_OP_CONV,
	.name = "conv_ref",
	.supports = conv_supports,
	.workspace = conv_workspace,
	.setup = conv_setup,
	.run = conv_run,
};

static bool transpose_supports(const struct pk_node *node)
{
	struct pk_window geom;
	return pk_check_all_dtype(node, PK_F32) && pk_window_init(&geom, node) &&
	       pk_check_conv_bias(node) && pk_scalar_unary_fn(pk_node_fn(node, PK_ATTR_ACT));
}

static int transpose_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	return new_state(node, arena, state) ? 0 : -ENOMEM;
}

static size_t transpose_workspace(const struct pk_node *node)
{
	struct pk_window geom;
	pk_window_init(&geom, node);
	return (size_t)geom.out_plane * sizeof(double);
}

// Output coordinate that input i reaches through tap k along axis; false outside.
static bool out_coord(const struct pk_window *g, int axis, int64_t i, int64_t k, int64_t *out)
{
	*out = i * g->stride[axis] + k * g->dilation[axis] - g->pad[axis];
	return *out >= 0 && *out < g->out[axis];
}

// Spreads one input row (id, ih) through one kernel plane.
static void spread_row(double *sums, const struct pk_window *g, const float *row, const float *w,
	const int64_t at[2])
{
	int64_t od, oh, ow;
	for (int64_t k = 0; k < g->kernel_plane; k++) {
		int64_t kw = k % g->kernel[2], kh = k / g->kernel[2] % g->kernel[1];
		int64_t kd = k / (g->kernel[2] * g->kernel[1]);
		if (!out_coord(g, 0, at[0], kd, &od) || !out_coord(g, 1, at[1], kh, &oh))
			continue;
		double *out = sums + (od * g->out[1] + oh) * g->out[2];
		for (int64_t i = 0; i < g->in[2]; i++) {
			if (out_coord(g, 2, i, kw, &ow))
				out[ow] += (double)w[k] * (double)row[i];
		}
	}
}

static void transpose_channel(const struct pk_cpu_call *call, int64_t n, int64_t m)
{
	const struct conv *s = call->state;
	const struct pk_window *g = &s->geom;
	const float *bias = s->has_bias ? call->inputs[2] : NULL;
	int64_t in_per_group = g->in_c / g->group, out_per_group = g->out_c / g->group;
	int64_t c0 = m / out_per_group * in_per_group;
	double *sums = call->workspace;
	for (int64_t i = 0; i < g->out_plane; i++)
		sums[i] = bias ? (double)bias[m] : 0;
	for (int64_t c = c0; c < c0 + in_per_group; c++) {
		const float *x = (const float *)call->inputs[0] + (n * g->in_c + c) * g->in_plane;
		const float *w = (const float *)call->inputs[1] +
				 (c * out_per_group + m % out_per_group) * g->kernel_plane;
		for (int64_t row = 0; row < g->in[0] * g->in[1]; row++) {
			int64_t at[2] = {row / g->in[1], row % g->in[1]};
			spread_row(sums, g, x + row * g->in[2], w, at);
		}
	}
	finish_row(s, sums, (float *)call->outputs[0] + (n * g->out_c + m) * g->out_plane, NULL,
		g->out_plane);
}

static void transpose_run(const struct pk_cpu_call *call)
{
	const struct conv *s = call->state;
	for (int64_t n = 0; n < s->geom.batch; n++) {
		for (int64_t m = 0; m < s->geom.out_c; m++)
			transpose_channel(call, n, m);
	}
}

const struct pk_cpu_kernel pk_kernel_conv_transpose_ref = {
	.op = PK_OP_CONV_TRANSPOSE,
	.name = "conv_transpose_ref",
	.supports = transpose_supports,
	.workspace = transpose_workspace,
	.setup = transpose_setup,
	.run = transpose_run,
};
