// SPDX-License-Identifier: Apache-2.0
// What a change of the config does to what runs, in words.
#include "daemon/config_changes.h"

static const char *const change_names[] = {[PK_CONFIG_ADDED] = "added",
	[PK_CONFIG_REMOVED] = "removed",
	[PK_CONFIG_CHANGED] = "changed"};

static json_t *list_of(const struct pk_config_changes *changes, const char *const effects[3])
{
	json_t *list = json_array();
	for (size_t i = 0; i < changes->n; i++) {
		const struct pk_config_change *change = &changes->items[i];
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "name", change->name, "change",
				      change_names[change->kind], "effect", effects[change->kind]));
	}
	return list;
}

static json_t *sections_of(const struct pk_config_diff *diff)
{
	const struct {
		bool changed;
		const char *name, *effect;
	} rows[] = {
		{diff->node, "node", "from the next result on"},
		{diff->telemetry, "telemetry", "from the next record on"},
		{diff->runtime, "runtime",
			"models whose chain it is may get another engine; threads at once"},
		{diff->build, "build", "holds for the next build"},
		{diff->store, "store", "holds for the next download"},
		{diff->registries, "registries", "holds for the next transfer"},
	};
	json_t *list = json_array();
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (rows[i].changed)
			json_array_append_new(list, json_pack("{s:s, s:s}", "name", rows[i].name,
							    "effect", rows[i].effect));
	}
	return list;
}

json_t *pk_config_changes_json(const struct pk_config_diff *diff)
{
	static const char *const cameras[] = {
		[PK_CONFIG_ADDED] = "starts",
		[PK_CONFIG_REMOVED] = "stops",
		[PK_CONFIG_CHANGED] = "is restarted",
	};
	static const char *const models[] = {
		[PK_CONFIG_ADDED] = "is fetched and built, then serves",
		[PK_CONFIG_REMOVED] = "stops serving",
		[PK_CONFIG_CHANGED] = "its reference is looked at; what serves goes on meanwhile",
	};
	static const char *const sinks[] = {
		[PK_CONFIG_ADDED] = "opens",
		[PK_CONFIG_REMOVED] = "closes",
		[PK_CONFIG_CHANGED] = "opens anew",
	};
	return json_pack("{s:o, s:o, s:o, s:o}", "cameras", list_of(&diff->cameras, cameras),
		"models", list_of(&diff->models, models), "sinks", list_of(&diff->sinks, sinks),
		"sections", sections_of(diff));
}
