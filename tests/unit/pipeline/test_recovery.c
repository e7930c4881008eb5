// SPDX-License-Identifier: Apache-2.0
// The rules of recovery by themselves: resync after a loss, and the ladder of board cameras.
#include <stdatomic.h>

#include "base/clock.h"
#include "pipeline/ladder.h"
#include "pipeline/resync.h"
#include "tests/unit/pipeline/cm.h"

// k: key frame, d: leans on others, K, D: the same after a loss. Below: what may be decoded.
static void test_resync(void **state)
{
	static const char *const rows[][2] = {
		{"Kddd", "yyyy"}, // the very first may say that something is missing: nothing is
		{"ddkdd", "nnyyy"},
		{"kddDddkdd", "yyynnnyyy"},
		{"kdKddkd", "yynnnyy"}, // a key frame with a hole is no key frame
		{"kDkDkD", "ynynyn"},
		{"kkkk", "yyyy"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_resync resync = {0};
		for (const char *p = rows[i][0], *want = rows[i][1]; *p; p++, want++) {
			bool lost = *p == 'K' || *p == 'D', leans = *p == 'd' || *p == 'D';
			if (pk_resync_pass(&resync, lost, leans) != (*want == 'y'))
				fail_msg("%s at %td", rows[i][0], p - rows[i][0]);
		}
	}
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
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_ladder_without_service),
		cmocka_unit_test(test_one_restart_for_all_cameras),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
