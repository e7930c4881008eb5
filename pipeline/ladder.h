// SPDX-License-Identifier: Apache-2.0
// What to do about a board camera that does not come back: start it again, then restart the
// camera service, then call a person. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pk_ladder_step {
	PK_LADDER_RETRY,   // start the source again
	PK_LADDER_SERVICE, // restart the camera service first
	PK_LADDER_PERSON,  // the service was restarted and it did not help; go on trying
};

#define PK_LADDER_FAILURES   3 // in a row, before the service is restarted
#define PK_LADDER_SERVICES   2 // restarts without success, before a person is called
#define PK_LADDER_SERVICE_NS (INT64_C(600) * 1000000000) // between two restarts, of all cameras

// Zero-initialise.
struct pk_ladder {
	int n_failures; // in a row since the last step up
	int n_services; // in a row
};

// After a failure. service_allowed: there is a command for it, and the last run of any camera's is
// long enough ago (pk_ladder_claim). It is only asked when it matters.
enum pk_ladder_step pk_ladder_failed(
	struct pk_ladder *ladder, bool (*service_allowed)(void *ctx), void *ctx);
void pk_ladder_good(struct pk_ladder *ladder); // pictures came

// Whether the service may be restarted at now_ns, and if so that is noted in last_ns (shared by all
// cameras of the process; 0: never yet). Any thread.
bool pk_ladder_claim(_Atomic int64_t *last_ns, int64_t now_ns);
