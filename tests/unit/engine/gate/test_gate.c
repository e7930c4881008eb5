// SPDX-License-Identifier: Apache-2.0
// The whole gate on small engines: right ones pass, wrong ones are refused by the right check.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/compile/timing_cache.h"
#include "engine/gate/gate.h"

// y = fn(x + add), x: f32[1,4,16]
static struct pk_graph *make_graph(enum pk_fn fn, float add)
{
	struct pk_graph *graph = pk_graph_create(0);
	struct pk_shape shape = {.rank = 3, .dims = {1, 4, 16}}, one = {.rank = 1, .dims = {1}};
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &shape);
	struct pk_value *c = pk_graph_add_const_copy(graph, "c", PK_F32, &one, &add);
	struct pk_value *in[] = {x, c};
	struct pk_node *sum = pk_graph_new_node(graph, PK_OP_BINARY, "sum", in, 2, NULL);
	pk_node_set_int(sum, PK_ATTR_FN, PK_FN_ADD);
	assert_int_equal(pk_graph_finish_node(graph, sum, NULL, 1, NULL, NULL), 0);
	struct pk_node *f = pk_graph_new_node(graph, PK_OP_UNARY, "f", sum->outputs, 1, NULL);
	pk_node_set_int(f, PK_ATTR_FN, fn);
	assert_int_equal(
		pk_graph_finish_node(graph, f, (const char *const[]){"y"}, 1, NULL, NULL), 0);
	assert_int_equal(pk_graph_add_output(graph, f->outputs[0]), 0);
	return graph;
}

struct outcome {
	int code;
	struct pk_gate_verdict verdict;
	struct pk_err err;
	bool recorded;
};

static struct outcome judge(struct pk_graph *graph, struct pk_gate_job *job)
{
	struct outcome out = {0};
	struct pk_loaded_info loaded = {0};
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	struct pk_timing_cache *timing = pk_timing_cache_open(NULL, "test");
	struct pk_runtime_build build = {.graph = graph, .timing = timing};
	assert_int_equal(pk_cpu_runtime.build(&build, writer, &out.err), 0);
	job->runtime = &pk_cpu_runtime;
	if (!job->profile)
		job->profile = pk_gate_profile_of(PK_PRECISION_FP32);
	if (!job->patterns)
		job->patterns = PK_GATE_ALL_PATTERNS;
	out.code = pk_gate_run(job, writer, &out.verdict, &loaded, &out.err);
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 1u << 20);
	assert_int_equal(pk_plan_writer_to_buf(writer, &bytes), 0);
	out.recorded = memmem(bytes.data, bytes.len, "\"checks\":[", 10) != NULL;
	pk_timing_cache_close(timing);
	return out;
}

static void test_right_engine_passes(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_RELU, 0.25f);
	pk_auto(pk_graph) reference = make_graph(PK_FN_RELU, 0.25f);
	struct pk_gate_job job = {.reference = reference};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, 0);
	assert_true(out.recorded);
	assert_int_equal(out.verdict.n_inputs, 4);
	assert_true(out.verdict.max_rel_err == 0 && out.verdict.min_cosine == 1);
	static const enum pk_gate_check run[] = {PK_GATE_SANITY, PK_GATE_COSINE, PK_GATE_ERROR,
		PK_GATE_NOISE, PK_GATE_REPEAT, PK_GATE_POISON};
	for (size_t i = 0; i < PK_ARRAY_LEN(run); i++)
		assert_int_equal(out.verdict.rows[run[i]].state, PK_GATE_PASSED);
}

static void test_wrong_engine_is_refused(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_RELU, 0.27f);
	pk_auto(pk_graph) reference = make_graph(PK_FN_RELU, 0.25f);
	struct pk_gate_job job = {.reference = reference};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, -EBADE);
	assert_false(out.recorded);
	assert_int_equal(pk_gate_verdict_reason(&out.verdict), PK_GATE_ERROR);
	assert_int_equal(out.verdict.n_inputs, 1); // the first failure stops
	assert_int_equal(out.verdict.rows[PK_GATE_NOISE].state, PK_GATE_FAILED); // yet rows stay
	assert_non_null(strstr(out.err.text, "output `y` on noise"));
}

static void test_only_black_tells(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_LOG, 0); // log(0)
	pk_auto(pk_graph) reference = make_graph(PK_FN_LOG, 1e-30f);
	struct pk_gate_job job = {.reference = reference};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, -EBADE);
	assert_int_equal(pk_gate_verdict_reason(&out.verdict), PK_GATE_SANITY);
	assert_non_null(strstr(out.err.text, "on black"));
}

static void test_without_reference(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_RELU, 0.25f);
	struct pk_gate_job job = {0};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, 0);
	assert_false(out.verdict.compared);
	assert_int_equal(out.verdict.rows[PK_GATE_COSINE].state, PK_GATE_NOT_RUN);
	pk_auto(pk_graph) broken = make_graph(PK_FN_SQRT, -2);
	out = judge(broken, &job);
	assert_int_equal(out.code, -EBADE);
	assert_int_equal(pk_gate_verdict_reason(&out.verdict), PK_GATE_SANITY);
}

static void test_samples_and_budget(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_ABS, -5);
	pk_auto(pk_graph) reference = make_graph(PK_FN_NEG, -5); // equal below 5
	float picture[64];
	for (int i = 0; i < 64; i++)
		picture[i] = (float)i;
	struct pk_gate_sample sample = {"belt.rgb", picture, sizeof(picture)};
	struct pk_gate_job job = {.reference = reference};
	assert_int_equal(judge(graph, &job).code, 0);
	job.samples = &sample;
	job.n_samples = 1;
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, -EBADE);
	assert_non_null(strstr(out.err.text, "belt.rgb"));
	sample.bytes--;
	assert_int_equal(judge(graph, &job).code, -EINVAL);
	struct pk_gate_profile tight = *pk_gate_profile_of(PK_PRECISION_FP32);
	tight.memory_bytes = 1;
	job = (struct pk_gate_job){.reference = reference, .profile = &tight};
	out = judge(graph, &job);
	assert_int_equal(pk_gate_verdict_reason(&out.verdict), PK_GATE_BUDGET);
}

static void test_other_outputs(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_RELU, 0);
	pk_auto(pk_graph) reference = make_graph(PK_FN_RELU, 0);
	assert_int_equal(pk_graph_add_output(reference, reference->inputs[0]), 0);
	struct pk_gate_job job = {.reference = reference};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, -EBADE);
	assert_non_null(strstr(out.err.text, "G0 sanity: other bindings"));
}

static int cancel(void *ctx, int done, int total, const char *what)
{
	(void)ctx;
	assert_true(total == 4 && what[0] != '\0');
	return done == 2;
}

static void test_cancel(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = make_graph(PK_FN_RELU, 0);
	pk_auto(pk_graph) reference = make_graph(PK_FN_RELU, 0);
	struct pk_gate_job job = {.reference = reference, .progress = cancel};
	struct outcome out = judge(graph, &job);
	assert_int_equal(out.code, -ECANCELED);
	assert_int_equal(out.verdict.n_inputs, 2);
}

static void test_patterns(void **state)
{
	(void)state;
	struct pk_shape shape = {.rank = 2, .dims = {2, 3}};
	float f[6];
	uint8_t u[6];
	int64_t i[6] = {1};
	pk_gate_pattern_fill(PK_GATE_GRADIENT_PATTERN, PK_F32, &shape, 1, f);
	assert_true(f[0] == 0 && f[1] == 0.5f && f[2] == 1 && f[3] == 0);
	pk_gate_pattern_fill(PK_GATE_WHITE_PATTERN, PK_U8, &shape, 1, u);
	assert_true(u[0] == 255 && u[5] == 255);
	pk_gate_pattern_fill(PK_GATE_NOISE_PATTERN, PK_F32, &shape, 1, f);
	assert_true(f[0] >= 0 && f[0] < 1 && f[0] != f[1]);
	pk_gate_pattern_fill(PK_GATE_NOISE_PATTERN, PK_I64, &shape, 1, i);
	assert_true(i[0] == 0 && i[5] == 0);
}

// The winner of a flat distribution is lost to an error that the tensor's own figures let through.
static void test_a_classifier_keeps_its_winners(void **state)
{
	(void)state;
	float picture[64], other[64];
	for (int i = 0; i < 64; i++) {
		picture[i] = 3 + (float)(i % 5) * 1e-4f;
		other[i] = (float)(i * 7 % 64) / 8;
	}
	const struct pk_gate_sample samples[] = {
		{"flat", picture, sizeof(picture)}, {"steep", other, sizeof(other)}};
	pk_auto(pk_graph) reference = make_graph(PK_FN_ABS, 1);
	struct pk_gate_job job = {.reference = reference,
		.samples = samples,
		.n_samples = 2,
		.classes = {.name = "y", .n_classes = 64, .is_logits = true}};
	pk_auto(pk_graph) same = make_graph(PK_FN_ABS, 1);
	pk_auto(pk_graph) negated = make_graph(PK_FN_NEG, 1); // the smallest wins
	struct outcome good = judge(same, &job);
	assert_int_equal(good.code, 0);
	assert_int_equal(good.verdict.rows[PK_GATE_MATCH].state, PK_GATE_PASSED);
	assert_string_equal(good.verdict.rows[PK_GATE_MATCH].figure, "same winner");
	assert_string_equal(good.verdict.rows[PK_GATE_MATCH].where, "2 of 2 samples");
	assert_int_equal(good.verdict.rows[PK_GATE_SCORE].state, PK_GATE_PASSED);
	struct pk_gate_profile loose = *pk_gate_profile_of(PK_PRECISION_INT8);
	loose.top1 = 1;
	loose.min_sqnr_db = loose.min_cosine = -1000;
	loose.rel_err_q99 = 0;
	job.profile = &loose;
	struct outcome bad = judge(negated, &job);
	assert_int_equal(bad.code, -EBADE);
	assert_int_equal(bad.verdict.rows[PK_GATE_MATCH].state, PK_GATE_FAILED);
	assert_non_null(strstr(bad.err.text, "same winner 0, limit >= 1 (0 of 2 samples)"));
	assert_int_equal(bad.verdict.rows[PK_GATE_SCORE].state, PK_GATE_FAILED);
	job.classes.n_classes = 7;
	struct outcome other_rows = judge(same, &job);
	assert_int_equal(other_rows.code, -EINVAL);
	assert_non_null(strstr(other_rows.err.text, "no rows of 7 classes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_engine_passes),
		cmocka_unit_test(test_wrong_engine_is_refused),
		cmocka_unit_test(test_only_black_tells),
		cmocka_unit_test(test_without_reference),
		cmocka_unit_test(test_samples_and_budget),
		cmocka_unit_test(test_other_outputs),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_a_classifier_keeps_its_winners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
