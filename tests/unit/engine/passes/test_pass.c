// SPDX-License-Identifier: Apache-2.0
// The interpreter of the pass table: order, names, report, trace, failures.
#include "engine/passes/pass.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/text.h"
#include "tests/unit/engine/passes/pass_case.h"

// conv + batch norm + silu, added to the input: all of it is one convolution in the end.
static const char block[] =
	"input %x: f32[1,2,4,4]\n"
	"const %w: f32[2,2,1,1] = {1, 2, 3, 4} const %one: f32[2] = {1, 1}\n"
	"const %zero: f32[2] = {0, 0} const %k: f32[] = {2}\n"
	"%p: f32[1,2,4,4] = pad(%x) \"pad\"\n"
	"%c: f32[1,2,4,4] = conv(%p, %w) \"conv\"\n"
	"%b: f32[1,2,4,4] = batch_norm(%c, %one, %one, %zero, %one) {epsilon=0} \"bn\"\n"
	"%i: f32[1,2,4,4] = identity(%b) \"id\"\n"
	"%s: f32[1,2,4,4] = unary(%i) {fn=sigmoid} \"sigmoid\"\n"
	"%m: f32[1,2,4,4] = binary(%i, %s) {fn=mul} \"mul\"\n"
	"%y: f32[1,2,4,4] = binary(%m, %x) {fn=add} \"add\"\n"
	"%dead: f32[] = unary(%k) {fn=neg}\n"
	"output %y";

static char *text_of(const struct pk_graph *graph, struct pk_buf *out)
{
	pk_buf_init(out, 1 << 20);
	assert_int_equal(pk_text_print(graph, NULL, out), 0);
	return out->data;
}

static int count_of(const struct pk_pass_report *report, const char *name)
{
	for (int i = 0; i < report->n_passes; i++)
		if (strcmp(report->passes[i].name, name) == 0)
			return report->passes[i].n_changes;
	fail_msg("no %s in the report", name);
	return -1;
}

static void test_whole_block(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	struct pk_pass_options options = {.verify = true};
	struct pk_pass_report report;
	struct pk_err err = {0};
	struct pk_buf text;
	if (pk_passes_run(graph, &options, &report, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(text_of(graph, &text),
		"graph {\n"
		"  input %x: f32[1,2,4,4]\n"
		"  const %w: f32[2,2,1,1] = {1, 2, 3, 4}\n"
		"  const %w.1: f32[2] = {1, 1}\n"
		"  %y: f32[1,2,4,4] = conv(%x, %w, %w.1, %x) {act=silu, residual=after_act} "
		"\"conv+bn+sigmoid+mul+add\"\n"
		"  output %y\n"
		"}\n");
	assert_int_equal(count_of(&report, "remove_noop"), 2);
	assert_int_equal(count_of(&report, "fold_bn"), 1);
	assert_int_equal(count_of(&report, "fuse_act"), 1);
	assert_int_equal(count_of(&report, "fuse_epilogue"), 1);
	assert_int_equal(count_of(&report, "fuse_residual"), 1);
	assert_int_equal(count_of(&report, "dce"), 1);
	assert_int_equal(count_of(&report, "fold_scale"), 0);
	pk_buf_finish(&text);
}

// The bias becomes foldable before the batch norm does: it may not be lowered too early.
static void test_bn_is_folded_before_it_is_lowered(void **state)
{
	pk_auto(pk_graph) graph =
		pass_case_parse("input %x: f32[1,2,4,4]\n"
				"const %w: f32[2,2,1,1] = {1, 2, 3, 4}\n"
				"const %k: f32[1,2,1,1] = {1, 2}\n"
				"const %s: f32[2] = {1, 2} const %b: f32[2] = {3, 4}\n"
				"const %m: f32[2] = {5, 6} const %v: f32[2] = {7, 8}\n"
				"%c: f32[1,2,4,4] = conv_transpose(%x, %w)\n"
				"%d: f32[1,2,4,4] = binary(%c, %k) {fn=add}\n"
				"%n: f32[1,2,4,4] = batch_norm(%d, %s, %b, %m, %v)\n"
				"%y: f32[1,2,4,4] = unary(%n) {fn=relu} output %y");
	struct pk_pass_options options = {.verify = true};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), 0);
	assert_int_equal(graph->n_nodes, 1);
}

static void test_disabled(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	static const char *const disabled[] = {"fuse_act", "dce", "fold_bn", "lower_bn"};
	struct pk_pass_options options = {
		.disabled = disabled, .n_disabled = PK_ARRAY_LEN(disabled), .verify = true};
	struct pk_pass_report report;
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, &report, &err), 0);
	for (size_t i = 0; i < PK_ARRAY_LEN(disabled); i++)
		assert_int_equal(count_of(&report, disabled[i]), 0);
	assert_non_null(pk_graph_find_value(graph, "dead")->producer);
	assert_int_equal(pk_graph_find_value(graph, "b")->producer->op, PK_OP_BATCH_NORM);
}

static void test_all_disabled(void **state)
{
	struct pk_buf list, before, after;
	pk_buf_init(&list, 1 << 16);
	pk_passes_list(&list);
	const char *names[PK_MAX_PASSES];
	size_t n = 0;
	char *rest = NULL;
	for (char *line = strtok_r(list.data, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " ")] = 0;
		names[n++] = line;
	}
	assert_true(n >= 10);
	pk_auto(pk_graph) graph = pass_case_parse(block);
	struct pk_pass_options options = {.disabled = names, .n_disabled = n};
	struct pk_err err = {0};
	text_of(graph, &before);
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), 0);
	assert_string_equal(text_of(graph, &after), before.data);
	pk_buf_finish(&list);
	pk_buf_finish(&before);
	pk_buf_finish(&after);
}

static void test_unknown_name(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	static const char *const disabled[] = {"fuse_everything"};
	struct pk_pass_options options = {.disabled = disabled, .n_disabled = 1};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), -EINVAL);
	assert_string_equal(err.text,
		"no pass `fuse_everything`; there are remove_noop, merge_move, "
		"sink_transpose, fold_const, cse, dce, fuse_matmul, fold_bn, fold_scale, fold_pad, "
		"fold_focus, lower_bn, lower_pool, fuse_act, merge_act, fuse_epilogue, fold_qdq, "
		"fuse_residual");
}

struct traced {
	int n_calls, n_changes;
	char last[32];
};

static void trace(void *ctx, const char *pass, int n_changes, const struct pk_graph *graph)
{
	struct traced *traced = ctx;
	traced->n_calls++;
	traced->n_changes += n_changes;
	strncpy(traced->last, pass, sizeof(traced->last) - 1);
	assert_true(n_changes > 0 && graph->n_outputs == 1);
}

static void test_trace(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	struct traced traced = {0};
	struct pk_pass_options options = {.trace = trace, .ctx = &traced};
	struct pk_pass_report report;
	struct pk_err err = {0};
	int sum = 0;
	assert_int_equal(pk_passes_run(graph, &options, &report, &err), 0);
	for (int i = 0; i < report.n_passes; i++)
		sum += report.passes[i].n_changes;
	assert_int_equal(traced.n_changes, sum);
	assert_string_equal(traced.last, "fuse_residual");
}

static int eval_fails(const struct pk_node *node, void *const *outputs, struct pk_err *err)
{
	return pk_fail(err, -EIO, "broken kernel");
}

static void test_failure_names_the_pass(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	struct pk_evaluator evaluator = {eval_fails};
	struct pk_pass_options options = {.evaluator = &evaluator};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), -EIO);
	assert_string_equal(err.text, "pass fold_const: broken kernel");
}

// A graph that was wrong before is found after the first pass, by name.
static void test_verify_option(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(block);
	pk_graph_find_value(graph, "x")->n_uses++;
	struct pk_pass_options options = {.verify = true};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "after pass remove_noop: %x has 2 uses, not 3");
}

static void test_elided(void **state)
{
	pk_auto(pk_graph) graph =
		pass_case_parse("const %w: f32[1,1,1,1] = elided input %x: f32[1,1,2,2]\n"
				"%y: f32[1,1,2,2] = conv(%x, %w) output %y");
	struct pk_pass_options options = {0};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "%w has no bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_block),
		cmocka_unit_test(test_bn_is_folded_before_it_is_lowered),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_all_disabled),
		cmocka_unit_test(test_unknown_name),
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_failure_names_the_pass),
		cmocka_unit_test(test_verify_option),
		cmocka_unit_test(test_elided),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
