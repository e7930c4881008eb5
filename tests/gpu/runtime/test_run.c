// SPDX-License-Identifier: Apache-2.0
// Graphs through build, load and run of the cuda runtime on the test double: equal to the
// reference, nothing left behind, nothing misused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/runtime/cuda_case.h"
#include "tests/unit/engine/random_graph.h"

#define N_RANDOM 100

static const struct pk_fake_cuda *fake;

// pool, views, elementwise with a broadcast constant, both borders of layouts
static const char slice_text[] =
	"graph {\n"
	"  input %x: f32[1,5,12,10]\n"
	"  const %s: f32[5,1,1] = {1, -2, 0.5, 3, -1}\n"
	"  %a: f32[1,5,12,10] = unary(%x) {fn=silu}\n"
	"  %b: f32[1,5,12,10] = binary(%a, %s) {fn=mul}\n"
	"  %c: f32[1,5,6,5] = pool(%b) {fn=max_pool, kernel=[2,2], strides=[2,2]}\n"
	"  %d: f32[1,5,6,5] = unary(%c) {fn=exp}\n"
	"  %e: f32[1,150] = reshape(%d)\n"
	"  %f: f32[5,30] = reshape(%e)\n"
	"  %g: f32[5,30] = unary(%f) {fn=neg}\n"
	"  output %d\n"
	"  output %g\n"
	"}\n";

static void check_clean(void)
{
	if (fake->misuse())
		fail_msg("%s", fake->last_misuse());
	assert_int_equal(fake->live(), 0);
}

static void check_graph(
	struct pk_graph *graph, struct pk_graph *reference, enum pk_dtype float_type, double limit)
{
	struct cuda_engine engine;
	struct pk_err err = {0};
	fake->reset();
	if (cuda_engine_make(graph, float_type, &engine, &err) < 0)
		fail_msg("%s", err.text);
	double difference = cuda_case_difference(&engine, reference);
	if (difference > limit)
		fail_msg("differs by %g of the range", difference);
	cuda_engine_finish(&engine);
	check_clean();
}

static void check_text(const char *text, enum pk_dtype float_type, double limit)
{
	pk_auto(pk_graph) graph = cuda_case_graph(text);
	pk_auto(pk_graph) reference = cuda_case_graph(text);
	check_graph(graph, reference, float_type, limit);
}

static void test_first_slice(void **state)
{
	(void)state;
	check_text(slice_text, PK_F32, 1e-5);
	check_text(slice_text, PK_F16, 4e-3);
}

static void test_mapped_input(void **state)
{
	(void)state;
	setenv("PICKET_FAKE_CUDA_INTEGRATED", "1", 1);
	check_text(slice_text, PK_F32, 1e-5);
	assert_int_equal(fake->calls_of("cuMemcpyHtoDAsync_v2"), 0);
	unsetenv("PICKET_FAKE_CUDA_INTEGRATED");
}

static void test_without_capture(void **state)
{
	pk_auto(pk_graph) graph = cuda_case_graph(slice_text);
	pk_auto(pk_graph) reference = cuda_case_graph(slice_text);
	struct cuda_engine engine;
	(void)state;
	fake->reset();
	fake->refuse_capture(true);
	assert_int_equal(cuda_engine_make(graph, PK_F32, &engine, NULL), 0);
	assert_true(cuda_case_difference(&engine, reference) < 1e-5);
	assert_int_equal(fake->calls_of("cuGraphLaunch"), 0);
	cuda_engine_finish(&engine);
	check_clean();
}

// A convolution without a row of its own is an island; so is what it stands between.
static void test_random_graphs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_RANDOM; seed++) {
		pk_auto(pk_graph) graph = random_graph(seed);
		pk_auto(pk_graph) reference = random_graph(seed);
		check_graph(graph, reference, PK_F32, 1e-4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_slice),
		cmocka_unit_test(test_mapped_input),
		cmocka_unit_test(test_without_capture),
		cmocka_unit_test(test_random_graphs),
	};
	fake = cuda_case_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
