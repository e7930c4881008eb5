// SPDX-License-Identifier: Apache-2.0
// Ownership helpers: scope exit, stealing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"

struct pk_thing {
	int *n_destroyed;
};

static void pk_thing_destroy(struct pk_thing *thing)
{
	(*thing->n_destroyed)++;
}

PK_DEFINE_AUTO(pk_thing, pk_thing_destroy);

static void scope_exit_destroys_once(void **state)
{
	int n = 0;
	struct pk_thing thing = {&n};
	{
		pk_auto(pk_thing) owned = &thing;
		assert_non_null(owned);
	}
	assert_int_equal(n, 1);
	{
		pk_auto(pk_thing) none = NULL;
		assert_null(none);
	}
	assert_int_equal(n, 1);
}

static void stolen_values_stay(void **state)
{
	int n = 0;
	struct pk_thing thing = {&n}, *kept;
	{
		pk_auto(pk_thing) owned = &thing;
		kept = pk_steal(owned);
		assert_null(owned);
	}
	assert_int_equal(n, 0);
	assert_ptr_equal(kept, &thing);
}

static void fds_are_closed_and_errno_is_kept(void **state)
{
	int seen = -1, stolen = -1;
	errno = 0;
	{
		pk_auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		pk_auto_close int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		pk_auto_close int none = -1;
		assert_int_equal(none, -1);
		seen = fd;
		stolen = pk_steal_fd(other);
		errno = EPIPE;
	}
	assert_int_equal(errno, EPIPE);
	assert_int_equal(fcntl(seen, F_GETFD), -1);
	assert_int_not_equal(fcntl(stolen, F_GETFD), -1);
	close(stolen);
}

static void malloced_text_is_freed(void **state)
{
	pk_auto_free char *text = strdup("freed at the end of the scope: a leak checker looks");
	pk_auto_free char *none = NULL;
	assert_non_null(text);
	assert_null(none);
}

static void container_of_finds_the_owner(void **state)
{
	struct owner {
		int a;
		int b;
	} owner = {1, 2};
	int *member = &owner.b;
	assert_ptr_equal(pk_container_of(member, struct owner, b), &owner);
	int three[3];
	assert_int_equal(PK_ARRAY_LEN(three), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scope_exit_destroys_once),
		cmocka_unit_test(stolen_values_stay),
		cmocka_unit_test(fds_are_closed_and_errno_is_kept),
		cmocka_unit_test(malloced_text_is_freed),
		cmocka_unit_test(container_of_finds_the_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
