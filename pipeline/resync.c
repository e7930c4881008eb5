// SPDX-License-Identifier: Apache-2.0
// The rule by which a damaged stream is left out until it stands by itself again.
#include "pipeline/resync.h"

#include "base/checked.h"

void pk_resync_packet(struct pk_resync *resync, uint16_t number, int64_t at_ns)
{
	bool gap = resync->begun && number != resync->next_number;
	if (!resync->begun)
		resync->damaged_ns = resync->picture_ns = -1;
	if (gap) {
		resync->synced = false;
		resync->damaged_ns = PK_MAX(resync->damaged_ns, at_ns);
	}
	resync->begun = true;
	resync->next_number = (uint16_t)(number + 1);
}

bool pk_resync_pass(struct pk_resync *resync, int64_t at_ns, bool leans)
{
	if (at_ns >= 0)
		resync->picture_ns = at_ns; // parts of one picture may come without a time
	if (!leans && resync->picture_ns > resync->damaged_ns)
		resync->synced = true;
	return resync->synced;
}
