// SPDX-License-Identifier: Apache-2.0
// Late pictures are left out up to a key frame that is in time; a slow decoder's age stays bounded.
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/lateness.h"
#include "pipeline/source.h"
#include "tests/unit/pipeline/clip.h"
#include "tests/unit/pipeline/cm.h"

#define MS       PK_NS_PER_MS
#define LIMIT_NS (250 * MS)
#define N_CLIP   150 // 5 s
#define GOP      10  // of test_clip

static enum pk_lateness_word judge(struct pk_lateness *l, int64_t at_ms, int64_t delay_ms, bool key)
{
	return pk_lateness_judge(l, at_ms * MS, delay_ms * MS, key);
}

static void test_late_is_left_out_up_to_a_key_frame(void **state)
{
	struct pk_lateness l = {.limit_ns = LIMIT_NS};
	assert_int_equal(judge(&l, 0, 5, true), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 100, 255, false), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 200, 260, false), PK_LATENESS_LEAVE_OUT_FROM_HERE);
	assert_int_equal(judge(&l, 201, 10, false), PK_LATENESS_LEAVE_OUT);
	assert_int_equal(judge(&l, 202, 270, true), PK_LATENESS_LEAVE_OUT); // late itself
	assert_int_equal(judge(&l, 203, 10, true), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 204, 11, false), PK_LATENESS_DECODE);
}

// A source whose stamps are seconds off is not late for that.
static void test_constant_delay_is_no_lateness(void **state)
{
	struct pk_lateness l = {.limit_ns = LIMIT_NS};
	for (int i = 0; i < 100; i++)
		assert_int_equal(judge(&l, i * 33, 3000 + i % 3, i % 30 == 0), PK_LATENESS_DECODE);
	// Nor one that is read ahead of its time, when it later is not.
	pk_lateness_reset(&l);
	assert_int_equal(judge(&l, 5000, -2000, true), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 7000, 100, false), PK_LATENESS_DECODE);
}

// What stays late although nothing was decoded for a second is not our doing.
static void test_what_leaving_out_does_not_help_is_taken(void **state)
{
	struct pk_lateness l = {.limit_ns = LIMIT_NS};
	assert_int_equal(judge(&l, 0, 0, true), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 33, 900, false), PK_LATENESS_LEAVE_OUT_FROM_HERE);
	assert_int_equal(judge(&l, 600, 900, true), PK_LATENESS_LEAVE_OUT);
	assert_int_equal(judge(&l, 1100, 900, true), PK_LATENESS_DECODE);
	assert_int_equal(judge(&l, 1133, 910, false), PK_LATENESS_DECODE);
}

static void test_no_limit_leaves_nothing_out(void **state)
{
	struct pk_lateness l = {0};
	for (int i = 0; i < 50; i++)
		assert_int_equal(judge(&l, i * 33, i * 100, false), PK_LATENESS_DECODE);
}

// Clocks drift; a little each second is no backlog.
static void test_drift_is_followed(void **state)
{
	struct pk_lateness l = {.limit_ns = LIMIT_NS};
	for (int64_t s = 0; s < 3600; s++)
		assert_int_equal(judge(&l, s * 1000, s / 2, false), PK_LATENESS_DECODE);
}

struct seen {
	_Atomic int n, n_late, n_times;
	int64_t max_age_ns;
};

static void on_frame(void *ctx, struct pk_frame *frame)
{
	struct seen *seen = ctx;
	int64_t age_ns = frame->at_ns[PK_STAGE_DECODED] - frame->at_ns[PK_STAGE_CAPTURED];
	seen->max_age_ns = age_ns > seen->max_age_ns ? age_ns : seen->max_age_ns;
	atomic_fetch_add(&seen->n, 1);
	pk_frame_unref(frame);
}

static void on_lost(void *ctx)
{
}

static void on_late(void *ctx, bool first)
{
	struct seen *seen = ctx;
	atomic_fetch_add(&seen->n_late, 1);
	atomic_fetch_add(&seen->n_times, first);
}

// A decoder that needs three times as long as there is.
static struct seen play(const char *clip, int64_t max_late_ns)
{
	struct seen seen = {0};
	struct pk_err err = {0};
	pk_auto_free char *launch = NULL;
	assert_true(asprintf(&launch,
			    "filesrc location=\"%s\" ! qtdemux ! h264parse ! avdec_h264 "
			    "max-threads=1 ! identity sleep-time=100000",
			    clip) > 0);
	const struct pk_source_config config = {.kind = PK_SOURCE_GST,
		.uri = (char *)"",
		.launch = launch,
		.pattern = (char *)"ball"};
	const struct pk_source_receiver receiver = {.frame = on_frame,
		.lost = on_lost,
		.late = on_late,
		.max_late_ns = max_late_ns,
		.ctx = &seen};
	struct pk_source *source = NULL;
	int r = pk_source_create(&config, &receiver, 0, &source, &err);
	int64_t until_ns = pk_now_ns() + 60 * PK_NS_PER_S;
	while (r == 0 && pk_now_ns() < until_ns)
		r = pk_source_poll(source, 100 * MS, &err);
	pk_source_destroy(source);
	assert_int_equal(r, 1); // it has ended
	return seen;
}

static void test_age_of_a_slow_decoder_is_bounded(void **state)
{
	char *folder = test_folder();
	pk_auto_free char *clip = pk_fs_join(folder, "clip.mp4");
	test_need_clip(clip, N_CLIP);
	struct seen all = play(clip, 0), fresh = play(clip, LIMIT_NS);
	printf("decodes in 3.3 times real time: age at most %.0f ms, %d pictures; with a limit of "
	       "250 ms: %.0f ms, %d pictures, %d left out in %d times\n",
		(double)all.max_age_ns / 1e6, all.n, (double)fresh.max_age_ns / 1e6, fresh.n,
		fresh.n_late, fresh.n_times);
	assert_int_equal(all.n_late, 0);
	assert_true(all.max_age_ns > 3 * PK_NS_PER_S);
	assert_int_equal(fresh.n + fresh.n_late, N_CLIP); // each is accounted for
	assert_true(fresh.n_times > 1);
	assert_true(fresh.n >= N_CLIP / 10);
	test_folder_remove(folder);
	// The limit, pictures that wait in the decoder for those after them, and a slow machine.
	assert_true(fresh.max_age_ns < 2 * PK_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_is_left_out_up_to_a_key_frame),
		cmocka_unit_test(test_constant_delay_is_no_lateness),
		cmocka_unit_test(test_what_leaving_out_does_not_help_is_taken),
		cmocka_unit_test(test_no_limit_leaves_nothing_out),
		cmocka_unit_test(test_drift_is_followed),
		cmocka_unit_test(test_age_of_a_slow_decoder_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
