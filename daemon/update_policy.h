// SPDX-License-Identifier: Apache-2.0
// When an update may happen: poll times, windows, rollout buckets, and which clock to believe.
// Pure: time and chance come in as arguments.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Chance is a number in [0, 1).

struct pk_poll_policy {
	int64_t interval_ns;
	int64_t backoff_max_ns;
	double jitter; // 0..1: the share of the interval that is random
};

// interval × (1 − jitter/2 + jitter × chance): on average the interval.
int64_t pk_poll_next_ns(const struct pk_poll_policy *policy, double chance);
// The first poll after a start: anywhere in one interval, so that a fleet that was switched on at
// once does not ask at once.
int64_t pk_poll_first_ns(const struct pk_poll_policy *policy, double chance);
// After n failures in a row (n >= 1): doubled each time up to the cap, then × (0.5 + 0.5 × chance);
// the jitter comes after the cap, where all others would meet again. retry_after_ns > 0: the
// server's wish, which wins (1 s .. 1 day), with up to a tenth added.
int64_t pk_poll_backoff_ns(
	const struct pk_poll_policy *policy, unsigned n, int64_t retry_after_ns, double chance);

#define PK_DAYS_ALL 0x7fu

struct pk_window {
	unsigned days;        // bit 0: Sunday … bit 6: Saturday, of the day on which it opens
	int from_min, to_min; // minutes of the day; to <= from: past midnight; equal: all day
	bool utc;             // else local time ($TZ, /etc/localtime)
};

// Seconds until it is open; 0: it is now. Days without that minute (summer time) open later.
int64_t pk_window_wait_s(const struct pk_window *window, int64_t now_s);

// Where this node stands in the rollout of a digest, 0 <= bucket < 100: it takes part when bucket <
// percent. u64be(SHA-256("rollout1" NUL digest NUL node)[0..8]) / 2^64 × 100: a larger percentage
// only adds nodes, and another digest begins with others. Negative: no memory.
double pk_rollout_bucket(const char *digest, const char *node_id);

// What is known of wall time, without trusting a clock that nobody has set (no battery, no
// network).
struct pk_clock_facts {
	int64_t now_s;        // of the system clock
	bool synchronised;    // by NTP, as the kernel says
	int64_t last_known_s; // persisted: a time that was right once
	int64_t build_s;      // when this program was made
	int64_t uptime_s;     // since last_known_s was read
};
// For expiry: never later than what is certain. max(now if synchronised, last known, build).
int64_t pk_clock_certain_s(const struct pk_clock_facts *facts);
// For windows: the system clock unless it is certainly wrong, else what passed since the last known
// time; a wrong guess opens a window at a wrong hour, and never keeps it shut.
int64_t pk_clock_likely_s(const struct pk_clock_facts *facts);
