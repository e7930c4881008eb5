// SPDX-License-Identifier: Apache-2.0
// Average precision: an example worked by hand, one checked against pycocotools, and edge cases.
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
#include "engine/gate/detection.h"

#define assert_near(a, b, eps) assert_true(fabs((double)(a) - (double)(b)) <= (eps))

// Two objects. Found: the first exactly, then nothing real, then the second at IoU 0.62.
// Precision by rank 1, 1/2, 2/3, recall 1/2, 1/2, 1; monotone 1, 2/3, 2/3. Recalls 0 … 0.50 are 51
// points, 0.51 … 1 are 50. Above IoU 0.60 only the first object counts.
static void test_worked_example(void **state)
{
	(void)state;
	const struct pk_gate_box truth[] = {{0, 0, 10, 10, 0, 0, 0}, {20, 0, 30, 10, 0, 0, 0}};
	const struct pk_gate_box found[] = {
		{20, 0, 30, 6.2f, 0.7f, 0, 0}, // given in any order
		{0, 0, 10, 10, 0.9f, 0, 0},
		{50, 50, 60, 60, 0.8f, 0, 0},
	};
	struct pk_average_precision ap;
	assert_int_equal(pk_average_precision(truth, 2, found, 3, &ap), 0);
	double both = (51 + 50 * 2.0 / 3) / 101, first = 51.0 / 101;
	assert_near(ap.ap50, both, 1e-12);
	assert_near(ap.ap50_95, (3 * both + 7 * first) / 10, 1e-12);
	assert_true(ap.n_truth == 2 && ap.n_classes == 1);
}

static void test_mean_over_classes_with_truth(void **state)
{
	(void)state;
	const struct pk_gate_box truth[] = {{0, 0, 10, 10, 0, 3, 0}, {0, 0, 10, 10, 0, 5, 0}};
	const struct pk_gate_box found[] = {
		{0, 0, 10, 10, 0.9f, 3, 0},
		{0, 0, 10, 10, 0.9f, 7, 0}, // a class nobody labelled does not count
	};
	struct pk_average_precision ap;
	assert_int_equal(pk_average_precision(truth, 2, found, 2, &ap), 0);
	assert_near(ap.ap50, 0.5, 1e-12);
	assert_int_equal(ap.n_classes, 2);
}

static void test_one_hit_per_object(void **state)
{
	(void)state;
	const struct pk_gate_box truth[] = {{0, 0, 10, 10, 0, 0, 0}, {0, 0, 10, 10, 0, 0, 1}};
	const struct pk_gate_box found[] = {
		{0, 0, 10, 10, 0.9f, 0, 0},
		{0, 0, 10, 10, 0.8f, 0, 0}, // a second time: a miss
		{0, 0, 10, 10, 0.7f, 0, 1},
	};
	struct pk_average_precision ap;
	assert_int_equal(pk_average_precision(truth, 2, found, 3, &ap), 0);
	assert_near(ap.ap50, (51 + 50 * 2.0 / 3) / 101, 1e-12);
	assert_near(ap.ap50_95, ap.ap50, 1e-12);
}

static void test_hundred_per_image(void **state)
{
	(void)state;
	const struct pk_gate_box truth = {0, 0, 10, 10, 0, 0, 0};
	struct pk_gate_box found[101];
	for (int i = 0; i < 101; i++)
		found[i] = (struct pk_gate_box){50, 50, 60, 60, 1 - (float)i / 1000, 0, 0};
	found[100] = (struct pk_gate_box){0, 0, 10, 10, 0.1f, 0, 0};
	struct pk_average_precision ap;
	assert_int_equal(pk_average_precision(&truth, 1, found, 101, &ap), 0);
	assert_near(ap.ap50, 0, 0); // the 101st of its image is not looked at
	assert_int_equal(pk_average_precision(&truth, 1, found + 1, 100, &ap), 0);
	assert_near(ap.ap50, 0.01, 1e-12);
}

static void test_empty_and_nonsense(void **state)
{
	(void)state;
	struct pk_average_precision ap;
	const struct pk_gate_box truth = {0, 0, 10, 10, 0, 0, 0};
	const struct pk_gate_box nan[] = {{0, 0, 10, 10, NAN, 0, 0}, {NAN, 0, 10, 10, 0.9f, 0, 0}};
	assert_int_equal(pk_average_precision(NULL, 0, &truth, 1, &ap), 0);
	assert_true(ap.ap50 == -1 && ap.ap50_95 == -1);
	assert_int_equal(pk_average_precision(&truth, 1, NULL, 0, &ap), 0);
	assert_true(ap.ap50 == 0 && ap.ap50_95 == 0);
	assert_int_equal(pk_average_precision(&truth, 1, nan, 2, &ap), 0);
	assert_true(ap.ap50 == 0);
}

static unsigned next(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % below;
}

// 20 pictures, 3 classes, shifted and missed and invented boxes from a generator that is simple
// enough to be written twice; the figures are those of pycocotools 2 on the same boxes.
static void test_against_pycocotools(void **state)
{
	(void)state;
	struct pk_gate_box truth[200], found[300];
	size_t n_truth = 0, n_found = 0;
	unsigned seed = 7;
	for (int image = 0; image < 20; image++) {
		for (int i = 0; i < 8; i++) {
			float x = (float)next(&seed, 400), y = (float)next(&seed, 300);
			float w = 10 + (float)next(&seed, 80), h = 10 + (float)next(&seed, 80);
			int class_idx = (int)next(&seed, 3);
			truth[n_truth++] =
				(struct pk_gate_box){x, y, x + w, y + h, 0, class_idx, image};
			if (next(&seed, 10) < 2)
				continue;
			x += (float)next(&seed, 9) - 4;
			y += (float)next(&seed, 9) - 4;
			float score = (float)next(&seed, 4096) / 4096;
			found[n_found++] =
				(struct pk_gate_box){x, y, x + w, y + h, score, class_idx, image};
		}
		for (int i = 0; i < 3; i++) {
			float x = (float)next(&seed, 400), y = (float)next(&seed, 300);
			float score = (float)next(&seed, 2048) / 4096;
			found[n_found++] = (struct pk_gate_box){
				x, y, x + 40, y + 40, score, (int)next(&seed, 3), image};
		}
	}
	struct pk_average_precision ap;
	assert_int_equal(pk_average_precision(truth, n_truth, found, n_found, &ap), 0);
	assert_near(ap.ap50, 0.6935730630845139, 1e-9);
	assert_near(ap.ap50_95, 0.40820154755219906, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worked_example),
		cmocka_unit_test(test_mean_over_classes_with_truth),
		cmocka_unit_test(test_one_hit_per_object),
		cmocka_unit_test(test_hundred_per_image),
		cmocka_unit_test(test_empty_and_nonsense),
		cmocka_unit_test(test_against_pycocotools),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
