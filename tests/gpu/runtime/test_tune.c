// SPDX-License-Identifier: Apache-2.0
// Tuned cuda engines on the test double: each operation is tried by kernels that run for real on
// the host, so what is wrong is found; the times are those of the double's clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/compile/timing_cache.h"
#include "tests/gpu/runtime/cuda_case.h"

static const struct pk_fake_cuda *fake;

static const char TEXT[] =
	"graph { input %x: f32[1,8,12,12] %p: f32[1,8,6,6] = pool(%x) {fn=max_pool, kernel=[2,2], "
	"strides=[2,2]} \"p\" %s: f32[1,8,6,6] = unary(%p) {fn=silu} \"s\" "
	"%a: f32[1,8,6,6] = binary(%s, %p) {fn=add} \"a\" output %a }";

static int build(struct pk_timing_cache *timing, struct pk_runtime_build *job, struct pk_err *err)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	pk_auto(pk_graph) graph = cuda_case_graph(TEXT);
	*job = (struct pk_runtime_build){
		.graph = graph, .opt_level = 1, .timing = timing, .float_type = PK_F16};
	return pk_cuda_runtime.build(job, writer, err);
}

static void test_each_operation_is_tried_once(void **state)
{
	struct pk_err err = {0};
	struct pk_runtime_build job;
	struct pk_timing_cache *timing = pk_timing_cache_open(NULL, "{}");
	fake->reset();
	assert_int_equal(build(timing, &job, &err), 0);
	assert_true(job.n_measured >= 3);
	int n_first = job.n_measured;
	long n_calls = fake->calls();
	fake->reset();
	assert_int_equal(build(timing, &job, &err), 0);
	assert_int_equal(job.n_measured, 0);
	assert_true(job.n_cache_hits >= 3);
	assert_true(fake->calls() < n_calls / 2);
	assert_int_equal((long)pk_timing_cache_len(timing) >= 2L * n_first, 1);
	assert_int_equal(fake->live(), 0);
	assert_int_equal(fake->misuse(), 0);
	pk_timing_cache_close(timing);
}

// Every call of the driver fails once: the build fails or finds another way, and nothing leaks.
static void test_faults_leave_nothing(void **state)
{
	struct pk_runtime_build job;
	for (long n = 1; n < 400; n += 13) {
		struct pk_err err = {0};
		struct pk_timing_cache *timing = pk_timing_cache_open(NULL, "{}");
		fake->reset();
		fake->fail_at(n, 2);
		(void)build(timing, &job, &err);
		if (fake->live() != 0)
			fail_msg("%ld objects left after call %ld failed", fake->live(), n);
		pk_timing_cache_close(timing);
	}
	fake->reset();
}

int main(void)
{
	fake = cuda_case_begin();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation_is_tried_once),
		cmocka_unit_test(test_faults_leave_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
