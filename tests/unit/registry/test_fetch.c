// SPDX-License-Identifier: Apache-2.0
// Pauses between attempts: growth, cap, jitter after the cap, the wish of the server.
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
#include "registry/fetch.h"

static void test_pauses(void **state)
{
	const struct pk_registry_options none = {0};
	const struct pk_registry_options slow = {.retry_min_ns = 4 * PK_NS_PER_S, .n_retries = 9};
	assert_int_equal(pk_fetch_pause_ns(&none, 1, 0, 0), PK_NS_PER_S / 4);
	assert_int_equal(pk_fetch_pause_ns(&none, 2, 0, 0), PK_NS_PER_S / 2);
	assert_int_equal(pk_fetch_pause_ns(&slow, 3, 0, 0), 8 * PK_NS_PER_S);
	// The jitter comes after the cap, else all that have failed for long would come at once.
	assert_int_equal(pk_fetch_pause_ns(&slow, 50, 0, 0), 15 * PK_NS_PER_S);
	assert_true(pk_fetch_pause_ns(&slow, 50, 0, 0.999) > 29 * PK_NS_PER_S);
	assert_true(pk_fetch_pause_ns(&slow, UINT32_MAX, 0, 0.999) <= 30 * PK_NS_PER_S);
	assert_true(pk_fetch_pause_ns(&none, 1, 60 * PK_NS_PER_S, 0.5) > 60 * PK_NS_PER_S);
	assert_int_equal(pk_fetch_n_retries(&none), 3);
	assert_int_equal(pk_fetch_n_retries(&slow), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
