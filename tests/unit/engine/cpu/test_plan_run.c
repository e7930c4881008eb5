// SPDX-License-Identifier: Apache-2.0
// Whole graphs through build, load and run: shared memory changes no result, dead memory is not
// read, and the arena stays near its lower bound.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/checked.h"
#include "engine/compile/compile.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/eval.h"
#include "engine/cpu/exec.h"
#include "engine/cpu/poison.h"
#include "engine/gate/compare.h"
#include "engine/gate/poison.h"
#include "engine/ir/text.h"
#include "engine/passes/pass.h"
#include "engine/runtime.h"
#include "tests/unit/engine/random_graph.h"

#define N_GRAPHS 300

struct engine {
	void *image;
	struct pk_plan *plan;
	void *loaded;
};

static struct engine engine_make(struct pk_graph *graph)
{
	struct engine engine = {0};
	struct pk_err err = {0};
	enum pk_mismatch mismatch;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 1u << 28);
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	struct pk_timing_cache *timing = pk_timing_cache_open(NULL, "");
	struct pk_runtime_build job = {.graph = graph, .timing = timing};
	int r = pk_cpu_runtime.build(&job, writer, &err);
	if (r == 0)
		r = pk_plan_writer_to_buf(writer, &bytes);
	pk_timing_cache_close(timing);
	if (r < 0)
		fail_msg("%s", err.text);
	engine.image =
		aligned_alloc(PK_PLAN_WEIGHT_ALIGN, pk_align_up(bytes.len, PK_PLAN_WEIGHT_ALIGN));
	memcpy(engine.image, bytes.data, bytes.len);
	r = pk_plan_from_bytes(engine.image, bytes.len, &engine.plan, &mismatch, &err);
	if (r == 0)
		r = pk_cpu_load(engine.plan, &engine.loaded, &err);
	if (r < 0)
		fail_msg("%s", err.text);
	return engine;
}

static void engine_finish(struct engine *engine)
{
	pk_cpu_unload(engine->loaded);
	pk_plan_close(engine->plan);
	free(engine->image);
}

static void fill(void *ctx, int input_idx, const struct pk_value *value, void *data)
{
	(void)ctx;
	uint64_t seed = (uint64_t)input_idx + 7;
	for (int64_t i = 0; i < pk_shape_elements(&value->shape); i++)
		((float *)data)[i] = random_graph_float(&seed, -2, 2);
}

static float *floats(const struct pk_value *value)
{
	return malloc(pk_tensor_bytes(value->dtype, &value->shape) + 1);
}

static void run_reference(const struct pk_graph *graph, void **outputs)
{
	struct pk_err err = {0};
	float *input = floats(graph->inputs[0]);
	const void *inputs[] = {input};
	fill(NULL, 0, graph->inputs[0], input);
	for (int i = 0; i < graph->n_outputs; i++)
		outputs[i] = floats(graph->outputs[i]);
	if (pk_cpu_eval_graph(graph, inputs, outputs, &err) < 0)
		fail_msg("%s", err.text);
	free(input);
}

static void check_results(uint64_t seed, const struct engine *engine, void *const *expected)
{
	void *context = NULL;
	const struct pk_graph *graph = pk_cpu_describe(engine->loaded, NULL);
	assert_int_equal(pk_cpu_context_create(engine->loaded, 1, &context, NULL), 0);
	fill(NULL, 0, graph->inputs[0], pk_cpu_input(context, 0, 0));
	assert_int_equal(pk_cpu_submit(context, 0, NULL), 0);
	assert_int_equal(pk_cpu_wait(context, 0, NULL), 0);
	for (int i = 0; i < graph->n_outputs; i++) {
		struct pk_comparison found;
		assert_int_equal(pk_compare_f32(pk_cpu_output(context, 0, i), expected[i],
					 pk_shape_elements(&graph->outputs[i]->shape), &found),
			0);
		if (found.n_bad || found.max_rel_err > 1e-4)
			fail_msg("seed %llu: output %d differs by %g", (unsigned long long)seed, i,
				found.max_rel_err);
	}
	pk_cpu_context_destroy(context);
}

static void check_graph(uint64_t seed, bool optimise, double *worst) // *worst: peak / lower bound
{
	pk_auto(pk_graph) graph = random_graph(seed);
	struct pk_pass_options options = {.evaluator = &pk_cpu_evaluator};
	struct pk_err err = {0};
	void *expected[RANDOM_GRAPH_MAX_OUTPUTS] = {NULL};
	run_reference(graph, expected);
	if (optimise)
		assert_int_equal(pk_passes_run(graph, &options, NULL, &err), 0);
	int n_outputs = graph->n_outputs;
	struct engine engine = engine_make(graph);
	struct pk_loaded_info info;
	(void)pk_cpu_describe(engine.loaded, &info);
	check_results(seed, &engine, expected);
	if (pk_gate_poison(&pk_cpu_runtime, engine.loaded, fill, NULL, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
	if (info.lower_bound_bytes)
		*worst = fmax(
			*worst, (double)info.activation_bytes / (double)info.lower_bound_bytes);
	engine_finish(&engine);
	for (int i = 0; i < n_outputs; i++)
		free(expected[i]);
}

static void test_random_graphs(void **state)
{
	(void)state;
	double worst = 0;
	for (uint64_t seed = 0; seed < N_GRAPHS; seed++) {
		check_graph(seed, false, &worst);
		check_graph(seed, true, &worst);
	}
	printf("peak / lower bound: at most %.3f\n", worst);
	assert_true(worst <= 1.10);
}

// Small numbers around zero.
static void print_const(struct pk_buf *text, const char *name, int m, int c, int k)
{
	uint64_t seed = (uint64_t)name[0];
	pk_buf_printf(text, "const %%%s: f32[%d,%d,%d,%d] = {", name, m, c, k, k);
	for (int i = 0; i < m * c * k * k; i++)
		pk_buf_printf(text, "%s%g", i ? ", " : "",
			(double)random_graph_float(&seed, -0.3f, 0.3f));
	pk_buf_str(text, "}\n");
}

// A conv with activation and residual whose shortcut is a slice of what becomes the buffer of a
// later concat, into another part of which the conv writes.
static void test_residual_in_a_later_concat(void **state)
{
	(void)state;
	static const char body[] =
		"%t: f32[1,8,4,4] = conv(%x, %w)\n"
		"%a: f32[1,4,4,4] = slice(%t) {starts=[0,0,0,0]}\n"
		"%b: f32[1,4,4,4] = slice(%t) {starts=[0,4,0,0]}\n"
		"%m: f32[1,4,4,4] = conv(%b, %u) {pads=[1,1,1,1], act=silu}\n"
		"%n: f32[1,4,4,4] = conv(%m, %v, _, %b) {pads=[1,1,1,1], act=silu, "
		"residual=after_act}\n"
		"%c: f32[1,12,4,4] = concat(%a, %b, %n) {axis=1}\n"
		"%y: f32[1,8,4,4] = conv(%c, %z)\n  output %y\n  output %c\n}\n";
	pk_auto_buf struct pk_buf text;
	pk_auto(pk_graph) graph = NULL;
	struct pk_err err = {0};
	void *expected[RANDOM_GRAPH_MAX_OUTPUTS] = {NULL};
	pk_buf_init(&text, 1 << 20);
	pk_buf_str(&text, "graph {\n  input %x: f32[1,8,4,4]\n");
	print_const(&text, "w", 8, 8, 1);
	print_const(&text, "u", 4, 4, 3);
	print_const(&text, "v", 4, 4, 3);
	print_const(&text, "z", 8, 12, 1);
	pk_buf_str(&text, body);
	if (pk_text_parse(text.data, text.len, NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	run_reference(graph, expected);
	struct engine engine = engine_make(graph);
	check_results(0, &engine, expected);
	assert_int_equal(pk_gate_poison(&pk_cpu_runtime, engine.loaded, fill, NULL, &err), 0);
	engine_finish(&engine);
	free(expected[0]);
	free(expected[1]);
}

struct model {
	const char *file;
	const char *input; // whose shape is bound, or NULL
	struct pk_shape shape;
};

static void check_model(const struct model *model)
{
	char path[4096];
	const char *top = getenv("PICKET_SOURCE_ROOT");
	struct pk_input_shape shape = {model->input, model->shape};
	struct pk_source_model source;
	struct pk_pass_options options = {.evaluator = &pk_cpu_evaluator};
	struct pk_err err = {0};
	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", model->file);
	if (access(path, R_OK) < 0) {
		printf("%s is not here: not tried\n", model->file);
		return;
	}
	if (pk_source_model_open(&source, path, &shape, model->input ? 1 : 0, NULL, &err) < 0 ||
		pk_passes_run(source.graph, &options, NULL, &err) < 0)
		fail_msg("%s", err.text);
	struct engine engine = engine_make(source.graph);
	struct pk_loaded_info info;
	(void)pk_cpu_describe(engine.loaded, &info);
	printf("%s: peak %zu, lower bound %zu, weights %zu\n", model->file, info.activation_bytes,
		info.lower_bound_bytes, info.weight_bytes);
	assert_true((double)info.activation_bytes <= 1.10 * (double)info.lower_bound_bytes);
	if (pk_gate_poison(&pk_cpu_runtime, engine.loaded, NULL, NULL, &err) < 0)
		fail_msg("%s: %s", model->file, err.text);
	engine_finish(&engine);
	pk_source_model_close(&source);
}

static void test_real_models(void **state)
{
	(void)state;
	static const struct model models[] = {
		{"demo/parts.onnx", NULL, {0, {0}}},
		{"build/assets/blazeface_front.onnx", NULL, {0, {0}}},
		{"build/assets/blazeface_back.onnx", NULL, {0, {0}}},
		{"build/assets/ppocr_det.onnx", "x", {4, {1, 3, 160, 160}}},
		{"build/assets/ppocr_cls.onnx", "x", {4, {1, 3, 48, 192}}},
		{"build/assets/ppocr_rec.onnx", "x", {4, {1, 3, 48, 160}}},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(models); i++)
		check_model(&models[i]);
}

// The check can fail: a buffer that is said to be dead too early.
static void test_poison_shows_early_death(void **state)
{
	(void)state;
	static const char text[] = "graph {\n  input %x: f32[16]\n"
				   "  %a: f32[16] = softmax(%x) {fn=softmax}\n"
				   "  %b: f32[16] = softmax(%a) {fn=softmax}\n"
				   "  %c: f32[16] = binary(%a, %b) {fn=add}\n  output %c\n}\n";
	pk_auto(pk_graph) graph = NULL;
	struct pk_memory_plan plan;
	assert_int_equal(pk_text_parse(text, strlen(text), NULL, 0, &graph, NULL), 0);
	assert_int_equal(pk_memory_plan_make(graph, &pk_cpu_memory_rules, &plan, NULL), 0);
	int a = pk_graph_find_value(graph, "a")->id;
	pk_auto_free unsigned char *arena = calloc(1, plan.arena_bytes);
	struct pk_poison *poison = pk_poison_create(graph, &plan);
	pk_poison_fill(poison, 2, arena);
	assert_int_equal(arena[plan.offsets[a]], 0);
	assert_int_equal(arena[plan.offsets[a] + 63], 0);
	memset(arena, 0, plan.arena_bytes);
	pk_poison_fill(poison, 3, arena); // after the last node
	assert_int_equal(arena[plan.offsets[a]], PK_POISON_BYTE);
	assert_int_equal(arena[plan.offsets[pk_graph_find_value(graph, "c")->id]], 0);
	pk_poison_destroy(poison);
	memset(arena, 0, plan.arena_bytes);
	plan.sharing.last[a] = 1;
	poison = pk_poison_create(graph, &plan);
	pk_poison_fill(poison, 2, arena);
	assert_int_equal(arena[plan.offsets[a]], PK_POISON_BYTE);
	pk_poison_destroy(poison);
	pk_memory_plan_finish(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_residual_in_a_later_concat),
		cmocka_unit_test(test_real_models),
		cmocka_unit_test(test_poison_shows_early_death),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
