// SPDX-License-Identifier: Apache-2.0
// Histogram: bucket edges, quantile error, windows, many writers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/attr.h"
#include "base/metric.h"

static struct pk_histogram hist; // too large for comfort on the stack

static int reset(void **state)
{
	memset(&hist, 0, sizeof(hist));
	return 0;
}

static void empty_is_zero(void **state)
{
	assert_int_equal(pk_histogram_quantile(&hist, 0.5), 0);
}

static void one_value_is_exact(void **state)
{
	pk_histogram_add(&hist, 1234567);
	for (double q = 0; q <= 1.0; q += 0.25)
		assert_int_equal(pk_histogram_quantile(&hist, q), 1234567);
}

// A large companion keeps the maximum from hiding the bucket's edge.
static void error_is_bounded(void **state)
{
	for (int64_t v = 1000; v < INT64_C(1000000000000); v += v / 3) {
		reset(NULL);
		pk_histogram_add(&hist, v);
		pk_histogram_add(&hist, INT64_C(2000000000000));
		int64_t got = pk_histogram_quantile(&hist, 0.5);
		assert_true(got >= v);
		assert_true((double)(got - v) <= 0.125 * (double)v);
	}
}

static void extremes_are_kept(void **state)
{
	pk_histogram_add(&hist, -5);
	assert_int_equal(pk_histogram_quantile(&hist, 1), 0);
	pk_histogram_add(&hist, INT64_MAX);
	assert_true(pk_histogram_quantile(&hist, 1) == INT64_MAX);
	assert_true(pk_histogram_quantile(&hist, 7.0) == INT64_MAX);
	assert_in_range(pk_histogram_quantile(&hist, -1.0), 0, 125);
	assert_in_range(pk_histogram_quantile(&hist, (double)NAN), 0, 125);
}

static void quantiles_of_a_ramp(void **state)
{
	for (int64_t i = 1; i <= 1000; i++)
		pk_histogram_add(&hist, i * 1000000);
	static const double quantiles[] = {0.01, 0.5, 0.9, 0.99};
	for (size_t i = 0; i < PK_ARRAY_LEN(quantiles); i++) {
		double want = quantiles[i] * 1000e6;
		double got = (double)pk_histogram_quantile(&hist, quantiles[i]);
		assert_true(got >= want && got <= want * 1.125);
	}
	assert_int_equal(pk_histogram_quantile(&hist, 1), 1000000000);
}

static void window_is_the_difference(void **state)
{
	static struct pk_histogram before, now;
	for (int i = 0; i < 100; i++)
		pk_histogram_add(&hist, 1000000);
	memcpy(&before, &hist, sizeof(hist));
	for (int i = 0; i < 100; i++)
		pk_histogram_add(&hist, 50000000);
	memcpy(&now, &hist, sizeof(hist));
	pk_histogram_sub(&now, &before);
	assert_int_equal(now.count, 100);
	assert_true(now.sum_ns == UINT64_C(5000000000));
	assert_true(pk_histogram_quantile(&now, 0.01) >= 50000000);
}

static void *writer(void *arg)
{
	struct pk_counter *counter = arg;
	for (int i = 0; i < 20000; i++) {
		pk_histogram_add(&hist, i);
		pk_counter_add(counter, 2);
	}
	return NULL;
}

static void no_count_is_lost(void **state)
{
	struct pk_counter counter = {0};
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, &counter), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pk_counter_get(&counter), 160000);
	assert_int_equal(hist.count, 80000);
	assert_int_equal(hist.max_ns, 19999);
	struct pk_gauge gauge = {0};
	pk_gauge_set(&gauge, -3);
	assert_int_equal(pk_gauge_get(&gauge), -3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(empty_is_zero, reset),
		cmocka_unit_test_setup(one_value_is_exact, reset),
		cmocka_unit_test_setup(error_is_bounded, reset),
		cmocka_unit_test_setup(extremes_are_kept, reset),
		cmocka_unit_test_setup(quantiles_of_a_ramp, reset),
		cmocka_unit_test_setup(window_is_the_difference, reset),
		cmocka_unit_test_setup(no_count_is_lost, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
