// SPDX-License-Identifier: Apache-2.0
// The parts of picketd and what passes between them.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/daemon_private.h"

// The supervisor looks at its deadlines twice a second; when it has not for so long, it is stuck.
#define SUPERVISOR_ALIVE_NS (10 * PK_NS_PER_S)
#define EVENT_BURST         30 // of a kind, about one thing, in a minute

static void on_changed(void *ctx)
{
	pk_daemon_update_status(ctx);
}

static void on_worker_up(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	pk_models_worker_up(&daemon->models);
	pk_monitor_worker_up(&daemon->monitor);
	pk_daemon_update_status(daemon);
}

static void on_aside_changed(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	if (pk_daemon_give_worker_config(daemon) < 0)
		pk_log_err("the worker's config: out of memory"); // the next change gives it
	pk_daemon_update_status(daemon);
}

static void on_worker_down(
	void *ctx, const char *cause, bool crashed, const struct pk_worker_blame *blame)
{
	struct pk_daemon *daemon = ctx;
	daemon->worker_rss_bytes = 0;
	pk_models_worker_down(&daemon->models, cause, crashed, blame->model);
	pk_cameras_worker_down(&daemon->cameras, cause);
	pk_aside_crashed(&daemon->aside, blame->camera, cause);
	pk_sinks_worker_down(&daemon->sinks);
	pk_daemon_update_status(daemon);
}

static void on_worker_message(void *ctx, const char *type, const json_t *message)
{
	struct pk_daemon *daemon = ctx;
	if (strcmp(type, "heartbeat") == 0) {
		(void)pk_json_opt_int(message, "rss_bytes", &daemon->worker_rss_bytes, NULL);
		pk_cameras_heartbeat(&daemon->cameras, message);
		pk_sinks_heartbeat(&daemon->sinks, message);
		pk_models_heartbeat(&daemon->models, message);
		pk_wallclock_keep(&daemon->clock);
		pk_daemon_update_status(daemon);
	} else if (strcmp(type, "camera") == 0) {
		pk_cameras_message(&daemon->cameras, message);
		pk_daemon_update_status(daemon);
	} else if (strcmp(type, "sink") == 0) {
		pk_sinks_message(&daemon->sinks, message);
	} else if (strcmp(type, "camera_note") == 0) {
		pk_cameras_note(&daemon->cameras, message);
	} else {
		if (strcmp(type, "assign_done") == 0)
			pk_supervisor_answered(daemon->supervisor);
		pk_models_message(&daemon->models, type, message);
	}
}

static void on_gc(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	pk_cleaning_want(&daemon->cleaning);
}

static bool is_alive(void *ctx)
{
	const struct pk_daemon *daemon = ctx;
	return daemon->stopping ||
	       pk_now_ns() - pk_supervisor_last_check_ns(daemon->supervisor) < SUPERVISOR_ALIVE_NS;
}

struct pk_model *pk_daemon_model(struct pk_daemon *daemon, const char *name)
{
	return pk_models_find(&daemon->models, name);
}

int pk_daemon_rebuild(struct pk_daemon *daemon, const char *name)
{
	struct pk_model *model = pk_daemon_model(daemon, name);
	if (!model)
		return -ENOENT;
	pk_monitor_allow_builds(&daemon->monitor);
	pk_model_rebuild(model);
	return 0;
}

static void on_stopped(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	pk_loop_quit(daemon->loop);
}

static void begin_stop(struct pk_daemon *daemon, const char *why)
{
	if (daemon->stopping)
		return;
	daemon->stopping = true;
	pk_models_stopping(&daemon->models);
	pk_notify_stopping(&daemon->notify);
	pk_events_post(daemon->events, PK_EVENT_STOPPING, PK_FIELDS({"PICKET_CAUSE", why}),
		"picketd ends: %s", why);
	pk_supervisor_stop(daemon->supervisor, on_stopped, daemon);
}

static void on_signal(void *ctx, pk_unused uint32_t events)
{
	struct pk_daemon *daemon = ctx;
	struct signalfd_siginfo info;
	if (read(daemon->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		json_t *problems = NULL;
		(void)pk_daemon_reload(daemon, &problems);
		json_decref(problems);
		return;
	}
	begin_stop(daemon, info.ssi_signo == SIGINT    ? "SIGINT"
			   : info.ssi_signo == SIGQUIT ? "SIGQUIT"
						       : "SIGTERM");
}

static int open_signals(struct pk_daemon *daemon, struct pk_err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	// What else may come must not end it without its children's orderly end.
	static const int ignored[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
		SIGXFSZ, SIGIO, SIGTTIN, SIGTTOU};
	for (size_t i = 0; i < PK_ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	daemon->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->signal_fd < 0)
		return pk_fail_errno(err, "signalfd");
	daemon->signal_watch = (struct pk_watch){.ready = on_signal, .ctx = daemon};
	int r = pk_loop_watch(daemon->loop, &daemon->signal_watch, daemon->signal_fd, EPOLLIN);
	return r < 0 ? pk_fail(err, r, "signals") : 0;
}

static int create_workers(struct pk_daemon *daemon, struct pk_err *err)
{
	const struct pk_supervisor_hooks hooks = {
		.up = on_worker_up,
		.down = on_worker_down,
		.message = on_worker_message,
		.ctx = daemon,
	};
	int r = pk_agent_create(daemon->loop, &daemon->agent, err);
	if (r == 0)
		r = pk_agent_create(daemon->loop, &daemon->network, err);
	if (r == 0)
		r = pk_builder_create(daemon->loop, daemon->paths->builder, &daemon->builder, err);
	if (r == 0)
		r = pk_supervisor_create(daemon->loop, daemon->events, daemon->paths->worker,
			&hooks, &daemon->supervisor, err);
	return r;
}

static json_t *give_status(void *ctx)
{
	return pk_daemon_status_json(ctx);
}

static void init_views(struct pk_daemon *daemon)
{
	pk_models_init(&daemon->models, &(struct pk_model_env){
						.loop = daemon->loop,
						.agent = daemon->agent,
						.network = daemon->network,
						.clock = &daemon->clock,
						.config = daemon->config,
						.node_id = daemon->node_id,
						.gc = on_gc,
						.builder = daemon->builder,
						.supervisor = daemon->supervisor,
						.events = daemon->events,
						.paths = daemon->paths,
						.changed = on_changed,
						.ctx = daemon,
					});
	pk_config_trial_init(
		&daemon->trial, daemon->paths, daemon->loop, pk_daemon_trial_over, daemon);
	pk_cleaning_init(&daemon->cleaning, daemon->loop, daemon->network, &daemon->models);
	pk_cameras_init(&daemon->cameras, daemon->events, &daemon->models);
	pk_aside_init(&daemon->aside, daemon->loop, &daemon->cameras, on_aside_changed, daemon);
	pk_sinks_init(&daemon->sinks, daemon->events);
	pk_telemetry_init(&daemon->telemetry, daemon->loop, give_status, daemon);
	pk_notify_init(&daemon->notify, daemon->loop, is_alive, daemon);
}

static int init_monitor(struct pk_daemon *daemon, struct pk_err *err)
{
	return pk_monitor_init(&daemon->monitor,
		&(struct pk_monitor_env){
			.loop = daemon->loop,
			.events = daemon->events,
			.builder = daemon->builder,
			.supervisor = daemon->supervisor,
			.cameras = &daemon->cameras,
			.paths = daemon->paths,
			.changed = on_changed,
			.ctx = daemon,
		},
		err);
}

static int create_parts(struct pk_daemon *daemon, struct pk_err *err)
{
	daemon->loop = pk_loop_create(err);
	daemon->events = pk_events_create();
	if (!daemon->loop || !daemon->events)
		return pk_fail(err, -ENOMEM, "the loop cannot start");
	pk_events_set_burst(daemon->events, EVENT_BURST);
	int r = open_signals(daemon, err);
	if (r == 0)
		r = create_workers(daemon, err);
	if (r < 0)
		return r;
	if (pk_supervisor_keep_crashes(daemon->supervisor, daemon->paths->state) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	init_views(daemon);
	r = init_monitor(daemon, err);
	if (r < 0)
		return r;
	pk_daemon_take_config(daemon);
	r = pk_daemon_give_worker_config(daemon);
	if (r < 0)
		return pk_fail(err, r, "config");
	return pk_control_create(
		daemon->loop, daemon->paths->socket, daemon, daemon->events, &daemon->control, err);
}

int pk_daemon_create(const struct pk_paths *paths, struct pk_config *config, struct pk_daemon **out,
	struct pk_err *err)
{
	struct pk_daemon *daemon = calloc(1, sizeof(*daemon));
	if (!daemon) {
		pk_config_destroy(config);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	daemon->paths = paths;
	daemon->config = config;
	daemon->signal_fd = -1;
	daemon->started_ns = pk_now_ns();
	pk_wallclock_init(&daemon->clock, paths->state);
	int r = create_parts(daemon, err);
	if (r < 0)
		pk_daemon_destroy(daemon);
	else
		*out = daemon;
	return r;
}

void pk_daemon_destroy(struct pk_daemon *daemon)
{
	if (!daemon)
		return;
	pk_control_destroy(daemon->control);
	pk_config_trial_finish(&daemon->trial);
	pk_cleaning_finish(&daemon->cleaning);
	pk_metrics_port_destroy(daemon->metrics_port);
	pk_models_finish(&daemon->models);
	pk_aside_finish(&daemon->aside);
	pk_cameras_finish(&daemon->cameras);
	pk_sinks_finish(&daemon->sinks);
	pk_telemetry_finish(&daemon->telemetry);
	pk_notify_finish(&daemon->notify);
	pk_supervisor_destroy(daemon->supervisor);
	pk_builder_destroy(daemon->builder);
	pk_monitor_finish(&daemon->monitor); // the builder's governor
	pk_agent_destroy(daemon->agent);
	pk_agent_destroy(daemon->network);
	pk_wallclock_finish(&daemon->clock);
	if (daemon->signal_watch.active)
		pk_loop_unwatch(daemon->loop, &daemon->signal_watch);
	if (daemon->signal_fd >= 0)
		close(daemon->signal_fd);
	pk_events_destroy(daemon->events);
	pk_loop_destroy(daemon->loop);
	pk_config_destroy(daemon->config);
	free(daemon);
}

int pk_daemon_run(struct pk_daemon *daemon, struct pk_err *err)
{
	pk_cameras_apply(&daemon->cameras, daemon->config);
	pk_monitor_apply(&daemon->monitor, daemon->config);
	pk_sinks_apply(&daemon->sinks, daemon->config);
	pk_supervisor_start(daemon->supervisor);
	pk_models_apply(&daemon->models, daemon->config);
	pk_events_post(daemon->events, PK_EVENT_STARTED,
		PK_FIELDS({"PICKET_VERSION", PICKET_VERSION},
			{"PICKET_CONFIG", daemon->paths->config}),
		"picketd " PICKET_VERSION " runs, control socket %s", daemon->paths->socket);
	pk_notify_ready(&daemon->notify);
	pk_daemon_update_status(daemon);
	int r = pk_loop_run(daemon->loop);
	return r < 0 ? pk_fail(err, r, "main loop") : 0;
}
