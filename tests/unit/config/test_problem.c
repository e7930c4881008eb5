// SPDX-License-Identifier: Apache-2.0
#include "config/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/config/cm.h"

static char *printed(struct pk_problems *problems)
{
	char *out = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&out, &n);

	assert_non_null(memory);
	pk_problems_print(problems, memory);
	fclose(memory);
	return out;
}

static void test_sorted(void **state)
{
	struct pk_problems problems = {0};

	pk_problems_add(&problems, "b.yaml", 1, 1, "four");
	pk_problems_add(&problems, "a.yaml", 10, 2, "three");
	pk_problems_add(&problems, "a.yaml", 9, 7, "one %d", 1);
	pk_problems_add(&problems, "a.yaml", 9, 7, "two");
	pk_problems_add(&problems, "b.yaml", 0, 0, "whole file");
	pk_auto_free char *text = printed(&problems);
	assert_string_equal(text, "a.yaml:9:7: one 1\n"
				  "a.yaml:9:7: two\n"
				  "a.yaml:10:2: three\n"
				  "b.yaml: whole file\n"
				  "b.yaml:1:1: four\n");
	pk_problems_finish(&problems);
	assert_int_equal(problems.n, 0);
}

static void test_empty(void **state)
{
	struct pk_problems problems = {0};
	pk_auto_free char *text = printed(&problems);

	assert_string_equal(text, "");
	pk_problems_finish(&problems);
}

static void test_full(void **state)
{
	struct pk_problems problems = {0};

	for (int i = 0; i < PK_PROBLEMS_MAX; i++)
		pk_problems_add(&problems, "a", 1000 - i, 1, "mistake %d", i);
	assert_int_equal(problems.n, PK_PROBLEMS_MAX);
	assert_int_equal(problems.n_dropped, 0);
	for (int i = 0; i < 50; i++)
		pk_problems_add(&problems, "a", i + 1, 1, "more %d", i);
	assert_int_equal(problems.n, PK_PROBLEMS_MAX);
	assert_int_equal(problems.n_dropped, 51); // the last one kept gave up its place
	pk_auto_free char *text = printed(&problems);
	assert_int_equal(strncmp(text, "a:902:1: mistake 98\n", 20), 0);
	const char *tail = "a:1000:1: mistake 0\na: 51 more problems are not shown\n";
	assert_true(strlen(text) > strlen(tail));
	assert_string_equal(text + strlen(text) - strlen(tail), tail);
	pk_problems_finish(&problems);
}

// What a file says must not reach a terminal as it is.
static void test_control_characters(void **state)
{
	struct pk_problems problems = {0};

	pk_problems_add(&problems, "a", 1, 1, "unknown key `%s`", "x\x1b[2J\n\x7fy");
	assert_string_equal(problems.items[0].text, "unknown key `x\\x1b[2J\\x0a\\x7fy`");
	pk_problems_finish(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_control_characters),
	};
	return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
