// SPDX-License-Identifier: Apache-2.0
// The calibration record: what is written is read again, and mistakes are named.
#include "engine/calibrate/calibration.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_round_trip(void **state)
{
	struct pk_calibration c = {.method = PK_RANGE_PERCENTILE, .percentile = 99.9}, back;
	struct pk_buf first, second;
	c.model.bytes[0] = 7;
	c.samples = calloc(2, sizeof(*c.samples));
	assert_non_null(c.samples);
	c.samples[1].bytes[3] = 9;
	c.n_samples = 2;
	assert_int_equal(pk_calibration_add_range(&c, "b", 2.5), 0);
	assert_int_equal(pk_calibration_add_range(&c, "a", 0.1), 0);
	assert_int_equal(pk_calibration_add_float(&c, "head"), 0);
	pk_calibration_sort(&c);
	pk_buf_init(&first, 1 << 16);
	pk_buf_init(&second, 1 << 16);
	assert_int_equal(pk_calibration_write(&c, &first, NULL), 0);
	assert_int_equal(pk_calibration_parse(first.data, first.len, &back, NULL), 0);
	assert_int_equal(pk_calibration_write(&back, &second, NULL), 0);
	assert_string_equal(pk_buf_cstr(&first), pk_buf_cstr(&second));
	assert_true(pk_calibration_find(&back, "a") == 0.1);
	assert_true(pk_calibration_find(&back, "c") == 0);
	assert_true(pk_calibration_is_float(&back, "head"));
	assert_false(pk_calibration_is_float(&back, "a"));
	pk_calibration_finish(&c);
	pk_calibration_finish(&back);
	pk_buf_finish(&first);
	pk_buf_finish(&second);
}

#define D "sha256:0000000000000000000000000000000000000000000000000000000000000000"
#define RECORD(version, method, samples, ranges, layers)                                           \
	"{\"calibration\":" version ",\"count\":0,\"float_layers\":" layers                        \
	",\"method\":\"" method "\",\"model\":\"" D "\",\"percentile\":99.9,\"ranges\":" ranges    \
	",\"samples\":" samples "}"

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"[]", "calibration"},
		{"{}", "calibration"},
		{RECORD("2", "minmax", "[]", "{}", "[]"), "version 2"},
		{RECORD("1", "mean", "[]", "{}", "[]"), "method"},
		{RECORD("1", "minmax", "[1]", "{}", "[]"), "samples: item 0"},
		{RECORD("1", "minmax", "[]", "{\"x\":0}", "[]"), "`x`"},
		{RECORD("1", "minmax", "[]", "{\"x\":-1}", "[]"), "`x`"},
		{RECORD("1", "minmax", "[]", "{\"x\":\"1\"}", "[]"), "`x`"},
		{RECORD("1", "minmax", "[]", "[]", "[]"), "ranges"},
		{RECORD("1", "minmax", "[]", "{}", "[1]"), "float_layers: item 0"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(cases); i++) {
		struct pk_calibration c;
		struct pk_err err = {0};
		assert_true(
			pk_calibration_parse(cases[i].text, strlen(cases[i].text), &c, &err) < 0);
		if (!strstr(err.text, cases[i].error))
			fail_msg("case %zu: %s", i, err.text);
		assert_null(c.ranges);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_mistakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
