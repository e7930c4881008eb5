// SPDX-License-Identifier: Apache-2.0
// Tensor metrics against numbers worked out by hand, and on hostile values.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "engine/gate/compare.h"
#include "engine/gate/quantile.h"

#define assert_near(a, b, eps) assert_true(fabs((double)(a) - (double)(b)) <= (eps))

static void test_quantiles(void **state)
{
	(void)state;
	float v[] = {5, 1, 4, 2, 3};
	assert_near(pk_quantile_f32(v, 5, 0), 1, 0);
	assert_near(pk_quantile_f32(v, 5, 0.5), 3, 0);
	assert_near(pk_quantile_f32(v, 5, 1), 5, 0);
	assert_near(pk_quantile_f32(v, 5, 0.9), 4.6, 1e-12); // position 3.6
	float one[] = {7};
	assert_near(pk_quantile_f32(one, 1, 0.99), 7, 0);
	enum { N = 100000 };
	float *many = calloc(N, sizeof(*many));
	for (int i = 0; i < N; i++)
		many[i] = (float)((i * 7919) % N);
	assert_near(pk_quantile_f32(many, N, 0.999), 0.999 * (N - 1), 0.01);
	for (int i = 0; i < N; i++)
		many[i] = 3; // all equal must not become slow
	assert_near(pk_quantile_f32(many, N, 0.25), 3, 0);
	free(many);
}

static void test_known_distances(void **state)
{
	(void)state;
	const float b[] = {1, 2, 3, 4}, a[] = {1, 2, 3, 5};
	struct pk_comparison got;
	assert_int_equal(pk_compare_f32(a, b, 4, &got), 0);
	// dot 34, |a|² 39, |b|² 30
	assert_near(got.cosine, 34 / sqrt(39.0 * 30), 1e-12);
	// means 2.75 and 2.5: deviations (-1.75 -.75 .25 2.25), (-1.5 -.5 .5 1.5)
	assert_near(got.cosine_centered, 6.5 / sqrt(8.75 * 5), 1e-12);
	// quantiles at positions 2.997 and .003
	assert_near(got.range, 3.997 - 1.003, 1e-9);
	assert_near(got.max_rel_err, 1 / 2.994, 1e-9);
	assert_near(got.rel_err_q99, 0.97 / 2.994, 1e-6); // position 2.97 of 0 0 0 1
	assert_near(got.rel_err_q999, 0.997 / 2.994, 1e-6);
	assert_near(got.sqnr_db, 10 * log10(30), 1e-12);
	assert_true(got.n_bad == 0 && got.n_bad_reference == 0);
}

static void test_equal_and_constant(void **state)
{
	(void)state;
	const float zeros[3] = {0}, fives[] = {5, 5, 5}, sixes[] = {6, 6, 6};
	struct pk_comparison got;
	assert_int_equal(pk_compare_f32(zeros, zeros, 3, &got), 0);
	assert_true(got.cosine == 1 && got.cosine_centered == 1 && got.max_rel_err == 0);
	assert_true(got.sqnr_db == PK_SQNR_MAX_DB);
	assert_int_equal(pk_compare_f32(sixes, fives, 3, &got), 0);
	assert_near(got.max_rel_err, 0.2, 1e-12); // a constant's range is its size
	assert_near(got.cosine, 1, 1e-12);        // the offset hides here
	const float halves[] = {0.5002F, 0.4998F}, rounded[] = {0.5002012F, 0.4997988F};
	assert_int_equal(pk_compare_f32(rounded, halves, 2, &got), 0);
	assert_near(got.range, 0.005002, 1e-6); // nearly constant: a hundredth of its size
	assert_int_equal(pk_compare_f32(zeros, fives, 3, &got), 0);
	assert_true(got.cosine == 0 && got.sqnr_db == 0);
	assert_int_equal(pk_compare_f32(fives, zeros, 3, &got), 0);
	assert_true(got.sqnr_db == -PK_SQNR_MAX_DB && got.max_rel_err > 1e6);
	assert_int_equal(pk_compare_f32(NULL, NULL, 0, &got), 0);
	assert_true(got.cosine == 1 && got.max_rel_err == 0);
}

// A constant offset leaves the plain cosine high; the mean-removed copy tells the truth.
static void test_offset_does_not_hide(void **state)
{
	(void)state;
	float a[100], b[100];
	for (int i = 0; i < 100; i++) {
		b[i] = 1000 + (float)(i % 2);
		a[i] = 1000 + (float)(i % 3);
	}
	struct pk_comparison got;
	assert_int_equal(pk_compare_f32(a, b, 100, &got), 0);
	assert_true(got.cosine > 0.99999);
	assert_true(got.cosine_centered < 0.1);
}

static void test_not_numbers(void **state)
{
	(void)state;
	const float b[] = {1, 2, NAN, 4, 5}, a[] = {1, NAN, 3, INFINITY, 5};
	struct pk_comparison got;
	assert_int_equal(pk_compare_f32(a, b, 5, &got), 0);
	assert_int_equal(got.n_bad, 2);
	assert_int_equal(got.n_bad_reference, 1);
	assert_true(got.max_rel_err == 0 && got.cosine == 1);
	const float all[] = {NAN, -INFINITY};
	assert_int_equal(pk_compare_f32(all, b, 2, &got), 0);
	assert_int_equal(got.n_bad, 2);
	assert_true(isfinite(got.cosine) && isfinite(got.max_rel_err));
	const float huge[] = {3e38f, -3e38f}, small[] = {-3e38f, 3e38f};
	assert_int_equal(pk_compare_f32(huge, small, 2, &got), 0);
	assert_near(got.cosine, -1, 1e-12);
	assert_true(isfinite(got.sqnr_db));
}

// One spike in a field of zeros: the quantiles are 0, the range must not be.
static void test_spike_keeps_a_range(void **state)
{
	(void)state;
	float *a = calloc(10000, sizeof(*a)), *b = calloc(10000, sizeof(*b));
	b[5000] = 10;
	a[5000] = 10.05f;
	struct pk_comparison got;
	assert_int_equal(pk_compare_f32(a, b, 10000, &got), 0);
	assert_near(got.range, 10, 1e-9);
	assert_near(got.max_rel_err, 0.005, 1e-6);
	free(a);
	free(b);
}

static void test_channels(void **state)
{
	(void)state;
	// [1,3,4]: boxes in pixels, scores, and a channel that says nothing
	const float b[] = {100, 200, 300, 400, .1f, .2f, .3f, .4f, 0, 0, 0, 1e-6f};
	const float a[] = {100, 200, 300, 401, .1f, .2f, .3f, .5f, 0, 0, 0, 2e-6f};
	struct pk_shape shape = {.rank = 3, .dims = {1, 3, 4}};
	struct pk_channel_noise noise;
	assert_int_equal(pk_channel_axis(&shape), 1);
	pk_compare_channels(a, b, &shape, 1, &noise);
	assert_int_equal(noise.n_channels, 2);
	assert_int_equal(noise.n_silent, 1);
	assert_int_equal(noise.worst, 1);
	assert_near(noise.min_sqnr_db, 10 * log10(0.30 / 0.01), 1e-4);
	struct pk_comparison whole; // as one tensor the score's error is lost
	assert_int_equal(pk_compare_f32(a, b, 12, &whole), 0);
	assert_true(whole.sqnr_db > 50);
	pk_compare_channels(a, b, &shape, -1, &noise);
	assert_true(noise.n_channels == 0 && noise.worst == -1);
}

static void test_channel_axes(void **state)
{
	(void)state;
	const struct {
		struct pk_shape shape;
		int axis;
	} cases[] = {
		{{.rank = 0}, -1},
		{{.rank = 1, .dims = {4}}, -1},
		{{.rank = 2, .dims = {1, 1000}}, -1},
		{{.rank = 4, .dims = {1, 1000, 1, 1}}, -1},
		{{.rank = 3, .dims = {1, 84, 8400}}, 1},
		{{.rank = 3, .dims = {1, 8400, 84}}, 2},
		{{.rank = 4, .dims = {1, 21, 64, 64}}, 1},
		{{.rank = 2, .dims = {1, 5000}}, -1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(cases); i++)
		assert_int_equal(pk_channel_axis(&cases[i].shape), cases[i].axis);
}

static void test_bytes(void **state)
{
	(void)state;
	const int64_t a[] = {1, 2, 3}, b[] = {1, 5, 3};
	assert_int_equal(pk_compare_bytes(a, b, 3, sizeof(a[0])), 1);
	assert_int_equal(pk_compare_bytes(a, a, 3, sizeof(a[0])), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_known_distances),
		cmocka_unit_test(test_equal_and_constant),
		cmocka_unit_test(test_offset_does_not_hide),
		cmocka_unit_test(test_not_numbers),
		cmocka_unit_test(test_spike_keeps_a_range),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_channel_axes),
		cmocka_unit_test(test_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
