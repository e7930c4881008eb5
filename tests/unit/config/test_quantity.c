// SPDX-License-Identifier: Apache-2.0
#include "config/quantity.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "tests/unit/config/cm.h"

struct whole {
	const char *text;
	int64_t value;
	int rc;
};

static const struct whole durations[] = {
	{"0", 0, 0},
	{"0s", 0, 0},
	{"1ns", 1, 0},
	{"250us", 250000, 0},
	{"250ms", 250000000, 0},
	{"1.5s", 1500000000, 0},
	{"0.000000001s", 1, 0},
	{"30s", INT64_C(30000000000), 0},
	{"5m", INT64_C(300000000000), 0},
	{"1h", INT64_C(3600000000000), 0},
	{"0.5h", INT64_C(1800000000000), 0},
	{"7d", INT64_C(604800000000000), 0},
	{"106751d", INT64_C(106751) * 86400 * 1000000000, 0},
	{"9223372036854775807ns", INT64_MAX, 0},
	{"9223372036854775808ns", 0, -ERANGE},
	{"106752d", 0, -ERANGE},
	{"106751.999d", 0, -ERANGE},
	{"99999999999999999999999s", 0, -ERANGE},
	{"0.5ns", 0, -EINVAL},
	{"1.0000000001s", 0, -EINVAL},
	{"1.0000000000000s", 1000000000, 0},
	{"30", 0, -EINVAL},
	{"", 0, -EINVAL},
	{"s", 0, -EINVAL},
	{"-1s", 0, -EINVAL},
	{"+1s", 0, -EINVAL},
	{"1.s", 0, -EINVAL},
	{".5s", 0, -EINVAL},
	{"1e3s", 0, -EINVAL},
	{"1 s", 0, -EINVAL},
	{" 1s", 0, -EINVAL},
	{"1s ", 0, -EINVAL},
	{"1S", 0, -EINVAL},
	{"1sec", 0, -EINVAL},
	{"1h30m", 0, -EINVAL},
	{"1,5s", 0, -EINVAL},
};

static const struct whole sizes[] = {
	{"0", 0, 0},
	{"1B", 1, 0},
	{"64KiB", 65536, 0},
	{"512MiB", 536870912, 0},
	{"2GB", 2000000000, 0},
	{"1.5KiB", 1536, 0},
	{"1kB", 1000, 0},
	{"1KB", 1000, 0},
	{"1TiB", INT64_C(1099511627776), 0},
	{"8388607TiB", INT64_C(8388607) << 40, 0},
	{"8388608TiB", 0, -ERANGE},
	{"0.3B", 0, -EINVAL},
	{"8G", 0, -EINVAL},
	{"8gib", 0, -EINVAL},
	{"1000", 0, -EINVAL},
	{"-1B", 0, -EINVAL},
};

static const struct whole ints[] = {
	{"0", 0, 0},
	{"-0", 0, 0},
	{"42", 42, 0},
	{"-42", -42, 0},
	{"9223372036854775807", INT64_MAX, 0},
	{"-9223372036854775808", INT64_MIN, 0},
	{"9223372036854775808", 0, -ERANGE},
	{"-9223372036854775809", 0, -ERANGE},
	{"", 0, -EINVAL},
	{"-", 0, -EINVAL},
	{"+1", 0, -EINVAL},
	{"010", 0, -EINVAL},
	{"0x10", 0, -EINVAL},
	{"1.0", 0, -EINVAL},
	{"1_000", 0, -EINVAL},
	{"1 ", 0, -EINVAL},
};

static void check_whole(
	const struct whole *cases, size_t n, int (*parse)(const char *, int64_t *, struct pk_err *))
{
	for (size_t i = 0; i < n; i++) {
		struct pk_err err = {0};
		int64_t v = -77;
		int rc = parse(cases[i].text, &v, &err);
		if (rc != cases[i].rc || (rc == 0 && v != cases[i].value))
			fail_msg("`%s`: rc %d, value %lld, %s", cases[i].text, rc, (long long)v,
				err.text);
		if (rc < 0) {
			assert_int_equal(v, -77);
			assert_true(err.text[0] != '\0');
			assert_int_equal(parse(cases[i].text, &v, NULL), rc);
		}
	}
}

static void test_duration(void **state)
{
	check_whole(durations, sizeof(durations) / sizeof(*durations), pk_quantity_duration);
}

static void test_bytes(void **state)
{
	check_whole(sizes, sizeof(sizes) / sizeof(*sizes), pk_quantity_bytes);
}

static void test_int(void **state)
{
	check_whole(ints, sizeof(ints) / sizeof(*ints), pk_quantity_int);
}

static const struct fraction {
	const char *text;
	double value;
	int rc;
} rates[] =
	{
		{"15/s", 15, 0},
		{"15fps", 15, 0},
		{"15", 15, 0},
		{"29.97/s", 29.97, 0},
		{"90/m", 1.5, 0},
		{"3600/h", 1, 0},
		{"1e2/s", 100, 0},
		{"0", 0, 0},
		{"15Hz", 0, -EINVAL},
		{"15 fps", 0, -EINVAL},
		{"15/", 0, -EINVAL},
		{"15/d", 0, -EINVAL},
		{"-1/s", 0, -EINVAL},
		{"fps", 0, -EINVAL},
		{"", 0, -EINVAL},
		{"1e999/s", 0, -ERANGE},
},
  floats[] = {
	  {"0.00392156862745098", 0.00392156862745098, 0},
	  {"-1.5", -1.5, 0},
	  {"+1.5", 1.5, 0},
	  {".5", 0.5, 0},
	  {"5.", 5, 0},
	  {"1e-3", 0.001, 0},
	  {"1E+3", 1000, 0},
	  {"0x1p3", 0, -EINVAL},
	  {"inf", 0, -EINVAL},
	  {"nan", 0, -EINVAL},
	  {".", 0, -EINVAL},
	  {"1e", 0, -EINVAL},
	  {"1e+", 0, -EINVAL},
	  {"0,5", 0, -EINVAL},
	  {"1 ", 0, -EINVAL},
	  {" 1", 0, -EINVAL},
	  {"1e999", 0, -ERANGE},
	  {"-1e999", 0, -ERANGE},
};

static void check_fraction(const struct fraction *cases, size_t n,
	int (*parse)(const char *, double *, struct pk_err *))
{
	for (size_t i = 0; i < n; i++) {
		struct pk_err err = {0};
		double v = -77;
		int rc = parse(cases[i].text, &v, &err);
		if (rc != cases[i].rc || (rc == 0 && v != cases[i].value))
			fail_msg("`%s`: rc %d, value %g, %s", cases[i].text, rc, v, err.text);
		if (rc < 0)
			assert_true(v == -77 && err.text[0] != '\0');
	}
}

static void test_rate(void **state)
{
	check_fraction(rates, sizeof(rates) / sizeof(*rates), pk_quantity_rate);
}

static void test_float(void **state)
{
	check_fraction(floats, sizeof(floats) / sizeof(*floats), pk_quantity_float);
}

static void test_print_round_trips(void **state)
{
	static const int64_t values[] = {0, 1, 999, 1000, 1024, 1536, 65536, 1500000000,
		INT64_C(60000000000), INT64_C(86400000000000), INT64_C(90000000000), INT64_MAX,
		INT64_C(1) << 40, (INT64_C(1) << 40) + 1};
	static const double doubles[] = {0, 1, 0.1, 1.0 / 3, 1.0 / 255, 29.97, 15, 1e-9, 1e9,
		123456789.123456789, 5e-324, 1.7976931348623157e308};
	char text[PK_QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		int64_t back;
		pk_quantity_print_duration(values[i], text);
		assert_int_equal(pk_quantity_duration(text, &back, NULL), 0);
		assert_int_equal(back, values[i]);
		pk_quantity_print_bytes(values[i], text);
		assert_int_equal(pk_quantity_bytes(text, &back, NULL), 0);
		assert_int_equal(back, values[i]);
	}
	for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
		double back;
		pk_quantity_print_float(doubles[i], text);
		assert_int_equal(pk_quantity_float(text, &back, NULL), 0);
		assert_true(back == doubles[i]);
		pk_quantity_print_rate(doubles[i], text);
		assert_int_equal(pk_quantity_rate(text, &back, NULL), 0);
		assert_true(back == doubles[i]);
	}
}

static void test_print_is_short(void **state)
{
	char text[PK_QUANTITY_TEXT_MAX];

	pk_quantity_print_duration(INT64_C(5400000000000), text);
	assert_string_equal(text, "90m");
	pk_quantity_print_bytes(INT64_C(2) << 30, text);
	assert_string_equal(text, "2GiB");
	pk_quantity_print_float(0.1, text);
	assert_string_equal(text, "0.1");
	pk_quantity_print_rate(15, text);
	assert_string_equal(text, "15/s");
}

// A locale with a decimal comma changes nothing (skipped where the machine has none).
static void test_locale(void **state)
{
	char text[PK_QUANTITY_TEXT_MAX];
	double v;

	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		skip();
	assert_int_equal(pk_quantity_float("0.5", &v, NULL), 0);
	assert_true(v == 0.5);
	pk_quantity_print_float(0.5, text);
	setlocale(LC_NUMERIC, "C");
	assert_string_equal(text, "0.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_float),
		cmocka_unit_test(test_print_round_trips),
		cmocka_unit_test(test_print_is_short),
		cmocka_unit_test(test_locale),
	};
	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
