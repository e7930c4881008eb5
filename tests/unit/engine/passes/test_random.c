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
#include "tests/unit/engine/random_graph.h"

#define N_GRAPHS 400

struct results {
	char *names[RANDOM_GRAPH_MAX_OUTPUTS];
	float *data[RANDOM_GRAPH_MAX_OUTPUTS];
	int64_t n[RANDOM_GRAPH_MAX_OUTPUTS];
	int n_outputs;
};

static void evaluate(const struct pk_graph *graph, struct results *out)
{
	uint64_t seed = 9;
	struct pk_err err = {0};
	int64_t n = pk_shape_elements(&graph->inputs[0]->shape);
	float *input = aligned_alloc(64, pk_align_up((size_t)n * sizeof(float), 64));
	for (int64_t i = 0; i < n; i++)
		input[i] = random_graph_float(&seed, -2, 2);
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
	pk_auto(pk_graph) graph = random_graph(seed);
	struct pk_buf text;
	pk_buf_init(&text, 1 << 20);
	pk_text_print(graph, NULL, &text);
	fail_msg("seed %llu, without %s: %s\n%s", (unsigned long long)seed,
		disabled ? disabled : "nothing", what, pk_buf_cstr(&text));
}

static int totals[PK_MAX_PASSES]; // rewrites by pass, over all graphs
static const char *pass_names[PK_MAX_PASSES];
static int n_passes;

// Returns how many rewrites were made.
static int check_graph(uint64_t seed, const char *disabled)
{
	pk_auto(pk_graph) graph = random_graph(seed);
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
	for (int i = 0; i < report.n_passes; i++) {
		n_changes += report.passes[i].n_changes;
		totals[i] += report.passes[i].n_changes;
		pass_names[i] = report.passes[i].name;
	}
	n_passes = report.n_passes;
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
	bool quantised_part = false; // these graphs have no quantised values: test_qdq.c has them
	for (int i = 0; i < n_passes; i++) {
		bool again = quantised_part && strcmp(pass_names[i], "fold_const") == 0;
		bool fold_qdq = strcmp(pass_names[i], "fold_qdq") == 0;
		quantised_part |= fold_qdq;
		if (totals[i] == 0 && !fold_qdq && !again)
			fail_msg("pass `%s` had nothing to do", pass_names[i]);
	}
}

static void test_one_disabled(void **state)
{
	static const char *const names[] = {"remove_noop", "merge_move", "fold_const", "cse", "dce",
		"fuse_matmul", "fold_bn", "fold_scale", "fold_pad", "fuse_act", "merge_act",
		"fuse_epilogue", "fuse_residual", "sink_transpose", "fold_focus", "lower_bn",
		"lower_pool"};
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
