// SPDX-License-Identifier: Apache-2.0
// Demands of servers: commas in quotes, several in one header, several headers, nonsense.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/challenge.h"

static void test_rows(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *scheme, *realm, *service, *scope; // of the last
	} rows[] = {
		{"", 0, NULL, NULL, NULL, NULL},
		{"Basic realm=\"x\"", 1, "basic", "x", "", ""},
		{"BASIC REALM=x", 1, "basic", "x", "", ""},
		{"Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:a/b:pull,push\"", 1,
			"bearer", "https://a/t", "s", "repository:a/b:pull,push"},
		{"Bearer  realm = \"https://a/t\" ,, scope=x", 1, "bearer", "https://a/t", "", "x"},
		{"Bearer scope=\"a b\",realm=\"q\\\"\\\\r\"", 1, "bearer", "q\"\\r", "", "a b"},
		{"Basic realm=\"x, Bearer realm=y\"", 1, "basic", "x, Bearer realm=y", "", ""},
		{"Basic realm=\"x\", Bearer realm=\"y\"", 2, "bearer", "y", "", ""},
		{"Basic realm=\"x\"\nBearer realm=\"y\"", 2, "bearer", "y", "", ""},
		{"Negotiate YWJj==, Basic realm=x", 2, "basic", "x", "", ""},
		{"Negotiate", 1, "negotiate", "", "", ""},
		{"realm=\"nobody's\"", 0, NULL, NULL, NULL, NULL},
		{"Basic realm=\"open", 1, "basic", "open", "", ""},
		{"Basic realm=\"cut\nBearer realm=z", 2, "bearer", "z", "", ""},
		{"Basic unknown=\"a,b\", realm=x", 1, "basic", "x", "", ""},
		{";;; Basic realm=x", 1, "basic", "x", "", ""},
		{"AVeryLongSchemeThatNobodyKnows realm=x", 0, NULL, NULL, NULL, NULL},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_challenge found[PK_CHALLENGE_MAX];
		size_t n = pk_challenge_parse(rows[i].text, found);
		if (n != rows[i].n)
			fail_msg("`%s`: %zu challenges", rows[i].text, n);
		if (n == 0)
			continue;
		assert_string_equal(found[n - 1].scheme, rows[i].scheme);
		assert_string_equal(found[n - 1].realm, rows[i].realm);
		assert_string_equal(found[n - 1].service, rows[i].service);
		assert_string_equal(found[n - 1].scope, rows[i].scope);
	}
}

static void test_too_much(void **state)
{
	char text[4096] = "Bearer realm=\"";
	struct pk_challenge found[PK_CHALLENGE_MAX];
	size_t n = strlen(text);
	memset(text + n, 'a', 2000);
	snprintf(text + n + 2000, 64, "\",service=s");
	assert_int_equal(pk_challenge_parse(text, found), 1);
	assert_string_equal(found[0].realm, ""); // all or nothing
	assert_string_equal(found[0].service, "s");
	text[0] = '\0';
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), 32, "Basic realm=x%d, ", i);
	assert_int_equal(pk_challenge_parse(text, found), PK_CHALLENGE_MAX);
	assert_string_equal(found[PK_CHALLENGE_MAX - 1].realm, "x7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_too_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
