// SPDX-License-Identifier: Apache-2.0
// The rules of recovery by themselves: resync after a loss, and the ladder of board cameras.
#include <stdatomic.h>

#include "base/clock.h"
#include "pipeline/entry_point.h"
#include "pipeline/ladder.h"
#include "pipeline/resync.h"
#include "tests/unit/pipeline/cm.h"

// Each letter is a picture of two packets: k a key frame, d one that leans on others. "-" is a lost
// packet; it stands before, in or behind a picture. Below: what may be decoded.
static void test_resync(void **state)
{
	static const char *const rows[][2] = {
		{"kddd", "yyyy"},
		{"ddkdd", "nnyyy"},      // joined in the middle
		{"kd-ddkdd", "yynnyyy"}, // between two pictures
		{"k-dkd", "ynyy"},
		{"kd-kdkd", "yynnyy"}, // which of them lacks it cannot be told
		{"k-k-k-k", "ynnn"},
		{"kkkk", "yyyy"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_resync resync = {0};
		uint16_t number = 65530; // wraps
		int64_t at_ns = 0;
		const char *want = rows[i][1];
		for (const char *p = rows[i][0]; *p; p++) {
			if (*p == '-') {
				number++;
				continue;
			}
			at_ns += 40;
			pk_resync_packet(&resync, number++, at_ns);
			pk_resync_packet(&resync, number++, at_ns);
			if (pk_resync_pass(&resync, at_ns, *p == 'd') != (*want++ == 'y'))
				fail_msg("%s at %td", rows[i][0], p - rows[i][0]);
		}
	}
}

static void test_resync_inside_a_picture(void **state)
{
	struct pk_resync resync = {0};
	pk_resync_packet(&resync, 1, 40);
	assert_true(pk_resync_pass(&resync, 40, false));
	pk_resync_packet(&resync, 2, 80);
	pk_resync_packet(&resync, 4, 80); // 3 is missing, of a key frame
	assert_false(pk_resync_pass(&resync, 80, false));
	assert_false(pk_resync_pass(&resync, -1, false)); // its second part, without a time
	pk_resync_packet(&resync, 5, 120);
	assert_false(pk_resync_pass(&resync, 120, true));
	pk_resync_packet(&resync, 6, 160);
	assert_true(pk_resync_pass(&resync, 160, false));
	assert_true(pk_resync_pass(&resync, -1, false));
}

// A cut key frame that never comes out by itself: what is left of it comes with the next picture,
// whose time that then has.
static void test_resync_of_leftovers(void **state)
{
	struct pk_resync resync = {0};
	pk_resync_packet(&resync, 1, 40);
	assert_true(pk_resync_pass(&resync, 40, false));
	pk_resync_packet(&resync, 2, 80);
	pk_resync_packet(&resync, 4, 80);
	pk_resync_packet(&resync, 5, 120);
	assert_false(pk_resync_pass(&resync, 120, false));
	pk_resync_packet(&resync, 6, 160);
	pk_resync_packet(&resync, 7, 200); // the first of the next picture sends the last one on
	assert_true(pk_resync_pass(&resync, 160, false));
	assert_true(pk_resync_pass(&resync, 200, false));
}

static void test_entry_points(void **state)
{
	static const struct {
		enum pk_codec codec;
		bool want;
		uint8_t bytes[16];
		size_t n;
	} rows[] = {
		{PK_CODEC_H264, true, {0, 0, 0, 1, 9, 16, 0, 0, 1, 0x65, 0x88}, 11}, // IDR
		{PK_CODEC_H264, false, {0, 0, 0, 1, 9, 48, 0, 0, 1, 0x41, 0x9a}, 11},
		{PK_CODEC_H264, false, {0, 0, 1, 0x67, 0x42, 0, 0, 1, 0x68, 0xce, 0, 0, 1, 0x41},
			14},
		{PK_CODEC_H264, true, {0, 0, 1, 6, 1, 2, 7, 7, 6, 1, 0x80}, 11}, // second message
		{PK_CODEC_H264, false, {0, 0, 1, 6, 5, 200, 6, 1}, 8},           // cut off
		{PK_CODEC_H264, false, {0, 0, 1, 6, 255, 255, 255}, 7},
		{PK_CODEC_H264, false, {0, 0, 1}, 3},
		{PK_CODEC_H265, true, {0, 0, 0, 1, 21 << 1, 1}, 6}, // CRA
		{PK_CODEC_H265, true, {0, 0, 1, 19 << 1, 1}, 5},    // IDR
		{PK_CODEC_H265, false, {0, 0, 1, 1 << 1, 1}, 5},
		{PK_CODEC_JPEG, true, {0xff, 0xd8}, 2},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		if (pk_entry_point(rows[i].codec, rows[i].bytes, rows[i].n) != rows[i].want)
			fail_msg("row %zu", i);
}

static bool yes(void *ctx)
{
	++*(int *)ctx;
	return true;
}

static bool no(void *ctx)
{
	++*(int *)ctx;
	return false;
}

static void test_ladder(void **state)
{
	static const enum pk_ladder_step want[] = {PK_LADDER_RETRY, PK_LADDER_RETRY,
		PK_LADDER_SERVICE, PK_LADDER_RETRY, PK_LADDER_RETRY, PK_LADDER_SERVICE,
		PK_LADDER_PERSON, PK_LADDER_PERSON, PK_LADDER_SERVICE, PK_LADDER_PERSON};
	struct pk_ladder ladder = {0};
	int asked = 0;
	for (size_t i = 0; i < PK_ARRAY_LEN(want); i++)
		assert_int_equal(pk_ladder_failed(&ladder, yes, &asked), want[i]);
	assert_int_equal(asked, 3); // only when it mattered
	pk_ladder_good(&ladder);
	assert_int_equal(pk_ladder_failed(&ladder, yes, &asked), PK_LADDER_RETRY);
}

static void test_ladder_without_service(void **state)
{
	struct pk_ladder ladder = {0};
	int asked = 0;
	for (int i = 0; i < 50; i++)
		assert_int_equal(pk_ladder_failed(&ladder, no, &asked), PK_LADDER_RETRY);
	// As soon as it may, it does.
	assert_int_equal(pk_ladder_failed(&ladder, yes, &asked), PK_LADDER_SERVICE);
}

static void test_one_restart_for_all_cameras(void **state)
{
	_Atomic int64_t last_ns = 0;
	assert_true(pk_ladder_claim(&last_ns, 1000));
	assert_false(pk_ladder_claim(&last_ns, 1001));
	assert_false(pk_ladder_claim(&last_ns, 999 + PK_LADDER_SERVICE_NS));
	assert_true(pk_ladder_claim(&last_ns, 1000 + PK_LADDER_SERVICE_NS));
	assert_false(pk_ladder_claim(&last_ns, 1001 + PK_LADDER_SERVICE_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resync),
		cmocka_unit_test(test_resync_inside_a_picture),
		cmocka_unit_test(test_resync_of_leftovers),
		cmocka_unit_test(test_entry_points),
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_ladder_without_service),
		cmocka_unit_test(test_one_restart_for_all_cameras),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
