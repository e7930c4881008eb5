// SPDX-License-Identifier: Apache-2.0
// The process dies at every crash point of an update in turn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/fs.h"
#include "base/fsops.h"
#include "update.h"

static int no_sync(int fd)
{
	(void)fd; // a process that dies takes no page with it
	return 0;
}

static struct pk_fsops quick;

static int setup(void **state)
{
	quick = pk_fsops_real;
	quick.fsync = quick.fdatasync = no_sync;
	pk_fsops_replace(&quick);
	return fixture_setup(state);
}

static int teardown(void **state)
{
	pk_fsops_replace(NULL);
	return fixture_teardown(state);
}

// The exit code of an update that dies at the k-th point.
static int run_until(const struct update *update, const char *fault)
{
	int status = 0;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct pk_err err = {0};
		setenv("PICKET_FAULT", fault, 1);
		_exit(update_run(update, update->root, &err) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_update_survives_any_death(void **state)
{
#ifndef PICKET_FAULTS
	skip(); // this build has no crash points
#endif
	struct pk_err err = {0};
	for (int k = 1;; k++) {
		struct update update;
		char fault[16], what[64];
		update_prepare(&update, *state);
		snprintf(fault, sizeof(fault), "%d", k);
		snprintf(what, sizeof(what), "death at point %d", k);
		int code = run_until(&update, fault);
		update_check(&update, update.root, what);
		assert_int_equal(pk_fs_remove_tree(update.root, &err), 0);
		if (code == 0) {
			assert_true(k > 30);
			print_message("%d points\n", k - 1);
			return;
		}
		assert_int_equal(code, PK_FAULT_EXIT_CODE);
	}
}

static void test_point_by_name(void **state)
{
#ifndef PICKET_FAULTS
	skip();
#endif
	struct update update;
	update_prepare(&update, *state);
	assert_int_equal(run_until(&update, "store/nowhere:1"), 0);
	struct pk_err err = {0};
	assert_int_equal(pk_fs_remove_tree(update.root, &err), 0);
	update_prepare(&update, *state);
	assert_int_equal(run_until(&update, "record/previous:1"), PK_FAULT_EXIT_CODE);
	char path[160];
	snprintf(path, sizeof(path), "%s/state/parts.json", update.root);
	assert_false(pk_fs_exists(path)); // between the two renames
	update_check(&update, update.root, "between the renames");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_update_survives_any_death, setup, teardown),
		cmocka_unit_test_setup_teardown(test_point_by_name, setup, teardown),
	};
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
