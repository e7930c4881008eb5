// SPDX-License-Identifier: Apache-2.0
// Growing delays between tries: doubled, jittered, capped. Pure.
#pragma once

#include <stdint.h>

struct pk_backoff {
	int64_t min_ns, max_ns; // first delay and cap
	int64_t next_ns;        // 0: min_ns comes next
	uint64_t random;        // state of the jitter; seed with anything
};

// The delay before the next try: within +-20 % of min, 2 min, 4 min, … up to max.
int64_t pk_backoff_next(struct pk_backoff *backoff);
void pk_backoff_reset(struct pk_backoff *backoff);
