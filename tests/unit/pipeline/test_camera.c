// SPDX-License-Identifier: Apache-2.0
// A camera's life: states and causes, timers, retries that slow down, and a quick stop in each.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/camera.h"
#include "tests/unit/pipeline/clip.h"
#include "tests/unit/pipeline/cm.h"

#define MAX_EVENTS 200

struct log {
	pthread_mutex_t lock;
	int n;
	enum pk_camera_state states[MAX_EVENTS];
	char causes[MAX_EVENTS][256];
	int64_t at_ns[MAX_EVENTS];
};

static void on_state(void *ctx, const char *camera, enum pk_camera_state state, const char *cause)
{
	struct log *log = ctx;
	pthread_mutex_lock(&log->lock);
	if (log->n < MAX_EVENTS) {
		log->states[log->n] = state;
		log->at_ns[log->n] = pk_now_ns();
		snprintf(log->causes[log->n++], 256, "%s", cause);
	}
	pthread_mutex_unlock(&log->lock);
}

static bool has(struct log *log, enum pk_camera_state state)
{
	bool found = false;
	pthread_mutex_lock(&log->lock);
	for (int i = 0; i < log->n; i++)
		found = found || log->states[i] == state;
	pthread_mutex_unlock(&log->lock);
	return found;
}

static bool wait_for(struct log *log, enum pk_camera_state state, int limit_ms)
{
	for (int i = 0; i < limit_ms / 10 && !has(log, state); i++)
		test_sleep(10);
	return has(log, state);
}

struct bench {
	struct log log;
	struct pk_scheduler *scheduler;
	struct pk_station *station;
	struct pk_camera *camera;
};

static struct pk_camera_config camera_config(enum pk_source_kind kind, const char *text)
{
	struct pk_camera_config config = {.name = (char *)"gate", .priority = 50};
	config.first_frame_ns = 5 * PK_NS_PER_S;
	config.stall_ns = 5 * PK_NS_PER_S;
	config.source = (struct pk_source_config){.kind = kind,
		.uri = (char *)(kind == PK_SOURCE_GST ? "" : text),
		.launch = (char *)(kind == PK_SOURCE_GST ? text : ""),
		.pattern = (char *)"ball",
		.width = 64,
		.height = 48,
		.rate_hz = 50,
		.tcp = true};
	return config;
}

static void start(struct bench *bench, const struct pk_camera_config *config)
{
	memset(bench, 0, sizeof(*bench));
	pthread_mutex_init(&bench->log.lock, NULL);
	bench->scheduler = pk_scheduler_create();
	bench->station = pk_station_create(config->name);
	pk_scheduler_add(bench->scheduler, &bench->station->lane);
	struct pk_camera_setup setup = {.config = config,
		.station = bench->station,
		.scheduler = bench->scheduler,
		.events = {.camera_state = on_state, .ctx = &bench->log},
		.timing = {.retry_min_ns = 20 * PK_NS_PER_MS, .retry_max_ns = 200 * PK_NS_PER_MS}};
	assert_int_equal(pk_camera_create(&setup, &bench->camera, NULL), 0);
}

static int64_t stop(struct bench *bench)
{
	int64_t start_ns = pk_now_ns();
	pk_camera_destroy(bench->camera, 5 * PK_NS_PER_S);
	int64_t took_ns = pk_now_ns() - start_ns;
	pk_scheduler_remove(bench->scheduler, &bench->station->lane);
	pk_station_unref(bench->station);
	pk_scheduler_destroy(bench->scheduler);
	return took_ns;
}

static void test_runs_and_stops(void **state)
{
	struct bench bench;
	struct pk_camera_config config = camera_config(PK_SOURCE_TEST, "");
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RUNNING, 10000));
	char cause[256];
	assert_int_equal(pk_camera_state(bench.camera, cause), PK_CAMERA_RUNNING);
	assert_string_equal(cause, "");
	test_sleep(500);
	assert_true(pk_counter_get(&bench.station->n_captured) > 15);
	// Nobody took them: the newest waits, all others are counted.
	assert_true(pk_station_n_dropped(bench.station) + 2 >=
		    pk_counter_get(&bench.station->n_captured));
	assert_true(stop(&bench) < PK_NS_PER_S);
	assert_int_equal(bench.log.states[bench.log.n - 1], PK_CAMERA_STOPPED);
	assert_int_equal(bench.log.n, 2);
}

static void test_bad_path_retries_slower_and_slower(void **state)
{
	struct bench bench;
	struct pk_camera_config config = camera_config(PK_SOURCE_FILE, "/nowhere/x.mp4");
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RETRYING, 5000));
	test_sleep(1500);
	// 20 40 80 160 200 200 … ms: about ten tries, not hundreds; one event, not one a try.
	assert_in_range(pk_counter_get(&bench.station->n_restarts), 6, 13);
	assert_int_equal(bench.log.n, 1);
	assert_string_equal(bench.log.causes[0], "file /nowhere/x.mp4: No such file or directory");
	char cause[256];
	assert_int_equal(pk_camera_state(bench.camera, cause), PK_CAMERA_RETRYING);
	assert_string_equal(cause, bench.log.causes[0]);
	assert_true(stop(&bench) < PK_NS_PER_S / 2);
}

static void test_no_first_frame(void **state)
{
	struct bench bench;
	// A valve that lets nothing through: no error, no frame.
	struct pk_camera_config config = camera_config(PK_SOURCE_GST,
		"videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48 ! "
		"valve drop=true");
	config.first_frame_ns = 300 * PK_NS_PER_MS;
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RETRYING, 5000));
	assert_non_null(strstr(bench.log.causes[0], ": no first frame within 300 ms"));
	assert_true(stop(&bench) < PK_NS_PER_S);
}

static void test_stall(void **state)
{
	struct bench bench;
	// A frame, then a long silence without end or error.
	struct pk_camera_config config = camera_config(PK_SOURCE_GST,
		"videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,"
		"framerate=50/1 ! "
		"queue ! identity sleep-time=700000");
	config.stall_ns = 300 * PK_NS_PER_MS;
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RUNNING, 5000));
	assert_true(wait_for(&bench.log, PK_CAMERA_RETRYING, 5000));
	assert_non_null(strstr(bench.log.causes[1], ": no frame within 300 ms"));
	stop(&bench);
}

static void test_comes_back(void **state)
{
	struct bench bench;
	char *folder = test_folder(), *path = pk_fs_join(folder, "late.mp4"),
	     *made = pk_fs_join(folder, "made.mp4");
	if (!test_clip(made, 30))
		skip();
	struct pk_camera_config config = camera_config(PK_SOURCE_FILE, path);
	config.source.loop = config.source.paced = true;
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RETRYING, 5000));
	assert_int_equal(rename(made, path), 0);
	assert_true(wait_for(&bench.log, PK_CAMERA_RUNNING, 5000));
	struct pk_lane *lane;
	struct pk_frame *frame = pk_scheduler_take(bench.scheduler, 5 * PK_NS_PER_S, &lane);
	assert_non_null(frame);
	assert_int_equal(frame->source_run, pk_counter_get(&bench.station->n_restarts));
	assert_true(frame->source_run > 0);
	pk_frame_unref(frame);
	pk_lane_unref(lane);
	stop(&bench);
	free(path);
	free(made);
	test_folder_remove(folder);
}

static void test_file_ends(void **state)
{
	struct bench bench;
	char *folder = test_folder(), *path = pk_fs_join(folder, "c.mp4");
	if (!test_clip(path, 20))
		skip();
	struct pk_camera_config config = camera_config(PK_SOURCE_FILE, path);
	config.stall_ns = 200 * PK_NS_PER_MS;
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_ENDED, 10000));
	test_sleep(500); // and that is no stall
	assert_int_equal(pk_counter_get(&bench.station->n_captured), 20);
	assert_int_equal(bench.log.n, 2);
	assert_true(stop(&bench) < PK_NS_PER_S);
	free(path);
	test_folder_remove(folder);
}

static void test_refused_rtsp(void **state)
{
	struct bench bench;
	struct pk_camera_config config =
		camera_config(PK_SOURCE_RTSP, "rtsp://u:secret@127.0.0.1:1/x");
	start(&bench, &config);
	assert_true(wait_for(&bench.log, PK_CAMERA_RETRYING, 10000));
	assert_null(strstr(bench.log.causes[0], "secret"));
	assert_true(stop(&bench) < 2 * PK_NS_PER_S);
}

// Stopped at any moment of its life, it stops.
static void test_stop_at_any_time(void **state)
{
	for (int i = 0; i < 25; i++) {
		struct bench bench;
		struct pk_camera_config config =
			camera_config(i % 2 ? PK_SOURCE_TEST : PK_SOURCE_FILE, "/nowhere");
		start(&bench, &config);
		test_sleep(i * 3);
		assert_true(stop(&bench) < PK_NS_PER_S);
	}
}

static void test_same_source(void **state)
{
	struct pk_camera_config a = camera_config(PK_SOURCE_TEST, ""), b = a;
	b.priority = 90;
	b.max_rate_hz = 5;
	b.model = (char *)"other";
	assert_true(pk_camera_same_source(&a, &b));
	b.source.width++;
	assert_false(pk_camera_same_source(&a, &b));
	b = a;
	b.stall_ns++;
	assert_false(pk_camera_same_source(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_and_stops),
		cmocka_unit_test(test_bad_path_retries_slower_and_slower),
		cmocka_unit_test(test_no_first_frame),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_file_ends),
		cmocka_unit_test(test_refused_rtsp),
		cmocka_unit_test(test_stop_at_any_time),
		cmocka_unit_test(test_same_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
