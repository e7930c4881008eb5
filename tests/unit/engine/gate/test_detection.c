// SPDX-License-Identifier: Apache-2.0
// Matching of detections: pairs, borderline scores, differences, boxes that are no boxes.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/gate/detection.h"

#define assert_near(a, b, eps) assert_true(fabs((double)(a) - (double)(b)) <= (eps))

static const struct pk_match_options options = {.iou = 0.5, .threshold = 0.5, .margin = 0.05};

static void test_overlap(void **state)
{
	(void)state;
	struct pk_gate_box a = {.x2 = 10, .y2 = 10}, b = {.x1 = 5, .x2 = 15, .y2 = 10};
	assert_near(pk_gate_box_iou(&a, &b), 50.0 / 150, 1e-12);
	assert_near(pk_gate_box_iou(&a, &a), 1, 0);
	struct pk_gate_box apart = {.x1 = 20, .x2 = 30, .y2 = 10}, empty = {0};
	assert_near(pk_gate_box_iou(&a, &apart), 0, 0);
	assert_near(pk_gate_box_iou(&empty, &empty), 0, 0);
	struct pk_gate_box nan = {.x1 = NAN, .x2 = 10, .y2 = 10};
	assert_near(pk_gate_box_iou(&a, &nan), 0, 0);
	struct pk_gate_box endless = {.x2 = INFINITY, .y2 = 10};
	assert_near(pk_gate_box_iou(&a, &endless), 0, 0);
}

static void test_pairs_and_scores(void **state)
{
	(void)state;
	const struct pk_gate_box want[] = {
		{0, 0, 10, 10, 0.9f, 1, 0}, {20, 0, 30, 10, 0.8f, 1, 0},
		{0, 0, 10, 10, 0.7f, 2, 0}, // other class, same place
		{0, 0, 10, 10, 0.6f, 1, 1}, // other picture
	};
	const struct pk_gate_box got[] = {
		{0, 0, 10, 10, 0.7f, 2, 0},
		{0, 0, 10, 9, 0.8f, 1, 0},
		{50, 0, 60, 10, 0.9f, 1, 0}, // nobody's
		{0, 0, 10, 10, 0.65f, 1, 1},
	};
	struct pk_match m;
	assert_int_equal(pk_match_boxes(want, 4, got, 4, &options, &m), 0);
	assert_int_equal(m.n_pairs, 3);
	assert_near(m.recall, 0.75, 1e-12);
	assert_near(m.precision, 0.75, 1e-12);
	assert_near(m.mean_score_diff, (0.1 + 0 + 0.05) / 3, 1e-6);
	assert_near(m.max_score_diff, 0.1, 1e-6);
	assert_near(m.signed_score_diff, (-0.1 + 0.05) / 3, 1e-6);
	assert_int_equal(m.first_missing, 1);
	assert_int_equal(m.first_extra, 2);
	assert_near(m.count_change, 0, 0);
}

// The best overlap wins, not the first that is good enough.
static void test_best_overlap_first(void **state)
{
	(void)state;
	const struct pk_gate_box want[] = {{0, 0, 10, 10, 0.9f, 0, 0}, {2, 0, 12, 10, 0.9f, 0, 0}};
	const struct pk_gate_box got[] = {{2, 0, 12, 10, 0.9f, 0, 0}, {0, 0, 10, 10, 0.9f, 0, 0}};
	struct pk_match m;
	assert_int_equal(pk_match_boxes(want, 2, got, 2, &options, &m), 0);
	assert_true(m.n_pairs == 2 && m.recall == 1 && m.precision == 1);
	assert_int_equal(m.first_missing, -1);
	// and one box has one partner
	assert_int_equal(pk_match_boxes(want, 1, got, 2, &options, &m), 0);
	assert_near(m.precision, 0.5, 0);
}

static void test_borderline_may_fall(void **state)
{
	(void)state;
	const struct pk_gate_box want[] = {
		{0, 0, 10, 10, 0.52f, 0, 0}, {20, 0, 30, 10, 0.9f, 0, 0}};
	const struct pk_gate_box got[] = {
		{20, 0, 30, 10, 0.9f, 0, 0}, {40, 0, 50, 10, 0.54f, 0, 0}};
	struct pk_match m;
	assert_int_equal(pk_match_boxes(want, 2, got, 2, &options, &m), 0);
	assert_true(m.recall == 1 && m.precision == 1 && m.n_reference == 1 && m.n_found == 1);
	const struct pk_gate_box low[] = {{0, 0, 10, 10, 0.4f, 0, 0}};
	assert_int_equal(pk_match_boxes(want, 1, low, 1, &options, &m), 0);
	assert_near(m.count_change, 1, 0); // one over the threshold became none
	assert_near(m.signed_score_diff, -0.12, 1e-6);
}

static void test_nothing_and_nonsense(void **state)
{
	(void)state;
	struct pk_match m;
	assert_int_equal(pk_match_boxes(NULL, 0, NULL, 0, &options, &m), 0);
	assert_true(m.recall == 1 && m.precision == 1 && m.count_change == 0 && m.n_pairs == 0);
	const struct pk_gate_box want = {0, 0, 10, 10, 0.9f, 0, 0};
	const struct pk_gate_box nan = {0, 0, 10, 10, NAN, 0, 0};
	assert_int_equal(pk_match_boxes(&want, 1, &nan, 1, &options, &m), 0);
	assert_true(m.recall == 0 && m.precision == 0 && m.n_found == 1);
	assert_int_equal(pk_match_boxes(&want, 1, NULL, 0, &options, &m), 0);
	assert_true(m.recall == 0 && m.precision == 1 && m.count_change == 1);
	assert_int_equal(pk_match_boxes(NULL, 0, &want, 1, &options, &m), 0);
	assert_true(m.recall == 1 && m.precision == 0 && m.count_change == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_pairs_and_scores),
		cmocka_unit_test(test_best_overlap_first),
		cmocka_unit_test(test_borderline_may_fall),
		cmocka_unit_test(test_nothing_and_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
