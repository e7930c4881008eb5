// SPDX-License-Identifier: Apache-2.0
// Arithmetic of poll times, windows, rollouts and clocks.
#include "daemon/update_policy.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/digest.h"

#define RETRY_AFTER_MIN_NS PK_NS_PER_S
#define RETRY_AFTER_MAX_NS (86400 * PK_NS_PER_S)
#define BACKOFF_BASE_NS    (5 * PK_NS_PER_S)
#define DAY_S              INT64_C(86400)

static int64_t scale(int64_t ns, double factor)
{
	return (int64_t)((double)ns * factor);
}

int64_t pk_poll_next_ns(const struct pk_poll_policy *policy, double chance)
{
	return scale(policy->interval_ns, 1 - policy->jitter / 2 + policy->jitter * chance);
}

int64_t pk_poll_first_ns(const struct pk_poll_policy *policy, double chance)
{
	return scale(policy->interval_ns, chance);
}

int64_t pk_poll_backoff_ns(
	const struct pk_poll_policy *policy, unsigned n, int64_t retry_after_ns, double chance)
{
	if (retry_after_ns > 0) {
		int64_t asked_ns =
			PK_MIN(PK_MAX(retry_after_ns, RETRY_AFTER_MIN_NS), RETRY_AFTER_MAX_NS);
		return scale(asked_ns, 1 + chance / 10);
	}
	int64_t delay_ns = BACKOFF_BASE_NS;
	for (unsigned i = 1; i < n && delay_ns < policy->backoff_max_ns; i++)
		delay_ns *= 2;
	return scale(PK_MIN(delay_ns, policy->backoff_max_ns), 0.5 + chance / 2);
}

static struct tm split(const struct pk_window *window, int64_t now_s)
{
	time_t t = (time_t)now_s;
	struct tm tm = {0};
	if (window->utc)
		gmtime_r(&t, &tm);
	else
		localtime_r(&t, &tm);
	return tm;
}

static bool opens_on(const struct pk_window *window, int weekday)
{
	return window->days >> ((weekday % 7 + 7) % 7) & 1;
}

static bool is_open(const struct pk_window *window, int64_t now_s)
{
	struct tm tm = split(window, now_s);
	int minute = tm.tm_hour * 60 + tm.tm_min;
	if (window->from_min < window->to_min)
		return minute >= window->from_min && minute < window->to_min &&
		       opens_on(window, tm.tm_wday);
	// Past midnight it belongs to the day before.
	return (minute >= window->from_min && opens_on(window, tm.tm_wday)) ||
	       (minute < window->to_min && opens_on(window, tm.tm_wday - 1));
}

// When it opens `days` days from now, on the wall's own calendar.
static int64_t opening_s(const struct pk_window *window, int64_t now_s, int days)
{
	struct tm tm = split(window, now_s);
	tm.tm_mday += days;
	tm.tm_hour = window->from_min / 60;
	tm.tm_min = window->from_min % 60;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return window->utc ? (int64_t)timegm(&tm) : (int64_t)mktime(&tm);
}

int64_t pk_window_wait_s(const struct pk_window *window, int64_t now_s)
{
	if (is_open(window, now_s))
		return 0;
	for (int days = 0; days <= 8; days++) {
		int64_t at_s = opening_s(window, now_s, days);
		if (at_s > now_s && opens_on(window, split(window, at_s).tm_wday))
			return at_s - now_s;
	}
	return DAY_S; // no day at all: whoever asks looks again tomorrow
}

double pk_rollout_bucket(const char *digest, const char *node_id)
{
	static const char tag[] = "rollout1";
	struct pk_digest hash;
	pk_auto_buf struct pk_buf text;
	uint64_t value = 0;
	pk_buf_init(&text, 1024);
	pk_buf_append(&text, tag, sizeof(tag)); // each with its NUL
	pk_buf_append(&text, digest, strlen(digest) + 1);
	pk_buf_append(&text, node_id, strlen(node_id));
	if (pk_buf_error(&text) || pk_digest_bytes(text.data, text.len, &hash) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(value); i++)
		value = value << 8 | hash.bytes[i];
	return (double)(value >> 11) / 0x1p53 * 100; // 53 bits, so that it stays below 100
}

int64_t pk_clock_certain_s(const struct pk_clock_facts *facts)
{
	int64_t floor_s = PK_MAX(facts->last_known_s, facts->build_s);
	return facts->synchronised ? PK_MAX(facts->now_s, floor_s) : floor_s;
}

int64_t pk_clock_likely_s(const struct pk_clock_facts *facts)
{
	int64_t floor_s = PK_MAX(facts->last_known_s, facts->build_s);
	bool wrong = !facts->synchronised && facts->now_s < floor_s;
	return wrong ? floor_s + facts->uptime_s : facts->now_s;
}
