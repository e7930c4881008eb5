// SPDX-License-Identifier: Apache-2.0
// Strict JSON: located errors, typed access, canonical text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static int parse(const char *text, json_t **out, struct pk_err *err)
{
	return pk_json_parse(text, strlen(text), "manifest", out, err);
}

static void bad_texts_are_located(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"{\n \"a\": 1,\n \"a\": 2\n}", "manifest: line 3, column "},
		{"{\"a\": 1} x", "manifest: line 1, column "},
		{"", "manifest: line 1, column 0: "},
		{"{\"a\": 99999999999999999999}", "too big integer"},
		{"{\"a\": \"\xff\"}", "unable to decode byte 0xff"},
		{"[1,]", "manifest: line 1"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_err err = {0};
		pk_auto_json json = NULL;
		assert_int_equal(parse(rows[i].text, &json, &err), -EINVAL);
		assert_null(json);
		assert_non_null(strstr(err.text, rows[i].error));
	}
	struct pk_err err = {0};
	pk_auto_json json = NULL;
	assert_int_equal(parse("{\"a\": 1, \"a\": 2}", &json, &err), -EINVAL);
	assert_non_null(strstr(err.text, "duplicate"));
	assert_int_equal(pk_json_parse(NULL, 0, "x", &json, &err), -EINVAL);
}

static void deep_nesting_is_refused(void **state)
{
	size_t n = 100000;
	char *text = malloc(n);
	memset(text, '[', n);
	struct pk_err err = {0};
	json_t *json = NULL;
	assert_int_equal(pk_json_parse(text, n, "x", &json, &err), -EINVAL);
	free(text);
}

static void typed_access(void **state)
{
	struct pk_err err = {0};
	pk_auto_json json = NULL;
	assert_int_equal(
		parse("{\"s\":\"x\",\"i\":-7,\"r\":1.5,\"b\":true,\"o\":{},\"l\":[1],\"n\":"
		      "null}",
			&json, &err),
		0);
	const char *s;
	int64_t i;
	double r;
	bool b;
	json_t *v;
	assert_int_equal(pk_json_get_str(json, "s", &s, &err), 0);
	assert_string_equal(s, "x");
	assert_int_equal(pk_json_get_int(json, "i", &i, &err), 0);
	assert_int_equal(i, -7);
	assert_int_equal(pk_json_get_num(json, "r", &r, &err), 0);
	assert_true(r == 1.5);
	assert_int_equal(pk_json_get_num(json, "i", &r, &err), 0);
	assert_true(r == -7.0);
	assert_int_equal(pk_json_get_bool(json, "b", &b, &err), 0);
	assert_true(b);
	assert_int_equal(pk_json_get_obj(json, "o", &v, &err), 0);
	assert_int_equal(pk_json_get_arr(json, "l", &v, &err), 0);
	assert_int_equal(json_array_size(v), 1);
}

static void wrong_types_and_absence(void **state)
{
	struct pk_err err = {0};
	pk_auto_json json = NULL;
	assert_int_equal(parse("{\"s\":\"x\",\"i\":1.0,\"n\":null}", &json, &err), 0);
	const char *s = "before";
	int64_t i = 42;
	bool b;
	json_t *v;
	assert_int_equal(pk_json_get_int(json, "i", &i, &err), -EINVAL);
	assert_string_equal(err.text, "i: expected an integer");
	assert_int_equal(pk_json_get_str(json, "n", &s, &err), -EINVAL);
	assert_string_equal(err.text, "n: expected a string");
	assert_int_equal(pk_json_get_bool(json, "s", &b, &err), -EINVAL);
	assert_string_equal(err.text, "s: expected true or false");
	assert_int_equal(pk_json_get_obj(json, "zz", &v, &err), -EINVAL);
	assert_string_equal(err.text, "zz: missing");
	assert_int_equal(pk_json_opt_str(json, "zz", &s, &err), 0);
	assert_string_equal(s, "before");
	assert_int_equal(pk_json_opt_int(json, "zz", &i, &err), 0);
	assert_int_equal(i, 42);
	assert_int_equal(pk_json_opt_int(json, "s", &i, &err), -EINVAL);
	assert_int_equal(pk_json_opt_str(json, "s", &s, &err), 0);
	assert_string_equal(s, "x");
}

static void access_to_no_object_fails(void **state)
{
	struct pk_err err = {0};
	pk_auto_json json = NULL;
	assert_int_equal(parse("[1]", &json, &err), 0);
	int64_t i;
	assert_int_equal(pk_json_get_int(json, "i", &i, &err), -EINVAL);
	assert_int_equal(pk_json_opt_int(json, "i", &i, &err), -EINVAL);
	assert_int_equal(pk_json_opt_int(NULL, "i", &i, &err), -EINVAL);
}

static void equal_objects_give_equal_bytes(void **state)
{
	struct pk_err err = {0};
	pk_auto_json a = NULL;
	pk_auto_json b = NULL;
	assert_int_equal(
		parse("{\"b\": [1, 2.5], \"a\": {\"z\": null, \"y\": \"\\u00fc\"}}", &a, &err), 0);
	assert_int_equal(
		parse("{\"a\":{\"y\":\"\xc3\xbc\",\"z\":null},\"b\":[1,2.5]}", &b, &err), 0);
	pk_auto_free char *text_a = pk_json_canonical(a);
	pk_auto_free char *text_b = pk_json_canonical(b);
	assert_string_equal(text_a, text_b);
	assert_string_equal(text_a, "{\"a\":{\"y\":\"\xc3\xbc\",\"z\":null},\"b\":[1,2.5]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_texts_are_located),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(typed_access),
		cmocka_unit_test(wrong_types_and_absence),
		cmocka_unit_test(access_to_no_object_fails),
		cmocka_unit_test(equal_objects_give_equal_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
