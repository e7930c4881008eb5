// SPDX-License-Identifier: Apache-2.0
// The rule by which late pictures are left out before they are decoded.
#include "pipeline/lateness.h"

#include "base/checked.h"
#include "base/clock.h"

// Clocks drift by less than this part; what grows faster is a backlog.
#define PK_LATENESS_DRIFT 1000
// A backlog of ours is gone after so long without decoding.
#define PK_LATENESS_SETTLED_NS PK_NS_PER_S

void pk_lateness_reset(struct pk_lateness *lateness)
{
	*lateness = (struct pk_lateness){.limit_ns = lateness->limit_ns};
}

static void pk_lateness_learn(struct pk_lateness *lateness, int64_t now_ns, int64_t delay_ns)
{
	int64_t creep_ns = lateness->begun ? (now_ns - lateness->seen_ns) / PK_LATENESS_DRIFT : 0;
	if (!lateness->begun || delay_ns < lateness->floor_ns + creep_ns)
		lateness->floor_ns = delay_ns;
	else
		lateness->floor_ns += creep_ns;
	lateness->begun = true;
	lateness->seen_ns = now_ns;
}

enum pk_lateness_word pk_lateness_judge(
	struct pk_lateness *lateness, int64_t now_ns, int64_t delay_ns, bool key)
{
	delay_ns = PK_MAX(delay_ns, INT64_C(0)); // a file is read ahead: that is no measure
	pk_lateness_learn(lateness, now_ns, delay_ns);
	bool late = lateness->limit_ns > 0 && delay_ns - lateness->floor_ns > lateness->limit_ns;
	bool settled = lateness->waiting && now_ns - lateness->waiting_ns >= PK_LATENESS_SETTLED_NS;
	if (late && key && settled) {
		lateness->floor_ns = delay_ns;
		late = false;
	}
	if (late && !lateness->waiting) {
		lateness->waiting = true;
		lateness->waiting_ns = now_ns;
		return PK_LATENESS_LEAVE_OUT_FROM_HERE;
	}
	if (lateness->waiting && key && !late)
		lateness->waiting = false;
	return lateness->waiting ? PK_LATENESS_LEAVE_OUT : PK_LATENESS_DECODE;
}
