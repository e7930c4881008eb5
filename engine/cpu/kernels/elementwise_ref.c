// SPDX-License-Identifier: Apache-2.0
// Reference kernels of the elementwise operators: unary, binary, prelu, where, cast.
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/scalar.h"
#include "engine/cpu/kernels/walk.h"

struct elementwise {
	struct pk_walk walk; // operand 0: output, then the inputs
	enum pk_dtype in, out;
	size_t bytes; // where: of one element
	enum pk_fn fn;
	double alpha, beta;
	pk_scalar_unary *unary;
	pk_scalar_binary *binary;
	pk_scalar_binary_int *binary_int;
};

// Walk over the output and all inputs, broadcast.
static struct elementwise *new_state(
	const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct elementwise *s = pk_arena_new(arena, struct elementwise);
	if (!s)
		return NULL;
	pk_walk_init(&s->walk, pk_check_out_shape(node));
	pk_walk_add_shape(&s->walk, pk_check_out_shape(node));
	for (int i = 0; i < node->n_inputs; i++)
		pk_walk_add_shape(&s->walk, pk_check_in_shape(node, i));
	pk_walk_fold(&s->walk);
	s->in = node->inputs[node->n_inputs - 1]->dtype;
	s->out = node->outputs[0]->dtype;
	s->bytes = pk_dtype_bytes(s->out);
	*state = s;
	return s;
}

// Every input's shape must broadcast to the output's.
static bool broadcasts(const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_shape joint;
		if (!node->inputs[i] ||
			!pk_shape_broadcast(
				pk_check_in_shape(node, i), pk_check_out_shape(node), &joint) ||
			!pk_shape_equal(&joint, pk_check_out_shape(node)))
			return false;
	}
	return true;
}

static bool unary_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	enum pk_dtype dtype = node->inputs[0]->dtype;
	if (!pk_check_same_dtype(node) || !pk_scalar_unary_fn(fn) || !broadcasts(node))
		return false;
	if (fn == PK_FN_NOT)
		return dtype == PK_BOOL;
	bool exact = fn == PK_FN_NONE || fn == PK_FN_ABS || fn == PK_FN_NEG || fn == PK_FN_SIGN ||
		     fn == PK_FN_RELU || fn == PK_FN_CLIP;
	return pk_number_is_float(dtype) || (exact && pk_number_is_int(dtype));
}

static int unary_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct elementwise *s = new_state(node, arena, state);
	if (!s)
		return -ENOMEM;
	s->fn = pk_node_fn(node, PK_ATTR_FN);
	s->unary = pk_scalar_unary_fn(s->fn);
	s->alpha = pk_node_float(node, PK_ATTR_ALPHA);
	s->beta = pk_node_float(node, PK_ATTR_BETA);
	return 0;
}

// A bound as an integer: saturated, so that what a damaged engine file holds is no worse than
// wrong.
static int64_t bound_of(double v)
{
	int64_t out = 0;
	pk_number_set_f(PK_I64, &out, 0, v);
	return out;
}

// Integers beyond 2^53 lose their low bits in a double: these four stay in int64.
static int64_t unary_int(const struct elementwise *s, int64_t x)
{
	switch (s->fn) {
	case PK_FN_ABS:
		return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
	case PK_FN_NEG:
		return (int64_t)(0 - (uint64_t)x);
	case PK_FN_SIGN:
		return (x > 0) - (x < 0);
	case PK_FN_RELU:
		return x < 0 ? 0 : x;
	case PK_FN_CLIP:
		if ((double)x < s->alpha)
			x = bound_of(s->alpha);
		return (double)x > s->beta ? bound_of(s->beta) : x;
	default:
		return x;
	}
}

static void unary_run(const struct pk_cpu_call *call)
{
	const struct elementwise *s = call->state;
	for (int64_t i = 0; i < s->walk.n; i++) {
		if (pk_number_is_int(s->in)) {
			int64_t x = pk_number_i(s->in, call->inputs[0], i);
			pk_number_set_i(s->out, call->outputs[0], i, unary_int(s, x));
			continue;
		}
		double x = pk_number_f(s->in, call->inputs[0], i);
		pk_number_set_f(s->out, call->outputs[0], i, s->unary(x, s->alpha, s->beta));
	}
}

const struct pk_cpu_kernel pk_kernel_unary_ref = {
	.op = PK_OP_UNARY,
	.name = "unary_ref",
	.in_place = true,
	.supports = unary_supports,
	.setup = unary_setup,
	.run = unary_run,
};

static bool binary_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	enum pk_dtype in = node->inputs[0]->dtype, out = node->outputs[0]->dtype;
	if (!pk_scalar_binary_fn(fn) || node->inputs[1]->dtype != in || !broadcasts(node))
		return false;
	bool number = pk_number_is_float(in) || pk_number_is_int(in);
	switch (pk_fn_class(fn)) {
	case PK_FN_CLASS_C:
		return out == PK_BOOL && (number || (in == PK_BOOL && fn == PK_FN_EQUAL));
	case PK_FN_CLASS_L:
		return out == PK_BOOL && in == PK_BOOL;
	default:
		return out == in && number;
	}
}

static int binary_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct elementwise *s = new_state(node, arena, state);
	if (!s)
		return -ENOMEM;
	s->fn = pk_node_fn(node, PK_ATTR_FN);
	s->binary = pk_scalar_binary_fn(s->fn);
	s->binary_int = pk_scalar_binary_int_fn(s->fn);
	return 0;
}

static void binary_element(const struct elementwise *s, void *y, int64_t y_idx,
	const void *const *in, const int64_t *idx)
{
	if (pk_number_is_float(s->in)) {
		double a = pk_number_f(s->in, in[0], idx[0]);
		double b = pk_number_f(s->in, in[1], idx[1]);
		pk_number_set_f(s->out, y, y_idx, s->binary(a, b));
	} else {
		int64_t a = pk_number_i(s->in, in[0], idx[0]);
		int64_t b = pk_number_i(s->in, in[1], idx[1]);
		pk_number_set_i(s->out, y, y_idx, s->binary_int(a, b));
	}
}

static void binary_run(const struct pk_cpu_call *call)
{
	const struct elementwise *s = call->state;
	const struct pk_walk *w = &s->walk;
	struct pk_walk_pos pos = {0};
	if (!w->n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(w); i++) {
			int64_t idx[2] = {pos.off[1] + i * pk_walk_stride(w, 1),
				pos.off[2] + i * pk_walk_stride(w, 2)};
			binary_element(s, call->outputs[0], pos.off[0] + i * pk_walk_stride(w, 0),
				call->inputs, idx);
		}
	} while (pk_walk_next(w, &pos));
}

const struct pk_cpu_kernel pk_kernel_binary_ref = {
	.op = PK_OP_BINARY,
	.name = "binary_ref",
	.in_place = true,
	.supports = binary_supports,
	.setup = binary_setup,
	.run = binary_run,
};

static bool prelu_supports(const struct pk_node *node)
{
	return pk_check_all_float(node) && broadcasts(node);
}

static int plain_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	return new_state(node, arena, state) ? 0 : -ENOMEM;
}

static void prelu_run(const struct pk_cpu_call *call)
{
	const struct elementwise *s = call->state;
	const struct pk_walk *w = &s->walk;
	struct pk_walk_pos pos = {0};
	if (!w->n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(w); i++) {
			double x = pk_number_f(
				s->in, call->inputs[0], pos.off[1] + i * pk_walk_stride(w, 1));
			double slope = pk_number_f(
				s->in, call->inputs[1], pos.off[2] + i * pk_walk_stride(w, 2));
			pk_number_set_f(s->out, call->outputs[0],
				pos.off[0] + i * pk_walk_stride(w, 0), x < 0 ? slope * x : x);
		}
	} while (pk_walk_next(w, &pos));
}

const struct pk_cpu_kernel pk_kernel_prelu_ref = {
	.op = PK_OP_PRELU,
	.name = "prelu_ref",
	.in_place = true,
	.supports = prelu_supports,
	.setup = plain_setup,
	.run = prelu_run,
};

static bool where_supports(const struct pk_node *node)
{
	enum pk_dtype dtype = node->outputs[0]->dtype;
	return pk_dtype_bytes(dtype) && node->inputs[0]->dtype == PK_BOOL && broadcasts(node) &&
	       node->inputs[1]->dtype == dtype && node->inputs[2]->dtype == dtype;
}

static void where_run(const struct pk_cpu_call *call)
{
	const struct elementwise *s = call->state;
	const struct pk_walk *w = &s->walk;
	const uint8_t *condition = call->inputs[0];
	struct pk_walk_pos pos = {0};
	if (!w->n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(w); i++) {
			int from = condition[pos.off[1] + i * pk_walk_stride(w, 1)] ? 1 : 2;
			int64_t src = pos.off[from + 1] + i * pk_walk_stride(w, from + 1);
			int64_t dst = pos.off[0] + i * pk_walk_stride(w, 0);
			pk_walk_copy_run((char *)call->outputs[0] + dst * (int64_t)s->bytes, 1,
				(const char *)call->inputs[from] + src * (int64_t)s->bytes, 1, 1,
				s->bytes);
		}
	} while (pk_walk_next(w, &pos));
}

const struct pk_cpu_kernel pk_kernel_where_ref = {
	.op = PK_OP_WHERE,
	.name = "where_ref",
	.in_place = true,
	.supports = where_supports,
	.setup = plain_setup,
	.run = where_run,
};

static bool cast_supports(const struct pk_node *node)
{
	return pk_dtype_bytes(node->inputs[0]->dtype) && pk_dtype_bytes(node->outputs[0]->dtype) &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static void cast_run(const struct pk_cpu_call *call)
{
	const struct elementwise *s = call->state;
	bool by_double =
		pk_number_is_float(s->in) || (pk_number_is_float(s->out) && s->in == PK_U64);
	for (int64_t i = 0; i < s->walk.n; i++) {
		if (by_double)
			pk_number_set_f(s->out, call->outputs[0], i,
				pk_number_f(s->in, call->inputs[0], i));
		else
			pk_number_set_i(s->out, call->outputs[0], i,
				pk_number_i(s->in, call->inputs[0], i));
	}
}

const struct pk_cpu_kernel pk_kernel_cast_ref = {
	.op = PK_OP_CAST,
	.name = "cast_ref",
	.in_place = true,
	.supports = cast_supports,
	.setup = plain_setup,
	.run = cast_run,
};
