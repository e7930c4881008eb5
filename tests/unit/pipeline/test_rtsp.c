// SPDX-License-Identifier: Apache-2.0
// A real RTSP server as the peer (tests/lib/rtsp_server.c): no damaged picture comes through, every
// codec is taken apart and put away again, and GStreamer's leak tracer finds nothing alive.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gst/gst.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/rss.h"
#include "base/subprocess.h"
#include "pipeline/source.h"
#include "tests/unit/pipeline/cm.h"

#define LOG_MAX    (64u << 20)
#define FOUND      "object-alive, type-name=(string)"
#define MAX_FRAMES 4096
#define MAX_LUCK   4 // once in a hundred times 100 pictures come without a loss

static char *folder, *trace, address[64];
static struct pk_subprocess server = {.pidfd = -1};

static int free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static int start_server(void **state)
{
	char port[16], said[16] = "";
	int out[2], in[2];
	folder = test_folder();
	trace = pk_fs_join(folder, "trace.log");
	snprintf(port, sizeof(port), "%d", free_port());
	snprintf(address, sizeof(address), "rtsp://127.0.0.1:%s/", port);
	assert_int_equal(pipe2(out, O_CLOEXEC) + pipe2(in, O_CLOEXEC), 0);
	const char *const argv[] = {getenv("PICKET_RTSP_SERVER"), port, NULL};
	const struct pk_subprocess_fd fds[] = {{out[1], 1}, {in[0], 0}};
	const struct pk_subprocess_options options = {
		.argv = argv, .fds = fds, .n_fds = 2, .die_with_parent = true};
	assert_int_equal(pk_subprocess_start(&server, &options, NULL), 0);
	close(out[1]); // its stdin stays open: it reads commands
	assert_true(read(out[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "ready\n");
	setenv("GST_TRACERS", "leaks", 1); // of this process, not of the server
	setenv("GST_DEBUG", "GST_TRACER:7", 1);
	setenv("GST_DEBUG_FILE", trace, 1);
	setenv("GST_DEBUG_NO_COLOR", "1", 1);
	return 0;
}

static int stop_server(void **state)
{
	struct pk_exit_status status;
	(void)pk_subprocess_signal(&server, SIGKILL);
	(void)pk_subprocess_wait(&server, 5000, &status);
	free(trace);
	test_folder_remove(folder);
	return 0;
}

struct seen {
	_Atomic int n, n_skipped;
	int bright[MAX_FRAMES]; // pixels of the ball
};

static void on_frame(void *ctx, struct pk_frame *frame)
{
	struct seen *seen = ctx;
	const struct pk_image *image = &frame->image;
	int n = atomic_load(&seen->n), bright = 0;
	for (int y = 0; y < image->height; y++)
		for (int x = 0; x < image->width; x++)
			bright += image->planes[0][(ptrdiff_t)y * image->strides[0] + x] > 128;
	if (n < MAX_FRAMES)
		seen->bright[n] = bright;
	pk_frame_unref(frame);
	atomic_fetch_add(&seen->n, 1);
}

static void on_skipped(void *ctx)
{
	atomic_fetch_add(&((struct seen *)ctx)->n_skipped, 1);
}

// Frames seen, or why not.
static int watch(const char *mount, bool tcp, bool resync, int want, struct seen *seen)
{
	char uri[128];
	snprintf(uri, sizeof(uri), "%s%s", address, mount);
	const struct pk_source_config config = {.kind = PK_SOURCE_RTSP,
		.uri = uri,
		.tcp = tcp,
		.resync = resync,
		.tls_verify = true,
		.latency_ns = 100 * PK_NS_PER_MS};
	const struct pk_source_receiver receiver = {
		.frame = on_frame, .skipped = on_skipped, .ctx = seen};
	struct pk_source *source = NULL;
	struct pk_err err = {0};
	int r = pk_source_create(&config, &receiver, 0, &source, &err);
	int64_t until_ns = pk_now_ns() + 30 * PK_NS_PER_S;
	while (r == 0 && atomic_load(&seen->n) < want && pk_now_ns() < until_ns)
		r = pk_source_poll(source, 5 * PK_NS_PER_MS, &err);
	pk_source_destroy(source);
	if (r < 0)
		printf("%s: %s\n", mount, pk_err_text(&err, r));
	return r < 0 ? r : atomic_load(&seen->n);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

// Pictures in which the ball is not as large as it always is.
static int count_damaged(struct seen *seen)
{
	int sorted[MAX_FRAMES], n = PK_MIN(atomic_load(&seen->n), MAX_FRAMES), damaged = 0;
	memcpy(sorted, seen->bright, sizeof(sorted));
	qsort(sorted, (size_t)n, sizeof(int), by_value);
	int usual = sorted[n / 2];
	for (int i = 0; i < n; i++)
		damaged += abs(seen->bright[i] - usual) * 100 > 15 * usual;
	return damaged;
}

static struct seen seen; // large

static void test_lost_packets_damage_no_picture(void **state)
{
	if (watch("cam", true, true, 1, &seen) < 0) {
		printf("skipped: no H.264 encoder (x264enc) or decoder on this machine\n");
		skip();
	}
	int damaged = 0, n = 0, n_skipped = 0;
	for (int i = 0; i < MAX_LUCK && n_skipped == 0; i++) {
		memset(&seen, 0, sizeof(seen));
		assert_true(watch("lossy", false, true, 100, &seen) >= 100);
		damaged += count_damaged(&seen);
		n += seen.n;
		n_skipped += seen.n_skipped;
	}
	memset(&seen, 0, sizeof(seen));
	assert_true(watch("lossy", false, false, 100, &seen) >= 100);
	printf("figure: 1 %% of packets lost: with resync %d pictures, %d left out, %d damaged; "
	       "without %d pictures, %d damaged\n",
		n, n_skipped, damaged, seen.n, count_damaged(&seen));
	assert_true(n_skipped > 0);
	assert_int_equal(damaged, 0);
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void connect_all(int times)
{
	static const char *const mounts[] = {"cam", "h265", "jpeg", "nosuch", "auth"};
	static const bool answers[] = {true, true, true, false, false};
	for (int i = 0; i < times; i++)
		for (size_t m = 0; m < PK_ARRAY_LEN(mounts); m++) {
			memset(&seen, 0, sizeof(seen));
			int n = watch(mounts[m], i % 2, true, 2, &seen);
			if ((n > 0) != answers[m])
				fail_msg("%s by %s: %d pictures, %d left out", mounts[m],
					i % 2 ? "TCP" : "UDP", n, seen.n_skipped);
		}
}

static void test_connections_leave_nothing(void **state)
{
	if (watch("cam", true, true, 1, &seen) < 0) {
		printf("skipped: no H.264 encoder (x264enc) or decoder on this machine\n");
		skip();
	}
	connect_all(3);
	int threads = count_entries("/proc/self/task"), fds = count_entries("/proc/self/fd");
	int64_t rss = pk_rss_bytes();
	connect_all(10);
	test_sleep(200);
	printf("figure: 50 RTSP connections: threads %d -> %d, fds %d -> %d, rss %.1f -> %.1f "
	       "MiB\n",
		threads, count_entries("/proc/self/task"), fds, count_entries("/proc/self/fd"),
		(double)rss / 1048576, (double)pk_rss_bytes() / 1048576);
	assert_in_range(count_entries("/proc/self/task"), 0, threads + 1);
	assert_in_range(count_entries("/proc/self/fd"), 0, fds + 1);
}

static void test_nothing_is_alive(void **state)
{
	gst_deinit(); // now the tracer writes what is left
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, LOG_MAX);
	assert_int_equal(pk_fs_read(trace, LOG_MAX - 1, &text, NULL), 0);
	const char *log = pk_buf_cstr(&text);
	assert_non_null(strstr(log, FOUND "%s")); // the tracer did run
	for (const char *at = strstr(log, FOUND); at; at = strstr(at + 1, FOUND))
		if (strncmp(at + strlen(FOUND), "%s", 2) != 0)
			fail_msg("%.600s", at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_packets_damage_no_picture),
		cmocka_unit_test(test_connections_leave_nothing),
		cmocka_unit_test(test_nothing_is_alive),
	};
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
