// SPDX-License-Identifier: Apache-2.0
// Real GStreamer sources: every frame counted, loops seamless, paces kept, errors located.
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/source.h"
#include "tests/unit/pipeline/clip.h"
#include "tests/unit/pipeline/cm.h"

#define N_CLIP 45

static char *folder, *clip;

// What came, as the streaming thread saw it; read after destroy or by atomics.
struct seen {
	_Atomic int n;
	int n_gaps, n_bad_pts, n_bad_image;
	int64_t max_age_ns, first_ns, last_ns;
	int64_t sum_age_ns;
	bool clip; // frames are of the clip
	struct pk_image image;
	struct pk_frame *kept;
	bool keep; // holds on to the first frame
	_Atomic int n_lost;
};

static void on_frame(void *ctx, struct pk_frame *frame)
{
	struct seen *seen = ctx;
	int64_t age_ns = frame->at_ns[PK_STAGE_DECODED] - frame->at_ns[PK_STAGE_CAPTURED];
	int n = atomic_load(&seen->n);
	seen->n_gaps += frame->index != (uint64_t)n;
	int64_t want_ns = (int64_t)(frame->index % N_CLIP) * PK_NS_PER_S / 30;
	if (seen->clip && llabs(frame->pts_ns - want_ns) > PK_NS_PER_MS)
		seen->n_bad_pts++;
	seen->n_bad_image += !frame->image.planes[0] || frame->image.width < 1 || age_ns < 0;
	seen->max_age_ns = age_ns > seen->max_age_ns ? age_ns : seen->max_age_ns;
	seen->sum_age_ns += age_ns;
	seen->last_ns = pk_now_ns();
	if (n == 0) {
		seen->first_ns = seen->last_ns;
		seen->image = frame->image;
		if (seen->keep)
			seen->kept = pk_frame_ref(frame);
	}
	pk_frame_unref(frame);
	atomic_fetch_add(&seen->n, 1);
}

static void on_lost(void *ctx)
{
	atomic_fetch_add(&((struct seen *)ctx)->n_lost, 1);
}

static struct pk_source_config file_config(const char *path, bool loop, bool paced)
{
	return (struct pk_source_config){.kind = PK_SOURCE_FILE,
		.uri = (char *)path,
		.launch = (char *)"",
		.pattern = (char *)"",
		.loop = loop,
		.paced = paced};
}

static struct pk_source_config gst_config(const char *launch)
{
	return (struct pk_source_config){.kind = PK_SOURCE_GST,
		.uri = (char *)"",
		.launch = (char *)launch,
		.pattern = (char *)""};
}

static struct pk_source_config test_config(const char *pattern)
{
	return (struct pk_source_config){.kind = PK_SOURCE_TEST,
		.uri = (char *)"",
		.launch = (char *)"",
		.pattern = (char *)pattern,
		.width = 322,
		.height = 242,
		.rate_hz = 30};
}

// Runs until `want` frames, an end or an error; gives poll's last word.
static int run(const struct pk_source_config *config, struct seen *seen, int want, int64_t limit_ns,
	struct pk_err *err)
{
	const struct pk_source_receiver receiver = {
		.frame = on_frame, .lost = on_lost, .ctx = seen};
	struct pk_source *source = NULL;
	int r = pk_source_create(config, &receiver, 0, &source, err);
	int64_t until_ns = pk_now_ns() + limit_ns;
	while (r == 0 && atomic_load(&seen->n) < want && pk_now_ns() < until_ns)
		r = pk_source_poll(source, 5 * PK_NS_PER_MS, err);
	pk_source_destroy(source);
	return r;
}

static void test_live(void **state)
{
	struct seen seen = {0};
	struct pk_source_config config = test_config("ball");
	assert_int_equal(run(&config, &seen, 30, 10 * PK_NS_PER_S, NULL), 0);
	assert_true(seen.n >= 30);
	assert_int_equal(seen.n_gaps, 0);
	assert_int_equal(seen.n_bad_image, 0);
	assert_int_equal(seen.image.format, PK_PIXEL_I420);
	assert_int_equal(seen.image.width, 322);
	assert_int_equal(seen.image.height, 242);
	assert_int_equal(seen.image.strides[1] >= 161, 1);
	int64_t per_frame_ns = (seen.last_ns - seen.first_ns) / (seen.n - 1);
	assert_in_range(per_frame_ns / PK_NS_PER_MS, 28, 40);
	assert_true(seen.sum_age_ns / seen.n < 40 * PK_NS_PER_MS);
}

static void test_file_all_frames_then_end(void **state)
{
	struct seen seen = {.clip = true};
	struct pk_source_config config = file_config(clip, false, false);
	assert_int_equal(run(&config, &seen, 1000, 20 * PK_NS_PER_S, NULL), 1);
	assert_int_equal(seen.n, N_CLIP);
	assert_int_equal(seen.n_gaps + seen.n_bad_pts + seen.n_bad_image, 0);
}

static void test_file_loop_continues_the_index(void **state)
{
	struct seen seen = {.clip = true};
	struct pk_source_config config = file_config(clip, true, false);
	assert_int_equal(run(&config, &seen, 10 * N_CLIP + 7, 30 * PK_NS_PER_S, NULL), 0);
	assert_true(seen.n >= 10 * N_CLIP + 7);
	// The frame of the clip is index % N_CLIP, through every loop.
	assert_int_equal(seen.n_gaps + seen.n_bad_pts + seen.n_bad_image, 0);
}

static void test_file_paced(void **state)
{
	struct seen seen = {.clip = true};
	struct pk_source_config config = file_config(clip, true, true);
	assert_int_equal(run(&config, &seen, 2 * N_CLIP, 20 * PK_NS_PER_S, NULL), 0);
	assert_int_equal(seen.n_gaps + seen.n_bad_pts + seen.n_bad_image, 0);
	int64_t took_ms = (seen.last_ns - seen.first_ns) / PK_NS_PER_MS;
	assert_in_range(took_ms, 2850, 3250); // 89 intervals of 33.3 ms and one turn round
	assert_true(seen.sum_age_ns / seen.n < 20 * PK_NS_PER_MS); // due on the clock, not at start
}

static void test_missing_file(void **state)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	struct pk_source_config config = file_config("/nowhere/clip.mp4", true, true);
	assert_int_equal(run(&config, &seen, 1, PK_NS_PER_S, &err), -ENOENT);
	assert_string_equal(err.text, "file /nowhere/clip.mp4: No such file or directory");
}

static void test_file_that_is_no_video(void **state)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	char *path = pk_fs_join(folder, "text.mp4");
	assert_int_equal(pk_fs_write_atomic(path, "no video at all\n", 16, 0600, NULL), 0);
	struct pk_source_config config = file_config(path, true, true);
	assert_true(run(&config, &seen, 1, 10 * PK_NS_PER_S, &err) < 0);
	assert_non_null(strstr(err.text, path));
	free(path);
}

static void test_launch_string(void **state)
{
	struct seen seen = {0};
	struct pk_source_config config = gst_config(
		"videotestsrc num-buffers=20 ! video/x-raw,format=YUY2,width=64,height=48,"
		"framerate=100/1");
	assert_int_equal(run(&config, &seen, 1000, 10 * PK_NS_PER_S, NULL), 1);
	assert_int_equal(seen.n, 20);
	// Not live, so the clock paces it.
	assert_true(seen.last_ns - seen.first_ns > 150 * PK_NS_PER_MS);

	char text[400];
	snprintf(text, sizeof(text), "filesrc location=%s ! decodebin", clip); // pads come late
	struct seen late = {.clip = true};
	config = gst_config(text);
	assert_int_equal(run(&config, &late, 1000, 10 * PK_NS_PER_S, NULL), 1);
	assert_int_equal(late.n, N_CLIP);
	assert_int_equal(late.n_gaps + late.n_bad_pts, 0);
}

static void test_live_launch_string_that_ends_is_a_failure(void **state)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	struct pk_source_config config = gst_config("videotestsrc is-live=true num-buffers=5 ! "
						    "video/x-raw,format=GRAY8,framerate=50/1");
	assert_int_equal(run(&config, &seen, 1000, 10 * PK_NS_PER_S, &err), -EPIPE);
	assert_int_equal(seen.n, 5);
	assert_int_equal(seen.image.format, PK_PIXEL_GRAY8);
	assert_non_null(strstr(err.text, "the stream has ended"));
}

static void test_bad_launch_strings(void **state)
{
	static const char *const bad[] = {"nosuchelement ! foo", "videotestsrc !", "",
		"videotestsrc ! fakesink", "audiotestsrc num-buffers=50",
		"videotestsrc nosuchproperty=3", "! ! !", "videotestsrc ! x264enc"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seen seen = {0};
		struct pk_err err = {0};
		struct pk_source_config config = gst_config(bad[i]);
		int r = run(&config, &seen, 1, 5 * PK_NS_PER_S, &err);
		if (r >= 0 || strncmp(err.text, "gst ", 4) != 0)
			fail_msg("\"%s\": %d %s", bad[i], r, err.text);
	}
}

static void test_bad_pattern(void **state)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	struct pk_source_config config = test_config("nonsense");
	assert_int_equal(run(&config, &seen, 1, PK_NS_PER_S, &err), -EINVAL);
	assert_string_equal(err.text, "test nonsense: there is no test pattern \"nonsense\"");
}

static void test_rtsp_refused(void **state)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	struct pk_source_config config = {.kind = PK_SOURCE_RTSP,
		.uri = (char *)"rtsp://user:geheim@127.0.0.1:1/cam",
		.launch = (char *)"",
		.pattern = (char *)"",
		.tcp = true,
		.latency_ns = 100 * PK_NS_PER_MS};
	assert_true(run(&config, &seen, 1, 10 * PK_NS_PER_S, &err) < 0);
	assert_non_null(strstr(err.text, "rtsp://***@127.0.0.1:1/cam"));
	assert_null(strstr(err.text, "geheim"));
}

static void test_redact(void **state)
{
	static const char *const rows[][2] = {
		{"rtsp://u:p@h/x", "rtsp://***@h/x"},
		{"a rtsp://u:p@ss@h/x and http://v:w@k/ end",
			"a rtsp://***@h/x and http://***@k/ end"},
		{"rtsp://h/x@y", "rtsp://h/x@y"},
		{"rtsp://u@h", "rtsp://u@h"},
		{"no address", "no address"},
		{"x://", "x://"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[100];
		snprintf(text, sizeof(text), "%s", rows[i][0]);
		pk_source_redact(text);
		assert_string_equal(text, rows[i][1]);
	}
}

static void test_frame_outlives_its_source(void **state)
{
	struct seen seen = {.keep = true};
	struct pk_source_config config = test_config("white");
	assert_int_equal(run(&config, &seen, 5, 10 * PK_NS_PER_S, NULL), 0);
	assert_non_null(seen.kept);
	assert_int_equal(seen.kept->image.planes[0][0], 235);
	pk_frame_unref(seen.kept);
}

static void *wake_later(void *arg)
{
	test_sleep(50);
	pk_source_wake(arg);
	return NULL;
}

static void test_wake(void **state)
{
	struct seen seen = {0};
	const struct pk_source_receiver receiver = {.frame = on_frame, .ctx = &seen};
	struct pk_source_config config = test_config("ball");
	struct pk_source *source = NULL;
	assert_int_equal(pk_source_create(&config, &receiver, 0, &source, NULL), 0);
	for (int i = 0; i < 50; i++) // whatever start-up has to say
		assert_int_equal(pk_source_poll(source, 2 * PK_NS_PER_MS, NULL), 0);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, wake_later, source), 0);
	int64_t start_ns = pk_now_ns();
	assert_int_equal(pk_source_poll(source, 20 * PK_NS_PER_S, NULL), 0);
	assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	pthread_join(thread, NULL);
	pk_source_destroy(source);
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

static void test_many_lives_leave_nothing(void **state)
{
	struct pk_source_config config = test_config("ball");
	int threads = 0, fds = 0;
	for (int i = 0; i < 60; i++) {
		struct seen seen = {0};
		assert_int_equal(run(&config, &seen, 2, 10 * PK_NS_PER_S, NULL), 0);
		if (i == 20) {
			threads = count_entries("/proc/self/task");
			fds = count_entries("/proc/self/fd");
		}
	}
	assert_in_range(count_entries("/proc/self/task"), 0, threads + 1);
	assert_in_range(count_entries("/proc/self/fd"), 0, fds + 1);
}

static int make_clip(void **state)
{
	folder = test_folder();
	clip = pk_fs_join(folder, "clip.mp4");
	test_need_clip(clip, N_CLIP);
	return 0;
}

static int remove_clip(void **state)
{
	free(clip);
	test_folder_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_file_all_frames_then_end),
		cmocka_unit_test(test_file_loop_continues_the_index),
		cmocka_unit_test(test_file_paced),
		cmocka_unit_test(test_missing_file),
		cmocka_unit_test(test_file_that_is_no_video),
		cmocka_unit_test(test_launch_string),
		cmocka_unit_test(test_live_launch_string_that_ends_is_a_failure),
		cmocka_unit_test(test_bad_launch_strings),
		cmocka_unit_test(test_bad_pattern),
		cmocka_unit_test(test_rtsp_refused),
		cmocka_unit_test(test_redact),
		cmocka_unit_test(test_frame_outlives_its_source),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_many_lives_leave_nothing),
	};
	return cmocka_run_group_tests(tests, make_clip, remove_clip);
}
