// SPDX-License-Identifier: Apache-2.0
// Probation: heartbeats in, a verdict with its reason out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/model_watch.h"

#define S PK_NS_PER_S

static const struct pk_check_config check = {
	.observe_ns = 20 * S,
	.min_fps_ratio = 0.9,
	.max_p95_ratio = 1.5,
	.max_error_rate = 0.01,
	.min_detections_ratio = 0.3,
	.max_detections_ratio = 5,
	.max_restarts = 1,
};

struct camera {
	double captured, inferred, failed, detections, p95_ms; // a second
};

struct bench {
	struct pk_model_watch watch;
	int64_t now_ns;
	struct camera total;
	struct pk_up_baseline before;
	struct pk_watch_result result;
	char reason[PK_UP_REASON_MAX];
	bool off; // the camera
};

static void beat(struct bench *b, const struct camera *rate)
{
	if (!b->off) {
		b->total.captured += rate->captured;
		b->total.inferred += rate->inferred;
		b->total.failed += rate->failed;
		b->total.detections += rate->detections;
	}
	json_t *cameras = json_pack("[{s:s, s:s, s:f, s:f, s:f, s:f, s:f}, {s:s, s:s, s:f}]",
		"name", "belt", "model", "m", "captured", b->total.captured, "inferred",
		b->total.inferred, "passthrough", b->total.failed, "detections",
		b->total.detections, "inference_p95_ms", rate->p95_ms, "name", "other", "model",
		"another", "inferred", (double)b->now_ns);
	b->now_ns += S;
	pk_watch_heartbeat(&b->watch, "m", cameras, true, b->now_ns);
	json_decref(cameras);
}

static const struct camera good = {.captured = 20, .inferred = 20, .detections = 40, .p95_ms = 10};

static void begin(struct bench *b)
{
	*b = (struct bench){.now_ns = 100 * S};
	for (int i = 0; i < 30; i++)
		beat(b, &good);
	pk_watch_baseline(&b->watch, &b->before);
	pk_watch_begin(&b->watch, b->now_ns);
}

static enum pk_watch_verdict judge(struct bench *b)
{
	return pk_watch_judge(&b->watch, &check, &b->before, b->now_ns, &b->result, b->reason);
}

// Beats until there is a verdict; the seconds that it took.
static int run(struct bench *b, const struct camera *rate, enum pk_watch_verdict expected)
{
	for (int s = 1; s <= 100; s++) {
		beat(b, rate);
		enum pk_watch_verdict verdict = judge(b);
		if (verdict == PK_WATCH_GOES_ON)
			continue;
		if (verdict != expected)
			print_error("after %d s: %s\n", s, b->reason);
		assert_int_equal(verdict, expected);
		pk_watch_finish(&b->watch);
		return s;
	}
	fail_msg("no verdict");
	return 0;
}

static void test_baseline(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	assert_true(fabs(b.before.fps - 20) < 0.01 && fabs(b.before.captured - 20) < 0.01);
	assert_true(fabs(b.before.p95_ms - 10) < 0.01 && fabs(b.before.detections - 2) < 0.01);
	pk_watch_finish(&b.watch);
}

static void test_as_good_is_well_at_the_end(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	assert_int_equal(run(&b, &good, PK_WATCH_WELL), 20);
	assert_true(fabs(b.result.fps_ratio - 1) < 0.01);
	assert_true(fabs(b.result.detections_ratio - 1) < 0.01);
}

static void test_each_way_to_be_worse(void **ctx)
{
	(void)ctx;
	static const struct {
		struct camera rate;
		const char *words;
	} rows[] = {
		{{20, 12, 0, 24, 10}, "results per second"},
		{{20, 20, 0, 40, 25}, "p95"},
		{{20, 20, 0, 2, 10}, "detections per frame"},
		{{20, 20, 0, 0, 10}, "detections per frame"},
		{{20, 20, 0, 900, 10}, "detections per frame"},
		{{20, 20, 1, 40, 10}, "without inference"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct bench b;
		begin(&b);
		int s = run(&b, &rows[i].rate, PK_WATCH_WORSE);
		assert_non_null(strstr(b.reason, rows[i].words));
		assert_int_equal(s, 12); // half of the time, then three heartbeats
	}
}

static void test_a_hiccup_is_no_verdict(void **ctx)
{
	(void)ctx;
	static const struct camera slow = {20, 20, 0, 40, 80};
	struct bench b;
	begin(&b);
	for (int i = 0; i < 12; i++) {
		beat(&b, i == 11 ? &slow : &good);
		assert_int_equal(judge(&b), PK_WATCH_GOES_ON);
	}
	run(&b, &good, PK_WATCH_WELL);
}

static void test_a_camera_that_is_off_blames_nobody(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	for (int i = 0; i < 5; i++)
		beat(&b, &good);
	b.off = true;
	for (int i = 0; i < 10; i++) {
		beat(&b, &good);
		assert_int_equal(judge(&b), PK_WATCH_GOES_ON);
	}
	run(&b, &good, PK_WATCH_WELL); // the 100 results were enough
	assert_true(fabs(b.result.fps_ratio - 1) < 0.01);
}

static void test_without_frames_there_is_no_verdict(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	b.off = true;
	for (int i = 0; i < 100; i++) {
		beat(&b, &good);
		assert_int_equal(judge(&b), PK_WATCH_GOES_ON);
	}
	pk_watch_finish(&b.watch);
}

static void test_without_a_baseline_only_errors_count(void **ctx)
{
	(void)ctx;
	static const struct camera poor = {20, 2, 0, 0, 900}, bad = {20, 10, 10, 0, 10};
	struct bench b;
	begin(&b);
	b.before = (struct pk_up_baseline){0};
	run(&b, &poor, PK_WATCH_WELL);
	begin(&b);
	b.before = (struct pk_up_baseline){0};
	run(&b, &bad, PK_WATCH_WORSE);
}

static void test_an_empty_scene_says_nothing_of_detections(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	b.before.detections = 0;
	run(&b, &good, PK_WATCH_WELL);
}

static void test_crashes_of_the_worker_are_counted(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	b.watch.n_restarts = 1;
	beat(&b, &good);
	assert_int_equal(judge(&b), PK_WATCH_GOES_ON);
	b.watch.n_restarts = 2;
	assert_int_equal(run(&b, &good, PK_WATCH_WORSE), 1);
}

static void test_restarted_counters_are_no_loss(void **ctx)
{
	(void)ctx;
	struct bench b;
	begin(&b);
	for (int i = 0; i < 5; i++)
		beat(&b, &good);
	b.total = (struct camera){0};
	run(&b, &good, PK_WATCH_WELL);
	assert_true(fabs(b.result.is.detections - 2) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_as_good_is_well_at_the_end),
		cmocka_unit_test(test_each_way_to_be_worse),
		cmocka_unit_test(test_a_hiccup_is_no_verdict),
		cmocka_unit_test(test_a_camera_that_is_off_blames_nobody),
		cmocka_unit_test(test_without_frames_there_is_no_verdict),
		cmocka_unit_test(test_without_a_baseline_only_errors_count),
		cmocka_unit_test(test_an_empty_scene_says_nothing_of_detections),
		cmocka_unit_test(test_crashes_of_the_worker_are_counted),
		cmocka_unit_test(test_restarted_counters_are_no_loss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
