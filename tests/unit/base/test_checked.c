// SPDX-License-Identifier: Apache-2.0
// Checked arithmetic and nested PK_MIN/PK_MAX.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/checked.h"

static void overflow_is_told(void **state)
{
	size_t out;
	assert_false(pk_add_overflow((size_t)1, (size_t)2, &out));
	assert_int_equal(out, 3);
	assert_true(pk_add_overflow(SIZE_MAX, (size_t)1, &out));
	assert_true(pk_sub_overflow((size_t)1, (size_t)2, &out));
	assert_true(pk_mul_overflow(SIZE_MAX / 2, (size_t)3, &out));
	int32_t narrow;
	assert_true(pk_add_overflow(INT64_C(3000000000), INT64_C(0), &narrow));
}

static void align_up_saturates(void **state)
{
	assert_int_equal(pk_align_up(0, 16), 0);
	assert_int_equal(pk_align_up(1, 16), 16);
	assert_int_equal(pk_align_up(16, 16), 16);
	assert_int_equal(pk_align_up(17, 64), 64);
	assert_true(pk_align_up(SIZE_MAX, 16) == SIZE_MAX);
	assert_true(pk_align_up(SIZE_MAX - 15, 16) == SIZE_MAX - 15);
}

static void min_max_nest_and_evaluate_once(void **state)
{
	int n = 0;
	assert_int_equal(PK_MAX(n++, -5), 0);
	assert_int_equal(n, 1);
	assert_int_equal(PK_MAX(PK_MIN(7, 3), PK_MIN(2, PK_MAX(1, 9))), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overflow_is_told),
		cmocka_unit_test(align_up_saturates),
		cmocka_unit_test(min_max_nest_and_evaluate_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
