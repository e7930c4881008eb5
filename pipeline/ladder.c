// SPDX-License-Identifier: Apache-2.0
// Steps of recovery for board cameras.
#include "pipeline/ladder.h"

#include <stdatomic.h>

enum pk_ladder_step pk_ladder_failed(
	struct pk_ladder *ladder, bool (*service_allowed)(void *ctx), void *ctx)
{
	ladder->n_failures++;
	if (ladder->n_failures < PK_LADDER_FAILURES || !service_allowed(ctx))
		return ladder->n_services >= PK_LADDER_SERVICES ? PK_LADDER_PERSON
								: PK_LADDER_RETRY;
	ladder->n_failures = 0;
	ladder->n_services += ladder->n_services < PK_LADDER_SERVICES;
	return PK_LADDER_SERVICE;
}

void pk_ladder_good(struct pk_ladder *ladder)
{
	*ladder = (struct pk_ladder){0};
}

bool pk_ladder_claim(_Atomic int64_t *last_ns, int64_t now_ns)
{
	int64_t last = atomic_load(last_ns);
	while (last == 0 || now_ns - last >= PK_LADDER_SERVICE_NS)
		if (atomic_compare_exchange_weak(last_ns, &last, now_ns))
			return true;
	return false;
}
