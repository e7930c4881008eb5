// SPDX-License-Identifier: Apache-2.0
// A broken pass and a broken kernel row are found and named; a sound model is cleared.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/compile/bisect.h"
#include "engine/cpu/kernel.h"
#include "engine/ir/text.h"

static const char model[] = "graph {\n"
			    "  input %x: f32[1,16]\n"
			    "  const %k: f32[1] = {3}\n"
			    "  %i: f32[1,16] = identity(%x) \"skip\"\n"
			    "  %s: f32[1,16] = unary(%i) {fn=sigmoid} \"gate\"\n"
			    "  %g: f32[1,16] = binary(%i, %s) {fn=mul} \"times\"\n"
			    "  %t: f32[1,16] = unary(%g) {fn=tanh} \"bend\"\n"
			    "  %y: f32[1,16] = binary(%t, %k) {fn=mul} \"scale\"\n"
			    "  output %y\n}\n";

static int n_alive;

static int open_model(void *ctx, struct pk_graph **graph, struct pk_err *err)
{
	(void)ctx;
	n_alive++;
	assert_true(n_alive <= 3);
	return pk_text_parse(model, strlen(model), NULL, 0, graph, err);
}

static void close_model(void *ctx, struct pk_graph *graph)
{
	(void)ctx;
	n_alive--;
	pk_graph_destroy(graph);
}

static const struct pk_bisect_options plain = {.open = open_model, .close = close_model};

static struct pk_bisect_result bisect(const struct pk_bisect_options *options)
{
	struct pk_bisect_result result;
	struct pk_err err = {0};
	if (pk_bisect_run(options, &result, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(n_alive, 0);
	return result;
}

static void test_sound_model(void **state)
{
	(void)state;
	struct pk_bisect_result result = bisect(&plain);
	assert_int_equal(result.culprit, PK_BISECT_NONE);
	assert_true(result.n_steps >= 2);
	assert_true(result.n_rows >= 3);
}

// Takes the sine where the tanh was, once.
static int break_tanh(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	(void)ctx;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		if (node->op == PK_OP_UNARY && pk_node_fn(node, PK_ATTR_FN) == PK_FN_TANH) {
			pk_node_set_int(node, PK_ATTR_FN, PK_FN_SIN);
			return 1;
		}
	}
	return 0;
}

static void test_broken_pass(void **state)
{
	(void)state;
	size_t n;
	const struct pk_pass *house = pk_passes_table(&n);
	// The broken one in each place among the others.
	for (size_t at = 0; at <= n; at++) {
		struct pk_pass passes[PK_MAX_PASSES];
		memcpy(passes, house, at * sizeof(*house));
		passes[at] = (struct pk_pass){"break_tanh", 99, break_tanh, "is wrong"};
		memcpy(passes + at + 1, house + at, (n - at) * sizeof(*house));
		struct pk_bisect_options options = plain;
		options.passes = passes;
		options.n_passes = n + 1;
		struct pk_bisect_result result = bisect(&options);
		assert_int_equal(result.culprit, PK_BISECT_PASS);
		assert_string_equal(result.pass, "break_tanh");
		assert_string_equal(result.node, "bend");
		assert_string_equal(result.op, "unary");
		assert_string_equal(result.value, "t");
		assert_true(result.max_rel_err > 1e-3);
	}
}

static bool takes_tanh(const struct pk_node *node)
{
	return pk_node_fn(node, PK_ATTR_FN) == PK_FN_TANH;
}

static int remember_size(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	int64_t *n = pk_arena_new(arena, int64_t);
	if (!n)
		return -ENOMEM;
	*n = pk_shape_elements(&node->outputs[0]->shape);
	*state = n;
	return 0;
}

static void give_operand(const struct pk_cpu_call *call)
{
	memcpy(call->outputs[0], call->inputs[0],
		(size_t) * (const int64_t *)call->state * sizeof(float));
}

static void test_broken_kernel_row(void **state)
{
	(void)state;
	static const struct pk_cpu_kernel broken = {.op = PK_OP_UNARY,
		.name = "tanh_broken",
		.rank = 200,
		.supports = takes_tanh,
		.setup = remember_size,
		.run = give_operand};
	const struct pk_cpu_kernel *kernels[128] = {&broken};
	size_t n = 1;
	for (const struct pk_cpu_kernel *const *row = pk_cpu_kernels; *row; row++)
		kernels[n++] = *row;
	struct pk_bisect_options options = plain;
	options.kernels = kernels;
	struct pk_bisect_result result = bisect(&options);
	assert_int_equal(result.culprit, PK_BISECT_KERNEL);
	assert_string_equal(result.kernel, "tanh_broken");
	assert_string_equal(result.node, "bend");
}

static int cancel(void *ctx, const char *what, int done)
{
	(void)ctx;
	(void)what;
	return done == 1;
}

static void test_cancel(void **state)
{
	(void)state;
	struct pk_bisect_options options = plain;
	struct pk_bisect_result result;
	options.progress = cancel;
	assert_int_equal(pk_bisect_run(&options, &result, NULL), -ECANCELED);
	assert_int_equal(n_alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound_model),
		cmocka_unit_test(test_broken_pass),
		cmocka_unit_test(test_broken_kernel_row),
		cmocka_unit_test(test_cancel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
