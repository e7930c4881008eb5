// SPDX-License-Identifier: Apache-2.0
// Keeps one picket-worker alive: start, config, heartbeats, deadlines, restart with back-off, stop.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/events.h"
#include "daemon/loop.h"

// Zero means the default in brackets.
struct pk_supervisor_limits {
	int64_t start_ns;       // from start to config_done (60 s)
	int64_t silence_ns;     // without any message (10 s)
	int64_t busy_ns;        // the same while it reads an engine or takes a config (60 s)
	int64_t prepare_ns;     // the same while it prepares an engine or runs it first (20 s)
	int64_t stuck_ns;       // age of the pipeline's progress (15 s)
	int64_t restart_ns;     // first pause before a restart (100 ms); doubles
	int64_t restart_max_ns; // (30 s)
	int64_t healthy_ns;     // after so long the pause is the first one again (5 s)
	int64_t loop_ns;        // pause in a crash loop (30 s, doubles up to 8 min)
	int64_t stop_ns;        // from stop message to SIGTERM (1.5 s)
	int64_t term_ns;        // from SIGTERM to SIGKILL (300 ms)
};

// What it was busy with when it ended, as far as that is known; each may be NULL.
struct pk_worker_blame {
	const char *model;
	const char *camera; // whose picture was decoded or looked at, without a model
};

// Loop's thread.
struct pk_supervisor_hooks {
	void (*up)(void *ctx); // took its config: knows nothing yet
	// cause: "killed by SIGKILL", "no heartbeat for 10 s"; "" when it was restarted on purpose.
	void (*down)(
		void *ctx, const char *cause, bool crashed, const struct pk_worker_blame *blame);
	void (*message)(void *ctx, const char *type, const json_t *message);
	void *ctx;
};

struct pk_supervisor;

// program: path of picket-worker. limits NULL: defaults.
int pk_supervisor_create(struct pk_loop *loop, struct pk_events *events, const char *program,
	const struct pk_supervisor_hooks *hooks, struct pk_supervisor **out, struct pk_err *err)
	pk_must_check;
void pk_supervisor_set_limits(
	struct pk_supervisor *supervisor, const struct pk_supervisor_limits *limits);
// Kills what still runs.
void pk_supervisor_destroy(struct pk_supervisor *supervisor);
PK_DEFINE_AUTO(pk_supervisor, pk_supervisor_destroy);

// Where its crashes are counted over boots (daemon/crash_loop.h). Before start. 0 or -ENOMEM.
int pk_supervisor_keep_crashes(struct pk_supervisor *supervisor, const char *dir) pk_must_check;
// While it crashes in a loop: {cause, since}; else NULL. New reference.
json_t *pk_supervisor_alarm(const struct pk_supervisor *supervisor);

// The config as the worker gets it, now and at each start. A worker that cannot take a new one is
// started anew with it. yaml is copied. 0 or -ENOMEM.
int pk_supervisor_set_config(struct pk_supervisor *supervisor, const char *yaml) pk_must_check;
// Starts the worker (once); failures are retried like crashes.
void pk_supervisor_start(struct pk_supervisor *supervisor);
// Asks it to end, forces it in time, calls stopped (at once when none runs). No restart any more.
void pk_supervisor_stop(struct pk_supervisor *supervisor, void (*stopped)(void *ctx), void *ctx);

// Sends a message (takes the reference) while the worker is up; -ENOTCONN when it is not.
// expects_answer: the worker may be silent for busy_ns until pk_supervisor_answered.
int pk_supervisor_send(struct pk_supervisor *supervisor, json_t *message, bool expects_answer);
void pk_supervisor_answered(struct pk_supervisor *supervisor);

pid_t pk_supervisor_pid(const struct pk_supervisor *supervisor); // 0: none runs
unsigned pk_supervisor_n_restarts(const struct pk_supervisor *supervisor);
bool pk_supervisor_is_up(const struct pk_supervisor *supervisor);
// Monotonic time of the last look at the deadlines: the watchdog's proof of life.
int64_t pk_supervisor_last_check_ns(const struct pk_supervisor *supervisor);
