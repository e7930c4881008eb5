// SPDX-License-Identifier: Apache-2.0
// Every driver call of a life fails once, in each class: nothing leaks, nothing hangs, the class
// comes out right. And many lives in one process leave nothing behind.
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/runtime/cuda_case.h"

#define N_LIVES      100
#define N_LIVES_LONG 1000

static const struct pk_fake_cuda *fake;

// Kernels, a view, an island (no row takes the cumulative sum), borders on both sides.
static const char text[] =
	"graph {\n"
	"  input %x: f32[1,3,8,8]\n"
	"  const %s: f32[3,1,1] = {1, -2, 0.5}\n"
	"  %a: f32[1,3,8,8] = binary(%x, %s) {fn=mul}\n"
	"  %b: f32[1,3,4,4] = pool(%a) {fn=max_pool, kernel=[2,2], strides=[2,2]}\n"
	"  %c: f32[1,3,4,4] = cum_sum(%b) {axis=2}\n"
	"  %d: f32[1,3,4,4] = unary(%c) {fn=relu}\n"
	"  %e: f32[48] = reshape(%d)\n"
	"  output %d\n"
	"  output %e\n"
	"}\n";

// One life: build, load, two slots, two runs each, unload.
static int run_life(struct pk_err *err)
{
	pk_auto(pk_graph) graph = cuda_case_graph(text);
	struct cuda_engine engine;
	void *context = NULL;
	int r = cuda_engine_make(graph, PK_F32, &engine, err);
	if (r == 0)
		r = pk_cuda_runtime.context_create(engine.loaded, 2, &context, err);
	for (int i = 0; r == 0 && i < 4; i++) {
		r = pk_cuda_runtime.submit(context, i % 2, err);
		if (r == 0)
			r = pk_cuda_runtime.wait(context, i % 2, err);
	}
	if (context)
		pk_cuda_runtime.context_destroy(context);
	cuda_engine_finish(&engine);
	return r;
}

static void check_clean(long nth)
{
	if (fake->misuse())
		fail_msg("call %ld: %s", nth, fake->last_misuse());
	if (fake->live())
		fail_msg("call %ld: %ld objects left", nth, fake->live());
}

static long count_calls(void)
{
	struct pk_err err = {0};
	fake->reset();
	if (run_life(&err) < 0)
		fail_msg("%s", err.text);
	check_clean(0);
	return fake->calls();
}

// Each call of a life gives `status` once. Where the runtime can do without the call's success
// (capture, giving back) the life ends well; else its error is of the class expected.
static void fail_each(int status, int expected)
{
	long n = count_calls(), n_failed = 0;
	assert_true(n > 100);
	for (long nth = 1; nth <= n; nth++) {
		struct pk_err err = {0};
		fake->reset();
		fake->fail_at(nth, status);
		int r = run_life(&err);
		if (r != 0 && r != expected)
			fail_msg("call %ld of %ld: %d instead of %d: %s", nth, n, r, expected,
				err.text);
		if (r < 0 && !err.text[0])
			fail_msg("call %ld of %ld: no words", nth, n);
		n_failed += r < 0;
		check_clean(nth);
	}
	print_message("          status %d: %ld of %ld calls end the life\n", status, n_failed, n);
	assert_true(n_failed > n / 3);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	fail_each(2, -ENOMEM);
}

static void test_illegal_address(void **state)
{
	(void)state;
	fail_each(700, -ENOTRECOVERABLE);
}

static void test_launch_failed(void **state)
{
	(void)state;
	fail_each(719, -ENOTRECOVERABLE);
}

static void test_launch_timeout(void **state)
{
	(void)state;
	fail_each(702, -ETIME);
}

static void test_image_refused(void **state)
{
	struct pk_err err = {0};
	(void)state;
	fake->reset();
	for (long nth = 1;; nth++) { // the one that loads the first cubin
		fake->reset();
		fake->fail_at(nth, 209);
		long before = fake->calls_of("cuModuleLoadData");
		int r = run_life(&err);
		assert_int_equal(before, 0);
		check_clean(nth);
		if (fake->calls_of("cuModuleLoadData") == 1) {
			assert_int_equal(r, -ESTALE);
			return;
		}
	}
}

static void test_many_lives(void **state)
{
	int n = getenv("PICKET_LONG") ? N_LIVES_LONG : N_LIVES;
	size_t first = 0;
	(void)state;
	for (int i = 0; i < n; i++) {
		(void)count_calls();
		struct mallinfo2 info = mallinfo2();
		if (i == n / 10)
			first = info.uordblks;
		if (i == n - 1 && info.uordblks > first + 65536)
			fail_msg("%zu bytes more after %d lives", info.uordblks - first, n);
	}
	print_message("          %d lives\n", n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_illegal_address),
		cmocka_unit_test(test_launch_failed),
		cmocka_unit_test(test_launch_timeout),
		cmocka_unit_test(test_image_refused),
		cmocka_unit_test(test_many_lives),
	};
	fake = cuda_case_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
