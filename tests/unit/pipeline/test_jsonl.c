// SPDX-License-Identifier: Apache-2.0
// The jsonl sink: file, rotation, recovery, standard output, socket readers; never waiting, never
// losing a line uncounted.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/rss.h"
#include "pipeline/sink.h"
#include "pipeline/sinks/line_ring.h"
#include "tests/unit/pipeline/cm.h"

static struct {
	_Atomic int n_faults, n_recoveries, last_code;
} seen;

static void on_fault(void *ctx, const char *sink, int code, const char *cause)
{
	atomic_fetch_add(code < 0 ? &seen.n_faults : &seen.n_recoveries, 1);
	if (code < 0)
		atomic_store(&seen.last_code, code);
}

static struct pk_sink *make(const char *path, int64_t rotate_bytes)
{
	struct pk_sink_config config = {.name = (char *)"log",
		.kind = PK_SINK_JSONL,
		.path = (char *)path,
		.rotate_bytes = rotate_bytes};
	struct pk_sink_env events = {.fault = on_fault};
	struct pk_sink *sink = NULL;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(pk_sink_create(&config, &events, &sink, NULL), 0);
	return sink;
}

// "N" padded to `bytes` with its newline, so that order and loss show.
static bool put(struct pk_sink *sink, int number, size_t bytes)
{
	char line[70000];
	memset(line, '.', bytes);
	int n = snprintf(line, sizeof(line), "%d", number);
	line[n] = ' ';
	line[bytes - 1] = '\n';
	return pk_sink_take(sink, NULL, line, bytes);
}

static void check_lines(const char *bytes, size_t n, int first, int end)
{
	const char *at = bytes;
	for (int i = first; i < end; i++) {
		assert_true(at < bytes + n);
		assert_int_equal(strtol(at, NULL, 10), i);
		at = memchr(at, '\n', (size_t)(bytes + n - at));
		assert_non_null(at);
		at++;
	}
	assert_ptr_equal(at, bytes + n);
}

static void check_file(const char *path, int first, int end)
{
	struct pk_buf bytes;
	pk_buf_init(&bytes, 1 << 24);
	assert_int_equal(pk_fs_read(path, 1 << 24, &bytes, NULL), 0);
	check_lines(bytes.data, bytes.len, first, end);
	pk_buf_finish(&bytes);
}

static void test_file(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "new/sub/results.jsonl");
	struct pk_sink *sink = make(path, 0);
	for (int i = 0; i < 1000; i++)
		assert_true(put(sink, i, 100));
	pk_sink_destroy(sink); // delivers the rest
	check_file(path, 0, 1000);
	sink = make(path, 0); // appends
	for (int i = 1000; i < 1010; i++)
		assert_true(put(sink, i, 100));
	pk_sink_destroy(sink);
	check_file(path, 0, 1010);
	free(path);
	test_folder_remove(folder);
}

static void test_rotation(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "r.jsonl"),
	     *old = pk_fs_join(folder, "r.jsonl.1");
	struct pk_sink *sink = make(path, 1000);
	for (int i = 0; i < 25; i++)
		assert_true(put(sink, i, 100)); // ten lines a file
	pk_sink_destroy(sink);
	check_file(old, 10, 20);
	check_file(path, 20, 25);
	sink = make(path, 1000);
	assert_true(put(sink, 25, 5000)); // longer than a file may be: one of its own
	pk_sink_destroy(sink);
	check_file(old, 20, 25);
	check_file(path, 25, 26);
	free(old);
	free(path);
	test_folder_remove(folder);
}

static void test_file_moved_by_others(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "r.jsonl"),
	     *moved = pk_fs_join(folder, "moved");
	struct pk_sink *sink = make(path, 0);
	assert_true(put(sink, 0, 100));
	test_sleep(100);
	assert_int_equal(rename(path, moved), 0);
	assert_true(put(sink, 1, 100));
	pk_sink_destroy(sink);
	check_file(moved, 0, 1);
	check_file(path, 1, 2);
	free(moved);
	free(path);
	test_folder_remove(folder);
}

static void test_file_comes_back(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "r.jsonl");
	assert_int_equal(mkdir(path, 0700), 0); // in the way
	struct pk_sink *sink = make(path, 0);
	int accepted = 0, n_tries = 3000; // more than the ring holds
	for (int i = 0; i < n_tries; i++)
		accepted += put(sink, accepted, 1000);
	assert_in_range(accepted, 900, 1100); // 1 MiB
	assert_int_equal(sink->n_dropped, n_tries - accepted);
	test_sleep(50);
	assert_int_equal(seen.n_faults, 1);
	assert_int_equal(seen.last_code, -EISDIR);
	assert_int_equal(rmdir(path), 0);
	for (int i = 0; i < 100 && seen.n_recoveries == 0; i++)
		test_sleep(50);
	assert_int_equal(seen.n_recoveries, 1);
	pk_sink_destroy(sink);
	check_file(path, 0, accepted); // whatever was accepted is there, in order
	free(path);
	test_folder_remove(folder);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (int i = 0; i < 100; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		close(fd);
		test_sleep(20);
	}
	fail_msg("cannot connect");
	return -1;
}

static size_t read_all(int fd, char *out, size_t want)
{
	size_t n = 0;
	while (n < want) {
		ssize_t r = read(fd, out + n, want - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	return n;
}

static void test_socket_with_a_slow_reader(void **state)
{
	enum { LINE = 4000, N = 1000 };
	char *folder = test_folder(), *path = pk_fs_join(folder, "s.sock"), uri[300];
	snprintf(uri, sizeof(uri), "unix:%s", path);
	struct pk_sink *sink = make(uri, 0);
	int fast = connect_to(path), slow = connect_to(path);
	test_sleep(200);                     // both are accepted
	char *got = calloc(1, LINE * N + 1); // strtol needs an end
	size_t n = 0;
	for (int i = 0; i < N; i++) {
		assert_true(put(sink, i, LINE));
		n += read_all(fast, got + n, LINE); // keeps up
	}
	check_lines(got, n, 0, N);
	// The other never read a byte: hung up on, and nobody else noticed.
	assert_int_equal(sink->n_readers_dropped, 1);
	assert_int_equal(sink->n_dropped, 0);
	size_t late = read_all(slow, got, LINE * N);
	assert_true(late > 0 && late < LINE * (size_t)N);
	close(slow);
	close(fast);
	pk_sink_destroy(sink);
	assert_int_equal(access(path, F_OK), -1);
	free(got);
	free(path);
	test_folder_remove(folder);
}

static void test_socket_is_taken_over_when_stale_only(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "s.sock"), uri[300];
	snprintf(uri, sizeof(uri), "unix:%s", path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	struct pk_sink *sink = make(uri, 0); // somebody else's: stays
	test_sleep(100);
	assert_int_equal(seen.last_code, -EADDRINUSE);
	close(fd); // now it is left over
	int reader = connect_to(path);
	assert_true(reader >= 0);
	for (int i = 0; i < 100 && seen.n_recoveries == 0; i++) {
		put(sink, i, 100);
		test_sleep(20);
	}
	assert_int_equal(seen.n_recoveries, 1);
	close(reader);
	pk_sink_destroy(sink);
	free(path);
	test_folder_remove(folder);
}

static void test_socket_hangs_up_beyond_its_readers(void **state)
{
	char *folder = test_folder(), *path = pk_fs_join(folder, "s.sock"), uri[300];
	snprintf(uri, sizeof(uri), "unix:%s", path);
	struct pk_sink *sink = make(uri, 0);
	int fds[40], n_open = 0;
	for (int i = 0; i < 40; i++)
		fds[i] = connect_to(path);
	test_sleep(300);
	assert_true(put(sink, 7, 100));
	for (int i = 0; i < 40; i++) {
		char line[100];
		n_open += read_all(fds[i], line, sizeof(line)) == sizeof(line);
		close(fds[i]);
	}
	assert_int_equal(n_open, 32);
	pk_sink_destroy(sink);
	free(path);
	test_folder_remove(folder);
}

static void test_socket_name_too_long(void **state)
{
	char uri[200] = "unix:/tmp/";
	memset(uri + strlen(uri), 'x', 150);
	struct pk_sink *sink = make(uri, 0);
	test_sleep(100);
	assert_int_equal(seen.last_code, -ENAMETOOLONG);
	pk_sink_destroy(sink);
}

// Standard output is a pipe that nobody reads: the sink waits, inference does not.
static void test_stdout_blocked(void **state)
{
	int pipe_fds[2], saved = dup(STDOUT_FILENO);
	fflush(stdout);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	dup2(pipe_fds[1], STDOUT_FILENO);
	struct pk_sink *sink = make("-", 0);
	int accepted = 0;
	int64_t start_ns = pk_now_ns();
	for (int i = 0; i < 3000; i++)
		accepted += put(sink, accepted, 1000);
	int64_t took_ns = pk_now_ns() - start_ns;
	uint64_t n_dropped = sink->n_dropped;
	char *got = calloc(1, 3000 * 1000 + 1);
	size_t n = read_all(pipe_fds[0], got, (size_t)accepted * 1000);
	int64_t stop_ns = pk_now_ns();
	put(sink, accepted, 1000);
	for (int i = 0; i < 300; i++) // the pipe fills up again, and destroy must not hang
		put(sink, 0, 1000);
	pk_sink_destroy(sink);
	stop_ns = pk_now_ns() - stop_ns;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_true(took_ns < 500 * PK_NS_PER_MS);
	assert_int_equal(n_dropped, 3000 - accepted);
	check_lines(got, n, 0, accepted);
	assert_true(stop_ns < 1500 * PK_NS_PER_MS);
	free(got);
}

static void test_ring(void **state)
{
	struct pk_line_ring *ring = pk_line_ring_create(100);
	struct pk_buf out;
	pk_buf_init(&out, 1000);
	bool was_empty;
	assert_true(pk_line_ring_put(ring, "x", 1, &was_empty));
	assert_true(was_empty);
	for (int round = 0; round < 1000; round++) { // at every position: it is never empty
		char line[64];
		int n = snprintf(line, sizeof(line), "%d %.*s", round, round % 40,
			"........................................");
		assert_true(pk_line_ring_put(ring, line, (size_t)n, &was_empty));
		assert_false(was_empty);
		assert_true(pk_line_ring_put(ring, "x", 1, &was_empty));
		pk_buf_clear(&out);
		assert_int_equal(pk_line_ring_take(ring, &out, 1), 1);
		pk_buf_clear(&out);
		assert_int_equal(pk_line_ring_take(ring, &out, 1), n); // one line at least
		assert_memory_equal(out.data, line, n);
	}
	assert_int_equal(pk_line_ring_take(ring, &out, 1000), 1);
	assert_int_equal(pk_line_ring_take(ring, &out, 1000), 0);
	char large[200] = {0};
	assert_false(pk_line_ring_put(ring, large, 97, &was_empty)); // 96 fit beside the length
	assert_true(pk_line_ring_put(ring, large, 96, &was_empty));
	assert_false(pk_line_ring_put(ring, large, 1, &was_empty));
	assert_false(pk_line_ring_put(ring, large, sizeof(large), &was_empty));
	pk_buf_finish(&out);
	pk_line_ring_destroy(ring);
}

// A reader that keeps up: the ring's memory is not walked through.
static void ring_touches_what_it_holds(void **state)
{
	const size_t capacity = 32u << 20;
	char line[1024];
	bool was_empty;
	struct pk_line_ring *ring = pk_line_ring_create(capacity);
	assert_non_null(ring);
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, sizeof(line));
	memset(line, 'x', sizeof(line));
	assert_true(pk_line_ring_put(ring, line, sizeof(line), &was_empty));
	assert_int_equal(pk_line_ring_take(ring, &out, sizeof(line)), sizeof(line));
	int64_t before = pk_rss_bytes();
	for (size_t i = 0; i < capacity / sizeof(line); i++) {
		pk_buf_clear(&out);
		assert_true(pk_line_ring_put(ring, line, sizeof(line), &was_empty));
		assert_int_equal(pk_line_ring_take(ring, &out, sizeof(line)), sizeof(line));
	}
	assert_true(before > 0);
	assert_true(pk_rss_bytes() - before < (int64_t)capacity / 4);
	pk_line_ring_destroy(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(ring_touches_what_it_holds),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_file_moved_by_others),
		cmocka_unit_test(test_file_comes_back),
		cmocka_unit_test(test_socket_with_a_slow_reader),
		cmocka_unit_test(test_socket_is_taken_over_when_stale_only),
		cmocka_unit_test(test_socket_hangs_up_beyond_its_readers),
		cmocka_unit_test(test_socket_name_too_long),
		cmocka_unit_test(test_stdout_blocked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
