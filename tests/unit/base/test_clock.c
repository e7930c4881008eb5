// SPDX-License-Identifier: Apache-2.0
// Time texts for people, and clocks that go forward.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/attr.h"
#include "base/clock.h"

static void iso_times(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{INT64_C(1796066667123999999), "2026-11-30T19:24:27.123Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{-PK_NS_PER_S, "1969-12-31T23:59:59.000Z"},
		{INT64_C(951782399) * PK_NS_PER_S, "2000-02-28T23:59:59.000Z"},
		{INT64_C(951782400) * PK_NS_PER_S, "2000-02-29T00:00:00.000Z"},
		{INT64_MAX, "2262-04-11T23:47:16.854Z"},
		{INT64_MIN, "1677-09-21T00:12:43.145Z"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char text[PK_ISO_TIME_MAX];
		pk_format_iso_time(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void utc_texts(void **state)
{
	static const struct {
		const char *text;
		int64_t s; // -1: refused
	} rows[] = {
		{"1970-01-01", 0},
		{"2026-11-30", INT64_C(1795996800)},
		{"2026-11-30T19:24:27Z", INT64_C(1796066667)},
		{"2000-02-29", INT64_C(951782400)},
		{"2026-02-29", -1},
		{"2026-02-30", -1},
		{"2026-13-01", -1},
		{"2026-1-1", -1},
		{"+2026-01-01", -1},
		{" 2026-01-01", -1},
		{"2026-01-01 ", -1},
		{"2026-01-01T00:00:00", -1},
		{"2026-01-01T00:00:00+01:00", -1},
		{"2026-01-01T24:00:00Z", -1},
		{"2026-01-01T23:59:60Z", -1},
		{"99999-01-01", -1},
		{"", -1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		int64_t s = -1;
		int r = pk_parse_utc(rows[i].text, &s);
		assert_int_equal(r, rows[i].s < 0 ? -EINVAL : 0);
		assert_int_equal(s, rows[i].s);
	}
}

static void durations(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "0 ms"},
		{999, "0 us"},
		{250 * PK_NS_PER_US, "250 us"},
		{45 * PK_NS_PER_MS, "45 ms"},
		{PK_NS_PER_S - 1, "999 ms"},
		{12345 * PK_NS_PER_MS, "12.3 s"},
		{60 * PK_NS_PER_S - 1, "59.9 s"},
		{185 * PK_NS_PER_S, "3m 05s"},
		{3720 * PK_NS_PER_S, "1h 02m"},
		{(2 * 24 + 3) * 3600 * PK_NS_PER_S, "2d 03h"},
		{-12345 * PK_NS_PER_MS, "-12.3 s"},
		{INT64_MIN, "-106751d 23h"},
		{INT64_MAX, "106751d 23h"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char text[PK_DURATION_MAX];
		pk_format_duration(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void clocks_go_forward(void **state)
{
	int64_t a = pk_now_ns(), b = pk_now_ns();
	assert_true(b >= a && a > 0);
	assert_true(pk_boottime_ns() >= a - PK_NS_PER_S);
	assert_true(pk_realtime_ns() > INT64_C(1577836800) * PK_NS_PER_S); // after 2020
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iso_times),
		cmocka_unit_test(utc_texts),
		cmocka_unit_test(durations),
		cmocka_unit_test(clocks_go_forward),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
