// SPDX-License-Identifier: Apache-2.0
// Property: on random graphs the passes change no result beyond rounding, all of them together and
// with any one switched off; output names stay.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/checked.h"
#include "engine/cpu/eval.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"
#include "engine/passes/pass.h"

#define N_GRAPHS    400
#define MAX_VALUES  64
#define MAX_OUTPUTS 4

struct builder {
	struct pk_graph *graph;
	uint64_t seed;
	struct pk_value *values[MAX_VALUES]; // all f32[1,c,h,w]
	int n_values;
	int n_names;
};

static uint32_t next(struct builder *b)
{
	b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(b->seed >> 33);
}

static int pick(struct builder *b, int n)
{
	return (int)(next(b) % (uint32_t)n);
}

static float number(struct builder *b, float low, float high)
{
	return low + (high - low) * (float)(next(b) & 0xffff) / 65535.0f;
}

static struct pk_value *any(struct builder *b)
{
	// Young values more often, so that chains grow.
	int back = pick(b, 3) ? pick(b, PK_MIN(b->n_values, 3)) : pick(b, b->n_values);
	return b->values[b->n_values - 1 - back];
}

static struct pk_value *constant(
	struct builder *b, int rank, const int64_t *dims, float low, float high)
{
	struct pk_shape shape = {.rank = rank};
	for (int i = 0; i < rank; i++)
		shape.dims[i] = dims[i];
	int64_t n = pk_shape_elements(&shape);
	float *data = pk_graph_alloc(b->graph, (size_t)n * sizeof(float));
	assert_non_null(data);
	for (int64_t i = 0; i < n; i++)
		data[i] = number(b, low, high);
	return pk_graph_add_const(b->graph, "c", PK_F32, &shape, data);
}

static struct pk_value *scalar(struct builder *b, float v)
{
	return constant(b, 0, NULL, v, v);
}

static struct pk_node *begin(
	struct builder *b, enum pk_op op, struct pk_value *const *inputs, int n_inputs)
{
	char name[16];
	snprintf(name, sizeof(name), "n%d", b->n_names++);
	struct pk_node *node = pk_graph_new_node(b->graph, op, name, inputs, n_inputs, NULL);
	assert_non_null(node);
	return node;
}

static struct pk_value *end(struct builder *b, struct pk_node *node, const struct pk_shape *shape)
{
	struct pk_err err = {0};
	if (pk_graph_finish_node(b->graph, node, NULL, 1, shape, &err) < 0)
		fail_msg("%s", err.text);
	return node->outputs[0];
}

static struct pk_value *unary(
	struct builder *b, enum pk_fn fn, struct pk_value *x, double alpha, double beta)
{
	struct pk_node *node = begin(b, PK_OP_UNARY, &x, 1);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_node_set_float(node, PK_ATTR_ALPHA, alpha);
	pk_node_set_float(node, PK_ATTR_BETA, beta);
	return end(b, node, NULL);
}

static struct pk_value *binary(
	struct builder *b, enum pk_fn fn, struct pk_value *x, struct pk_value *y)
{
	bool swap = (fn == PK_FN_ADD || fn == PK_FN_MUL) && pick(b, 2);
	struct pk_value *operands[] = {swap ? y : x, swap ? x : y};
	struct pk_node *node = begin(b, PK_OP_BINARY, operands, 2);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	return end(b, node, NULL);
}

static struct pk_value *make_conv(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1], k = pick(b, 2) && x->shape.dims[2] > 2 ? 3 : 1;
	int64_t m = pick(b, 2) ? c : 4, group = c == m && pick(b, 2) ? 2 : 1;
	float span = 1.0f / (float)(k * c);
	struct pk_value *operands[] = {x,
		constant(b, 4, (int64_t[]){m, c / group, k, k}, -span, span),
		pick(b, 2) ? constant(b, 1, &m, -1, 1) : NULL};
	struct pk_node *node = begin(b, PK_OP_CONV, operands, 3);
	int64_t pads[4] = {k / 2, k / 2, k / 2, k / 2};
	pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
	return end(b, node, NULL);
}

static struct pk_value *make_conv_transpose(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1], group = pick(b, 2) ? 2 : 1, per_group = 4 / group;
	struct pk_value *operands[] = {
		x, constant(b, 4, (int64_t[]){c, per_group, 1, 1}, -0.3f, 0.3f)};
	struct pk_node *node = begin(b, PK_OP_CONV_TRANSPOSE, operands, 2);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
	return end(b, node, NULL);
}

static struct pk_value *make_batch_norm(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1];
	struct pk_value *operands[] = {x, constant(b, 1, &c, -2, 2), constant(b, 1, &c, -1, 1),
		constant(b, 1, &c, -1, 1), constant(b, 1, &c, 0.5f, 2)};
	return end(b, begin(b, PK_OP_BATCH_NORM, operands, 5), NULL);
}

static struct pk_value *make_scale(struct builder *b, struct pk_value *x)
{
	static const enum pk_fn fns[] = {PK_FN_ADD, PK_FN_SUB, PK_FN_MUL, PK_FN_DIV};
	int64_t c = x->shape.dims[1], w = x->shape.dims[3];
	struct pk_value *k;
	switch (pick(b, 4)) {
	case 0:
		k = scalar(b, pick(b, 3) ? number(b, 0.5f, 2) : 1);
		break;
	case 1:
		k = constant(b, 4, (int64_t[]){1, c, 1, 1}, 0.5f, 2);
		break;
	case 2:
		k = constant(b, 3, (int64_t[]){c, 1, 1}, 0.5f, 2);
		break;
	default:
		k = constant(b, 1, &w, 0.5f, 2); // along the last axis: no pass may fold it
	}
	return binary(b, fns[pick(b, 4)], x, k);
}

static struct pk_value *make_act(struct builder *b, struct pk_value *x)
{
	struct pk_value *y;
	switch (pick(b, 9)) {
	case 0:
		return binary(b, PK_FN_MUL, x, unary(b, PK_FN_SIGMOID, x, 0, 0));
	case 1:
		return unary(b, PK_FN_RELU, x, 0, 0);
	case 2:
		return unary(b, PK_FN_CLIP, x, number(b, -1, 0), number(b, 0, 3));
	case 3:
		y = unary(b, PK_FN_CLIP, binary(b, PK_FN_ADD, x, scalar(b, 3)), 0, 6);
		return binary(b, PK_FN_DIV, binary(b, PK_FN_MUL, x, y), scalar(b, 6));
	case 4:
		y = unary(b, PK_FN_CLIP, binary(b, PK_FN_ADD, x, scalar(b, 3)), 0, 6);
		return binary(b, PK_FN_MUL, x, binary(b, PK_FN_DIV, y, scalar(b, 6)));
	case 5:
		y = unary(b, PK_FN_TANH, unary(b, PK_FN_SOFTPLUS, x, 0, 0), 0, 0);
		return binary(b, PK_FN_MUL, x, y);
	case 6:
		y = unary(b, PK_FN_ERF, binary(b, PK_FN_DIV, x, scalar(b, 1.41421356f)), 0, 0);
		y = binary(b, PK_FN_ADD, y, scalar(b, 1));
		return binary(b, PK_FN_MUL, binary(b, PK_FN_MUL, x, y), scalar(b, 0.5f));
	case 7:
		y = binary(
			b, PK_FN_MUL, scalar(b, 0.044715f), binary(b, PK_FN_POW, x, scalar(b, 3)));
		y = binary(b, PK_FN_MUL, scalar(b, 0.79788456f), binary(b, PK_FN_ADD, x, y));
		y = binary(b, PK_FN_ADD, unary(b, PK_FN_TANH, y, 0, 0), scalar(b, 1));
		return binary(b, PK_FN_MUL, binary(b, PK_FN_MUL, x, scalar(b, 0.5f)), y);
	default:
		return unary(b, PK_FN_LEAKY_RELU, x, 0.1, 0);
	}
}

static struct pk_value *make_add(struct builder *b, struct pk_value *x)
{
	for (int tries = 0; tries < 8; tries++) {
		struct pk_value *y = any(b);
		if (pk_shape_equal(&x->shape, &y->shape))
			return binary(b, PK_FN_ADD, x, y);
	}
	return binary(b, PK_FN_ADD, x, x);
}

static struct pk_value *make_pad_and_window(struct builder *b, struct pk_value *x)
{
	struct pk_node *pad = begin(b, PK_OP_PAD, &x, 1);
	int64_t pads[8] = {0, 0, pick(b, 2), pick(b, 2), 0, 0, pick(b, 2), 1};
	bool max = pick(b, 2), open = max && pick(b, 2); // open: no window may see padding alone
	pk_node_set_ints(pad, PK_ATTR_PADS, pads, 8);
	pk_node_set_float(pad, PK_ATTR_VALUE, open ? -INFINITY : 0);
	struct pk_value *y = end(b, pad, NULL);
	if (!max && pick(b, 2))
		return make_conv(b, y);
	struct pk_node *pool = begin(b, PK_OP_POOL, &y, 1);
	pk_node_set_int(pool, PK_ATTR_FN, max ? PK_FN_POOL_MAX : PK_FN_POOL_AVG);
	pk_node_set_ints(pool, PK_ATTR_KERNEL, (int64_t[]){2, 2}, 2);
	pk_node_set_int(pool, PK_ATTR_COUNT_PAD, pick(b, 2));
	if (!open && pick(b, 2))
		pk_node_set_ints(pool, PK_ATTR_PADS, (int64_t[]){1, 1, 0, 0}, 4);
	return end(b, pool, NULL);
}

static struct pk_value *make_transposes(struct builder *b, struct pk_value *x)
{
	static const int64_t perms[3][2][4] = {
		{{0, 2, 3, 1}, {0, 3, 1, 2}}, // there and back
		{{1, 0, 2, 3}, {1, 0, 2, 3}},
		{{0, 1, 3, 2}, {0, 1, 3, 2}},
	};
	int which = pick(b, 3);
	struct pk_value *y = x;
	for (int i = 0; i < 2; i++) {
		struct pk_node *node = begin(b, PK_OP_TRANSPOSE, &y, 1);
		pk_node_set_ints(node, PK_ATTR_PERM, perms[which][i], 4);
		y = end(b, node, NULL);
		if (i == 0 && which != 1 && pick(b, 3) == 0)
			y = unary(b, PK_FN_TANH, y, 0, 0);
	}
	return y;
}

static struct pk_value *make_reshapes(struct builder *b, struct pk_value *x)
{
	struct pk_shape flat = {
		2, {x->shape.dims[0] * x->shape.dims[1], x->shape.dims[2] * x->shape.dims[3]}};
	struct pk_shape back = x->shape;
	struct pk_value *y = end(b, begin(b, PK_OP_RESHAPE, &x, 1), &flat);
	if (pick(b, 2)) { // a matrix product in between
		int64_t k = flat.dims[1];
		struct pk_value *operands[] = {y, constant(b, 2, (int64_t[]){k, k}, -0.2f, 0.2f)};
		y = end(b, begin(b, PK_OP_MATMUL, operands, 2), NULL);
		y = binary(b, PK_FN_ADD, y, constant(b, 1, &k, -1, 1));
	}
	return end(b, begin(b, PK_OP_RESHAPE, &y, 1), &back);
}

static struct pk_value *make_noop(struct builder *b, struct pk_value *x)
{
	static const enum pk_op ops[] = {
		PK_OP_IDENTITY, PK_OP_SLICE, PK_OP_EXPAND, PK_OP_TILE, PK_OP_PAD, PK_OP_CONCAT};
	return end(b, begin(b, ops[pick(b, PK_ARRAY_LEN(ops))], &x, 1), &x->shape);
}

static struct pk_value *make_const_chain(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1];
	struct pk_value *k = constant(b, 3, (int64_t[]){c, 1, 1}, 0.5f, 1);
	k = unary(b, PK_FN_SQRT, k, 0, 0);
	return binary(b, PK_FN_MUL, x, binary(b, PK_FN_ADD, k, scalar(b, 0.1f)));
}

static struct pk_value *(*const makers[])(struct builder *b, struct pk_value *x) = {
	make_conv,
	make_conv,
	make_conv_transpose,
	make_batch_norm,
	make_scale,
	make_act,
	make_act,
	make_add,
	make_pad_and_window,
	make_transposes,
	make_reshapes,
	make_noop,
	make_const_chain,
};

static struct pk_graph *build(uint64_t seed)
{
	struct builder b = {.graph = pk_graph_create(0), .seed = seed * 77 + 5};
	struct pk_shape shape = {4, {1, 4, 3 + pick(&b, 3), 4}};
	b.values[b.n_values++] = pk_graph_add_input(b.graph, "x", PK_F32, &shape);
	int n_steps = 4 + pick(&b, 12);
	for (int i = 0; i < n_steps; i++) {
		struct pk_value *y = makers[pick(&b, PK_ARRAY_LEN(makers))](&b, any(&b));
		b.values[b.n_values++] = y;
	}
	int n_outputs = 1 + pick(&b, MAX_OUTPUTS);
	for (int i = 0; i < n_outputs; i++) {
		struct pk_value *y = i ? any(&b) : b.values[b.n_values - 1];
		assert_int_equal(pk_graph_add_output(b.graph, y), 0);
	}
	return b.graph;
}

struct results {
	char *names[MAX_OUTPUTS];
	float *data[MAX_OUTPUTS];
	int64_t n[MAX_OUTPUTS];
	int n_outputs;
};

static void evaluate(const struct pk_graph *graph, struct results *out)
{
	struct builder b = {.seed = 9};
	struct pk_err err = {0};
	int64_t n = pk_shape_elements(&graph->inputs[0]->shape);
	float *input = aligned_alloc(64, pk_align_up((size_t)n * sizeof(float), 64));
	for (int64_t i = 0; i < n; i++)
		input[i] = number(&b, -2, 2);
	const void *inputs[] = {input};
	out->n_outputs = graph->n_outputs;
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		out->n[i] = pk_shape_elements(&value->shape);
		out->data[i] = malloc((size_t)out->n[i] * sizeof(float) + 1);
		out->names[i] = strdup(value->name);
	}
	if (pk_cpu_eval_graph(graph, inputs, (void *const *)out->data, &err) < 0)
		fail_msg("%s", err.text);
	free(input);
}

static void results_finish(struct results *r)
{
	for (int i = 0; i < r->n_outputs; i++) {
		free(r->data[i]);
		free(r->names[i]);
	}
}

// Largest difference as a part of the output's range.
static double difference(const struct results *a, const struct results *b)
{
	double worst = 0;
	for (int i = 0; i < a->n_outputs; i++) {
		double range = 1, diff = 0;
		for (int64_t k = 0; k < a->n[i]; k++) {
			double x = (double)a->data[i][k], y = (double)b->data[i][k];
			if (isinf(x) && x == y)
				continue;
			range = fmax(range, fabs(x));
			diff = fmax(diff, isnan(x - y) ? INFINITY : fabs(x - y));
		}
		worst = fmax(worst, diff / range);
	}
	return worst;
}

static void fail_with_graph(uint64_t seed, const char *disabled, const char *what)
{
	pk_auto(pk_graph) graph = build(seed);
	struct pk_buf text;
	pk_buf_init(&text, 1 << 20);
	pk_text_print(graph, NULL, &text);
	fail_msg("seed %llu, without %s: %s\n%s", (unsigned long long)seed,
		disabled ? disabled : "nothing", what, pk_buf_cstr(&text));
}

// Returns how many rewrites were made.
static int check_graph(uint64_t seed, const char *disabled)
{
	pk_auto(pk_graph) graph = build(seed);
	struct results before = {0}, after = {0};
	struct pk_pass_options options = {.disabled = &disabled,
		.n_disabled = disabled ? 1 : 0,
		.verify = true,
		.evaluator = &pk_cpu_evaluator};
	struct pk_pass_report report = {0};
	struct pk_err err = {0};
	int n_changes = 0;
	evaluate(graph, &before);
	if (pk_passes_run(graph, &options, &report, &err) < 0)
		fail_with_graph(seed, disabled, err.text);
	evaluate(graph, &after);
	for (int i = 0; i < before.n_outputs; i++)
		if (strcmp(before.names[i], after.names[i]) != 0)
			fail_with_graph(seed, disabled, "an output's name changed");
	if (difference(&before, &after) > 1e-4)
		fail_with_graph(seed, disabled, "results differ");
	for (int i = 0; i < report.n_passes; i++)
		n_changes += report.passes[i].n_changes;
	results_finish(&before);
	results_finish(&after);
	return n_changes;
}

static void test_all_passes(void **state)
{
	int n_changes = 0;
	for (uint64_t seed = 0; seed < N_GRAPHS; seed++)
		n_changes += check_graph(seed, NULL);
	assert_true(n_changes > 5 * N_GRAPHS); // the graphs do give the passes work
}

static void test_one_disabled(void **state)
{
	static const char *const names[] = {"remove_noop", "merge_move", "fold_const", "cse", "dce",
		"fuse_matmul", "fold_bn", "fold_scale", "fold_pad", "fuse_act", "merge_act",
		"fuse_epilogue", "fuse_residual"};
	for (uint64_t seed = 0; seed < N_GRAPHS; seed++)
		check_graph(seed + N_GRAPHS, names[seed % PK_ARRAY_LEN(names)]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_passes),
		cmocka_unit_test(test_one_disabled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
