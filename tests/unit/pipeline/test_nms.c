// SPDX-License-Identifier: Apache-2.0
// Suppression: a hand-made case, the properties on random boxes, and the order.
#include "pipeline/nms.h"
#include "tests/unit/pipeline/cm.h"

static uint32_t seed = 1;

static float uniform(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (float)(seed >> 8) / 16777216.0f;
}

static struct pk_candidate random_box(uint32_t idx)
{
	float x = uniform() * 100, y = uniform() * 100;
	return (struct pk_candidate){.x1 = x,
		.y1 = y,
		.x2 = x + uniform() * 40,
		.y2 = y + uniform() * 40,
		.score = (float)(int)(uniform() * 20) / 20, // many ties
		.class_idx = (int)(uniform() * 3),
		.idx = idx};
}

static void test_known_case(void **state)
{
	struct pk_candidate c[] = {
		{0, 0, 10, 10, 0.8f, 0, 0}, {1, 0, 11, 10, 0.9f, 0, 1}, // IoU 9/11 with the first
		{1, 0, 11, 10, 0.7f, 1, 2},                             // other class
		{20, 20, 30, 30, 0.5f, 0, 3},                           // elsewhere
		{0, 0, 10, 5, 0.4f, 0, 4}, // IoU 45/105 with the second
	};
	assert_int_equal(pk_nms(c, 5, 0.45, false, 100), 4);
	const uint32_t order[] = {1, 2, 3, 4};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(c[i].idx, order[i]);
	assert_near(pk_nms_iou(&(struct pk_candidate){0, 0, 10, 10, 0, 0, 0},
			    &(struct pk_candidate){1, 0, 11, 10, 0, 0, 0}),
		9.0 / 11.0, 1e-6);
}

static void test_class_agnostic(void **state)
{
	struct pk_candidate c[] = {{0, 0, 10, 10, 0.8f, 0, 0}, {0, 0, 10, 10, 0.9f, 1, 1}};
	assert_int_equal(pk_nms(c, 2, 0.5, true, 100), 1);
	assert_int_equal(c[0].idx, 1);
}

static void test_off_and_limit(void **state)
{
	struct pk_candidate c[10];
	for (uint32_t i = 0; i < 10; i++)
		c[i] = (struct pk_candidate){0, 0, 1, 1, 0.5f, 0, 9 - i};
	assert_int_equal(pk_nms(c, 10, 1.0, false, 4), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(c[i].idx, i); // ties: lower idx first
}

static void check_kept(const struct pk_candidate *all, size_t n, const struct pk_candidate *kept,
	size_t n_kept, float iou)
{
	for (size_t i = 0; i < n_kept; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(kept[i].class_idx != kept[k].class_idx ||
				    pk_nms_iou(&kept[i], &kept[k]) <= iou);
	for (size_t i = 0; i < n; i++) { // who went has a better one that covers it
		bool found = false;
		for (size_t k = 0; k < n_kept && !found; k++)
			found = kept[k].idx == all[i].idx ||
				(kept[k].class_idx == all[i].class_idx &&
					kept[k].score >= all[i].score &&
					pk_nms_iou(&kept[k], &all[i]) > iou);
		assert_true(found);
	}
}

static void test_properties(void **state)
{
	struct pk_candidate all[200], work[200], again[200];
	for (int round = 0; round < 200; round++) {
		size_t n = (size_t)(uniform() * 200);
		for (uint32_t i = 0; i < n; i++)
			all[i] = random_box(i);
		memcpy(work, all, sizeof(all));
		for (size_t i = 0; i < n; i++)
			again[i] = all[n - 1 - i]; // another order in, the same out
		size_t kept = pk_nms(work, n, 0.4, false, 200);
		assert_int_equal(pk_nms(again, n, 0.4, false, 200), kept);
		assert_memory_equal(work, again, kept * sizeof(work[0]));
		check_kept(all, n, work, kept, 0.4f);
	}
}

static void test_sort(void **state)
{
	enum { N = 5000 };
	struct pk_candidate *c = calloc(N, sizeof(*c));
	for (uint32_t i = 0; i < N; i++)
		c[i] = random_box(i);
	pk_nms_sort(c, N);
	for (size_t i = 1; i < N; i++)
		assert_true(c[i - 1].score > c[i].score ||
			    (c[i - 1].score == c[i].score && c[i - 1].idx < c[i].idx));
	assert_int_equal(pk_nms(c, N, 0.5, false, 10), 10); // bounded work, bounded output
	free(c);
	assert_int_equal(pk_nms(NULL, 0, 0.5, false, 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_case),
		cmocka_unit_test(test_class_agnostic),
		cmocka_unit_test(test_off_and_limit),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_sort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
