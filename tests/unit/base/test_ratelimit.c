// SPDX-License-Identifier: Apache-2.0
// Rate limit: bursts, windows, the count of what it swallowed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ratelimit.h"

static void burst_then_silence(void **state)
{
	struct pk_ratelimit limit = {.interval_ns = PK_NS_PER_S, .burst = 2};
	int64_t t = 5 * PK_NS_PER_S;
	unsigned swallowed = 99;
	assert_true(pk_ratelimit_pass(&limit, t, &swallowed));
	assert_int_equal(swallowed, 0);
	assert_true(pk_ratelimit_pass(&limit, t + 1, NULL));
	for (int i = 0; i < 7; i++)
		assert_false(pk_ratelimit_pass(&limit, t + 2 + i, &swallowed));
	assert_false(pk_ratelimit_pass(&limit, t + PK_NS_PER_S - 1, NULL));
	assert_true(pk_ratelimit_pass(&limit, t + PK_NS_PER_S, &swallowed));
	assert_int_equal(swallowed, 8);
	assert_true(pk_ratelimit_pass(&limit, t + PK_NS_PER_S + 1, &swallowed));
	assert_int_equal(swallowed, 0);
}

static void no_burst_means_silence(void **state)
{
	struct pk_ratelimit limit = {.interval_ns = PK_NS_PER_S, .burst = 0};
	for (int i = 1; i < 5; i++)
		assert_false(pk_ratelimit_pass(&limit, i * PK_NS_PER_S, NULL));
	assert_int_equal(limit.n_swallowed, 4);
}

static void first_call_opens_a_window_early_after_boot(void **state)
{
	struct pk_ratelimit limit = {.interval_ns = 10 * PK_NS_PER_S, .burst = 1};
	assert_true(pk_ratelimit_pass(&limit, 1, NULL));
	assert_false(pk_ratelimit_pass(&limit, 5 * PK_NS_PER_S, NULL));
	assert_true(pk_ratelimit_pass(&limit, 11 * PK_NS_PER_S, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_then_silence),
		cmocka_unit_test(no_burst_means_silence),
		cmocka_unit_test(first_call_opens_a_window_early_after_boot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
