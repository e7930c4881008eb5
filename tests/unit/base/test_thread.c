// SPDX-License-Identifier: Apache-2.0
// Which signals a thread takes, what it is called, and joining with a limit.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"

static char name[16];

static void *look(void *mask)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	return NULL;
}

static void test_a_thread_takes_its_own_crashes_only(void **state)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
	static const int others[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1};
	sigset_t mask, before, after;
	pthread_t thread;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(pk_thread_start(&thread, "a name too long for it", look, &mask), 0);
	assert_true(pk_thread_join(thread, 5 * PK_NS_PER_S));
	for (size_t i = 0; i < PK_ARRAY_LEN(own); i++)
		assert_false(sigismember(&mask, own[i]));
	for (size_t i = 0; i < PK_ARRAY_LEN(others); i++)
		assert_true(sigismember(&mask, others[i]));
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

static void *wait_for_byte(void *fd)
{
	char byte;
	(void)!read(*(int *)fd, &byte, 1);
	return NULL;
}

static void test_join_has_a_limit(void **state)
{
	int fds[2];
	pthread_t thread;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pk_thread_start(&thread, "waits", wait_for_byte, &fds[0]), 0);
	assert_false(pk_thread_join(thread, 20 * PK_NS_PER_MS));
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_true(pk_thread_join(thread, 5 * PK_NS_PER_S));
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_takes_its_own_crashes_only),
		cmocka_unit_test(test_join_has_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
