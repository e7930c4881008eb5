// SPDX-License-Identifier: Apache-2.0
// The power goes after every single call of an update (pull, record, cleaning), with what was not
// synced lost in every way: the node comes back with the old model or the new one.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/fsops.h"
#include "tests/lib/powercut.h"
#include "update.h"

static int no_sync(int fd)
{
	return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

// What is checked is what is read back: nobody needs to wait for this machine's disk.
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

static void cut(const struct update *update, size_t n, int variant)
{
	struct pk_err err = {0};
	char root[128], what[1400];
	struct powercut_variant how = powercut_variant(variant);
	snprintf(root, sizeof(root), "%s/after", update->fx->dir);
	snprintf(what, sizeof(what), "after %zu calls (%s), data %d, names %d", n,
		n ? powercut_call_text(n - 1) : "none", (int)how.data, (int)how.names);
	powercut_build(n, how, root);
	update_check(update, root, what);
	assert_int_equal(pk_fs_remove_tree(root, &err), 0);
}

static void test_update_survives_any_cut(void **state)
{
	struct update update;
	struct pk_err err = {0};
	update_prepare(&update, *state);
	powercut_begin(update.root);
	int rc = update_run(&update, update.root, &err);
	powercut_end();
	if (rc < 0)
		fail_msg("%s", err.text);
	pk_fsops_replace(&quick);
	size_t n_calls = powercut_n_calls();
	assert_true(n_calls > 20); // else something does not go through the table
	for (size_t n = 0; n <= n_calls; n++)
		for (int i = 0; i < POWERCUT_N_VARIANTS; i++)
			cut(&update, n, i);
	print_message("%zu calls, %zu cuts\n", n_calls, (n_calls + 1) * POWERCUT_N_VARIANTS);
}

// The store's folders are new too: the first pull of a node's life.
static void test_first_pull_survives_any_cut(void **state)
{
	struct update update;
	struct pk_err err = {0};
	char root[128];
	struct fixture *fx = *state;
	update_prepare(&update, fx);
	snprintf(root, sizeof(root), "%s/fresh", fx->dir);
	assert_int_equal(pk_fs_mkdirs(root, 0755, &err), 0);
	powercut_begin(root);
	struct pk_store *store = NULL;
	assert_int_equal(pk_store_open(root, 0, &store, &err), 0);
	assert_int_equal(pk_store_put(store, &fx->manifest, "x", 0, &err), -EBADMSG);
	pk_store_close(store);
	powercut_end();
	pk_fsops_replace(&quick);
	for (size_t n = 0; n <= powercut_n_calls(); n++) {
		for (int i = 0; i < POWERCUT_N_VARIANTS; i++) {
			char after[128];
			snprintf(after, sizeof(after), "%s/after", fx->dir);
			powercut_build(n, powercut_variant(i), after);
			assert_int_equal(pk_store_open(after, 0, &store, &err), 0);
			pk_store_close(store);
			assert_int_equal(pk_fs_remove_tree(after, &err), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_update_survives_any_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_pull_survives_any_cut, setup, teardown),
	};
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
