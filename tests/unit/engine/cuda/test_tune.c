// SPDX-License-Identifier: Apache-2.0
// The tuner's choices with a double in place of the device: what is wrong never wins, what was
// found is found again, whatever is refused is searched anew.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/compile/timing_cache.h"
#include "engine/cuda/lab.h"
#include "engine/cuda/layout.h"
#include "engine/cuda/tune.h"
#include "engine/ir/text.h"

#define N_PLANS 3

// The double: plans have the times and results that a test gives them, kernels are slow.
struct double_lab {
	struct pk_cuda_lab base;
	double plan_us[N_PLANS];
	int plan_error[N_PLANS];
	int kernel_error, open_error, each_error;
	int n_tried, n_walks;
};

static int double_try(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, double *us, struct pk_err *err)
{
	struct double_lab *lab = pk_container_of(base, struct double_lab, base);
	int idx = 0;
	lab->n_tried++;
	*us = 1000;
	if (!trial->json)
		return lab->kernel_error;
	assert_int_equal(sscanf(trial->json->data, "{\"plan\":%d}", &idx), 1);
	*us = lab->plan_us[idx];
	return lab->plan_error[idx];
}

static int double_each(struct pk_cuda_lab *base, const struct pk_cuda_trial *trial,
	const struct pk_cuda_plan_visit *visit, struct pk_err *err)
{
	struct double_lab *lab = pk_container_of(base, struct double_lab, base);
	lab->n_walks++;
	for (int i = 0; i < N_PLANS && !lab->each_error; i++) {
		char tag[16], json[32];
		snprintf(tag, sizeof(tag), "e%d", i);
		struct pk_cuda_bytes bytes = {
			json, (size_t)snprintf(json, sizeof(json), "{\"plan\":%d}", i)};
		int r = visit->visit(visit->ctx, tag, &bytes);
		if (r != 0)
			return r;
	}
	return lab->each_error;
}

static int double_open(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, struct pk_err *err)
{
	return pk_container_of(base, struct double_lab, base)->open_error;
}

struct fixture {
	struct double_lab lab;
	struct pk_runtime_build build;
	struct pk_cuda_tuner tuner;
	struct pk_graph *graph;
	struct pk_cuda_tensor inputs[3], outputs[1];
	struct pk_cuda_call call;
	struct pk_cuda_choice choice;
	struct pk_err err;
};

static const char TEXT[] = "graph { input %x: f32[1,8,6,6] const %w: f32[8,8,1,1] = {"
			   "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
			   "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1} "
			   "%y: f32[1,8,6,6] = conv(%x, %w) {act=relu} \"c\" output %y }";

static void begin(struct fixture *f, struct pk_timing_cache *timing)
{
	memset(f, 0, sizeof(*f));
	f->lab = (struct double_lab){
		.base = {double_try, double_each, double_open}, .plan_us = {30, 10, 20}};
	f->build.timing = timing;
	f->tuner = (struct pk_cuda_tuner){.lab = &f->lab.base, .build = &f->build};
	if (pk_text_parse(TEXT, strlen(TEXT), NULL, 0, &f->graph, &f->err) < 0)
		fail_msg("%s", f->err.text);
	const struct pk_node *node = pk_container_of(f->graph->nodes.next, struct pk_node, link);
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_value inner = *node->inputs[i];
		inner.is_input = false;
		pk_cuda_tensor_of(&inner, PK_F16, &f->inputs[i]);
	}
	struct pk_value inner = *node->outputs[0];
	inner.is_output = false;
	pk_cuda_tensor_of(&inner, PK_F16, &f->outputs[0]);
	f->call = (struct pk_cuda_call){node, f->inputs, f->outputs, PK_F16};
	pk_buf_init(&f->choice.json, 1024);
}

static void finish(struct fixture *f)
{
	pk_graph_destroy(f->graph);
	pk_buf_finish(&f->choice.json);
}

static int tune(struct fixture *f)
{
	return pk_cuda_tune(&f->tuner, &f->call, &f->choice, &f->err);
}

static void test_fastest_plan_wins(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	assert_int_equal(tune(&f), 0);
	assert_string_equal(f.choice.row->name, "conv_cudnn");
	assert_string_equal(f.choice.json.data, "{\"plan\":1}");
	assert_true(f.build.n_measured >= N_PLANS);
	finish(&f);
}

static void test_wrong_results_never_win(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	f.lab.plan_error[1] = -EBADE;
	f.lab.plan_error[2] = -ENOTSUP;
	assert_int_equal(tune(&f), 0);
	assert_string_equal(f.choice.json.data, "{\"plan\":0}");
	assert_int_equal(f.tuner.n_rejected, 1);
	finish(&f);
}

static void test_nothing_right_is_no_row(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	f.lab.each_error = -ENOTSUP;
	f.lab.kernel_error = -EBADE;
	assert_int_equal(tune(&f), 0);
	assert_null(f.choice.row);
	finish(&f);
}

static void test_lost_device_ends_the_build(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	f.lab.plan_error[0] = -ENOTRECOVERABLE;
	assert_int_equal(tune(&f), -ENOTRECOVERABLE);
	finish(&f);
}

static void test_winner_is_kept(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	assert_int_equal(tune(&f), 0);
	f.lab.n_tried = f.lab.n_walks = f.build.n_cache_hits = 0;
	assert_int_equal(tune(&f), 0);
	assert_string_equal(f.choice.json.data, "{\"plan\":1}");
	assert_int_equal(f.lab.n_tried, 0);
	assert_int_equal(f.lab.n_walks, 0);
	assert_int_equal(f.build.n_cache_hits, 1);
	finish(&f);
}

static void test_refused_plan_is_a_miss(void **state)
{
	struct fixture f;
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	begin(&f, timing);
	assert_int_equal(tune(&f), 0);
	f.lab.n_walks = 0;
	f.lab.open_error = -ESTALE;
	assert_int_equal(tune(&f), 0);
	assert_int_equal(f.lab.n_walks, 1); // plans are made anew
	assert_string_equal(f.choice.json.data, "{\"plan\":1}");
	finish(&f);
}

static void test_other_clocks_measure_anew(void **state)
{
	static const char path[] = "tune-clocks.timing";
	struct fixture f;
	(void)remove(path);
	struct pk_timing_cache *timing = pk_timing_cache_open(path, "{\"power_mode\":\"2\"}");
	begin(&f, timing);
	assert_int_equal(tune(&f), 0);
	assert_int_equal(pk_timing_cache_save(timing, NULL), 0);
	pk_timing_cache_close(timing);
	timing = pk_timing_cache_open(path, "{\"power_mode\":\"2\"}");
	f.build.timing = timing;
	f.lab.n_tried = 0;
	assert_int_equal(tune(&f), 0);
	assert_int_equal(f.lab.n_tried, 0);
	assert_string_equal(f.choice.json.data, "{\"plan\":1}");
	pk_timing_cache_close(timing);
	timing = pk_timing_cache_open(path, "{\"power_mode\":\"0\"}");
	f.build.timing = timing;
	assert_int_equal(tune(&f), 0);
	assert_true(f.lab.n_tried >= N_PLANS);
	pk_timing_cache_close(timing);
	(void)remove(path);
	finish(&f);
}

static void test_what_agrees(void **state)
{
	struct pk_value y = {.dtype = PK_F32, .shape = {1, {3}}};
	const float expected[] = {-1, 0, 1};
	const float near_enough[] = {-1, 0.015f, 1}, off[] = {-1, 0.03f, 1},
		    nan[] = {-1, 0.0f / 0.0f, 1};
	assert_true(pk_cuda_lab_agrees(&y, PK_F16, expected, near_enough));
	assert_false(pk_cuda_lab_agrees(&y, PK_F32, expected, near_enough));
	assert_false(pk_cuda_lab_agrees(&y, PK_F16, expected, off));
	assert_false(pk_cuda_lab_agrees(&y, PK_F16, expected, nan));
	struct pk_value q = {.dtype = PK_I8, .shape = {1, {3}}};
	const int8_t steps[] = {-128, 0, 5}, one_off[] = {-127, 1, 4}, two_off[] = {-128, 2, 5};
	assert_true(pk_cuda_lab_agrees(&q, PK_F16, steps, one_off));
	assert_false(pk_cuda_lab_agrees(&q, PK_F16, steps, two_off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fastest_plan_wins),
		cmocka_unit_test(test_wrong_results_never_win),
		cmocka_unit_test(test_nothing_right_is_no_row),
		cmocka_unit_test(test_lost_device_ends_the_build),
		cmocka_unit_test(test_winner_is_kept),
		cmocka_unit_test(test_refused_plan_is_a_miss),
		cmocka_unit_test(test_other_clocks_measure_anew),
		cmocka_unit_test(test_what_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
