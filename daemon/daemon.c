// SPDX-License-Identifier: Apache-2.0
// The parts of picketd and what passes between them.
#include "daemon/daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/rss.h"
#include "config/diff.h"
#include "config/secrets.h"
#include "daemon/agent.h"
#include "daemon/aside.h"
#include "daemon/builder.h"
#include "daemon/cameras.h"
#include "daemon/cleaning.h"
#include "daemon/config_trial.h"
#include "daemon/control.h"
#include "daemon/daemon_config.h"
#include "daemon/loop.h"
#include "daemon/metrics.h"
#include "daemon/metrics_port.h"
#include "daemon/models.h"
#include "daemon/monitor.h"
#include "daemon/node_id.h"
#include "daemon/notify.h"
#include "daemon/sinks.h"
#include "daemon/supervisor.h"
#include "daemon/telemetry.h"
#include "daemon/text.h"

// The supervisor looks at its deadlines twice a second; when it has not for so long, it is stuck.
#define SUPERVISOR_ALIVE_NS (10 * PK_NS_PER_S)
#define STATUS_MAX          480
#define EVENT_BURST         30 // of a kind, about one thing, in a minute

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

static void write_status(const struct pk_daemon *daemon, char out[STATUS_MAX])
{
	size_t n = (size_t)snprintf(out, STATUS_MAX, "%zu/%zu cameras running",
		pk_cameras_n_running(&daemon->cameras), daemon->cameras.items.n);
	for (size_t i = 0; i < daemon->models.items.n && n < STATUS_MAX; i++) {
		const struct pk_model *model = daemon->models.items.items[i];
		const char *cause = pk_model_cause(model);
		n += (size_t)snprintf(out + n, STATUS_MAX - n, ", %s: %s%s%s%s",
			pk_model_name(model), pk_rung_name(pk_model_rung(model)),
			cause[0] ? " (" : "", cause, cause[0] ? ")" : "");
	}
	char words[192];
	pk_monitor_words(&daemon->monitor, words, sizeof(words));
	if (words[0] && n < STATUS_MAX)
		snprintf(out + n, STATUS_MAX - n, "; %s", words);
	pk_text_mend(out);
}

static void update_status(struct pk_daemon *daemon)
{
	char line[STATUS_MAX];
	write_status(daemon, line);
	pk_notify_status(&daemon->notify, line);
}

static void on_changed(void *ctx)
{
	update_status(ctx);
}

static void on_worker_up(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	pk_models_worker_up(&daemon->models);
	pk_monitor_worker_up(&daemon->monitor);
	update_status(daemon);
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
	update_status(daemon);
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
		update_status(daemon);
	} else if (strcmp(type, "camera") == 0) {
		pk_cameras_message(&daemon->cameras, message);
		update_status(daemon);
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

static void write_port(void *ctx, bool open, struct pk_buf *out)
{
	pk_daemon_write_metrics(ctx, open, out);
}

static void take_metrics_port(struct pk_daemon *daemon)
{
	struct pk_err err = {0};
	const char *address = daemon->config->telemetry.metrics;
	if (daemon->metrics_port &&
		strcmp(pk_metrics_port_address(daemon->metrics_port), address) == 0)
		return;
	pk_metrics_port_destroy(daemon->metrics_port);
	daemon->metrics_port = NULL;
	int r = address[0] ? pk_metrics_port_create(daemon->loop, address, write_port, daemon,
				     &daemon->metrics_port, &err)
			   : 0;
	if (r < 0)
		pk_log_warning("telemetry.metrics: %s", pk_err_text(&err, r));
}

// What the daemon itself takes from the config; models, cameras and worker come after.
static void take_config(struct pk_daemon *daemon)
{
	const struct pk_config *config = daemon->config;
	daemon->config_ns = pk_realtime_ns();
	pk_config_redact(config);
	pk_builder_set_limits(daemon->builder, &(struct pk_builder_limits){
						       .wall_ns = config->build.time_limit_ns,
						       .memory_bytes = config->build.memory_bytes,
						       .nice = config->build.nice,
					       });
	daemon->models.env.config = config;
	pk_node_id(config, daemon->node_id);
	pk_telemetry_set_interval(&daemon->telemetry, config->telemetry.interval_ns);
	take_metrics_port(daemon);
}

static int give_worker_config(struct pk_daemon *daemon)
{
	pk_auto_free char *yaml = pk_aside_dump(&daemon->aside, daemon->config);
	return yaml ? pk_supervisor_set_config(daemon->supervisor, yaml) : -ENOMEM;
}

static void on_aside_changed(void *ctx)
{
	if (give_worker_config(ctx) < 0)
		pk_log_err("the worker's config: out of memory"); // the next change gives it
	update_status(ctx);
}

static json_t *problems_json(struct pk_problems *problems)
{
	json_t *list = json_array();
	for (size_t i = 0; i < problems->n; i++) {
		const struct pk_problem *problem = &problems->items[i];
		pk_auto_free char *text = NULL;
		int n = problem->line ? asprintf(&text, "%s:%d:%d: %s", problem->file,
						problem->line, problem->column, problem->text)
				      : asprintf(&text, "%s: %s", problem->file, problem->text);
		if (n < 0) {
			text = NULL;
			continue;
		}
		pk_text_mend(text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

static void refuse(struct pk_daemon *daemon, const json_t *problems)
{
	size_t i;
	json_t *problem;
	json_array_foreach (problems, i, problem)
		pk_events_post(daemon->events, PK_EVENT_CONFIG_REFUSED,
			PK_FIELDS({"PICKET_PROBLEM", json_string_value(problem)}),
			"config not taken: %s", json_string_value(problem));
}

static void count_changes(const struct pk_config_diff *diff, char out[96])
{
	if (!diff->any)
		snprintf(out, 96, "nothing changed");
	else
		snprintf(out, 96, "%zu cameras, %zu models, %zu sinks changed", diff->cameras.n,
			diff->models.n, diff->sinks.n);
}

// Takes config. 0 or -ENOMEM (nothing changed).
static int apply(struct pk_daemon *daemon, struct pk_config *config)
{
	struct pk_config_diff diff = {0};
	char changes[96];
	int r = pk_config_diff(daemon->config, config, &diff);
	if (r < 0) {
		pk_config_destroy(config);
		return r;
	}
	pk_config_destroy(daemon->config);
	daemon->config = config;
	take_config(daemon);
	pk_aside_apply(&daemon->aside, &diff);
	if (diff.any)
		r = give_worker_config(daemon);
	pk_models_apply(&daemon->models, config);
	pk_cameras_apply(&daemon->cameras, config);
	pk_monitor_apply(&daemon->monitor, config);
	pk_sinks_apply(&daemon->sinks, config);
	count_changes(&diff, changes);
	pk_events_post(daemon->events, PK_EVENT_CONFIG_APPLIED,
		PK_FIELDS({"PICKET_CONFIG", daemon->paths->config}), "config taken: %s", changes);
	pk_config_diff_finish(&diff);
	return r;
}

bool pk_daemon_reload(struct pk_daemon *daemon, json_t **problems)
{
	struct pk_problems found = {0};
	struct pk_config *config = NULL;
	pk_notify_reloading(&daemon->notify);
	int r = pk_config_load(daemon->paths->config, daemon->paths->drop_ins, &config, &found);
	if (r < 0 && found.n == 0)
		pk_problems_add(&found, daemon->paths->config, 0, 0, "%s", strerror(-r));
	*problems = problems_json(&found);
	daemon->n_config_problems = found.n;
	pk_problems_finish(&found);
	if (r < 0)
		refuse(daemon, *problems);
	else
		r = apply(daemon, config);
	pk_notify_ready(&daemon->notify);
	update_status(daemon);
	return r == 0;
}

// Reads what the file would be with the drop-ins beside it: the same mistakes, the same paths.
static int try_config(struct pk_daemon *daemon, const void *bytes, size_t n,
	struct pk_config **config, json_t **problems)
{
	struct pk_problems found = {0};
	struct pk_err err = {0};
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s.new", daemon->paths->config);
	int r = length < (int)sizeof(path) ? pk_config_file_write(path, bytes, n, &err)
					   : -ENAMETOOLONG;
	if (r == 0)
		r = pk_config_load(path, daemon->paths->drop_ins, config, &found);
	(void)unlink(path);
	if (r < 0 && found.n == 0)
		pk_problems_add(&found, path, 0, 0, "%s", pk_err_text(&err, r));
	for (size_t i = 0; i < found.n; i++) { // for people it is the file that it will be
		if (strcmp(found.items[i].file, path) == 0)
			found.items[i].file[strlen(daemon->paths->config)] = '\0';
	}
	*problems = problems_json(&found);
	pk_problems_finish(&found);
	return r;
}

static json_t *down_cameras(const struct pk_daemon *daemon)
{
	json_t *names = json_array();
	for (size_t i = 0; i < daemon->cameras.items.n; i++) {
		const struct pk_camera_entry *entry = &daemon->cameras.items.items[i];
		if (!pk_cameras_is_running(entry))
			json_array_append_new(names, json_string(entry->name));
	}
	return names;
}

static int replace_config(struct pk_daemon *daemon, const void *bytes, size_t n, int64_t confirm_ns,
	struct pk_err *err)
{
	json_t *problems = NULL;
	int r = 0;
	if (confirm_ns > 0)
		r = pk_config_trial_begin(&daemon->trial, confirm_ns, down_cameras(daemon), err);
	else if (pk_config_trial_left_ns(&daemon->trial) >= 0)
		r = pk_fail(err, -EBUSY, "a config is on trial: confirm it or revert it first");
	if (r < 0)
		return r;
	r = pk_config_file_write(daemon->paths->config, bytes, n, err);
	if (r < 0 && confirm_ns > 0)
		pk_config_trial_confirm(&daemon->trial); // nothing was changed
	if (r < 0)
		return r;
	bool taken = pk_daemon_reload(daemon, &problems);
	json_decref(problems);
	return taken ? 0 : pk_fail(err, -EIO, "the config was written and is not taken");
}

static void tell_trial(struct pk_daemon *daemon, int64_t confirm_ns)
{
	char limit[PK_DURATION_MAX];
	pk_format_duration(confirm_ns, limit);
	if (confirm_ns > 0)
		pk_events_post(daemon->events, PK_EVENT_CONFIG_PENDING,
			PK_FIELDS({"PICKET_CONFIG", daemon->paths->config}),
			"the config is on trial for %s: it is taken back unless it is confirmed",
			limit);
}

int pk_daemon_config_apply(struct pk_daemon *daemon, const struct pk_config_request *request,
	json_t **answer, struct pk_err *err)
{
	pk_auto(pk_config) config = NULL;
	struct pk_config_diff diff = {0};
	json_t *problems = NULL;
	int r = try_config(daemon, request->bytes, request->n, &config, &problems);
	if (r == 0)
		r = pk_config_diff(daemon->config, config, &diff);
	json_t *changes = r == 0 ? pk_config_changes_json(&diff) : json_null();
	pk_config_diff_finish(&diff);
	if (r == 0 && !request->plan)
		r = replace_config(daemon, request->bytes, request->n, request->confirm_ns, err);
	if (r == 0 && !request->plan)
		tell_trial(daemon, request->confirm_ns);
	*answer = json_pack("{s:b, s:o, s:o, s:o}", "ok", r == 0, "problems", problems, "changes",
		changes, "confirm_s",
		r == 0 && request->confirm_ns > 0
			? json_real((double)request->confirm_ns / (double)PK_NS_PER_S)
			: json_null());
	return r;
}

static int back_to_before(struct pk_daemon *daemon, const char *why, struct pk_err *err)
{
	json_t *problems = NULL;
	int r = pk_config_trial_revert(&daemon->trial, err);
	if (r < 0)
		return r;
	bool taken = pk_daemon_reload(daemon, &problems);
	json_decref(problems);
	pk_events_post(daemon->events, PK_EVENT_CONFIG_REVERTED,
		PK_FIELDS({"PICKET_CONFIG", daemon->paths->config}, {"PICKET_REASON", why}),
		"the config of before is %s: %s", taken ? "in force again" : "back on disk", why);
	return 0;
}

static void on_trial_over(void *ctx)
{
	struct pk_daemon *daemon = ctx;
	struct pk_err err = {0};
	int r = back_to_before(daemon, "nobody confirmed the new one in time", &err);
	if (r == 0)
		return;
	pk_log_err("the config before cannot be put back: %s", pk_err_text(&err, r));
	pk_loop_start_timer(daemon->loop, &daemon->trial.timer, 10 * PK_NS_PER_S);
}

int pk_daemon_config_revert(struct pk_daemon *daemon, struct pk_err *err)
{
	return back_to_before(daemon, "an operator took the new one back", err);
}

int pk_daemon_config_confirm(struct pk_daemon *daemon, struct pk_err *err)
{
	char down[256] = "";
	size_t n = 0;
	if (pk_config_trial_left_ns(&daemon->trial) < 0)
		return pk_fail(err, -ENOENT, "no config is on trial");
	for (size_t i = 0; i < daemon->cameras.items.n; i++) {
		const struct pk_camera_entry *entry = &daemon->cameras.items.items[i];
		bool fine = pk_cameras_is_running(entry) ||
			    pk_config_trial_excuses(&daemon->trial, entry->name);
		if (!fine && n < sizeof(down) - 80)
			n += (size_t)snprintf(
				down + n, sizeof(down) - n, "%s%s", n ? ", " : "", entry->name);
	}
	if (n > 0)
		return pk_fail(err, -EBUSY,
			"these cameras have not come back: %s; it is not confirmed", down);
	pk_config_trial_confirm(&daemon->trial);
	pk_events_post(daemon->events, PK_EVENT_CONFIG_CONFIRMED,
		PK_FIELDS({"PICKET_CONFIG", daemon->paths->config}), "the config is confirmed");
	return 0;
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
	pk_config_trial_init(&daemon->trial, daemon->paths, daemon->loop, on_trial_over, daemon);
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
	take_config(daemon);
	r = give_worker_config(daemon);
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
	update_status(daemon);
	int r = pk_loop_run(daemon->loop);
	return r < 0 ? pk_fail(err, r, "main loop") : 0;
}

static json_t *config_json(const struct pk_daemon *daemon)
{
	char loaded[PK_ISO_TIME_MAX];
	pk_format_iso_time(daemon->config_ns, loaded);
	int64_t left_ns = pk_config_trial_left_ns(&daemon->trial);
	return json_pack("{s:s, s:s, s:I, s:o}", "path", daemon->paths->config, "loaded", loaded,
		"refused_problems", (json_int_t)daemon->n_config_problems, "confirm_s",
		left_ns < 0 ? json_null() : json_real((double)left_ns / (double)PK_NS_PER_S));
}

static json_t *worker_json(const struct pk_daemon *daemon)
{
	return json_pack("{s:i, s:b, s:i, s:I}", "pid", (int)pk_supervisor_pid(daemon->supervisor),
		"up", pk_supervisor_is_up(daemon->supervisor), "restarts",
		(int)pk_supervisor_n_restarts(daemon->supervisor), "rss_bytes",
		(json_int_t)daemon->worker_rss_bytes);
}

// Those of models, and of the node itself, whose model and rung are "".
static json_t *alarms_json(const struct pk_daemon *daemon)
{
	json_t *alarms = pk_models_alarms(&daemon->models);
	json_t *own[] = {
		pk_monitor_alarm(&daemon->monitor), pk_supervisor_alarm(daemon->supervisor)};
	for (size_t i = 0; i < PK_ARRAY_LEN(own); i++) {
		if (!own[i])
			continue;
		json_object_set_new(own[i], "model", json_string(""));
		json_object_set_new(own[i], "rung", json_string(""));
		json_array_append_new(alarms, own[i]);
	}
	return alarms;
}

json_t *pk_daemon_health_json(const struct pk_daemon *daemon)
{
	return pk_monitor_json(&daemon->monitor);
}

json_t *pk_daemon_status_json(const struct pk_daemon *daemon)
{
	char line[STATUS_MAX];
	write_status(daemon, line);
	return json_pack("{s:s, s:s, s:i, s:f, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
		"node", daemon->config->node_name, "version", PICKET_VERSION, "pid", (int)getpid(),
		"uptime_s", (double)(pk_now_ns() - daemon->started_ns) / (double)PK_NS_PER_S,
		"config", config_json(daemon), "worker", worker_json(daemon), "rss_bytes",
		(json_int_t)pk_rss_bytes(), "models", pk_models_json(&daemon->models), "cameras",
		pk_cameras_json(&daemon->cameras), "sinks", pk_sinks_json(&daemon->sinks), "alarms",
		alarms_json(daemon), "builder", pk_builder_json(daemon->builder), "health",
		pk_monitor_json(&daemon->monitor), "status", line);
}

void pk_daemon_write_metrics(const struct pk_daemon *daemon, bool open, struct pk_buf *out)
{
	pk_auto_json status = pk_daemon_status_json(daemon);
	pk_auto_json counts = pk_events_counts(daemon->events);
	pk_metrics_write(status, counts, open, out);
}

json_t *pk_daemon_cameras_json(const struct pk_daemon *daemon)
{
	return json_pack("{s:o}", "cameras", pk_cameras_json(&daemon->cameras));
}

json_t *pk_daemon_camera_json(const struct pk_daemon *daemon, const char *name)
{
	const struct pk_camera_entry *entry = pk_cameras_find(&daemon->cameras, name);
	return entry ? pk_camera_entry_json(&daemon->cameras, entry) : NULL;
}

json_t *pk_daemon_models_json(const struct pk_daemon *daemon)
{
	return json_pack("{s:o}", "models", pk_models_json(&daemon->models));
}

json_t *pk_daemon_model_json(const struct pk_daemon *daemon, const char *name)
{
	const struct pk_model *model = pk_models_find(&daemon->models, name);
	return model ? pk_model_json(model) : NULL;
}

struct pk_events *pk_daemon_events(struct pk_daemon *daemon)
{
	return daemon->events;
}
