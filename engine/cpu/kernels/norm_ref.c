// SPDX-License-Identifier: Apache-2.0
// Reference normalisations (batch, instance, layer) and softmax, sums in double.
#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"

// x as [outer, n, inner].
struct norm {
	enum pk_dtype dtype;
	int64_t outer, n, inner;
	int64_t channels;
	double epsilon;
	bool log, has_bias;
};

static int64_t product(const struct pk_shape *shape, int from, int to)
{
	int64_t n = 1;
	for (int i = from; i < to; i++)
		n *= shape->dims[i];
	return n;
}

// Splits the shape at axes [from, to).
static struct norm *new_state(const struct pk_node *node, struct pk_arena *arena, int from, int to)
{
	struct norm *s = pk_arena_new(arena, struct norm);
	const struct pk_shape *shape = pk_check_in_shape(node, 0);
	if (!s)
		return NULL;
	s->dtype = node->inputs[0]->dtype;
	s->outer = product(shape, 0, from);
	s->n = product(shape, from, to);
	s->inner = product(shape, to, shape->rank);
	s->channels = shape->rank > 1 ? shape->dims[1] : 1;
	return s;
}

// Operands from 1 on are vectors of one number a channel.
static bool channel_norm_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	if (!pk_check_all_float(node) || x->rank < 2 ||
		!pk_shape_equal(x, pk_check_out_shape(node)))
		return false;
	for (int i = 1; i < node->n_inputs; i++) {
		const struct pk_value *v = node->inputs[i];
		if (!v || v->shape.rank != 1 || v->shape.dims[0] != x->dims[1])
			return false;
	}
	return true;
}

static int channel_norm_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct norm *s = new_state(node, arena, 2, pk_check_in_shape(node, 0)->rank);
	if (!s)
		return -ENOMEM;
	s->epsilon = pk_node_float(node, PK_ATTR_EPSILON);
	*state = s;
	return 0;
}

static void batch_norm_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	const void *const *in = call->inputs;
	for (int64_t row = 0; row < s->outer; row++) {
		int64_t c = row % s->channels;
		double scale = pk_number_f(s->dtype, in[1], c),
		       bias = pk_number_f(s->dtype, in[2], c);
		double mean = pk_number_f(s->dtype, in[3], c),
		       var = pk_number_f(s->dtype, in[4], c);
		double factor = scale / sqrt(var + s->epsilon);
		for (int64_t i = row * s->n; i < (row + 1) * s->n; i++) {
			double x = pk_number_f(s->dtype, in[0], i);
			pk_number_set_f(s->dtype, call->outputs[0], i, (x - mean) * factor + bias);
		}
	}
}

const struct pk_cpu_kernel pk_kernel_batch_norm_ref = {
	.op = PK_OP_BATCH_NORM,
	.name = "batch_norm_ref",
	.supports = channel_norm_supports,
	.setup = channel_norm_setup,
	.run = batch_norm_run,
};

// Mean and 1 / sqrt(variance + epsilon) of one row of n elements.
static void row_moments(const struct norm *s, const void *x, int64_t row, double *mean, double *inv)
{
	double sum = 0, squares = 0;
	for (int64_t i = row * s->n; i < (row + 1) * s->n; i++)
		sum += pk_number_f(s->dtype, x, i);
	*mean = sum / (double)s->n;
	for (int64_t i = row * s->n; i < (row + 1) * s->n; i++) {
		double d = pk_number_f(s->dtype, x, i) - *mean;
		squares += d * d;
	}
	*inv = 1 / sqrt(squares / (double)s->n + s->epsilon);
}

static void instance_norm_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	const void *const *in = call->inputs;
	for (int64_t row = 0; row < s->outer; row++) {
		int64_t c = row % s->channels;
		double scale = pk_number_f(s->dtype, in[1], c),
		       bias = pk_number_f(s->dtype, in[2], c);
		double mean, inv;
		row_moments(s, in[0], row, &mean, &inv);
		for (int64_t i = row * s->n; i < (row + 1) * s->n; i++) {
			double x = pk_number_f(s->dtype, in[0], i);
			pk_number_set_f(
				s->dtype, call->outputs[0], i, (x - mean) * inv * scale + bias);
		}
	}
}

const struct pk_cpu_kernel pk_kernel_instance_norm_ref = {
	.op = PK_OP_INSTANCE_NORM,
	.name = "instance_norm_ref",
	.supports = channel_norm_supports,
	.setup = channel_norm_setup,
	.run = instance_norm_run,
};

static bool axis_ok(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	return pk_check_all_float(node) && axis >= 0 && axis < x->rank &&
	       pk_shape_equal(x, pk_check_out_shape(node));
}

static bool layer_norm_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	if (!axis_ok(node))
		return false;
	int64_t n = product(x, (int)pk_node_int(node, PK_ATTR_AXIS), x->rank);
	for (int i = 1; i < node->n_inputs; i++) {
		const struct pk_value *v = node->inputs[i];
		if (v ? pk_shape_elements(&v->shape) != n : i == 1)
			return false;
	}
	return true;
}

static int layer_norm_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	struct norm *s = new_state(node, arena, axis, pk_check_in_shape(node, 0)->rank);
	if (!s)
		return -ENOMEM;
	s->epsilon = pk_node_float(node, PK_ATTR_EPSILON);
	s->has_bias = pk_check_input(node, 2) != NULL;
	*state = s;
	return 0;
}

static void layer_norm_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	const void *const *in = call->inputs;
	for (int64_t row = 0; row < s->outer; row++) {
		double mean, inv;
		row_moments(s, in[0], row, &mean, &inv);
		for (int64_t i = 0; i < s->n; i++) {
			double x = pk_number_f(s->dtype, in[0], row * s->n + i);
			double bias = s->has_bias ? pk_number_f(s->dtype, in[2], i) : 0;
			double y = (x - mean) * inv * pk_number_f(s->dtype, in[1], i) + bias;
			pk_number_set_f(s->dtype, call->outputs[0], row * s->n + i, y);
		}
	}
}

const struct pk_cpu_kernel pk_kernel_layer_norm_ref = {
	.op = PK_OP_LAYER_NORM,
	.name = "layer_norm_ref",
	.supports = layer_norm_supports,
	.setup = layer_norm_setup,
	.run = layer_norm_run,
};

static bool softmax_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	return axis_ok(node) && (fn == PK_FN_SOFTMAX || fn == PK_FN_LOG_SOFTMAX);
}

static int softmax_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	struct norm *s = new_state(node, arena, axis, axis + 1);
	if (!s)
		return -ENOMEM;
	s->log = pk_node_fn(node, PK_ATTR_FN) == PK_FN_LOG_SOFTMAX;
	*state = s;
	return 0;
}

static void softmax_row(const struct norm *s, const void *x, void *y, int64_t base)
{
	double most = -INFINITY, sum = 0;
	for (int64_t i = 0; i < s->n; i++)
		most = fmax(most, pk_number_f(s->dtype, x, base + i * s->inner));
	for (int64_t i = 0; i < s->n; i++)
		sum += exp(pk_number_f(s->dtype, x, base + i * s->inner) - most);
	for (int64_t i = 0; i < s->n; i++) {
		double v = pk_number_f(s->dtype, x, base + i * s->inner) - most;
		pk_number_set_f(
			s->dtype, y, base + i * s->inner, s->log ? v - log(sum) : exp(v) / sum);
	}
}

static void softmax_run(const struct pk_cpu_call *call)
{
	const struct norm *s = call->state;
	for (int64_t outer = 0; outer < s->outer; outer++) {
		for (int64_t i = 0; i < s->inner; i++)
			softmax_row(
				s, call->inputs[0], call->outputs[0], outer * s->n * s->inner + i);
	}
}

const struct pk_cpu_kernel pk_kernel_softmax_ref = {
	.op = PK_OP_SOFTMAX,
	.name = "softmax_ref",
	.supports = softmax_supports,
	.setup = softmax_setup,
	.run = softmax_run,
};
