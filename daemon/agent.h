// SPDX-License-Identifier: Apache-2.0
// One thread for work that blocks (network, disk, hashing); its jobs come back to the loop.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/loop.h"

// Embed it as the first member of a struct with what the job needs.
struct pk_agent_job {
	// On the agent's thread. *cancel turns true when nobody waits for the answer any more.
	void (*work)(struct pk_agent_job *job, const atomic_bool *cancel);
	// On the loop's thread, after work; frees the job. aborted: work was not done, or the loop
	// ends: only free.
	void (*done)(struct pk_agent_job *job, bool aborted);
};

struct pk_agent;

int pk_agent_create(struct pk_loop *loop, struct pk_agent **out, struct pk_err *err) pk_must_check;
// Cancels what runs, waits for it up to a second, aborts the rest. A thread that still hangs then
// is left behind with its job: the process is about to end.
void pk_agent_destroy(struct pk_agent *agent);
PK_DEFINE_AUTO(pk_agent, pk_agent_destroy);

// Jobs run in order. The agent owns the job from here on; -ENOBUFS: too many, the job stays the
// caller's.
int pk_agent_post(struct pk_agent *agent, struct pk_agent_job *job) pk_must_check;
