// SPDX-License-Identifier: Apache-2.0
// The byte budget, hosts by name, and which errors pass.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "registry/policy.h"

static void test_budget(void **state)
{
	struct pk_byte_budget b = {.limit_bytes = 100, .window_ns = 10 * PK_NS_PER_S};
	struct pk_err err = {0};
	assert_int_equal(pk_byte_budget_take(&b, 60, PK_NS_PER_S, &err), 0);
	assert_int_equal(pk_byte_budget_take(&b, 40, 2 * PK_NS_PER_S, &err), 0);
	assert_int_equal(pk_byte_budget_take(&b, 1, 3 * PK_NS_PER_S, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "100 bytes"));
	assert_int_equal(b.used_bytes, 101); // received is received
	assert_int_equal(pk_byte_budget_take(&b, 100, 11 * PK_NS_PER_S, &err), 0);
	// After a start the clock begins anew: what was used stays used, the window is a whole one.
	b.window_end_ns = 1000 * PK_NS_PER_S;
	assert_int_equal(pk_byte_budget_take(&b, 1, PK_NS_PER_S, &err), -EDQUOT);
	assert_int_equal(b.window_end_ns, 11 * PK_NS_PER_S);
	b.limit_bytes = 0;
	assert_int_equal(pk_byte_budget_take(&b, INT64_C(1) << 40, PK_NS_PER_S, &err), 0);
}

static void test_hosts(void **state)
{
	const struct pk_registry_host hosts[] = {
		{.host = (char[]){"reg.example"}}, {.host = (char[]){"reg.example:5000"}}};
	const struct pk_registry_options options = {.hosts = hosts, .n_hosts = 2};
	assert_ptr_equal(pk_registry_host_find(&options, "REG.example:5000"), &hosts[1]);
	assert_ptr_equal(pk_registry_host_find(&options, "reg.example"), &hosts[0]);
	assert_null(pk_registry_host_find(&options, "reg.example:443"));
	assert_null(pk_registry_host_find(NULL, "reg.example"));
}

static void test_transient(void **state)
{
	assert_true(pk_registry_error_is_transient(-EAGAIN));
	assert_true(pk_registry_error_is_transient(-ETIMEDOUT));
	assert_true(pk_registry_error_is_transient(-EHOSTUNREACH));
	assert_false(pk_registry_error_is_transient(-EBADMSG));
	assert_false(pk_registry_error_is_transient(-EACCES));
	assert_false(pk_registry_error_is_transient(-ENOENT));
	assert_false(pk_registry_error_is_transient(-EKEYREJECTED));
	assert_false(pk_registry_error_is_transient(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_transient),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
