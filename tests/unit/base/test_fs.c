// SPDX-License-Identifier: Apache-2.0
// Files: bounded reads, atomic writes, trees without following links, maps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

static char folder[64];

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/picket-fs-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
	struct pk_err err = {0};
	return chdir("/") == 0 ? pk_fs_remove_tree(folder, &err) : -1;
}

static int n_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void assert_content(const char *path, const char *want)
{
	pk_auto_buf struct pk_buf buf;
	struct pk_err err = {0};
	pk_buf_init(&buf, 1 << 20);
	assert_int_equal(pk_fs_read(path, 1 << 20, &buf, &err), 0);
	assert_string_equal(pk_buf_cstr(&buf), want);
}

static void write_then_read(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fs_write_atomic("f", "one", 3, 0640, &err), 0);
	assert_content("f", "one");
	assert_int_equal(pk_fs_write_atomic("f", "second", 6, 0600, &err), 0);
	assert_content("f", "second");
	struct stat st;
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(n_entries("."), 1);
	assert_int_equal(pk_fs_size("f"), 6);
	assert_int_equal(pk_fs_size("g"), -ENOENT);
	assert_true(pk_fs_exists("f"));
	assert_false(pk_fs_exists("g"));
}

static void read_is_bounded(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fs_write_atomic("f", "12345", 5, 0600, &err), 0);
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 100);
	pk_buf_str(&buf, "kept ");
	assert_int_equal(pk_fs_read("f", 4, &buf, &err), -EFBIG);
	assert_string_equal(err.text, "f: larger than 4 bytes");
	assert_string_equal(pk_buf_cstr(&buf), "kept ");
	assert_int_equal(pk_fs_read("f", 5, &buf, &err), 0);
	assert_string_equal(pk_buf_cstr(&buf), "kept 12345");
	assert_int_equal(pk_fs_read("none", 5, &buf, &err), -ENOENT);
	assert_int_equal(pk_fs_read(".", 5, &buf, &err), -EISDIR);
	pk_auto_buf struct pk_buf small;
	pk_buf_init(&small, 3);
	assert_int_equal(pk_fs_read("f", 100, &small, &err), -ENOSPC);
}

static void fifo_does_not_hang(void **state)
{
	struct pk_err err = {0};
	pk_auto_buf struct pk_buf buf;
	pk_buf_init(&buf, 100);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(pk_fs_read("pipe", 100, &buf, &err), -EINVAL);
	assert_string_equal(err.text, "pipe: not a regular file");
}

static void abort_leaves_the_old_file(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fs_write_atomic("f", "old", 3, 0600, &err), 0);
	struct pk_fs_atomic file;
	assert_int_equal(pk_fs_atomic_begin(&file, "f", 0600, &err), 0);
	assert_int_equal(pk_fs_write_all(file.fd, "new", 3), 0);
	assert_content("f", "old");
	assert_int_equal(n_entries("."), 2);
	pk_fs_atomic_abort(&file);
	pk_fs_atomic_abort(&file);
	assert_content("f", "old");
	assert_int_equal(n_entries("."), 1);
	struct pk_fs_atomic zeroed = {0};
	pk_fs_atomic_abort(&zeroed);
	assert_int_not_equal(fcntl(0, F_GETFD), -1); // a zeroed struct owns no descriptor 0
	assert_int_equal(pk_fs_atomic_commit(&zeroed, &err), -EINVAL);
}

static void commit_replaces_and_releases(void **state)
{
	struct pk_err err = {0};
	struct pk_fs_atomic file;
	assert_int_equal(pk_fs_atomic_begin(&file, "f", 0644, &err), 0);
	int fd = file.fd;
	assert_int_equal(pk_fs_write_all(file.fd, "new", 3), 0);
	assert_int_equal(pk_fs_atomic_commit(&file, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	pk_fs_atomic_abort(&file);
	assert_content("f", "new");
}

static void failed_write_leaves_nothing(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(mkdir("f", 0700), 0);
	assert_int_equal(pk_fs_write_atomic("f/none/x", "a", 1, 0600, &err), -ENOENT);
	assert_int_equal(pk_fs_write_atomic("f", "a", 1, 0600, &err), -EISDIR); // rename fails
	assert_int_equal(n_entries("."), 1);
	assert_int_equal(pk_fs_write_all(-1, "x", 1), -EBADF);
}

static void mkdirs_makes_all_levels(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fs_mkdirs("a/b//c/", 0700, &err), 0);
	assert_int_equal(pk_fs_mkdirs("a/b/c", 0700, &err), 0);
	assert_true(pk_fs_exists("a/b/c"));
	char path[128];
	snprintf(path, sizeof(path), "%s/x/y", folder);
	assert_int_equal(pk_fs_mkdirs(path, 0700, &err), 0);
	assert_true(pk_fs_exists("x/y"));
	assert_int_equal(pk_fs_mkdirs("/", 0700, &err), 0);
	assert_int_equal(pk_fs_write_atomic("file", "", 0, 0600, &err), 0);
	assert_int_equal(pk_fs_mkdirs("file/sub", 0700, &err), -ENOTDIR);
	assert_string_equal(err.text, "file: mkdir: Not a directory");
	assert_int_equal(pk_fs_mkdirs("", 0700, &err), -ENOENT);
}

static void remove_tree_stops_at_links(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fs_mkdirs("keep/inner", 0700, &err), 0);
	assert_int_equal(pk_fs_write_atomic("keep/precious", "p", 1, 0600, &err), 0);
	assert_int_equal(pk_fs_mkdirs("tree/a/b", 0700, &err), 0);
	assert_int_equal(pk_fs_write_atomic("tree/a/f", "f", 1, 0600, &err), 0);
	assert_int_equal(symlink("../../keep", "tree/a/link"), 0);
	assert_int_equal(symlink("keep", "toplink"), 0);
	assert_int_equal(pk_fs_remove_tree("tree", &err), 0);
	assert_false(pk_fs_exists("tree"));
	assert_int_equal(pk_fs_remove_tree("toplink", &err), 0);
	assert_content("keep/precious", "p");
	assert_int_equal(pk_fs_remove_tree("tree", &err), 0); // a missing path is fine
}

static void remove_tree_is_bounded_in_depth(void **state)
{
	struct pk_err err = {0};
	int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 80; i++) {
		assert_int_equal(mkdir("d", 0700), 0);
		assert_int_equal(chdir("d"), 0);
	}
	assert_int_equal(fchdir(home), 0);
	close(home);
	assert_int_equal(pk_fs_remove_tree("d", &err), -ELOOP);
	assert_int_equal(rename("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d", "rest"), 0);
	assert_int_equal(pk_fs_remove_tree("d", &err), 0);
	assert_int_equal(pk_fs_remove_tree("rest", &err), 0);
}

static void paths_are_joined(void **state)
{
	static const char *const rows[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"},
		{"a", "/b", "/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_auto_free char *path = pk_fs_join(rows[i][0], rows[i][1]);
		assert_string_equal(path, rows[i][2]);
	}
}

static void maps(void **state)
{
	struct pk_err err = {0};
	struct pk_fs_map map = {0};
	pk_fs_unmap(&map);
	assert_int_equal(pk_fs_write_atomic("f", "bytes", 5, 0600, &err), 0);
	assert_int_equal(pk_fs_map(&map, "f", 5, &err), 0);
	assert_int_equal(map.size, 5);
	assert_memory_equal(map.data, "bytes", 5);
	pk_fs_unmap(&map);
	assert_null(map.data);
	pk_fs_unmap(&map);
	assert_int_equal(pk_fs_map(&map, "f", 4, &err), -EFBIG);
	assert_int_equal(pk_fs_write_atomic("empty", "", 0, 0600, &err), 0);
	assert_int_equal(pk_fs_map(&map, "empty", 4, &err), -ENODATA);
	assert_int_equal(pk_fs_map(&map, "none", 4, &err), -ENOENT);
	assert_int_equal(pk_fs_map(&map, ".", 4, &err), -EISDIR);
	assert_null(map.data);
}

#define FS_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FS_TEST(write_then_read),
		FS_TEST(read_is_bounded),
		FS_TEST(fifo_does_not_hang),
		FS_TEST(abort_leaves_the_old_file),
		FS_TEST(commit_replaces_and_releases),
		FS_TEST(failed_write_leaves_nothing),
		FS_TEST(mkdirs_makes_all_levels),
		FS_TEST(remove_tree_stops_at_links),
		FS_TEST(remove_tree_is_bounded_in_depth),
		FS_TEST(paths_are_joined),
		FS_TEST(maps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
