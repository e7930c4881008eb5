// SPDX-License-Identifier: Apache-2.0
// Where quantised pairs go, which layers stay in float, and what the search keeps.
#include "engine/calibrate/insert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/calibrate/keep.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"

#define CHAIN                                                                                      \
	"graph {\n"                                                                                \
	"  input %x: f32[1,1,2,2]\n"                                                               \
	"  const %w: f32[1,1,1,1] = {-2}\n"                                                        \
	"  const %v: f32[1,1,1,1] = {0.5}\n"                                                       \
	"  %a: f32[1,1,2,2] = conv(%x, %w) {act=relu} \"a\"\n"                                     \
	"  %b: f32[1,1,2,2] = conv(%a, %w) {act=silu} \"b\"\n"                                     \
	"  %p: f32[1,1,1,1] = pool(%b) {fn=max_pool, kernel=[2,2]} \"p\"\n"                        \
	"  %c: f32[1,1,1,1] = conv(%p, %v) \"c\"\n"                                                \
	"  %y: f32[1,1,1,1] = unary(%c) {fn=sigmoid} \"y\"\n"                                      \
	"  output %y\n"                                                                            \
	"}\n"

static struct pk_graph *parse(const char *text)
{
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

static int count_op(const struct pk_graph *graph, enum pk_op op)
{
	int n = 0;
	const struct pk_node *node;
	pk_graph_each_node (node, graph)
		n += node->op == op;
	return n;
}

static void ranges(struct pk_calibration *c, double x, double a, double b)
{
	*c = (struct pk_calibration){0};
	assert_int_equal(pk_calibration_add_range(c, "x", x), 0);
	assert_int_equal(pk_calibration_add_range(c, "a", a), 0);
	assert_int_equal(pk_calibration_add_range(c, "b", b), 0);
	pk_calibration_sort(c);
}

static void test_pairs_and_integers(void **state)
{
	pk_auto(pk_graph) graph = parse(CHAIN);
	struct pk_calibration c;
	struct pk_err err = {0};
	int n = 0;
	ranges(&c, 127, 254, 12.7);
	assert_int_equal(pk_calibration_insert(graph, &c, &n, &err), 0);
	assert_int_equal(pk_verify_graph(graph, &err), 0);
	assert_int_equal(n, 2);                               // c is the last one of the head
	assert_int_equal(count_op(graph, PK_OP_QUANTIZE), 2); // x and a
	const struct pk_node *quantize =
		graph->inputs[0]->n_uses == 1 ? pk_graph_only_user(graph, graph->inputs[0]) : NULL;
	assert_non_null(quantize);
	assert_true(*(const float *)quantize->inputs[1]->data == 1);
	pk_calibration_finish(&c);
}

static void test_apply(void **state)
{
	pk_auto(pk_graph) graph = parse(CHAIN);
	struct pk_calibration c;
	struct pk_err err = {0};
	ranges(&c, 127, 254, 12.7);
	assert_int_equal(pk_calibration_apply(graph, &c, NULL, &err), 0);
	assert_int_equal(count_op(graph, PK_OP_QCONV), 2);
	assert_int_equal(count_op(graph, PK_OP_CONV), 1);
	assert_int_equal(count_op(graph, PK_OP_DEQUANTIZE), 0);
	const struct pk_value *a = graph->outputs[0]->producer->inputs[0]; // the sum of c
	assert_int_equal(a->dtype, PK_F32);
	pk_calibration_finish(&c);
}

static void test_float_layers_and_missing_ranges(void **state)
{
	pk_auto(pk_graph) graph = parse(CHAIN);
	pk_auto(pk_graph) bare = parse(CHAIN);
	struct pk_calibration c, none = {0};
	struct pk_err err = {0};
	int n = -1;
	ranges(&c, 127, 254, 12.7);
	assert_int_equal(pk_calibration_add_float(&c, "b"), 0);
	assert_int_equal(pk_calibration_insert(graph, &c, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pk_calibration_insert(bare, &none, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(count_op(bare, PK_OP_QUANTIZE), 0);
	pk_calibration_finish(&c);
}

// Branches that meet in a concat share the larger range.
static void test_concat_shares_a_scale(void **state)
{
	pk_auto(pk_graph) graph = parse("graph {\n"
					"  input %x: f32[1,1,1,1]\n"
					"  const %w: f32[1,1,1,1] = {2}\n"
					"  const %v: f32[1,2,1,1] = {1, 1}\n"
					"  %a: f32[1,1,1,1] = unary(%x) {fn=tanh}\n"
					"  %c: f32[1,2,1,1] = concat(%x, %a) {axis=1}\n"
					"  %d: f32[1,1,1,1] = conv(%c, %v)\n"
					"  %y: f32[1,1,1,1] = conv(%d, %w)\n"
					"  output %y\n"
					"}\n");
	struct pk_calibration c;
	struct pk_err err = {0};
	const struct pk_node *node;
	int n = 0;
	ranges(&c, 12.7, 1.27, 1);
	assert_int_equal(pk_calibration_insert(graph, &c, NULL, &err), 0);
	pk_graph_each_node (node, graph) {
		if (node->op != PK_OP_QUANTIZE)
			continue;
		assert_true(*(const float *)node->inputs[1]->data == 0.1F);
		n++;
	}
	assert_int_equal(n, 2);
	pk_calibration_finish(&c);
}

static int make(void *ctx, struct pk_graph **out, struct pk_err *err)
{
	*out = parse(ctx);
	return 0;
}

// A range that is far too small hurts its layer: that one goes back, the other stays integer.
static void test_search_keeps_the_worst(void **state)
{
	static const float x[4] = {-100, -50, -20, -90};
	const void *inputs[] = {x};
	// The head without the sigmoid, which would hide everything.
	static const char text[] =
		"graph {\n  input %x: f32[1,1,2,2]\n  const %w: f32[1,1,1,1] = {-2}\n"
		"  %a: f32[1,1,2,2] = conv(%x, %w)\n  %b: f32[1,1,2,2] = conv(%a, %w)\n"
		"  %y: f32[1,1,2,2] = conv(%b, %w)\n  output %y\n}\n";
	struct pk_keep_options options = {
		.make = make,
		.ctx = (void *)(uintptr_t)text,
		.inputs = inputs,
		.n_inputs = 1,
		.min_sqnr_db = 30,
		.min_cosine = 0.999,
		.max_float_share = 0.5,
	};
	struct pk_keep_report report;
	struct pk_calibration c;
	struct pk_err err = {0};
	ranges(&c, 100, 2, 400);
	assert_int_equal(pk_calibration_keep(&c, &options, &report, &err), 0);
	assert_int_equal(report.n_layers, 2);
	assert_true(report.first_sqnr_db < 5);
	assert_int_equal(c.n_float_layers, 1);
	assert_string_equal(c.float_layers[0], "b"); // it reads a
	assert_true(report.sqnr_db > 30);
	pk_calibration_finish(&c);
	ranges(&c, 100, 2, 400);
	options.max_float_share = 0;
	assert_int_equal(pk_calibration_keep(&c, &options, &report, &err), 0);
	assert_int_equal(c.n_float_layers, 0);
	assert_true(report.sqnr_db < 5);
	pk_calibration_finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_and_integers),
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_float_layers_and_missing_ranges),
		cmocka_unit_test(test_concat_shares_a_scale),
		cmocka_unit_test(test_search_keeps_the_worst),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
