// SPDX-License-Identifier: Apache-2.0
// Placement of buffers: no collisions, small arenas, the bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "engine/compile/planner.h"

static void test_disjoint_lifetimes_share(void **state)
{
	(void)state;
	struct pk_placement items[] = {
		{.bytes = 1024, .first = 0, .last = 1},
		{.bytes = 1024, .first = 2, .last = 3},
	};
	size_t peak, bound;
	assert_int_equal(pk_planner_place(items, 2, 64, &peak, &bound), 0);
	assert_int_equal(items[0].offset, items[1].offset);
	assert_int_equal(peak, 1024);
	assert_int_equal(bound, 1024);
}

static void test_touching_lifetimes_do_not(void **state)
{
	(void)state;
	struct pk_placement items[] = {
		{.bytes = 100, .first = 0, .last = 2},
		{.bytes = 50, .first = 2, .last = 3},
	};
	size_t peak, bound;
	assert_int_equal(pk_planner_place(items, 2, 64, &peak, &bound), 0);
	assert_true(pk_planner_holds(items, 2, peak));
	assert_int_equal(peak, 192); // 100 → 128, then 50 → 64
	assert_int_equal(bound, 192);
}

static void test_empty_and_zero_bytes(void **state)
{
	(void)state;
	size_t peak = 1, bound = 1;
	assert_int_equal(pk_planner_place(NULL, 0, 64, &peak, &bound), 0);
	assert_int_equal(peak, 0);
	assert_int_equal(bound, 0);
	struct pk_placement nothing = {.bytes = 0, .first = 0, .last = 9};
	assert_int_equal(pk_planner_place(&nothing, 1, 64, &peak, &bound), 0);
	assert_int_equal(peak, 0);
}

static void test_absurd_sizes_are_refused(void **state)
{
	(void)state;
	struct pk_placement items[] = {
		{.bytes = SIZE_MAX - 10, .first = 0, .last = 1},
		{.bytes = SIZE_MAX / 2, .first = 0, .last = 1},
	};
	size_t peak, bound;
	assert_true(pk_planner_place(items, 2, 64, &peak, &bound) < 0);
}

static void test_holds_sees_collisions(void **state)
{
	(void)state;
	struct pk_placement items[] = {
		{.bytes = 64, .first = 0, .last = 2, .offset = 0},
		{.bytes = 64, .first = 1, .last = 3, .offset = 32},
	};
	assert_false(pk_planner_holds(items, 2, 1024));
	items[1].offset = 64;
	assert_true(pk_planner_holds(items, 2, 128));
	assert_false(pk_planner_holds(items, 2, 127));
	items[1].offset = SIZE_MAX - 1;
	assert_false(pk_planner_holds(items, 2, 1024));
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

// Chains with branches as networks have them: never a collision, never below the bound.
static void test_random_graphs(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct pk_placement items[60];
		uint32_t r = seed;
		size_t n = 1 + next_random(&r) % PK_ARRAY_LEN(items);
		for (size_t i = 0; i < n; i++) {
			int first = (int)i - (int)(next_random(&r) % 3);
			items[i] = (struct pk_placement){.bytes = next_random(&r) % 5000,
				.first = first,
				.last = first + (int)(next_random(&r) % 6)};
		}
		size_t peak, bound;
		assert_int_equal(pk_planner_place(items, n, 64, &peak, &bound), 0);
		assert_true(pk_planner_holds(items, n, peak));
		assert_true(peak >= bound);
		assert_true(peak <= 2 * bound);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disjoint_lifetimes_share),
		cmocka_unit_test(test_touching_lifetimes_do_not),
		cmocka_unit_test(test_empty_and_zero_bytes),
		cmocka_unit_test(test_absurd_sizes_are_refused),
		cmocka_unit_test(test_holds_sees_collisions),
		cmocka_unit_test(test_random_graphs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
