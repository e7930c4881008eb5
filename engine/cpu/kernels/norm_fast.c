// SPDX-License-Identifier: Apache-2.0
// Instance and layer normalisation of f32 rows: two passes for the moments, one to write.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define LANES 16   // partial sums, so that the loop vectorises without reordering by the compiler
#define BLOCK 4096 // floats that are summed in f32; their sums in double

// x as [rows, n].
struct norm {
	int64_t rows, n, channels;
	double epsilon;
	bool has_bias;
};

// Sum of f(x - shift), f: itself or its square.
static double sum_of(const float *x, int64_t n, float shift, bool square)
{
	double all = 0;
	for (int64_t first = 0; first < n; first += BLOCK) {
		int64_t end = PK_MIN(first + BLOCK, n), i = first;
		float part[LANES] = {0};
		for (; i + LANES <= end; i += LANES)
			for (int l = 0; l < LANES; l++) {
				float d = x[i + l] - shift;
				part[l] += square ? d * d : d;
			}
		for (; i < end; i++) {
			float d = x[i] - shift;
			part[0] += square ? d * d : d;
		}
		for (int l = 0; l < LANES; l++)
			all += (double)part[l];
	}
	return all;
}

// Mean and 1 / sqrt(variance + epsilon). The first element is taken off so that a large mean costs
// no digits.
static void moments(const struct norm *s, const float *x, float *mean, float *inverse)
{
	double m = (double)x[0] + sum_of(x, s->n, x[0], false) / (double)s->n;
	*mean = (float)m;
	double off = m - (double)*mean; // what rounding the mean left out
	double variance = sum_of(x, s->n, *mean, true) / (double)s->n - off * off;
	*inverse = (float)(1 / sqrt(fmax(variance, 0) + s->epsilon));
}

static bool channels_fit(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	for (int i = 1; i < node->n_inputs; i++) {
		const struct pk_value *v = node->inputs[i];
		if (!v || v->shape.rank != 1 || v->shape.dims[0] != x->dims[1])
			return false;
	}
	return true;
}

static bool instance_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	return pk_check_all_dtype(node, PK_F32) && x->rank >= 2 &&
	       pk_shape_equal(x, pk_check_out_shape(node)) && pk_shape_elements(x) > 0 &&
	       node->n_inputs == 3 && channels_fit(node);
}

static int64_t inner_of(const struct pk_node *node, int axis)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t n = 1;
	for (int i = axis; i < x->rank; i++)
		n *= x->dims[i];
	return n;
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct norm *s = pk_arena_new(arena, struct norm);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	bool layer = node->op == PK_OP_LAYER_NORM;
	if (!s)
		return -ENOMEM;
	s->n = inner_of(node, layer ? (int)pk_node_int(node, PK_ATTR_AXIS) : 2);
	s->rows = pk_shape_elements(x) / s->n;
	s->channels = x->rank > 1 ? x->dims[1] : 1;
	s->epsilon = pk_node_float(node, PK_ATTR_EPSILON);
	s->has_bias = pk_check_input(node, 2) != NULL;
	*state = s;
	return 0;
}

static void instance_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	const float *x = call->inputs[0], *scale = call->inputs[1], *bias = call->inputs[2];
	float *y = call->outputs[0];
	for (int64_t row = 0; row < s->rows; row++, x += s->n, y += s->n) {
		float mean, inverse;
		moments(s, x, &mean, &inverse);
		float a = inverse * scale[row % s->channels], b = bias[row % s->channels];
		for (int64_t i = 0; i < s->n; i++)
			y[i] = (x[i] - mean) * a + b;
	}
}

static bool layer_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	if (!pk_check_all_dtype(node, PK_F32) || axis < 0 || axis >= x->rank ||
		!pk_shape_equal(x, pk_check_out_shape(node)) || pk_shape_elements(x) == 0)
		return false;
	for (int i = 1; i < node->n_inputs; i++) {
		const struct pk_value *v = node->inputs[i];
		if (v ? pk_shape_elements(&v->shape) != inner_of(node, (int)axis) : i == 1)
			return false;
	}
	return node->n_inputs >= 2;
}

static void layer_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	const float *x = call->inputs[0], *scale = call->inputs[1];
	const float *bias = s->has_bias ? call->inputs[2] : NULL;
	float *y = call->outputs[0];
	for (int64_t row = 0; row < s->rows; row++, x += s->n, y += s->n) {
		float mean, inverse;
		moments(s, x, &mean, &inverse);
		for (int64_t i = 0; i < s->n; i++)
			y[i] = (x[i] - mean) * inverse * scale[i];
		for (int64_t i = 0; bias && i < s->n; i++)
			y[i] += bias[i];
	}
}

#define ROW(op_, name_, supports_, run_)                                                           \
	const struct pk_cpu_kernel pk_kernel_##name_ = {                                           \
		.op = op_,                                                                         \
		.name = #name_,                                                                    \
		.rank = 10,                                                                        \
		.supports = supports_,                                                             \
		.setup = setup,                                                                    \
		.run = run_,                                                                       \
	};
ROW(PK_OP_INSTANCE_NORM, instance_norm_rows, instance_supports, instance_run)
ROW(PK_OP_LAYER_NORM, layer_norm_rows, layer_supports, layer_run)
