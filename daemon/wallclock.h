// SPDX-License-Identifier: Apache-2.0
// Wall time on nodes whose clock may never have been set: what was right once is kept in a file.
#pragma once

#include <stdint.h>

#include "daemon/update_policy.h"

struct pk_wallclock {
	char *path;                    // the file; NULL: none
	int64_t last_known_s, read_ns; // boottime when it was read
};

// folder: of the state. Reads the file; without one it begins with the time of the build.
void pk_wallclock_init(struct pk_wallclock *clock, const char *folder);
void pk_wallclock_finish(struct pk_wallclock *clock);
void pk_wallclock_facts(const struct pk_wallclock *clock, struct pk_clock_facts *out);
// Writes the time down when it is synchronised and a day has passed since; else does nothing.
void pk_wallclock_keep(struct pk_wallclock *clock);
