// SPDX-License-Identifier: Apache-2.0
// Engine keys: stable, sensitive to everything, and differences are named by kind.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/compile/key.h"

static char *make(const struct pk_build_options *options, uint8_t model_byte, const char *identity)
{
	struct pk_target target = {0};
	struct pk_digest model = {{model_byte}};
	memcpy(target.identity, identity, strlen(identity) + 1);
	struct pk_buf text;
	pk_buf_init(&text, 65536);
	assert_int_equal(pk_key_write(options, &model, &target, &text, NULL), 0);
	return text.data;
}

#define IDENTITY "{\"isa\":\"x\",\"driver\":\"1\",\"libraries\":{\"cudnn\":\"9.3\"}}"

static const struct pk_build_options plain = {.runtime = "cpu", .opt_level = 1};

static void test_equal_over_many_runs(void **state)
{
	(void)state;
	pk_auto_free char *first = make(&plain, 1, IDENTITY);
	for (int i = 0; i < 100; i++) {
		pk_auto_free char *again = make(&plain, 1, IDENTITY);
		assert_string_equal(again, first);
	}
	assert_int_equal(pk_key_compare(first, first, NULL), PK_MATCH);
}

static void test_each_difference_has_its_kind(void **state)
{
	(void)state;
	pk_auto_free char *have = make(&plain, 1, IDENTITY);
	struct pk_build_options level = plain, card = plain, runtime = plain, shape = plain;
	struct pk_build_options int8 = plain, other = plain;
	level.opt_level = 0;
	card.card = "c";
	card.card_size = 1;
	runtime.runtime = "cuda";
	int8.precision = other.precision = PK_PRECISION_INT8;
	int8.calibration = "{}";
	other.calibration = "[]";
	int8.calibration_size = other.calibration_size = 2;
	pk_auto_free char *first = make(&int8, 1, IDENTITY), *second = make(&other, 1, IDENTITY);
	assert_int_equal(pk_key_compare(first, second, NULL), PK_MISMATCH_MODEL);
	shape.n_shapes = 1;
	shape.shapes[0] = (struct pk_input_shape){"x", {1, {3}}};
	const struct {
		char *expect;
		enum pk_mismatch mismatch;
	} cases[] = {
		{make(&plain, 2, IDENTITY), PK_MISMATCH_MODEL},
		{make(&level, 1, IDENTITY), PK_MISMATCH_MODEL},
		{make(&card, 1, IDENTITY), PK_MISMATCH_MODEL},
		{make(&shape, 1, IDENTITY), PK_MISMATCH_MODEL},
		{make(&int8, 1, IDENTITY), PK_MISMATCH_MODEL},
		{make(&runtime, 1, IDENTITY), PK_MISMATCH_TARGET},
		{make(&plain, 1,
			 "{\"isa\":\"y\",\"driver\":\"1\",\"libraries\":{\"cudnn\":\"9.3\"}}"),
			PK_MISMATCH_TARGET},
		{make(&plain, 1,
			 "{\"isa\":\"x\",\"driver\":\"2\",\"libraries\":{\"cudnn\":\"9.3\"}}"),
			PK_MISMATCH_DRIVER},
		{make(&plain, 1,
			 "{\"isa\":\"x\",\"driver\":\"1\",\"libraries\":{\"cudnn\":\"9.4\"}}"),
			PK_MISMATCH_LIBRARY},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pk_err err = {0};
		assert_int_equal(pk_key_compare(cases[i].expect, have, &err), cases[i].mismatch);
		assert_int_not_equal(err.text[0], '\0');
		free(cases[i].expect);
	}
}

static void test_garbage_is_corrupt(void **state)
{
	(void)state;
	struct pk_err err = {0};
	struct pk_target target = {.identity = "{}"};
	assert_int_equal(pk_key_compare("{}", "nonsense", &err), PK_MISMATCH_CORRUPT);
	assert_int_equal(pk_key_check_target("[]", &target, &err), PK_MISMATCH_CORRUPT);
	assert_null(pk_key_runtime("{}"));
}

static void test_machine_check_ignores_the_model(void **state)
{
	(void)state;
	pk_auto_free char *have = make(&plain, 7, IDENTITY);
	struct pk_target here = {.identity = IDENTITY}, other = {.identity = "{\"isa\":\"z\"}"};
	struct pk_err err = {0};
	assert_int_equal(pk_key_check_target(have, &here, &err), PK_MATCH);
	assert_int_not_equal(pk_key_check_target(have, &other, &err), PK_MATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_over_many_runs),
		cmocka_unit_test(test_each_difference_has_its_kind),
		cmocka_unit_test(test_garbage_is_corrupt),
		cmocka_unit_test(test_machine_check_ignores_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
