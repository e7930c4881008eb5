// SPDX-License-Identifier: Apache-2.0
// For the files of daemon/daemon*.c only: what picketd is made of.
#pragma once

#include "daemon/agent.h"
#include "daemon/aside.h"
#include "daemon/builder.h"
#include "daemon/cameras.h"
#include "daemon/cleaning.h"
#include "daemon/config_trial.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/loop.h"
#include "daemon/metrics_port.h"
#include "daemon/models.h"
#include "daemon/monitor.h"
#include "daemon/node_id.h"
#include "daemon/notify.h"
#include "daemon/sinks.h"
#include "daemon/supervisor.h"
#include "daemon/telemetry.h"

struct pk_daemon {
	const struct pk_paths *paths;
	struct pk_config *config;
	struct pk_loop *loop;
	struct pk_events *events;
	struct pk_agent *agent, *network;
	struct pk_wallclock clock;
	struct pk_cleaning cleaning;
	struct pk_config_trial trial;
	char node_id[PK_NODE_ID_MAX];
	struct pk_builder *builder;
	struct pk_supervisor *supervisor;
	struct pk_models models;
	struct pk_cameras cameras;
	struct pk_aside aside;
	struct pk_sinks sinks;
	struct pk_telemetry telemetry;
	struct pk_monitor monitor;
	struct pk_notify notify;
	struct pk_control *control;
	struct pk_metrics_port *metrics_port; // NULL: none is wanted, or it could not be had
	struct pk_watch signal_watch;
	int signal_fd;
	int64_t started_ns;       // monotonic
	int64_t config_ns;        // realtime of the last config that was taken
	size_t n_config_problems; // of the last reload
	int64_t worker_rss_bytes;
	bool stopping;
};

// What the daemon itself takes from its config; models, cameras and worker come after.
void pk_daemon_take_config(struct pk_daemon *daemon);
int pk_daemon_give_worker_config(struct pk_daemon *daemon); // 0 or -ENOMEM
void pk_daemon_trial_over(void *daemon);                    // nobody confirmed in time
void pk_daemon_update_status(struct pk_daemon *daemon);     // the line that systemd shows
