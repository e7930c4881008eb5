// SPDX-License-Identifier: Apache-2.0
// Credentials from config.json and from password files, right and wrong.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/credentials.h"
#include "tests/unit/registry/fixture.h"

static void test_rows(void **state)
{
	static const struct {
		const char *json, *user, *password, *identity; // user NULL: refused
		const char *why;
	} rows[] = {
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":\"dTpwOng=\"}}}", "u", "p:x", NULL,
			NULL},
		{"{\"auths\":{\"https://reg.example:5000/v1/\":{\"auth\":\"dTpwOng=\"}}}", "u",
			"p:x", NULL, NULL},
		{"{\"auths\":{\"REG.example:5000\":{\"auth\":\"dTpwOng\"}}}", "u", "p:x", NULL,
			NULL},
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":\"dTpw\\r\\nOng=\\n\"}}}", "u", "p:x",
			NULL, NULL},
		{"{\"auths\":{\"reg.example:5000\":{\"identitytoken\":\"t\"}}}", "", "", "t", NULL},
		{"{\"auths\":{\"reg.example\":{\"auth\":\"dTpw\"}}}", NULL, NULL, NULL, "no entry"},
		{"{\"auths\":{\"reg.example:50001\":{\"auth\":\"dTpw\"}}}", NULL, NULL, NULL,
			"no entry"},
		{"{\"credsStore\":\"x\"}", NULL, NULL, NULL, "helpers are not run"},
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":\"dQ==\"}}}", NULL, NULL, NULL,
			"user:password"},
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":\"!!!\"}}}", NULL, NULL, NULL,
			"user:password"},
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":7}}}", NULL, NULL, NULL, "auth"},
		{"{\"auths\":{\"reg.example:5000\":7}}", NULL, NULL, NULL, "object"},
		// "u:p\r\nX: y": a header line smuggled into another
		{"{\"auths\":{\"reg.example:5000\":{\"auth\":\"dTpwDQpYOiB5\"}}}", NULL, NULL, NULL,
			"control character"},
		{"{", NULL, NULL, NULL, "config.json"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_credentials found;
		struct pk_err err = {0};
		int rc = pk_credentials_parse(
			rows[i].json, strlen(rows[i].json), "reg.example:5000", &found, &err);
		if (!rows[i].user) {
			if (rc != -EACCES || !strstr(err.text, rows[i].why))
				fail_msg("%s: %d %s", rows[i].json, rc, err.text);
			assert_null(found.user);
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", rows[i].json, err.text);
		assert_string_equal(found.user ? found.user : "", rows[i].user);
		assert_string_equal(found.password ? found.password : "", rows[i].password);
		if (rows[i].identity)
			assert_string_equal(found.identity_token, rows[i].identity);
		pk_credentials_finish(&found);
	}
}

static void test_password_file(void **state)
{
	struct fixture *fx = *state;
	struct pk_credentials found;
	struct pk_err err = {0};
	const char *path = fixture_path(fx, "password");
	struct pk_registry_host host = {.host = (char[]){"reg.example"},
		.user = (char[]){"node"},
		.password_path = (char *)(uintptr_t)path};
	assert_int_equal(pk_credentials_load(&host, "reg.example", &found, &err), -EACCES);
	assert_non_null(strstr(err.text, "password"));
	fixture_write(path, "se:cret \r\n", 10);
	assert_int_equal(pk_credentials_load(&host, "reg.example", &found, &err), 0);
	assert_string_equal(found.user, "node");
	assert_string_equal(found.password, "se:cret ");
	pk_credentials_finish(&found);
	fixture_write(path, "a\0b", 3);
	assert_int_equal(pk_credentials_load(&host, "reg.example", &found, &err), -EACCES);
	host.password_path = NULL;
	assert_int_equal(pk_credentials_load(&host, "reg.example", &found, &err), -EACCES);
	assert_int_equal(pk_credentials_load(NULL, "reg.example", &found, &err), 0);
	assert_null(found.user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test_setup_teardown(
			test_password_file, fixture_setup, fixture_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
