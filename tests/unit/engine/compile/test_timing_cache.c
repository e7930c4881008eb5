// SPDX-License-Identifier: Apache-2.0
// The timing cache: round trip, foreign and damaged files are misses.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fs.h"
#include "engine/compile/timing_cache.h"

#define DEVICE "{\"core\":\"a\"}"

static char dir[] = "/tmp/picket-test-XXXXXX";
static char path[64];

static int setup_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/cpu.jsonl", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return pk_fs_remove_tree(dir, NULL);
}

static void save_two(void)
{
	pk_auto(pk_timing_cache) cache = pk_timing_cache_open(path, DEVICE);
	assert_non_null(cache);
	assert_int_equal(pk_timing_cache_put(cache, "conv(\"x\")", "b", 2.5), 0);
	assert_int_equal(pk_timing_cache_put(cache, "conv(\"x\")", "a", 1.5), 0);
	assert_int_equal(pk_timing_cache_put(cache, "conv(\"x\")", "a", 1.25), 0);
	assert_int_equal(pk_timing_cache_save(cache, NULL), 0);
}

static size_t count_in_file(const char *device)
{
	pk_auto(pk_timing_cache) cache = pk_timing_cache_open(path, device);
	return pk_timing_cache_len(cache);
}

static void test_round_trip(void **state)
{
	(void)state;
	save_two();
	pk_auto(pk_timing_cache) cache = pk_timing_cache_open(path, DEVICE);
	assert_int_equal(pk_timing_cache_len(cache), 2);
	assert_float_equal(pk_timing_cache_get(cache, "conv(\"x\")", "a"), 1.25, 1e-9);
	assert_float_equal(pk_timing_cache_get(cache, "conv(\"x\")", "b"), 2.5, 1e-9);
	assert_true(pk_timing_cache_get(cache, "conv(\"x\")", "c") < 0);
	assert_true(pk_timing_cache_get(cache, "conv(\"y\")", "a") < 0);
}

static void test_file_is_sorted_lines(void **state)
{
	(void)state;
	save_two();
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 4096);
	assert_int_equal(pk_fs_read(path, 4096, &text, NULL), 0);
	assert_string_equal(pk_buf_cstr(&text),
		"{\"device\":\"{\\\"core\\\":\\\"a\\\"}\",\"timing\":1}\n"
		"{\"op\":\"conv(\\\"x\\\")\",\"tactic\":\"a\",\"us\":1.250}\n"
		"{\"op\":\"conv(\\\"x\\\")\",\"tactic\":\"b\",\"us\":2.500}\n");
}

static void test_foreign_device_is_a_miss(void **state)
{
	(void)state;
	save_two();
	assert_int_equal(count_in_file("{\"core\":\"b\"}"), 0);
	assert_int_equal(count_in_file(DEVICE), 2);
}

static void test_damage_costs_only_its_lines(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t records;
	} cases[] = {
		{"", 0},
		{"garbage", 0},
		{"{\"device\":\"{\\\"core\\\":\\\"a\\\"}\",\"timing\":2}\n", 0},
		{"{\"device\":\"{\\\"core\\\":\\\"a\\\"}\",\"timing\":1}\n", 0},
		{"{\"device\":\"{\\\"core\\\":\\\"a\\\"}\",\"timing\":1}\n"
		 "{\"op\":\"x\",\"tactic\":\"a\",\"us\":1}\nnonsense\n"
		 "{\"op\":\"x\",\"tactic\":\"b\",\"us\":-1}\n"
		 "{\"op\":\"x\",\"tactic\":\"c\",\"us\":\"1\"}\n"
		 "{\"op\":\"x\",\"tactic\":\"d\",\"us\":2}\n{\"op\":\"x\",\"tac",
			2},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			pk_fs_write_atomic(path, cases[i].text, strlen(cases[i].text), 0644, NULL),
			0);
		assert_int_equal(count_in_file(DEVICE), cases[i].records);
	}
}

static void test_memory_only(void **state)
{
	(void)state;
	pk_auto(pk_timing_cache) cache = pk_timing_cache_open(NULL, DEVICE);
	assert_int_equal(pk_timing_cache_put(cache, "x", "a", 1), 0);
	assert_int_equal(pk_timing_cache_save(cache, NULL), 0);
	assert_int_equal(pk_timing_cache_len(cache), 1);
}

static void test_winner_needs_a_time(void **state)
{
	const char *tactic = NULL, *plan = NULL;
	pk_auto(pk_timing_cache) cache = pk_timing_cache_open(NULL, "{}");
	assert_false(pk_timing_cache_winner(cache, "op", &tactic, &plan));
	assert_int_equal(pk_timing_cache_put_winner(cache, "op", "fast", "{}"), -ENOENT);
	assert_int_equal(pk_timing_cache_put(cache, "op", "fast", 2), 0);
	assert_int_equal(pk_timing_cache_put(cache, "op", "slow", 3), 0);
	assert_false(pk_timing_cache_winner(cache, "op", &tactic, &plan));
	assert_int_equal(pk_timing_cache_put_winner(cache, "op", "slow", ""), 0);
	assert_int_equal(pk_timing_cache_put_winner(cache, "op", "fast", "{\"a\":1}"), 0);
	assert_true(pk_timing_cache_winner(cache, "op", &tactic, &plan));
	assert_string_equal(tactic, "fast");
	assert_string_equal(plan, "{\"a\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_file_is_sorted_lines),
		cmocka_unit_test(test_foreign_device_is_a_miss),
		cmocka_unit_test(test_damage_costs_only_its_lines),
		cmocka_unit_test(test_memory_only),
		cmocka_unit_test(test_winner_needs_a_time),
	};
	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
