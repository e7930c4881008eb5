// SPDX-License-Identifier: Apache-2.0
// Lets a child run only when nothing else wants the core, as long as it gets on that way.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/cgroup.h"

struct pk_step_back {
	pid_t pid; // 0: none steps back
	struct pk_cgroup *cgroup;
	const char *group;
	int64_t since_ns, cpu_ns; // of this look
};

// pid has just started, so that all its threads follow. SCHED_IDLE (sched(7)) for itself, and
// cpu.idle of its group (NULL: none, it is in no group of its own): whatever wakes up takes the
// core from it at once, where a merely niced one keeps it for milliseconds. False: not possible, or
// it could not be taken back (RLIMIT_NICE), and nothing was done.
bool pk_step_back_begin(
	struct pk_step_back *step, pid_t pid, struct pk_cgroup *cgroup, const char *group);
// To be called each second or so. Once it gets next to nothing (cores that are always busy), it
// shares them by its niceness again: true, for this one time.
bool pk_step_back_check(struct pk_step_back *step, int64_t now_ns);
// It has ended.
void pk_step_back_end(struct pk_step_back *step);
