// SPDX-License-Identifier: Apache-2.0
// The rule by which a damaged stream is left out until it stands by itself again.
#include "pipeline/resync.h"

bool pk_resync_pass(struct pk_resync *resync, bool lost, bool leans)
{
	if (!resync->begun) {
		resync->begun = resync->waiting = true;
		lost = false;
	}
	if (lost)
		resync->waiting = true;
	else if (!leans)
		resync->waiting = false;
	return !resync->waiting;
}
