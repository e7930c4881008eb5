// SPDX-License-Identifier: Apache-2.0
// What follows from the machine's health: how far inference steps back, whether a build may run.
// Pure: no I/O, no clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/health.h"

#define PK_SHED_MAX_LEVEL 3

struct pk_health_settings {
	bool shed;             // may inference step back
	double pressure_limit; // PSI of memory, percent, from which builds wait; 0: never
};

struct pk_health_input {
	const struct pk_health *health;
	// How much slower inference is than it was at its best: 0.3 is 30 %; 0 when unknown.
	double slowdown;
	bool building;
	int64_t now_ns;      // monotonic
	int64_t realtime_ns; // for people
};

// Zero-initialise.
struct pk_health_policy {
	int level;      // 0: everything at full rate … PK_SHED_MAX_LEVEL
	char cause[96]; // of the level: "gpu-thermal at 84 °C, slows down at 87 °C"; ""
	bool hold_builds;
	char hold_cause[96];
	bool slow;          // at least SLOW_FROM slower, and for which reason
	char slow_text[96]; // "30 % slower since 14:05: over-current"; ""
	// Memory of it.
	int64_t level_ns, calm_ns, slow_ns, slow_realtime_ns;
	int64_t window_ns, events_at_window, throttles_before;
	bool over_current, throttled, heat;
};

// True when level, hold_builds or slow is another one than before.
bool pk_health_policy_step(struct pk_health_policy *policy,
	const struct pk_health_settings *settings, const struct pk_health_input *input);

// The part of its rate that a camera keeps at a level: 1, 1/2, 1/4, 1/8. class_idx: which of the
// distinct priorities it has, 0 the lowest.
double pk_shed_factor(int level, size_t class_idx, size_t n_classes);
