// SPDX-License-Identifier: Apache-2.0
// Lets a burst of repeated messages through, then counts what it swallowed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Zero-initialised fields besides interval and burst. One owner thread.
struct pk_ratelimit {
	int64_t interval_ns;  // length of a window
	unsigned burst;       // allowed per window
	int64_t window_ns;    // start of the current window
	unsigned n_passed;    // in this window
	unsigned n_swallowed; // since the last one that passed
};

// True when the message at time now_ns (monotonic) may go out; *swallowed (nullable) then tells how
// many were held back since the last one.
bool pk_ratelimit_pass(struct pk_ratelimit *limit, int64_t now_ns, unsigned *swallowed);
