// SPDX-License-Identifier: Apache-2.0
// The tuner: what it measures, what the timing cache decides, and that a full cache decides all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "engine/compile/op_key.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/confirm.h"
#include "engine/cpu/tune.h"
#include "engine/ir/text.h"
#include "engine/plan/plan.h"

#define MAX_BYTES (1u << 20)

static const char model[] = "graph {\n"
			    "input %x: f32[1,20,17,19]\n"
			    "const %w: f32[24,20,3,3] = @0\n"
			    "const %v: f32[20,24,1,1] = @0\n"
			    "%a: f32[1,24,17,19] = conv(%x, %w) {pads=[1,1,1,1], act=relu}\n"
			    "%b: f32[1,20,17,19] = conv(%a, %v)\n"
			    "%c: f32[1,20,17,19] = binary(%b, %x) {fn=add}\n"
			    "output %c\n"
			    "}\n";

static _Alignas(64) float weights[24 * 20 * 9];

static struct pk_graph *parse(void)
{
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	for (size_t i = 0; i < PK_ARRAY_LEN(weights); i++)
		weights[i] = (float)(i % 13) / 64;
	if (pk_text_parse(model, strlen(model), weights, sizeof(weights), &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

// Builds the model; out: its sections. Gives what was measured.
static struct pk_runtime_build build(
	struct pk_timing_cache *timing, int opt_level, struct pk_buf *out)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	struct pk_runtime_build job = {.graph = parse(), .opt_level = opt_level, .timing = timing};
	struct pk_err err = {0};
	pk_buf_init(out, MAX_BYTES);
	if (pk_cpu_runtime.build(&job, writer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pk_plan_writer_to_buf(writer, out), 0);
	pk_graph_destroy(job.graph);
	job.graph = NULL;
	return job;
}

static void a_full_cache_decides_all(void **state)
{
	(void)state;
	for (int opt_level = 1; opt_level <= 2; opt_level++) {
		pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
		pk_auto_buf struct pk_buf first, second;
		struct pk_runtime_build cold = build(timing, opt_level, &first);
		struct pk_runtime_build warm = build(timing, opt_level, &second);
		assert_true(cold.n_measured > 0);
		assert_int_equal(warm.n_measured, 0);
		assert_true(warm.n_cache_hits > 0);
		assert_int_equal(first.len, second.len);
		assert_memory_equal(first.data, second.data, first.len);
	}
}

static void level_0_measures_nothing(void **state)
{
	(void)state;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	pk_auto_buf struct pk_buf bytes;
	assert_int_equal(build(timing, 0, &bytes).n_measured, 0);
	assert_int_equal(pk_timing_cache_len(timing), 0);
}

// Times alone and within the graph for the first two rows that may run a node.
static void put_times(struct pk_timing_cache *timing, struct pk_node *node, const double us[4])
{
	const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS];
	int n = pk_cpu_tactics(node, tactics);
	char name[96];
	pk_auto_buf struct pk_buf key;
	pk_buf_init(&key, MAX_BYTES);
	assert_true(n >= 2);
	assert_int_equal(pk_op_key(node, &key), 0);
	for (int i = 0; i < n; i++) {
		double alone = i < 2 ? us[i] : 1000, placed = i < 2 ? us[2 + i] : 1000;
		snprintf(name, sizeof(name), "%s in graph", tactics[i]->name);
		assert_int_equal(
			pk_timing_cache_put(timing, pk_buf_cstr(&key), tactics[i]->name, alone), 0);
		assert_int_equal(pk_timing_cache_put(timing, pk_buf_cstr(&key), name, placed), 0);
	}
}

// Which of its first two rows a node gets, by invented times.
static int chosen(int opt_level, const double us[4])
{
	struct pk_graph *graph = parse();
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	struct pk_runtime_build job = {.graph = graph, .opt_level = opt_level, .timing = timing};
	const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS];
	struct pk_err err = {0};
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		const struct pk_cpu_kernel *rows[PK_CPU_MAX_TACTICS];
		if (pk_cpu_tactics(node, rows) >= 2)
			put_times(timing, node, us);
	}
	if (pk_cpu_tune(&job, &err) < 0 || (opt_level > 1 && pk_cpu_confirm(&job, &err) < 0))
		fail_msg("%s", err.text);
	assert_int_equal(job.n_measured, 0);
	pk_graph_each_node (node, graph)
		break; // the first one
	pk_cpu_tactics(node, tactics);
	int which = strcmp(node->kernel, tactics[1]->name) == 0;
	assert_string_equal(node->kernel, tactics[which]->name);
	pk_graph_destroy(graph);
	return which;
}

static void close_calls_are_decided_in_the_graph(void **state)
{
	(void)state;
	static const struct {
		double us[4]; // alone, alone, in the graph, in the graph
		int at_1, at_2;
	} rows[] = {
		{{10, 11, 20, 5}, 0, 1},    // the runner-up wins at its place
		{{11, 10, 5, 20}, 1, 0},    // whichever comes first in the table
		{{10, 11, 20, 19.9}, 0, 0}, // by too little
		{{10, 30, 20, 5}, 0, 0},    // no close call: not looked at
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		assert_int_equal(chosen(1, rows[i].us), rows[i].at_1);
		assert_int_equal(chosen(2, rows[i].us), rows[i].at_2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_cache_decides_all),
		cmocka_unit_test(level_0_measures_nothing),
		cmocka_unit_test(close_calls_are_decided_in_the_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
