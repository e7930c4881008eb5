// SPDX-License-Identifier: Apache-2.0
// How picketd takes configs: at its start, by a reload, over the control socket, on trial.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "config/diff.h"
#include "config/secrets.h"
#include "daemon/config_changes.h"
#include "daemon/daemon_private.h"
#include "daemon/text.h"

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

void pk_daemon_take_config(struct pk_daemon *daemon)
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

int pk_daemon_give_worker_config(struct pk_daemon *daemon)
{
	pk_auto_free char *yaml = pk_aside_dump(&daemon->aside, daemon->config);
	return yaml ? pk_supervisor_set_config(daemon->supervisor, yaml) : -ENOMEM;
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
	pk_daemon_take_config(daemon);
	pk_aside_apply(&daemon->aside, &diff);
	if (diff.any)
		r = pk_daemon_give_worker_config(daemon);
	pk_models_apply(&daemon->models, config);
	pk_cameras_apply(&daemon->cameras, config);
	for (size_t i = 0; i < diff.cameras.n; i++)
		pk_cameras_restarting(&daemon->cameras, diff.cameras.items[i].name);
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
	pk_daemon_update_status(daemon);
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

void pk_daemon_trial_over(void *ctx)
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
