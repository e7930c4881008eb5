// SPDX-License-Identifier: Apache-2.0
// The black box, read after its process crashed, hung or wrote nonsense.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blackbox.h"

static void end_child(int fd, void (*child)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (pk_blackbox_open(fd) < 0)
			_exit(1);
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void *run_and_crash(void *ctx)
{
	(void)ctx;
	pthread_setname_np(pthread_self(), "infer-1");
	pk_blackbox_enter(PK_BLACKBOX_INFER, "parts", "belt-a", "cpu");
	raise(SIGABRT);
	return NULL;
}

static void crash_in_a_thread(void)
{
	pthread_t thread;
	pk_blackbox_enter(PK_BLACKBOX_LOAD, "other", NULL, "cuda");
	pthread_create(&thread, NULL, run_and_crash, NULL);
	pthread_join(thread, NULL);
}

static void test_names_the_thread_that_crashed(void **ctx)
{
	(void)ctx;
	struct pk_blackbox_report report;
	int fd = pk_blackbox_create();
	assert_true(fd >= 0);
	end_child(fd, crash_in_a_thread);
	assert_true(pk_blackbox_read(fd, &report));
	assert_int_equal(report.loading.work, PK_BLACKBOX_LOAD);
	assert_string_equal(report.loading.model, "other");
	assert_string_equal(report.inferring.camera, "belt-a");
#if !defined(__SANITIZE_ADDRESS__)
	assert_int_equal(report.crashed.work, PK_BLACKBOX_INFER);
	assert_string_equal(report.crashed.model, "parts");
	assert_string_equal(report.crashed.camera, "belt-a");
	assert_string_equal(report.crashed.runtime, "cpu");
	assert_string_equal(report.thread, "infer-1");
#endif
	close(fd);
}

static void work_and_end(void)
{
	pk_blackbox_enter(PK_BLACKBOX_INFER, "parts", "belt-a", "cpu");
	pk_blackbox_leave();
	pk_blackbox_enter(PK_BLACKBOX_CAMERA, NULL, "belt-b", NULL);
}

static void test_work_that_is_over_is_not_blamed(void **ctx)
{
	(void)ctx;
	struct pk_blackbox_report report;
	int fd = pk_blackbox_create();
	end_child(fd, work_and_end);
	assert_true(pk_blackbox_read(fd, &report));
	assert_int_equal(report.inferring.work, PK_BLACKBOX_NONE);
	assert_int_equal(report.crashed.work, PK_BLACKBOX_NONE);
	close(fd);
}

static void test_long_names_and_none_are_bounded(void **ctx)
{
	(void)ctx;
	char name[200];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	pk_blackbox_enter(PK_BLACKBOX_INFER, name, name, NULL); // not opened: goes nowhere
	pk_blackbox_leave();
}

static void test_nonsense_is_not_believed(void **ctx)
{
	(void)ctx;
	struct pk_blackbox_report report;
	uint8_t bytes[4096];
	int fd = pk_blackbox_create();
	assert_false(pk_blackbox_read(fd, &report)); // nobody opened it
	end_child(fd, work_and_end);
	assert_true(pread(fd, bytes, 8, 0) == 8);
	memset(bytes + 8, 0xff, sizeof(bytes) - 8);
	assert_true(pwrite(fd, bytes, 700, 0) == 700); // a worker gone wild
	if (pk_blackbox_read(fd, &report)) {
		assert_int_equal(report.crashed.work, PK_BLACKBOX_NONE);
		assert_true(strlen(report.crashed.model) < PK_BLACKBOX_NAME);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_the_thread_that_crashed),
		cmocka_unit_test(test_work_that_is_over_is_not_blamed),
		cmocka_unit_test(test_long_names_and_none_are_bounded),
		cmocka_unit_test(test_nonsense_is_not_believed),
	};
	return cmocka_run_group_tests_name("base/blackbox", tests, NULL, NULL);
}
