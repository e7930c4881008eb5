// SPDX-License-Identifier: Apache-2.0
// Many lives of cameras leave nothing: reconnects, and cameras added and removed, with threads,
// descriptors and memory counted. 1000 of each, 100 where the code is instrumented.
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/rss.h"
#include "engine/cpu/pool.h"
#include "pipeline/camera.h"
#include "pipeline/pipeline_private.h"
#include "tests/unit/pipeline/cm.h"

#define WARM_UP 25

struct usage {
	int threads, fds;
	int64_t rss_bytes;
};

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct usage usage_now(void)
{
	malloc_trim(0);
	return (struct usage){.threads = count_entries("/proc/self/task"),
		.fds = count_entries("/proc/self/fd"),
		.rss_bytes = (int64_t)pk_rss_bytes()};
}

static int n_cycles(void)
{
	return TEST_SANITIZED ? 100 : 1000;
}

// What is being started or ended at the moment of counting is no leak.
static void assert_flat(const char *what, const struct usage *before, int cycles, int64_t took_ns)
{
	struct usage now = usage_now();
	for (int i = 0; i < 100 && (now.threads > before->threads || now.fds > before->fds); i++) {
		test_sleep(20);
		now = usage_now();
	}
	printf("figure: %d %s in %.1f s: threads %d -> %d, fds %d -> %d, rss %.1f -> %.1f MiB\n",
		cycles, what, (double)took_ns / (double)PK_NS_PER_S, before->threads, now.threads,
		before->fds, now.fds, (double)before->rss_bytes / 1048576,
		(double)now.rss_bytes / 1048576);
	assert_in_range(now.threads, 0, before->threads);
	assert_in_range(now.fds, 0, before->fds);
	if (!TEST_SANITIZED) // its allocator keeps what was freed
		assert_true(now.rss_bytes - before->rss_bytes < 3 * 1048576);
}

static void wait_restarts(struct pk_station *station, uint64_t want)
{
	int64_t until_ns = pk_now_ns() + 300 * PK_NS_PER_S;
	while (pk_counter_get(&station->n_restarts) < want && pk_now_ns() < until_ns)
		test_sleep(2);
	assert_true(pk_counter_get(&station->n_restarts) >= want);
}

// A live source that ends after two frames is lost; it is found again a millisecond later.
static void test_reconnects(void **state)
{
	struct pk_camera_config config = {.name = (char *)"flapping",
		.first_frame_ns = 10 * PK_NS_PER_S,
		.stall_ns = 10 * PK_NS_PER_S,
		.source = {.kind = PK_SOURCE_GST,
			.launch = (char *)"videotestsrc is-live=true num-buffers=2 ! "
					  "video/x-raw,format=I420,width=64,height=48,"
					  "framerate=500/1"}};
	struct pk_scheduler *scheduler = pk_scheduler_create();
	struct pk_station *station = pk_station_create(config.name);
	pk_scheduler_add(scheduler, &station->lane);
	struct pk_camera_setup setup = {.config = &config,
		.station = station,
		.scheduler = scheduler,
		.timing = {.retry_min_ns = PK_NS_PER_MS, .retry_max_ns = PK_NS_PER_MS}};
	struct pk_camera *camera = NULL;
	assert_int_equal(pk_camera_create(&setup, &camera, NULL), 0);
	wait_restarts(station, WARM_UP);
	struct usage before = usage_now();
	int64_t start_ns = pk_now_ns();
	wait_restarts(station, WARM_UP + (uint64_t)n_cycles());
	int64_t took_ns = pk_now_ns() - start_ns;
	pk_camera_destroy(camera, 5 * PK_NS_PER_S);
	before.threads--; // the camera's own
	assert_flat("reconnects", &before, n_cycles(), took_ns);
	assert_in_range(pk_counter_get(&station->n_captured), n_cycles(), 4 * n_cycles() + 500);
	pk_scheduler_remove(scheduler, &station->lane);
	pk_station_unref(station);
	pk_scheduler_destroy(scheduler);
}

#define CAMERA "{source: {kind: test, width: 64, height: 48, rate: 100/s}, model: m}"

static struct pk_config *parse(const char *cameras)
{
	char text[1024];
	struct pk_config *config = NULL;
	struct pk_problems problems = {0};
	int n = snprintf(text, sizeof(text),
		"models: {m: {artifact: 'oci:/none:none', chain: [cpu]}}\ncameras:\n%s", cameras);
	assert_int_equal(pk_config_parse(text, (size_t)n, "test", "/", &config, &problems), 0);
	return config;
}

static uint64_t captured(struct pk_pipeline *pipeline, const char *name)
{
	static struct pk_camera_stats stats;
	for (size_t i = 0; pk_pipeline_stats(pipeline, i, &stats) == 0; i++)
		if (strcmp(stats.name, name) == 0)
			return stats.n_captured;
	return 0;
}

static void cycle(struct pk_pipeline *pipeline, const struct pk_config *with,
	const struct pk_config *without, bool wait)
{
	assert_int_equal(pk_pipeline_apply(pipeline, with, NULL), 0);
	for (int i = 0; wait && i < 5000 && captured(pipeline, "guest") == 0; i++)
		test_sleep(1);
	assert_true(!wait || captured(pipeline, "guest") > 0);
	assert_int_equal(pk_pipeline_apply(pipeline, without, NULL), 0);
}

// Half of them are removed before their first frame. The one that stays must not notice.
static void test_added_and_removed(void **state)
{
	struct pk_config *without = parse("  stays: " CAMERA "\n");
	struct pk_config *with = parse("  stays: " CAMERA "\n  guest: " CAMERA "\n");
	struct pk_pipeline *pipeline = NULL;
	assert_int_equal(pk_pipeline_create(without, NULL, &pipeline, NULL), 0);
	for (int i = 0; i < WARM_UP; i++)
		cycle(pipeline, with, without, i % 2);
	struct usage before = usage_now();
	int64_t start_ns = pk_now_ns();
	uint64_t stayed = captured(pipeline, "stays");
	for (int i = 0; i < n_cycles(); i++)
		cycle(pipeline, with, without, i % 2);
	int64_t took_ns = pk_now_ns() - start_ns;
	stayed = captured(pipeline, "stays") - stayed;
	assert_flat("cameras added and removed", &before, n_cycles(), took_ns);
	double fps = (double)stayed * (double)PK_NS_PER_S / (double)took_ns;
	printf("figure: the camera that stays kept %.1f of 100 fps\n", fps);
	assert_true(TEST_SANITIZED || fps > 80);
	static struct pk_camera_stats stats;
	assert_int_equal(pk_pipeline_stats(pipeline, 0, &stats), 0);
	assert_int_equal(stats.n_restarts, 0);
	pk_pipeline_destroy(pipeline);
	pk_config_destroy(with);
	pk_config_destroy(without);
}

static struct pk_config *parse_text(const char *text)
{
	struct pk_config *config = NULL;
	struct pk_problems problems = {0};
	assert_int_equal(pk_config_parse(text, strlen(text), "test", "/", &config, &problems), 0);
	pk_problems_finish(&problems);
	return config;
}

// The cpu runtime's threads follow a reload, without another pool.
static void test_threads_follow_the_config(void **state)
{
	struct pk_pipeline *pipeline = NULL;
	struct pk_config *one = parse_text("runtime: {threads: 1}\n");
	struct pk_config *many = parse_text("runtime: {threads: 64}\n");
	struct pk_config *half = parse_text("runtime: {threads: 0}\n");
	assert_int_equal(pk_pipeline_create(one, NULL, &pipeline, NULL), 0);
	struct pk_cpu_pool *pool = pipeline->pool;
	int all = pk_cpu_pool_threads(pool);
	assert_int_equal(pk_cpu_pool_limit(pool), 1);
	assert_int_equal(pk_pipeline_apply(pipeline, many, NULL), 0);
	assert_int_equal(pk_cpu_pool_limit(pool), all);
	assert_int_equal(pk_pipeline_apply(pipeline, half, NULL), 0);
	assert_int_equal(pk_cpu_pool_limit(pool), all < 4 ? 1 : all / 2);
	assert_ptr_equal(pipeline->pool, pool);
	pk_pipeline_destroy(pipeline);
	pk_config_destroy(one);
	pk_config_destroy(many);
	pk_config_destroy(half);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_follow_the_config),
		cmocka_unit_test(test_reconnects),
		cmocka_unit_test(test_added_and_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
