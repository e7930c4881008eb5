// SPDX-License-Identifier: Apache-2.0
// Control groups of the children, where systemd has delegated ours (Delegate=): the builder gets a
// memory limit of its own, so that the kernel ends it and nobody else.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_cgroup;

// Looks whether the group that this process is in was delegated to it, moves the process into its
// leaf "control" and switches on the controllers that are there. -ENOTSUP, with the reason: it was
// not, or this is no cgroup v2. root: "" or a faked tree with proc/self/cgroup and sys/fs/cgroup;
// there delegation is taken for granted.
int pk_cgroup_open(const char *root, struct pk_cgroup **out, struct pk_err *err) pk_must_check;
void pk_cgroup_close(struct pk_cgroup *cgroup); // the groups stay for systemd to remove
PK_DEFINE_AUTO(pk_cgroup, pk_cgroup_close);

// Moves pid into the leaf `name`, made if need be, with this memory.max (0: none) and cpu.weight
// (0: leave; 1..10000, 100 is normal).
int pk_cgroup_place(struct pk_cgroup *cgroup, const char *name, pid_t pid, int64_t memory_max,
	int cpu_weight, struct pk_err *err) pk_must_check;
// Whether whatever wakes up in other groups takes the cores from that leaf at once (cpu.idle); it
// then has no weight. 0 or -errno: the kernel does not know it, or cpu was not delegated.
int pk_cgroup_set_idle(struct pk_cgroup *cgroup, const char *name, bool idle);
// How often the kernel has ended something in that leaf for want of memory; 0 when unknown.
int64_t pk_cgroup_oom_kills(const struct pk_cgroup *cgroup, const char *name);
