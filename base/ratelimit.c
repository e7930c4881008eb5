// SPDX-License-Identifier: Apache-2.0
// Lets a burst of repeated messages through, then counts what it swallowed.
#include "base/ratelimit.h"

#include <limits.h>

bool pk_ratelimit_pass(struct pk_ratelimit *limit, int64_t now_ns, unsigned *swallowed)
{
	if (now_ns - limit->window_ns >= limit->interval_ns || limit->window_ns == 0) {
		limit->window_ns = now_ns;
		limit->n_passed = 0;
	}
	if (limit->n_passed >= limit->burst) {
		if (limit->n_swallowed < UINT_MAX)
			limit->n_swallowed++;
		return false;
	}
	limit->n_passed++;
	if (swallowed)
		*swallowed = limit->n_swallowed;
	limit->n_swallowed = 0;
	return true;
}
