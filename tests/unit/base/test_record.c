// SPDX-License-Identifier: Apache-2.0
// Records: two generations, any damage found, a full disk met with the ballast.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/record.h"

static char folder[64];

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/picket-record-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
	struct pk_err err = {0};
	return chdir("/") == 0 ? pk_fs_remove_tree(folder, &err) : -1;
}

static void save(const char *text)
{
	struct pk_err err = {0};
	if (pk_record_save(NULL, "r", text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_loads(const char *want, bool previous)
{
	pk_auto_buf struct pk_buf buf;
	struct pk_err err = {0};
	bool used_previous = !previous;
	pk_buf_init(&buf, 4096);
	if (pk_record_load("r", &buf, &used_previous, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(pk_buf_cstr(&buf), want);
	assert_int_equal(used_previous, previous);
}

static int load_error(void)
{
	pk_auto_buf struct pk_buf buf;
	struct pk_err err = {0};
	pk_buf_init(&buf, 4096);
	int r = pk_record_load("r", &buf, NULL, &err);
	assert_true(r == 0 || err.text[0]);
	assert_int_equal(buf.len, 0);
	return r;
}

static void write_raw(const char *path, const void *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void two_generations(void **state)
{
	assert_int_equal(load_error(), -ENOENT);
	save("one");
	assert_loads("one", false);
	save("two");
	assert_loads("two", false);
	write_raw("r", "", 0); // renamed but empty
	assert_loads("one", true);
	save("three"); // the damaged one does not become the previous one
	assert_loads("three", false);
	assert_int_equal(unlink("r"), 0);
	assert_loads("one", true);
	write_raw("r.prev", "x", 1);
	assert_int_equal(load_error(), -EBADMSG); // something was remembered once
	write_raw("r", "x", 1);
	assert_int_equal(load_error(), -EBADMSG);
	save("four");
	assert_loads("four", false);
	struct stat st;
	assert_int_equal(stat("r", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_false(pk_fs_exists("r.tmp"));
}

static void empty_content(void **state)
{
	save("");
	assert_loads("", false);
}

static void any_damage_is_found(void **state)
{
	pk_auto_buf struct pk_buf file;
	struct pk_err err = {0};
	const char *content;
	size_t n;
	save("the content of a record");
	pk_buf_init(&file, 4096);
	assert_int_equal(pk_fs_read("r", 4096, &file, &err), 0);
	assert_int_equal(pk_record_check(file.data, file.len, &content, &n), 0);
	assert_int_equal(n, strlen("the content of a record"));
	for (size_t i = 0; i < file.len * 8; i++) {
		file.data[i / 8] = (char)(file.data[i / 8] ^ (1 << i % 8));
		assert_int_equal(pk_record_check(file.data, file.len, &content, &n), -EBADMSG);
		file.data[i / 8] = (char)(file.data[i / 8] ^ (1 << i % 8));
	}
	for (size_t cut = 0; cut < file.len; cut++)
		assert_int_equal(pk_record_check(file.data, cut, &content, &n), -EBADMSG);
}

static void bounds(void **state)
{
	struct pk_err err = {0};
	size_t n = PK_RECORD_MAX_BYTES;
	char *big = calloc(1, n + 1);
	assert_non_null(big);
	assert_int_equal(pk_record_save(NULL, "r", big, n + 1, &err), -EFBIG);
	assert_int_equal(load_error(), -ENOENT);
	assert_int_equal(pk_record_save(NULL, "r", big, n, &err), 0);
	free(big);
	assert_true(load_error() < 0); // more than the 4096 bytes that it reads into
	assert_true(pk_record_save(NULL, "no/such/folder/r", "x", 1, &err) < 0);
	assert_int_equal(symlink("elsewhere", "r.tmp"), 0);
	assert_true(pk_record_save(NULL, "r", "x", 1, &err) < 0); // never through a link
	assert_false(pk_fs_exists("elsewhere"));
}

// A disk with no byte left but what the ballast gives back.
static bool full_write(void)
{
	return !pk_fs_exists(PK_RECORD_BALLAST);
}

static ssize_t write_on_full(int fd, const void *bytes, size_t n)
{
	if (full_write())
		return write(fd, bytes, n);
	errno = ENOSPC;
	return -1;
}

static ssize_t write_never(int fd, const void *bytes, size_t n)
{
	(void)fd;
	(void)bytes;
	(void)n;
	errno = ENOSPC;
	return -1;
}

static void full_disk_is_met_with_ballast(void **state)
{
	struct pk_err err = {0};
	struct stat st;
	struct pk_fsops full = pk_fsops_real;
	save("one");
	assert_int_equal(stat(PK_RECORD_BALLAST, &st), 0);
	assert_int_equal(st.st_size, PK_RECORD_BALLAST_BYTES);
	assert_true((int64_t)st.st_blocks * 512 >= PK_RECORD_BALLAST_BYTES); // not a hole
	full.write = write_on_full;
	assert_int_equal(pk_record_save(&full, "r", "two", 3, &err), 0);
	assert_loads("two", false);
	assert_true(pk_fs_exists(PK_RECORD_BALLAST)); // here there is room again
	full.write = write_never;
	assert_int_equal(pk_record_save(&full, "r", "three", 5, &err), -ENOSPC);
	assert_loads("two", false);
	assert_false(pk_fs_exists("r.tmp"));
	save("four");
	assert_true(pk_fs_exists(PK_RECORD_BALLAST));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_generations),
		TEST(empty_content),
		TEST(any_damage_is_found),
		TEST(bounds),
		TEST(full_disk_is_met_with_ballast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
