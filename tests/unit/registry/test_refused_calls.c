// SPDX-License-Identifier: Apache-2.0
// The disk refuses the n-th call of an update, for every n, once or from then on, with ENOSPC or
// EIO: an error or none, but never a broken node, a lost old model or a leaked file descriptor.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/fsops.h"
#include "update.h"

static struct {
	unsigned n_passed;
	unsigned refuse_at; // from 1; 0: never
	bool for_good;      // that one and all after it
	int code;
	const char *refused; // the first
} disk;

static bool refuses(const char *name)
{
	disk.n_passed++;
	bool now = disk.refuse_at && (disk.n_passed == disk.refuse_at ||
					     (disk.for_good && disk.n_passed > disk.refuse_at));
	if (!now)
		return false;
	if (!disk.refused)
		disk.refused = name;
	errno = disk.code;
	return true;
}

static int do_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	return refuses("open") ? -1 : openat(dir_fd, path, flags, mode);
}

// A full disk takes a part of what it cannot take whole.
static ssize_t do_write(int fd, const void *bytes, size_t n)
{
	if (!refuses("write"))
		return write(fd, bytes, n);
	if (disk.code == ENOSPC && n > 1 && disk.refuse_at == disk.n_passed)
		return write(fd, bytes, n / 2);
	return -1;
}

static int do_ftruncate(int fd, off_t size)
{
	return refuses("ftruncate") ? -1 : ftruncate(fd, size);
}

static int do_fallocate(int fd, int mode, off_t offset, off_t n)
{
	return refuses("fallocate") ? -1 : fallocate(fd, mode, offset, n);
}

static int do_fchmod(int fd, mode_t mode)
{
	return refuses("fchmod") ? -1 : fchmod(fd, mode);
}

// What a refused fsync leaves in the file is zeros: the pages are gone.
static int do_fsync(int fd)
{
	struct stat st;
	if (!refuses("fsync"))
		return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) == 0)
		(void)!ftruncate(fd, st.st_size);
	errno = disk.code;
	return -1;
}

static int do_rename(int old_dir_fd, const char *old_path, int dir_fd, const char *path)
{
	return refuses("rename") ? -1 : renameat(old_dir_fd, old_path, dir_fd, path);
}

static int do_unlink(int dir_fd, const char *path, int flags)
{
	return disk.code == EIO && refuses("unlink") ? -1 : unlinkat(dir_fd, path, flags);
}

static int do_mkdir(int dir_fd, const char *path, mode_t mode)
{
	return refuses("mkdir") ? -1 : mkdirat(dir_fd, path, mode);
}

static const struct pk_fsops refusing = {
	.open = do_open,
	.write = do_write,
	.ftruncate = do_ftruncate,
	.fallocate = do_fallocate,
	.fchmod = do_fchmod,
	.fsync = do_fsync,
	.fdatasync = do_fsync,
	.close = close,
	.rename = do_rename,
	.unlink = do_unlink,
	.mkdir = do_mkdir,
	.statvfs = fstatvfs,
};

static int n_open_files(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

// True when the call was never reached: all of them have been tried.
static bool refuse_one(struct fixture *fx, unsigned at, bool for_good, int code)
{
	struct update update;
	struct pk_err err = {0};
	char what[200];
	memset(&disk, 0, sizeof(disk));
	update_prepare(&update, fx);
	int n_files = n_open_files();
	memset(&disk, 0, sizeof(disk));
	disk.refuse_at = at;
	disk.for_good = for_good;
	disk.code = code;
	int rc = update_run(&update, update.root, &err);
	bool reached = disk.refused != NULL;
	snprintf(what, sizeof(what), "call %u (%s) refused %s with %s, answer %d %.60s", at,
		reached ? disk.refused : "none", for_good ? "for good" : "once", strerror(code), rc,
		err.text);
	memset(&disk, 0, sizeof(disk));
	if (rc < 0 && !err.text[0])
		fail_msg("%s: no reason was given", what);
	if (n_open_files() != n_files)
		fail_msg("%s: a file was left open", what);
	update_check(&update, update.root, what);
	assert_int_equal(pk_fs_remove_tree(update.root, &err), 0);
	return !reached;
}

static void refuse_all(struct fixture *fx, bool for_good, int code)
{
	unsigned at = 1;
	while (!refuse_one(fx, at, for_good, code))
		at++;
	assert_true(at > 25); // else something does not go through the table
	print_message("%u calls\n", at - 1);
}

static void test_no_space_once(void **state)
{
	refuse_all(*state, false, ENOSPC);
}

static void test_no_space_for_good(void **state)
{
	refuse_all(*state, true, ENOSPC);
}

static void test_io_error_once(void **state)
{
	refuse_all(*state, false, EIO);
}

static void test_io_error_for_good(void **state)
{
	refuse_all(*state, true, EIO);
}

static int setup(void **state)
{
	pk_fsops_replace(&refusing);
	return fixture_setup(state);
}

static int teardown(void **state)
{
	pk_fsops_replace(NULL);
	return fixture_teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_space_once),
		TEST(test_no_space_for_good),
		TEST(test_io_error_once),
		TEST(test_io_error_for_good),
	};
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
