// SPDX-License-Identifier: Apache-2.0
// Poll times, windows, rollouts and clocks: by hand, and by statistics.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "daemon/update_policy.h"

#define N 20000
#define S PK_NS_PER_S

static const struct pk_poll_policy policy = {
	.interval_ns = 1800 * S, .backoff_max_ns = 21600 * S, .jitter = 0.5};

static double chance(uint64_t *random)
{
	// xorshift64* (Vigna 2016)
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (double)((*random * UINT64_C(2685821657736338717)) >> 11) / 0x1p53;
}

static void test_poll_interval_and_its_jitter(void **ctx)
{
	(void)ctx;
	uint64_t random = 12345;
	double sum = 0, least = INFINITY, most = 0;
	unsigned bins[10] = {0};
	for (int i = 0; i < N; i++) {
		double s = (double)pk_poll_next_ns(&policy, chance(&random)) / (double)S;
		sum += s;
		least = fmin(least, s);
		most = fmax(most, s);
		bins[(int)((s - 1350) / 90)]++;
	}
	assert_true(fabs(sum / N - 1800) < 10);
	assert_true(least >= 1350 && least < 1355 && most < 2250 && most > 2245);
	// Flat: chi-squared with 9 degrees of freedom, 0.1 % limit 27.9.
	double chi = 0;
	for (int i = 0; i < 10; i++)
		chi += pow(bins[i] - N / 10.0, 2) / (N / 10.0);
	print_message("poll jitter: chi-squared %.1f of 27.9\n", chi);
	assert_true(chi < 27.9);
}

static void test_first_poll_is_anywhere_in_the_interval(void **ctx)
{
	(void)ctx;
	assert_int_equal(pk_poll_first_ns(&policy, 0), 0);
	assert_int_equal(pk_poll_first_ns(&policy, 0.5), 900 * S);
	assert_true(pk_poll_first_ns(&policy, 0.999999) < 1800 * S);
}

static void test_backoff_grows_is_capped_and_keeps_its_jitter(void **ctx)
{
	(void)ctx;
	assert_int_equal(pk_poll_backoff_ns(&policy, 1, 0, 1 - 1e-12) / S, 4);
	assert_int_equal(pk_poll_backoff_ns(&policy, 1, 0, 0), 5 * S / 2);
	assert_int_equal(pk_poll_backoff_ns(&policy, 4, 0, 0), 20 * S);
	// At the cap, where all nodes arrive in the end, they are still apart.
	assert_int_equal(pk_poll_backoff_ns(&policy, 1000000, 0, 0), 10800 * S);
	assert_true(pk_poll_backoff_ns(&policy, 1000000, 0, 0.99) > 21000 * S);
	const struct pk_poll_policy huge = {.backoff_max_ns = INT64_MAX / 4};
	assert_true(pk_poll_backoff_ns(&huge, UINT32_MAX, 0, 0.5) > 0); // no overflow
}

static void test_retry_after_wins(void **ctx)
{
	(void)ctx;
	assert_int_equal(pk_poll_backoff_ns(&policy, 9, 120 * S, 0), 120 * S);
	assert_true(pk_poll_backoff_ns(&policy, 9, 120 * S, 0.99) <= 132 * S);
	assert_int_equal(pk_poll_backoff_ns(&policy, 9, 1, 0), S);
	assert_int_equal(pk_poll_backoff_ns(&policy, 9, INT64_MAX, 0), 86400 * S);
}

static int64_t at(const char *text)
{
	struct tm tm = {0};
	assert_non_null(strptime(text, "%Y-%m-%dT%H:%M:%S", &tm));
	return (int64_t)timegm(&tm);
}

static void test_windows(void **ctx)
{
	(void)ctx;
	const struct pk_window night = {
		.days = PK_DAYS_ALL, .from_min = 60, .to_min = 300, .utc = true};
	const struct pk_window over = {
		.days = PK_DAYS_ALL, .from_min = 22 * 60, .to_min = 120, .utc = true};
	const struct pk_window sunday = {.days = 1, .from_min = 60, .to_min = 300, .utc = true};
	const struct pk_window saturday_night = {
		.days = 1 << 6, .from_min = 23 * 60, .to_min = 180, .utc = true};
	const struct pk_window always = {.days = PK_DAYS_ALL, .utc = true};
	const struct {
		const struct pk_window *window;
		const char *now;
		int64_t wait_s;
	} rows[] = {
		{&night, "2026-11-30T01:00:00", 0},
		{&night, "2026-11-30T04:59:59", 0},
		{&night, "2026-11-30T05:00:00", 20 * 3600},
		{&night, "2026-11-30T00:59:59", 1},
		{&over, "2026-11-30T23:00:00", 0},
		{&over, "2026-11-30T01:59:59", 0},
		{&over, "2026-11-30T02:00:00", 20 * 3600},
		{&sunday, "2026-11-29T02:00:00", 0}, // a Sunday
		{&sunday, "2026-11-30T02:00:00", 6 * 86400 - 3600},
		{&sunday, "2026-11-29T05:00:00", 7 * 86400 - 4 * 3600},
		{&saturday_night, "2026-11-29T02:00:00", 0}, // opened on Saturday
		{&saturday_night, "2026-11-28T02:00:00", 21 * 3600},
		{&saturday_night, "2026-11-29T23:30:00", 6 * 86400 - 1800},
		{&always, "2026-11-30T12:34:56", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wait_s = pk_window_wait_s(rows[i].window, at(rows[i].now));
		if (wait_s != rows[i].wait_s)
			print_error("row %zu: %lld\n", i, (long long)wait_s);
		assert_int_equal(wait_s, rows[i].wait_s);
	}
}

static void test_windows_in_local_time_over_a_change_of_clocks(void **ctx)
{
	(void)ctx;
	// Rules as text: no zone files are needed. Summer time begins on 2026-03-29 at 01:00 UTC.
	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	const struct pk_window night = {.days = PK_DAYS_ALL, .from_min = 60, .to_min = 120};
	const struct pk_window gap = {.days = PK_DAYS_ALL, .from_min = 150, .to_min = 170};
	assert_int_equal(pk_window_wait_s(&night, at("2026-03-28T00:30:00")), 0); // 01:30 CET
	assert_int_equal(pk_window_wait_s(&night, at("2026-03-28T01:00:00")), 23 * 3600);
	assert_int_equal(pk_window_wait_s(&night, at("2026-03-29T23:30:00")), 0); // 01:30 CEST
	// 02:30 does not exist that night: it opens at some time, once.
	int64_t wait_s = pk_window_wait_s(&gap, at("2026-03-29T00:30:00"));
	assert_true(wait_s > 0 && wait_s <= 25 * 3600);
	unsetenv("TZ");
	tzset();
}

static void test_a_window_always_opens(void **ctx)
{
	(void)ctx;
	uint64_t random = 99;
	for (int i = 0; i < N; i++) {
		const struct pk_window window = {
			.days = 1 + (unsigned)(chance(&random) * 127),
			.from_min = (int)(chance(&random) * 1440),
			.to_min = (int)(chance(&random) * 1440),
			.utc = chance(&random) < 0.5,
		};
		int64_t now_s = 1790000000 + (int64_t)(chance(&random) * 1e8);
		int64_t wait_s = pk_window_wait_s(&window, now_s);
		assert_true(wait_s >= 0 && wait_s <= 8 * 86400);
		assert_int_equal(pk_window_wait_s(&window, now_s + wait_s), 0);
	}
}

static void node_name(char out[32], int i)
{
	snprintf(out, 32, "node-%d", i);
}

static void test_rollout_is_fair_stable_and_salted(void **ctx)
{
	(void)ctx;
	unsigned n_in[3] = {0}, n_both = 0;
	static const double percents[] = {10, 50, 100};
	for (int i = 0; i < N; i++) {
		char node[32];
		node_name(node, i);
		double a = pk_rollout_bucket("sha256:aa", node);
		double b = pk_rollout_bucket("sha256:bb", node);
		assert_true(a >= 0 && a < 100);
		assert_true(a == pk_rollout_bucket("sha256:aa", node));
		for (int k = 0; k < 3; k++)
			n_in[k] += a < percents[k];
		n_both += a < 10 && b < 10;
	}
	print_message("of %d nodes %u at 10 %%, %u at 50 %%; first twice: %u\n", N, n_in[0],
		n_in[1], n_both);
	// Five sigma of a binomial distribution.
	assert_true(fabs(n_in[0] - 0.1 * N) < 5 * sqrt(N * 0.1 * 0.9));
	assert_true(fabs(n_in[1] - 0.5 * N) < 5 * sqrt(N * 0.25));
	assert_int_equal(n_in[2], N);
	assert_true(fabs(n_both - 0.01 * N) < 5 * sqrt(N * 0.01)); // not the same first ones again
	// By sha256sum of "rollout1" NUL "sha256:aa" NUL "node-0": 8352e7e322d85a6c….
	double bucket = pk_rollout_bucket("sha256:aa", "node-0");
	assert_true(fabs(bucket - 51.298379226031564) < 1e-9);
}

static void test_clock_rule(void **ctx)
{
	(void)ctx;
	struct pk_clock_facts facts = {
		.now_s = 1000, .last_known_s = 5000, .build_s = 4000, .uptime_s = 30};
	// A clock without battery starts long ago: what is known stays known.
	assert_int_equal(pk_clock_certain_s(&facts), 5000);
	assert_int_equal(pk_clock_likely_s(&facts), 5030);
	// One that nobody has set says nothing about expiry, yet is good enough for a window.
	facts.now_s = 9000;
	assert_int_equal(pk_clock_certain_s(&facts), 5000);
	assert_int_equal(pk_clock_likely_s(&facts), 9000);
	facts.synchronised = true;
	assert_int_equal(pk_clock_certain_s(&facts), 9000);
	facts.now_s = 100; // synchronised with a liar: never back
	assert_int_equal(pk_clock_certain_s(&facts), 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_poll_interval_and_its_jitter),
		cmocka_unit_test(test_first_poll_is_anywhere_in_the_interval),
		cmocka_unit_test(test_backoff_grows_is_capped_and_keeps_its_jitter),
		cmocka_unit_test(test_retry_after_wins),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_windows_in_local_time_over_a_change_of_clocks),
		cmocka_unit_test(test_a_window_always_opens),
		cmocka_unit_test(test_rollout_is_fair_stable_and_salted),
		cmocka_unit_test(test_clock_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
