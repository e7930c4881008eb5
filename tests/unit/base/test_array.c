// SPDX-License-Identifier: Apache-2.0
// Growing array: push, iterate, overflow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/array.h"

struct box {
	int x;
	double score;
};

static void push_zeroes_and_keeps(void **state)
{
	PK_ARRAY(struct box) boxes = {0};
	for (int i = 0; i < 1000; i++) {
		struct box *b = pk_array_push(&boxes);
		assert_non_null(b);
		assert_int_equal(b->x, 0);
		b->x = i;
	}
	assert_int_equal(boxes.n, 1000);
	int want = 0;
	pk_array_each (b, &boxes)
		assert_int_equal(b->x, want++);
	assert_int_equal(want, 1000);
	pk_array_finish(&boxes);
	assert_null(boxes.items);
	assert_int_equal(boxes.n, 0);
}

static void each_of_empty_is_empty(void **state)
{
	PK_ARRAY(int) none = {0};
	pk_array_each (it, &none)
		fail();
	pk_array_finish(&none);
}

static void overflow_fails_and_changes_nothing(void **state)
{
	PK_ARRAY(struct box) boxes = {0};
	assert_non_null(pk_array_push(&boxes));
	struct box *before = boxes.items;
	size_t cap = boxes.cap;
	assert_int_equal(
		pk_array_grow_impl(&boxes.items, &boxes.cap, SIZE_MAX / 4, sizeof(struct box)),
		-ENOMEM);
	assert_ptr_equal(boxes.items, before);
	assert_int_equal(boxes.cap, cap);
	pk_array_finish(&boxes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_zeroes_and_keeps),
		cmocka_unit_test(each_of_empty_is_empty),
		cmocka_unit_test(overflow_fails_and_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
