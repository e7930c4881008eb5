// SPDX-License-Identifier: Apache-2.0
// Resident memory grows with what is touched.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rss.h"

static void touched_memory_is_seen(void **state)
{
	(void)state;
	const size_t n = 64u << 20;
	int64_t before = pk_rss_bytes();
	char *block = malloc(n);
	assert_non_null(block);
	memset(block, 1, n);
	__asm__ volatile("" : : "r"(block) : "memory");
	assert_true(pk_rss_bytes() - before > (int64_t)n / 2);
	free(block);
	assert_true(before > 0);
}

// Program text comes back by itself: everything works as before.
static void giving_back_breaks_nothing(void **state)
{
	(void)state;
	char text[64];
	int64_t before = pk_rss_bytes();
	pk_rss_give_back();
	assert_true(pk_rss_bytes() < before);
	snprintf(text, sizeof(text), "%s %.3f", "still", 0.5);
	assert_string_equal(text, "still 0.500");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(touched_memory_is_seen),
		cmocka_unit_test(giving_back_breaks_nothing)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
