// SPDX-License-Identifier: Apache-2.0
// Cameras as picketd knows them: from the config, heartbeats and state messages.
#include "daemon/cameras.h"

#include <string.h>

#include "daemon/text.h"

#define STATE_STARTING "starting"
#define STATE_RUNNING  "running"
#define STATE_STOPPED  "stopped"
#define STATE_DEGRADED "degraded"
#define STATE_FAULTY   "faulty"

#define BEATS_UNTIL_KNOWN 15 // figures are over the last 10 to 20 s

void pk_cameras_init(
	struct pk_cameras *cameras, struct pk_events *events, const struct pk_models *models)
{
	*cameras = (struct pk_cameras){.events = events, .models = models};
}

static void drop_all(struct pk_cameras *cameras)
{
	pk_array_each (entry, &cameras->items)
		json_decref(entry->figures);
	pk_array_finish(&cameras->items);
}

void pk_cameras_finish(struct pk_cameras *cameras)
{
	drop_all(cameras);
}

static struct pk_camera_entry *find(const struct pk_cameras *cameras, const char *name)
{
	for (size_t i = 0; name && i < cameras->items.n; i++) {
		if (strcmp(cameras->items.items[i].name, name) == 0)
			return &cameras->items.items[i];
	}
	return NULL;
}

const struct pk_camera_entry *pk_cameras_find(const struct pk_cameras *cameras, const char *name)
{
	return find(cameras, name);
}

void pk_cameras_apply(struct pk_cameras *cameras, const struct pk_config *config)
{
	struct pk_cameras before = *cameras;
	memset(&cameras->items, 0, sizeof(cameras->items));
	for (size_t i = 0; i < config->n_cameras; i++) {
		const struct pk_camera_config *item = &config->cameras[i];
		struct pk_camera_entry *entry = pk_array_push(&cameras->items);
		if (!entry)
			break;
		struct pk_camera_entry *known = find(&before, item->name);
		if (known) {
			*entry = *known;
			known->figures = NULL;
		} else {
			pk_text_format(entry->name, sizeof(entry->name), "%s", item->name);
			pk_text_format(entry->state, sizeof(entry->state), STATE_STARTING);
		}
		pk_text_format(entry->model, sizeof(entry->model), "%s", item->model);
	}
	drop_all(&before);
}

static void set_state(struct pk_cameras *cameras, struct pk_camera_entry *entry, const char *state,
	const char *cause)
{
	bool changed = strcmp(entry->state, state) != 0 || strcmp(entry->cause, cause) != 0;
	pk_text_format(entry->state, sizeof(entry->state), "%s", state);
	pk_text_format(entry->cause, sizeof(entry->cause), "%s", cause);
	if (changed)
		pk_events_post(cameras->events, PK_EVENT_CAMERA,
			PK_FIELDS({"PICKET_CAMERA", entry->name}, {"PICKET_STATE", entry->state},
				{"PICKET_CAUSE", entry->cause}),
			"camera %s: %s%s%s", entry->name, entry->state, entry->cause[0] ? ": " : "",
			entry->cause);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

void pk_cameras_message(struct pk_cameras *cameras, const json_t *message)
{
	struct pk_camera_entry *entry = find(cameras, text_of(message, "name"));
	if (entry)
		set_state(cameras, entry, text_of(message, "state"), text_of(message, "cause"));
}

// What the camera can do at best is learned anew on each rung.
static void learn(const struct pk_cameras *cameras, struct pk_camera_entry *entry)
{
	const struct pk_model *model = pk_models_find(cameras->models, entry->model);
	const char *rung = model ? pk_rung_name(pk_model_rung(model)) : "";
	double ms = json_number_value(json_object_get(entry->figures, "inference_p50_ms"));
	double fps = json_number_value(json_object_get(entry->figures, "fps"));
	if (strcmp(entry->rung, rung) != 0) {
		pk_text_format(entry->rung, sizeof(entry->rung), "%s", rung);
		entry->n_beats = 0;
		entry->best_ms = entry->now_ms = 0;
	}
	entry->now_ms = ms;
	if (++entry->n_beats < BEATS_UNTIL_KNOWN)
		return;
	if (ms > 0 && (entry->best_ms <= 0 || ms < entry->best_ms))
		entry->best_ms = ms;
	if (fps > 0 && !cameras->shed)
		entry->full_fps = fps;
}

double pk_cameras_slowdown(const struct pk_cameras *cameras)
{
	double worst = 0;
	for (size_t i = 0; i < cameras->items.n; i++) {
		const struct pk_camera_entry *entry = &cameras->items.items[i];
		if (entry->best_ms <= 0 || entry->now_ms <= entry->best_ms)
			continue;
		double part = 1 - entry->best_ms / entry->now_ms;
		worst = part > worst ? part : worst;
	}
	return worst;
}

double pk_cameras_full_fps(const struct pk_cameras *cameras, const char *name)
{
	const struct pk_camera_entry *entry = find(cameras, name);
	return entry ? entry->full_fps : 0;
}

void pk_cameras_note(struct pk_cameras *cameras, const json_t *message)
{
	const struct pk_camera_entry *entry = find(cameras, text_of(message, "name"));
	const char *text = text_of(message, "text");
	if (entry)
		pk_events_post(cameras->events, PK_EVENT_CAMERA,
			PK_FIELDS({"PICKET_CAMERA", entry->name}, {"PICKET_STATE", entry->state},
				{"PICKET_CAUSE", text}),
			"camera %s: %s", entry->name, text);
}

void pk_cameras_heartbeat(struct pk_cameras *cameras, const json_t *message)
{
	size_t i;
	json_t *figures;
	json_array_foreach (json_object_get(message, "cameras"), i, figures) {
		struct pk_camera_entry *entry = find(cameras, text_of(figures, "name"));
		if (!entry)
			continue;
		json_decref(entry->figures);
		entry->figures = json_incref(figures);
		learn(cameras, entry);
		set_state(cameras, entry, text_of(figures, "state"), text_of(figures, "cause"));
	}
}

void pk_cameras_worker_down(struct pk_cameras *cameras, const char *cause)
{
	char text[PK_CAUSE_MAX];
	pk_text_format(
		text, sizeof(text), "worker is %s%s", cause[0] ? "down: " : "restarted", cause);
	pk_array_each (entry, &cameras->items) {
		json_decref(entry->figures);
		entry->figures = NULL;
		if (strcmp(entry->state, STATE_FAULTY) != 0)
			set_state(cameras, entry, STATE_STOPPED, text);
	}
}

void pk_cameras_set_aside(struct pk_cameras *cameras, const char *name, const char *cause)
{
	struct pk_camera_entry *entry = find(cameras, name);
	if (entry)
		set_state(cameras, entry, STATE_FAULTY, cause);
}

void pk_cameras_restarting(struct pk_cameras *cameras, const char *name)
{
	struct pk_camera_entry *entry = find(cameras, name);
	if (entry && strcmp(entry->state, STATE_STOPPED) != 0)
		set_state(cameras, entry, STATE_STARTING, "");
}

bool pk_cameras_is_running(const struct pk_camera_entry *entry)
{
	return strcmp(entry->state, STATE_RUNNING) == 0 ||
	       strcmp(entry->state, STATE_DEGRADED) == 0;
}

size_t pk_cameras_n_running(const struct pk_cameras *cameras)
{
	size_t n = 0;
	for (size_t i = 0; i < cameras->items.n; i++)
		n += pk_cameras_is_running(&cameras->items.items[i]);
	return n;
}

// Every member is there from the start: 0 until the first heartbeat tells.
static json_t *figures_of(const struct pk_camera_entry *entry)
{
	static const char *const counts[] = {"captured", "inferred", "passthrough", "dropped",
		"detections", "restarts", "sink_drops", "skipped", "late", "copies"};
	static const char *const figures[] = {
		"fps", "age_p50_ms", "age_p99_ms", "inference_p50_ms", "inference_p95_ms"};
	json_t *json = json_object();
	for (size_t i = 0; i < PK_ARRAY_LEN(counts); i++)
		json_object_set_new(json, counts[i], json_integer(0));
	for (size_t i = 0; i < PK_ARRAY_LEN(figures); i++)
		json_object_set_new(json, figures[i], json_real(0));
	if (entry->figures)
		json_object_update(json, entry->figures);
	return json;
}

// The camera's own trouble comes first: without video there is nothing to infer.
json_t *pk_camera_entry_json(const struct pk_cameras *cameras, const struct pk_camera_entry *entry)
{
	const struct pk_model *model = pk_models_find(cameras->models, entry->model);
	const char *rung = model ? pk_rung_name(pk_model_rung(model)) : "passthrough";
	const char *rung_cause = model ? pk_model_cause(model) : "no such model";
	json_t *json = figures_of(entry);
	json_t *rest = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", entry->name, "model",
		entry->model, "state", entry->state, "rung", rung, "rung_cause", rung_cause,
		"cause", entry->cause[0] ? entry->cause : rung_cause);
	if (json && rest)
		json_object_update(json, rest);
	json_decref(rest);
	return json;
}

json_t *pk_cameras_json(const struct pk_cameras *cameras)
{
	json_t *list = json_array();
	for (size_t i = 0; i < cameras->items.n; i++)
		json_array_append_new(
			list, pk_camera_entry_json(cameras, &cameras->items.items[i]));
	return list;
}
