// SPDX-License-Identifier: Apache-2.0
// Growing delays between tries.
#include "pipeline/backoff.h"

#include "base/checked.h"

int64_t pk_backoff_next(struct pk_backoff *backoff)
{
	int64_t delay_ns = PK_MAX(backoff->next_ns, backoff->min_ns);
	backoff->next_ns = PK_MIN(delay_ns > INT64_MAX / 2 ? INT64_MAX : delay_ns * 2,
		PK_MAX(backoff->max_ns, backoff->min_ns));
	// Linear congruential step (Knuth's MMIX constants): cameras that fell together, come
	// back one by one.
	backoff->random =
		backoff->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	double part = (double)(backoff->random >> 40) / (double)(UINT64_C(1) << 24); // 0..1
	return (int64_t)((double)delay_ns * (0.8 + 0.4 * part));
}

void pk_backoff_reset(struct pk_backoff *backoff)
{
	backoff->next_ns = 0;
}
