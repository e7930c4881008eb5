// SPDX-License-Identifier: Apache-2.0
// Arena: alignment, zeroing, bound, text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static void objects_are_zeroed_and_aligned(void **state)
{
	pk_auto(pk_arena) arena = pk_arena_create(0);
	assert_non_null(arena);
	for (size_t size = 0; size < 300; size++) {
		unsigned char *p = pk_arena_alloc(arena, size);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		if (size)
			memset(p, 0xa5, size);
	}
}

static void objects_do_not_overlap(void **state)
{
	pk_auto(pk_arena) arena = pk_arena_create(0);
	unsigned char *objects[200];
	// Sizes around the chunk length mix small objects with ones that need a chunk of their own.
	for (size_t i = 0; i < 200; i++) {
		size_t size = i % 7 == 0 ? 20000 : 1 + i * 13;
		objects[i] = pk_arena_alloc(arena, size);
		assert_non_null(objects[i]);
		memset(objects[i], (int)i, size);
	}
	for (size_t i = 0; i < 200; i++) {
		size_t size = i % 7 == 0 ? 20000 : 1 + i * 13;
		for (size_t k = 0; k < size; k++)
			assert_int_equal(objects[i][k], (unsigned char)i);
	}
}

static void bound_holds(void **state)
{
	pk_auto(pk_arena) arena = pk_arena_create(64);
	assert_non_null(pk_arena_alloc(arena, 48));
	assert_null(pk_arena_alloc(arena, 17)); // 17 is padded to 32
	assert_non_null(pk_arena_alloc(arena, 16));
	assert_null(pk_arena_alloc(arena, 0));
	assert_int_equal(pk_arena_used(arena), 64);
}

static void huge_requests_fail(void **state)
{
	pk_auto(pk_arena) arena = pk_arena_create(0);
	assert_null(pk_arena_alloc(arena, SIZE_MAX));
	assert_null(pk_arena_alloc(arena, SIZE_MAX - 16));
	assert_null(pk_arena_array(arena, SIZE_MAX / 2, 3));
	assert_int_equal(pk_arena_used(arena), 0);
}

static void text_helpers_copy(void **state)
{
	pk_auto(pk_arena) arena = pk_arena_create(0);
	assert_string_equal(pk_arena_strdup(arena, "belt"), "belt");
	assert_string_equal(pk_arena_strndup(arena, "belt", 2), "be");
	assert_string_equal(pk_arena_strndup(arena, "be\0lt", 5), "be");
	assert_string_equal(pk_arena_printf(arena, "%s-%d", "cam", 7), "cam-7");
	assert_memory_equal(pk_arena_dup(arena, "a\0b", 3), "a\0b", 3);
	int64_t *v = pk_arena_new(arena, int64_t);
	assert_int_equal(*v, 0);
	pk_arena_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_zeroed_and_aligned),
		cmocka_unit_test(objects_do_not_overlap),
		cmocka_unit_test(bound_holds),
		cmocka_unit_test(huge_requests_fail),
		cmocka_unit_test(text_helpers_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
