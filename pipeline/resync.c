// SPDX-License-Identifier: Apache-2.0
// The rule by which a damaged stream is left out until it stands by itself again.
#include "pipeline/resync.h"

#include "base/checked.h"

void pk_resync_packet(struct pk_resync *resync, uint16_t number, int64_t at_ns)
{
	bool gap = resync->begun && number != resync->next_number;
	if (!resync->begun)
		resync->damaged_ns = resync->first_ns = -1;
	if (gap) {
		resync->synced = false;
		resync->damaged_ns = PK_MAX(resync->damaged_ns, at_ns);
	}
	if (resync->first_ns < 0)
		resync->first_ns = at_ns;
	resync->last_ns = at_ns;
	resync->begun = true;
	resync->next_number = (uint16_t)(number + 1);
}

// Takes the packets of a picture, which comes out with its own last packet or with the first one of
// the next. False: it is damaged, or some of them may be of a damaged one.
static bool pk_resync_take(struct pk_resync *resync, int64_t at_ns)
{
	bool after_damage = resync->first_ns < 0 || resync->first_ns > resync->damaged_ns;
	resync->first_ns = resync->last_ns > at_ns ? resync->last_ns : -1;
	return after_damage && at_ns > resync->damaged_ns;
}

bool pk_resync_pass(struct pk_resync *resync, int64_t at_ns, bool leans)
{
	if (at_ns >= 0) // parts of one picture may come without a time
		resync->whole = pk_resync_take(resync, at_ns);
	if (resync->whole && !leans)
		resync->synced = true;
	return resync->synced;
}
