// SPDX-License-Identifier: Apache-2.0
// Watches the machine and acts on it: lets inference step back, says when builds may run, raises
// node alarms. Loop's thread.
#pragma once

#include <jansson.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "daemon/boot_mark.h"
#include "daemon/builder.h"
#include "daemon/cameras.h"
#include "daemon/cgroup.h"
#include "daemon/events.h"
#include "daemon/health_policy.h"
#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/step_back.h"
#include "daemon/supervisor.h"

// Outlives the monitor.
struct pk_monitor_env {
	struct pk_loop *loop;
	struct pk_events *events;
	struct pk_builder *builder;
	struct pk_supervisor *supervisor;
	struct pk_cameras *cameras;
	const struct pk_paths *paths;
	void (*changed)(void *ctx); // STATUS or alarms are others
	void *ctx;
};

struct pk_monitor {
	struct pk_monitor_env env;
	const char *root; // of what is read: $PICKET_SYSROOT, ""
	const struct pk_config *config;
	struct pk_timer timer;
	struct pk_health health;
	struct pk_health_policy policy;
	struct pk_boot_mark mark;
	struct pk_cgroup *cgroup; // NULL: none was delegated
	struct pk_step_back step; // the build that runs, while it steps back entirely
	int64_t oom_kills;        // of the builder's group when it started
	int64_t wall_offset_ns;   // wall clock less boot time
	int64_t held_ns;          // realtime since builds are held; 0: they are not
	unsigned n_looks;         // since the start
	bool disk_low, begun;
	bool steps_back; // the build that starts
};

int pk_monitor_init(struct pk_monitor *monitor, const struct pk_monitor_env *env,
	struct pk_err *err) pk_must_check;
void pk_monitor_finish(struct pk_monitor *monitor); // safe on a zeroed one
// config is borrowed until the next call.
void pk_monitor_apply(struct pk_monitor *monitor, const struct pk_config *config);
void pk_monitor_worker_up(struct pk_monitor *monitor);
void pk_monitor_allow_builds(struct pk_monitor *monitor); // the operator has looked

json_t *pk_monitor_json(const struct pk_monitor *monitor);  // GET /v1/health; new reference
json_t *pk_monitor_alarm(const struct pk_monitor *monitor); // {cause, since}, or NULL
// For STATUS: "inference steps back: …; …"; "" when all is well.
void pk_monitor_words(const struct pk_monitor *monitor, char *out, size_t size);
