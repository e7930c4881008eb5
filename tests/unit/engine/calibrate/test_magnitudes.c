// SPDX-License-Identifier: Apache-2.0
// Histograms: counts that do not depend on order, and thresholds of known distributions.
#include "engine/calibrate/magnitudes.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

static void test_counts(void **state)
{
	struct pk_magnitudes h = {0};
	static const float data[] = {0, -1, 1.5F, 2, NAN, INFINITY, -0.0F, 1023.0F / 1024};
	pk_magnitudes_add(&h, data, PK_ARRAY_LEN(data));
	assert_true(h.range == 4 && h.max == 2); // 2 needs the next power
	assert_int_equal(h.n_zeros, 2);
	assert_int_equal(h.bins[PK_MAGNITUDES_BINS / 4], 1);
	assert_int_equal(h.bins[PK_MAGNITUDES_BINS / 4 - 1], 1);
	assert_int_equal(h.bins[PK_MAGNITUDES_BINS * 3 / 8], 1);
	assert_int_equal(h.bins[PK_MAGNITUDES_BINS / 2], 1);
}

static void test_order_does_not_matter(void **state)
{
	struct pk_magnitudes up = {0}, down = {0};
	for (int i = 1; i < 3000; i++) {
		float v = (float)i * 0.37F;
		pk_magnitudes_add(&up, &v, 1);
	}
	for (int i = 2999; i > 0; i--) {
		float v = (float)i * -0.37F;
		pk_magnitudes_add(&down, &v, 1);
	}
	assert_memory_equal(&up, &down, sizeof(up));
}

static void test_extremes(void **state)
{
	struct pk_magnitudes h = {0};
	static const float data[] = {1e-45F, 3.4e38F};
	pk_magnitudes_add(&h, data, 2);
	assert_true(h.max > 3e38 && isfinite(h.range));
	assert_int_equal(h.bins[0], 1);
	struct pk_magnitudes none = {0};
	for (int method = PK_RANGE_MINMAX; method <= PK_RANGE_ENTROPY; method++)
		assert_true(
			pk_magnitudes_threshold(&none, (enum pk_range_method)method, 99.9) == 0);
}

static void test_percentile(void **state)
{
	struct pk_magnitudes h = {0};
	for (int i = 1; i <= 10000; i++) {
		float v = (float)i / 10000;
		pk_magnitudes_add(&h, &v, 1);
	}
	double cell = h.range / PK_MAGNITUDES_BINS;
	assert_true(pk_magnitudes_threshold(&h, PK_RANGE_MINMAX, 0) == 1);
	assert_true(pk_magnitudes_threshold(&h, PK_RANGE_PERCENTILE, 100) == 1);
	assert_true(fabs(pk_magnitudes_threshold(&h, PK_RANGE_PERCENTILE, 99) - 0.99) <= cell);
	assert_true(fabs(pk_magnitudes_threshold(&h, PK_RANGE_PERCENTILE, 50) - 0.5) <= cell);
}

// A flat distribution loses something by any clipping: nothing is clipped.
static void test_entropy_of_flat(void **state)
{
	struct pk_magnitudes h = {0};
	for (int i = 0; i < PK_MAGNITUDES_BINS * 16; i++) {
		float v = ((float)i + 0.5F) / (PK_MAGNITUDES_BINS * 16);
		pk_magnitudes_add(&h, &v, 1);
	}
	double found = pk_magnitudes_threshold(&h, PK_RANGE_ENTROPY, 0);
	assert_true(found > 0.98 && found <= 1);
}

// A narrow normal distribution and one number far outside: that one is clipped away, the body not.
static void test_entropy_of_outlier(void **state)
{
	struct pk_magnitudes h = {0};
	for (int i = -5000; i <= 5000; i++) {
		double x = i / 1000.0;
		int n = (int)(4000 * exp(-x * x / 2));
		float v = (float)x;
		for (int k = 0; k < n; k++)
			pk_magnitudes_add(&h, &v, 1);
	}
	float far = 60;
	pk_magnitudes_add(&h, &far, 1);
	double found = pk_magnitudes_threshold(&h, PK_RANGE_ENTROPY, 0);
	assert_true(found > 2.5 && found < 8);
	assert_true(pk_magnitudes_threshold(&h, PK_RANGE_MINMAX, 0) == 60);
}

static void test_methods(void **state)
{
	for (int i = PK_RANGE_MINMAX; i <= PK_RANGE_ENTROPY; i++)
		assert_int_equal(
			pk_range_method_from_name(pk_range_method_name((enum pk_range_method)i)),
			i);
	assert_int_equal(pk_range_method_from_name("max"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_percentile),
		cmocka_unit_test(test_entropy_of_flat),
		cmocka_unit_test(test_entropy_of_outlier),
		cmocka_unit_test(test_methods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
