// SPDX-License-Identifier: Apache-2.0
// What picketd says of itself: the status line, and the answers of the control API.
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/rss.h"
#include "daemon/daemon_private.h"
#include "daemon/metrics.h"
#include "daemon/text.h"

#define STATUS_MAX 480

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

void pk_daemon_update_status(struct pk_daemon *daemon)
{
	char line[STATUS_MAX];
	write_status(daemon, line);
	pk_notify_status(&daemon->notify, line);
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
