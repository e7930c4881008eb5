// SPDX-License-Identifier: Apache-2.0
// Delays double, stay within their jitter and cap, and start over.
#include "base/clock.h"
#include "pipeline/backoff.h"
#include "tests/unit/pipeline/cm.h"

static void assert_within(int64_t v, int64_t middle)
{
	assert_true(v >= middle / 10 * 8 - 1 && v <= middle / 10 * 12 + 1);
}

static void test_grows_to_the_cap(void **state)
{
	struct pk_backoff b = {.min_ns = PK_NS_PER_S, .max_ns = 10 * PK_NS_PER_S, .random = 7};
	const int64_t want_s[] = {1, 2, 4, 8, 10, 10, 10};
	for (size_t i = 0; i < sizeof(want_s) / sizeof(want_s[0]); i++)
		assert_within(pk_backoff_next(&b), want_s[i] * PK_NS_PER_S);
	pk_backoff_reset(&b);
	assert_within(pk_backoff_next(&b), PK_NS_PER_S);
}

static void test_jitter_spreads(void **state)
{
	struct pk_backoff a = {.min_ns = PK_NS_PER_S, .max_ns = PK_NS_PER_S, .random = 1};
	int64_t low = INT64_MAX, high = 0;
	for (int i = 0; i < 1000; i++) {
		int64_t v = pk_backoff_next(&a);
		assert_within(v, PK_NS_PER_S);
		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	assert_true(high - low > 300 * PK_NS_PER_MS);
}

static void test_extremes(void **state)
{
	struct pk_backoff b = {.min_ns = INT64_C(1) << 60, .max_ns = INT64_C(1) << 62};
	for (int i = 0; i < 10; i++)
		assert_true(pk_backoff_next(&b) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_to_the_cap),
		cmocka_unit_test(test_jitter_spreads),
		cmocka_unit_test(test_extremes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
