// SPDX-License-Identifier: Apache-2.0
// Byte buffer: bound, sticky failure, JSON strings, consume.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"

static void appends_stay_terminated(void **state)
{
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 10000);
	assert_string_equal(pk_buf_cstr(&buf), "");
	assert_null(buf.data);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pk_buf_printf(&buf, "%d,", i % 10), 0);
	assert_int_equal(buf.len, 2000);
	assert_int_equal(strlen(buf.data), 2000);
	pk_buf_clear(&buf);
	assert_int_equal(pk_buf_append(&buf, NULL, 0), 0);
	assert_string_equal(pk_buf_cstr(&buf), "");
}

static void bound_is_exact_and_failure_sticks(void **state)
{
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 5);
	assert_int_equal(pk_buf_str(&buf, "abcd"), 0);
	assert_int_equal(pk_buf_str(&buf, "e"), 0);
	assert_int_equal(pk_buf_str(&buf, "f"), -ENOSPC);
	assert_int_equal(pk_buf_append(&buf, "", 0), -ENOSPC);
	assert_null(pk_buf_reserve(&buf, 1));
	assert_int_equal(pk_buf_error(&buf), -ENOSPC);
	assert_string_equal(pk_buf_cstr(&buf), "abcde");
	pk_buf_clear(&buf);
	assert_int_equal(pk_buf_printf(&buf, "%s", "123456"), -ENOSPC);
	assert_string_equal(pk_buf_cstr(&buf), "");
	pk_buf_clear(&buf);
	assert_int_equal(pk_buf_append(&buf, "x", SIZE_MAX), -ENOSPC);
}

static void unbounded_length_overflow_is_refused(void **state)
{
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, SIZE_MAX);
	assert_int_equal(pk_buf_str(&buf, "x"), 0);
	assert_int_equal(pk_buf_append(&buf, "x", SIZE_MAX - 1), -ENOSPC);
}

static void reserve_gives_zeroes(void **state)
{
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 1000);
	pk_buf_str(&buf, "dirtydirtydirty");
	pk_buf_clear(&buf);
	char *room = pk_buf_reserve(&buf, 8);
	assert_memory_equal(room, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(buf.len, 8);
}

static void consume_drops_the_front(void **state)
{
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 100);
	pk_buf_consume(&buf, 3);
	pk_buf_str(&buf, "hello");
	pk_buf_consume(&buf, 2);
	assert_string_equal(buf.data, "llo");
	pk_buf_consume(&buf, 99);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.len, 0);
}

static void json_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"", "\"\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\r\b\f", "\"\\n\\t\\r\\b\\f\""},
		{"\x01\x1f", "\"\\u0001\\u001f\""},
		{"\x7f", "\"\x7f\""},
		{"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "\"\xe2\x82\xac \xf0\x9f\x98\x80\""},
		{"\xff", "\"\xef\xbf\xbd\""},
		{"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 // overlong NUL
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, // surrogate
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 // cut by the end
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_auto_buf struct pk_buf buf;
		pk_buf_init(&buf, 1000);
		assert_int_equal(pk_buf_json_string(&buf, rows[i].in), 0);
		assert_string_equal(pk_buf_cstr(&buf), rows[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_stay_terminated),
		cmocka_unit_test(bound_is_exact_and_failure_sticks),
		cmocka_unit_test(unbounded_length_overflow_is_refused),
		cmocka_unit_test(reserve_gives_zeroes),
		cmocka_unit_test(consume_drops_the_front),
		cmocka_unit_test(json_strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
