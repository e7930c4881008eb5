// SPDX-License-Identifier: Apache-2.0
// Paths find their rows, and nothing else does.
#include <string.h>

#include "daemon/commands/route.h"
#include "tests/unit/daemon/support.h"

static void test_matching(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *method, *path;
		enum pk_route_match match;
		const char *name;
	} rows[] = {
		{"GET", "/v1/status", PK_ROUTE_FOUND, ""},
		{"POST", "/v1/status", PK_ROUTE_NO_METHOD, ""},
		{"GET", "/v1/status/", PK_ROUTE_NO_PATH, ""},
		{"GET", "/v1/Status", PK_ROUTE_NO_PATH, ""},
		{"GET", "/v1/cameras/a-1", PK_ROUTE_FOUND, "a-1"},
		{"GET", "/v1/cameras/", PK_ROUTE_NO_PATH, NULL},
		{"GET", "/v1/cameras/a/b", PK_ROUTE_NO_PATH, NULL},
		{"DELETE", "/v1/cameras/a", PK_ROUTE_NO_METHOD, NULL},
		{"POST", "/v1/models/parts/rebuild", PK_ROUTE_FOUND, "parts"},
		{"GET", "/v1/models/parts/rebuild", PK_ROUTE_NO_METHOD, NULL},
		{"POST", "/v1/models//rebuild", PK_ROUTE_NO_PATH, NULL},
		{"POST", "/v1/reload", PK_ROUTE_FOUND, ""},
		{"GET", "", PK_ROUTE_NO_PATH, NULL},
		{"GET", "/", PK_ROUTE_NO_PATH, NULL},
		{"GET", "/v2/status", PK_ROUTE_NO_PATH, NULL},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		const struct pk_route *route = NULL;
		char name[128];
		assert_int_equal(
			pk_route_find(rows[i].method, rows[i].path, &route, name, sizeof(name)),
			rows[i].match);
		assert_int_equal(route != NULL, rows[i].match == PK_ROUTE_FOUND);
		if (rows[i].match == PK_ROUTE_FOUND)
			assert_string_equal(name, rows[i].name);
	}
}

static void test_name_that_is_too_long(void **ctx)
{
	(void)ctx;
	char path[400], name[128];
	const struct pk_route *route = NULL;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/v1/cameras/", 12);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(pk_route_find("GET", path, &route, name, sizeof(name)), PK_ROUTE_NO_PATH);
}

static void test_every_row_is_whole_and_finds_itself(void **ctx)
{
	(void)ctx;
	for (const struct pk_route *it = pk_route_table; it->method; it++) {
		const struct pk_route *route = NULL;
		char name[128];
		assert_non_null(it->handle);
		assert_true(strlen(it->help) > 0);
		assert_int_equal(pk_route_find(it->method, it->path, &route, name, sizeof(name)),
			PK_ROUTE_FOUND);
		assert_ptr_equal(route, it);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_name_that_is_too_long),
		cmocka_unit_test(test_every_row_is_whole_and_finds_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
