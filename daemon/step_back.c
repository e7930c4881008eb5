// SPDX-License-Identifier: Apache-2.0
// Idle scheduling of a child, and the way back out of it.
#include "daemon/step_back.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// Less than this part of a core, over so long, is no progress.
#define LOOK_NS      (5 * PK_NS_PER_S)
#define LEAST_PART   20
#define NICE_CEILING 20 // of RLIMIT_NICE: niceness n needs 20 - n

// Whoever may raise a niceness may leave idle scheduling; a child's is never below ours.
static bool may_return(void)
{
	struct rlimit limit;
	int own = getpriority(PRIO_PROCESS, 0);
	return geteuid() == 0 || (getrlimit(RLIMIT_NICE, &limit) == 0 &&
					 limit.rlim_cur >= (rlim_t)(NICE_CEILING - own));
}

static int64_t cpu_of(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return -1;
	return (int64_t)t.tv_sec * PK_NS_PER_S + t.tv_nsec;
}

bool pk_step_back_begin(
	struct pk_step_back *step, pid_t pid, struct pk_cgroup *cgroup, const char *group)
{
	const struct sched_param none = {0};
	*step = (struct pk_step_back){0};
	if (!may_return() || sched_setscheduler(pid, SCHED_IDLE, &none) < 0)
		return false;
	if (cgroup)
		(void)pk_cgroup_set_idle(cgroup, group, true);
	*step = (struct pk_step_back){.pid = pid,
		.cgroup = cgroup,
		.group = group,
		.since_ns = pk_now_ns(),
		.cpu_ns = cpu_of(pid)};
	return true;
}

// Threads that begin meanwhile take after the one that makes them: again, until none is left.
static void share_cores(pid_t pid)
{
	const struct sched_param none = {0};
	char path[32];
	bool more = true;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	for (int turn = 0; more && turn < 4; turn++) {
		DIR *tasks = opendir(path);
		more = false;
		for (struct dirent *it; tasks && (it = readdir(tasks));) {
			pid_t tid = (pid_t)strtol(it->d_name, NULL, 10);
			if (tid > 0 && sched_getscheduler(tid) == SCHED_IDLE)
				more |= sched_setscheduler(tid, SCHED_OTHER, &none) == 0;
		}
		if (tasks)
			closedir(tasks);
	}
}

void pk_step_back_end(struct pk_step_back *step)
{
	*step = (struct pk_step_back){0};
}

bool pk_step_back_check(struct pk_step_back *step, int64_t now_ns)
{
	int64_t took_ns = now_ns - step->since_ns;
	if (step->pid == 0 || took_ns < LOOK_NS)
		return false;
	bool paused = took_ns > 2 * LOOK_NS; // nobody asked meanwhile
	int64_t cpu_ns = cpu_of(step->pid);
	bool starves = cpu_ns >= 0 && cpu_ns - step->cpu_ns < took_ns / LEAST_PART && !paused;
	step->since_ns = now_ns;
	step->cpu_ns = cpu_ns;
	if (!starves)
		return false;
	share_cores(step->pid);
	if (step->cgroup)
		(void)pk_cgroup_set_idle(step->cgroup, step->group, false);
	pk_step_back_end(step);
	return true;
}
