// SPDX-License-Identifier: Apache-2.0
// The store: what becomes visible, what is continued, what is refused.
#include <errno.h>
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
#include "fixture.h"

#define N 100000

struct sample {
	uint8_t *bytes;
	struct pk_digest digest;
};

static struct sample make_sample(unsigned seed)
{
	struct sample sample = {.bytes = fixture_pattern(N, seed)};
	assert_int_equal(pk_digest_bytes(sample.bytes, N, &sample.digest), 0);
	return sample;
}

static struct pk_store_write *begin(struct fixture *fx, const struct sample *sample)
{
	struct pk_store_write *write = NULL;
	struct pk_err err = {0};
	if (pk_store_begin(fx->store, &sample->digest, N, &write, &err) < 0)
		fail_msg("%s", err.text);
	return write;
}

static void append(struct pk_store_write *write, const void *bytes, size_t n)
{
	assert_int_equal(pk_fs_write_all(pk_store_write_fd(write), bytes, n), 0);
}

static void assert_empty_tmp(const struct fixture *fx, const struct sample *sample)
{
	assert_false(pk_fs_exists(fixture_part_path(fx, &sample->digest)));
}

static void test_write_and_read(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct stat st;
	struct sample s = make_sample(1);
	assert_false(pk_store_has(fx->store, &s.digest, -1));
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), -ENOENT);
	struct pk_store_write *write = begin(fx, &s);
	assert_int_equal(pk_store_write_have(write), 0);
	append(write, s.bytes, N);
	assert_false(pk_store_has(fx->store, &s.digest, -1)); // not before it is proven
	assert_int_equal(pk_store_finish(write, &err), 0);
	assert_true(pk_store_has(fx->store, &s.digest, N));
	assert_true(pk_store_has(fx->store, &s.digest, -1));
	assert_false(pk_store_has(fx->store, &s.digest, N - 1));
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), 0);
	char *path = pk_store_path(fx->store, &s.digest);
	assert_string_equal(path, fixture_store_path(fx, &s.digest));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	size_t n;
	char *content = fixture_read(path, &n);
	assert_int_equal(n, N);
	assert_memory_equal(content, s.bytes, N);
	assert_empty_tmp(fx, &s);
	free(content);
	free(path);
	free(s.bytes);
}

static void test_empty_blob(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_digest digest;
	assert_int_equal(pk_digest_bytes("", 0, &digest), 0);
	assert_int_equal(pk_store_put(fx->store, &digest, "", 0, &err), 0);
	assert_true(pk_store_has(fx->store, &digest, 0));
}

static void test_resume(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct sample s = make_sample(2);
	struct pk_store_write *write = begin(fx, &s);
	append(write, s.bytes, 40000);
	pk_store_abort(write);
	write = begin(fx, &s);
	assert_int_equal(pk_store_write_have(write), 40000);
	append(write, s.bytes + 40000, N - 40000); // the fd stands at the end of the prefix
	assert_int_equal(pk_store_finish(write, &err), 0);
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), 0);
	free(s.bytes);
}

static void test_resume_whole_part(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct sample s = make_sample(3);
	fixture_write(fixture_part_path(fx, &s.digest), s.bytes, N);
	struct pk_store_write *write = begin(fx, &s);
	assert_int_equal(pk_store_write_have(write), N);
	assert_int_equal(pk_store_finish(write, &err), 0);
	free(s.bytes);
}

static void test_part_longer_than_blob_is_dropped(void **state)
{
	struct fixture *fx = *state;
	struct sample s = make_sample(4);
	uint8_t *longer = fixture_pattern(N + 1, 5);
	fixture_write(fixture_part_path(fx, &s.digest), longer, N + 1);
	struct pk_store_write *write = begin(fx, &s);
	assert_int_equal(pk_store_write_have(write), 0);
	pk_store_discard(write);
	assert_empty_tmp(fx, &s);
	free(longer);
	free(s.bytes);
}

static void test_bad_content_leaves_nothing(void **state)
{
	struct fixture *fx = *state;
	struct sample s = make_sample(6);
	for (int i = 0; i < 3; i++) {
		struct pk_err err = {0};
		struct pk_store_write *write = begin(fx, &s);
		if (i == 0) { // a flipped bit
			s.bytes[N / 2] ^= 4;
			append(write, s.bytes, N);
			s.bytes[N / 2] ^= 4;
		} else if (i == 1) { // truncated
			append(write, s.bytes, N - 1);
		} else { // longer
			append(write, s.bytes, N);
			append(write, s.bytes, 1);
		}
		assert_int_equal(pk_store_finish(write, &err), -EBADMSG);
		assert_non_null(strstr(err.text, fixture_digest_text(&s.digest)));
		assert_false(pk_store_has(fx->store, &s.digest, -1));
		assert_empty_tmp(fx, &s);
	}
	free(s.bytes);
}

static void test_endless_data_stops_at_once(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct sample s = make_sample(7);
	struct pk_store_write *write = begin(fx, &s);
	append(write, s.bytes, N);
	assert_int_equal(pk_store_write_advance(write, &err), 0);
	assert_int_equal(pk_store_write_have(write), N);
	append(write, s.bytes, 1);
	assert_int_equal(pk_store_write_advance(write, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "more bytes than"));
	pk_store_discard(write);
	free(s.bytes);
}

// A source that cannot continue truncates and starts again.
static void test_restart_in_the_middle(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct sample s = make_sample(8);
	struct pk_store_write *write = begin(fx, &s);
	append(write, s.bytes + 7, 5000);
	assert_int_equal(pk_store_write_advance(write, &err), 0);
	assert_int_equal(ftruncate(pk_store_write_fd(write), 0), 0);
	assert_int_equal(lseek(pk_store_write_fd(write), 0, SEEK_SET), 0);
	assert_int_equal(pk_store_write_advance(write, &err), 0);
	assert_int_equal(pk_store_write_have(write), 0);
	append(write, s.bytes, N);
	assert_int_equal(pk_store_finish(write, &err), 0);
	free(s.bytes);
}

static void test_second_writer_is_refused(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store *other = NULL;
	struct pk_store_write *second = NULL;
	struct sample s = make_sample(9);
	assert_int_equal(pk_store_open(fx->store_root, 0, &other, &err), 0);
	struct pk_store_write *write = begin(fx, &s);
	assert_int_equal(pk_store_begin(other, &s.digest, N, &second, &err), -EBUSY);
	assert_null(second);
	append(write, s.bytes, N);
	assert_int_equal(pk_store_finish(write, &err), 0); // its file was not touched
	assert_true(pk_store_has(other, &s.digest, N));
	pk_store_close(other);
	free(s.bytes);
}

static void test_verify_moves_bad_blob_aside(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	char bad[200];
	struct sample s = make_sample(10);
	assert_int_equal(pk_store_put(fx->store, &s.digest, s.bytes, N, &err), 0);
	assert_int_equal(chmod(fixture_store_path(fx, &s.digest), 0600), 0);
	fixture_flip(fixture_store_path(fx, &s.digest), 12345);
	assert_true(pk_store_has(fx->store, &s.digest, N));
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), -EBADMSG);
	assert_false(pk_store_has(fx->store, &s.digest, -1));
	snprintf(bad, sizeof(bad), "%s/blobs/bad/%s", fx->store_root,
		fixture_digest_text(&s.digest) + 7);
	assert_int_equal(pk_fs_size(bad), N);
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), -ENOENT);
	assert_int_equal(pk_store_put(fx->store, &s.digest, s.bytes, N, &err), 0);
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), 0);
	assert_false(pk_fs_exists(bad));
	free(s.bytes);
}

static void test_link_under_a_blobs_name(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct sample s = make_sample(11);
	fixture_write(fixture_path(fx, "outside"), s.bytes, N);
	assert_int_equal(
		symlink(fixture_path(fx, "outside"), fixture_store_path(fx, &s.digest)), 0);
	assert_false(pk_store_has(fx->store, &s.digest, -1));
	assert_int_equal(pk_store_verify(fx->store, &s.digest, &err), -EBADMSG);
	assert_int_equal(pk_store_put(fx->store, &s.digest, s.bytes, N, &err), 0);
	assert_true(pk_store_has(fx->store, &s.digest, N));
	assert_int_equal(pk_fs_size(fixture_path(fx, "outside")), N);
	free(s.bytes);
}

static void test_link_under_a_parts_name(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_write *write = NULL;
	struct sample s = make_sample(12);
	fixture_write(fixture_path(fx, "outside"), "keep", 4);
	assert_int_equal(symlink(fixture_path(fx, "outside"), fixture_part_path(fx, &s.digest)), 0);
	assert_true(pk_store_begin(fx->store, &s.digest, N, &write, &err) < 0);
	assert_int_equal(pk_fs_size(fixture_path(fx, "outside")), 4);
	free(s.bytes);
}

static void test_quota(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store *store = NULL;
	struct pk_store_write *write = NULL;
	int64_t used = 0;
	struct sample a = make_sample(13);
	struct sample b = make_sample(14);
	assert_int_equal(pk_store_open(fx->store_root, 2 * N - 1, &store, &err), 0);
	assert_int_equal(pk_store_put(store, &a.digest, a.bytes, N, &err), 0);
	assert_int_equal(pk_store_usage(store, &used, &err), 0);
	assert_int_equal(used, N);
	assert_int_equal(pk_store_begin(store, &b.digest, N, &write, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "100000"));
	assert_non_null(strstr(err.text, "199999"));
	assert_empty_tmp(fx, &b);
	assert_int_equal(pk_store_room(store, N - 1, &err), 0);
	assert_int_equal(pk_store_room(store, N, &err), -ENOSPC);
	assert_int_equal(pk_store_room(store, INT64_MAX, &err), -ENOSPC);
	pk_store_close(store);
	assert_int_equal(pk_store_open(fx->store_root, 2 * N, &store, &err), 0);
	// What an earlier attempt left is counted once, not twice.
	fixture_write(fixture_part_path(fx, &b.digest), b.bytes, N / 2);
	assert_int_equal(pk_store_begin(store, &b.digest, N, &write, &err), 0);
	append(write, b.bytes + N / 2, N / 2);
	assert_int_equal(pk_store_finish(write, &err), 0);
	pk_store_close(store);
	free(a.bytes);
	free(b.bytes);
}

static void test_absurd_sizes(void **state)
{
	struct fixture *fx = *state;
	struct pk_store_write *write = NULL;
	struct sample s = make_sample(15);
	struct pk_err err = {0};
	assert_int_equal(pk_store_begin(fx->store, &s.digest, -1, &write, &err), -EINVAL);
	int rc = pk_store_begin(fx->store, &s.digest, INT64_MAX, &write, &err);
	assert_true(rc == -ENOSPC || rc == -EFBIG);
	assert_null(write);
	assert_empty_tmp(fx, &s);
	free(s.bytes);
}

static void test_open_errors(void **state)
{
	struct fixture *fx = *state;
	struct pk_store *store = NULL;
	struct pk_err err = {0};
	fixture_write(fixture_path(fx, "file"), "x", 1);
	assert_true(pk_store_open(fixture_path(fx, "file/store"), 0, &store, &err) < 0);
	assert_true(err.text[0] != '\0');
	assert_int_equal(pk_store_open(fx->store_root, -1, &store, &err), -EINVAL);
	assert_null(store);
	pk_store_close(NULL);
	pk_store_abort(NULL);
	pk_store_discard(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_write_and_read),
		TEST(test_empty_blob),
		TEST(test_resume),
		TEST(test_resume_whole_part),
		TEST(test_part_longer_than_blob_is_dropped),
		TEST(test_bad_content_leaves_nothing),
		TEST(test_endless_data_stops_at_once),
		TEST(test_restart_in_the_middle),
		TEST(test_second_writer_is_refused),
		TEST(test_verify_moves_bad_blob_aside),
		TEST(test_link_under_a_blobs_name),
		TEST(test_link_under_a_parts_name),
		TEST(test_quota),
		TEST(test_absurd_sizes),
		TEST(test_open_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
