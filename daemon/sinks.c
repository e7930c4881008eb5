// SPDX-License-Identifier: Apache-2.0
// Sinks as picketd knows them: from the config, heartbeats and fault messages.
#include "daemon/sinks.h"

#include <string.h>

#include "daemon/text.h"

void pk_sinks_init(struct pk_sinks *sinks, struct pk_events *events)
{
	*sinks = (struct pk_sinks){.events = events};
}

static void drop_all(struct pk_sinks *sinks)
{
	pk_array_each (entry, &sinks->items)
		json_decref(entry->figures);
	pk_array_finish(&sinks->items);
}

void pk_sinks_finish(struct pk_sinks *sinks)
{
	drop_all(sinks);
}

static struct pk_sink_entry *find(const struct pk_sinks *sinks, const char *name)
{
	for (size_t i = 0; name && i < sinks->items.n; i++) {
		if (strcmp(sinks->items.items[i].name, name) == 0)
			return &sinks->items.items[i];
	}
	return NULL;
}

void pk_sinks_apply(struct pk_sinks *sinks, const struct pk_config *config)
{
	struct pk_sinks before = *sinks;
	memset(&sinks->items, 0, sizeof(sinks->items));
	for (size_t i = 0; i < config->n_sinks; i++) {
		const struct pk_sink_config *item = &config->sinks[i];
		struct pk_sink_entry *entry = pk_array_push(&sinks->items);
		if (!entry)
			break;
		struct pk_sink_entry *known = find(&before, item->name);
		if (known) {
			*entry = *known;
			known->figures = NULL;
		} else {
			pk_text_format(entry->name, sizeof(entry->name), "%s", item->name);
		}
		entry->kind = (int)item->kind;
	}
	drop_all(&before);
}

static void set_state(
	struct pk_sinks *sinks, struct pk_sink_entry *entry, bool failing, const char *cause)
{
	bool changed = entry->failing != failing;
	entry->failing = failing;
	pk_text_format(entry->cause, sizeof(entry->cause), "%s", failing ? cause : "");
	if (changed)
		pk_events_post(sinks->events, failing ? PK_EVENT_SINK_FAILING : PK_EVENT_SINK_OK,
			PK_FIELDS({"PICKET_SINK", entry->name}, {"PICKET_CAUSE", entry->cause}),
			"sink %s: %s%s", entry->name,
			failing ? "cannot deliver: " : "delivers again", entry->cause);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

void pk_sinks_message(struct pk_sinks *sinks, const json_t *message)
{
	struct pk_sink_entry *entry = find(sinks, text_of(message, "name"));
	if (entry)
		set_state(sinks, entry, strcmp(text_of(message, "state"), "failing") == 0,
			text_of(message, "cause"));
}

void pk_sinks_heartbeat(struct pk_sinks *sinks, const json_t *message)
{
	size_t i;
	json_t *figures;
	json_array_foreach (json_object_get(message, "sinks"), i, figures) {
		struct pk_sink_entry *entry = find(sinks, text_of(figures, "name"));
		if (!entry)
			continue;
		json_decref(entry->figures);
		entry->figures = json_incref(figures);
		pk_sinks_message(sinks, figures);
	}
}

// What the next worker's sinks can do, they will say.
void pk_sinks_worker_down(struct pk_sinks *sinks)
{
	pk_array_each (entry, &sinks->items) {
		json_decref(entry->figures);
		entry->figures = NULL;
	}
}

// Every member is there from the start: 0 until the first heartbeat tells.
static json_t *entry_json(const struct pk_sink_entry *entry)
{
	static const char *const kinds[] = {[PK_SINK_JSONL] = "jsonl",
		[PK_SINK_SNAPSHOT] = "snapshot",
		[PK_SINK_MQTT] = "mqtt",
		[PK_SINK_RESTREAM] = "restream"};
	static const char *const counts[] = {
		"taken", "dropped", "readers", "readers_dropped", "waiting_bytes"};
	json_t *json = json_object();
	for (size_t i = 0; i < PK_ARRAY_LEN(counts); i++)
		json_object_set_new(json, counts[i], json_integer(0));
	if (entry->figures)
		json_object_update(json, entry->figures);
	json_t *rest =
		json_pack("{s:s, s:s, s:s, s:s}", "name", entry->name, "kind", kinds[entry->kind],
			"state", entry->failing ? "failing" : "ok", "cause", entry->cause);
	if (json && rest)
		json_object_update(json, rest);
	json_decref(rest);
	return json;
}

json_t *pk_sinks_json(const struct pk_sinks *sinks)
{
	json_t *list = json_array();
	for (size_t i = 0; i < sinks->items.n; i++)
		json_array_append_new(list, entry_json(&sinks->items.items[i]));
	return list;
}
