// SPDX-License-Identifier: Apache-2.0
// What differs between two snapshots, in the terms in which the daemon acts.
#include "config/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "config/config_table.h"

// One kind of named entries of a snapshot.
struct section {
	const struct pk_schema *schema;
	size_t items; // offsets in struct pk_config
	size_t n;
	bool (*equal)(const struct pk_config *ca, const void *a, const struct pk_config *cb,
		const void *b);
};

static size_t count_of(const struct section *s, const struct pk_config *config)
{
	return *(const size_t *)((const char *)config + s->n);
}

static const void *item_of(const struct section *s, const struct pk_config *config, size_t idx)
{
	return *(char *const *)((const char *)config + s->items) + idx * s->schema->size;
}

static const char *name_of(const struct section *s, const void *item)
{
	return *(char *const *)((const char *)item + s->schema->name_offset);
}

static const void *find(const struct section *s, const struct pk_config *config, const char *name)
{
	for (size_t i = 0; i < count_of(s, config); i++)
		if (strcmp(name_of(s, item_of(s, config, i)), name) == 0)
			return item_of(s, config, i);
	return NULL;
}

static bool sinks_equal(
	const struct pk_config *ca, const struct pk_camera_config *a, const struct pk_config *cb)
{
	for (size_t i = 0; i < a->n_sinks; i++) {
		const struct pk_sink_config *sa = pk_config_sink(ca, a->sinks[i]);
		const struct pk_sink_config *sb = pk_config_sink(cb, a->sinks[i]);
		if (!sa || !sb || !pk_schema_equal(&pk_config_sink_schema, sa, sb))
			return false;
	}
	return true;
}

static bool camera_equal(
	const struct pk_config *ca, const void *a, const struct pk_config *cb, const void *b)
{
	return pk_schema_equal(&pk_config_camera_schema, a, b) && sinks_equal(ca, a, cb);
}

static bool model_equal(
	const struct pk_config *ca, const void *a, const struct pk_config *cb, const void *b)
{
	return pk_schema_equal(&pk_config_model_schema, a, b);
}

static bool sink_equal(
	const struct pk_config *ca, const void *a, const struct pk_config *cb, const void *b)
{
	return pk_schema_equal(&pk_config_sink_schema, a, b);
}

static const struct section cameras = {&pk_config_camera_schema,
	offsetof(struct pk_config, cameras), offsetof(struct pk_config, n_cameras), camera_equal};
static const struct section models = {&pk_config_model_schema, offsetof(struct pk_config, models),
	offsetof(struct pk_config, n_models), model_equal};
static const struct section sinks = {&pk_config_sink_schema, offsetof(struct pk_config, sinks),
	offsetof(struct pk_config, n_sinks), sink_equal};

static int note(
	struct pk_config_changes *changes, const char *name, enum pk_config_change_kind kind)
{
	struct pk_config_change *change = pk_array_push(changes);

	if (!change)
		return -ENOMEM;
	snprintf(change->name, sizeof(change->name), "%s", name);
	change->kind = kind;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pk_config_change *)a)->name,
		((const struct pk_config_change *)b)->name);
}

static int compare(const struct section *s, const struct pk_config *before,
	const struct pk_config *after, struct pk_config_changes *changes)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count_of(s, before); i++) {
		const void *a = item_of(s, before, i), *b = find(s, after, name_of(s, a));
		if (!b)
			rc = note(changes, name_of(s, a), PK_CONFIG_REMOVED);
		else if (!s->equal(before, a, after, b))
			rc = note(changes, name_of(s, a), PK_CONFIG_CHANGED);
	}
	for (size_t i = 0; rc == 0 && i < count_of(s, after); i++) {
		const void *b = item_of(s, after, i);
		if (!find(s, before, name_of(s, b)))
			rc = note(changes, name_of(s, b), PK_CONFIG_ADDED);
	}
	if (changes->n > 0)
		qsort(changes->items, changes->n, sizeof(*changes->items), by_name);
	return rc;
}

static bool differs(const struct pk_config *a, const struct pk_config *b, const char *key)
{
	return !pk_schema_key_equal(&pk_config_schema, key, a, b);
}

int pk_config_diff(
	const struct pk_config *before, const struct pk_config *after, struct pk_config_diff *diff)
{
	*diff = (struct pk_config_diff){
		.node = differs(before, after, "node"),
		.telemetry = differs(before, after, "telemetry"),
		.runtime = differs(before, after, "runtime"),
		.build = differs(before, after, "build"),
		.store = differs(before, after, "store"),
		.registries = differs(before, after, "registries"),
	};
	int rc = compare(&cameras, before, after, &diff->cameras);
	if (rc == 0)
		rc = compare(&models, before, after, &diff->models);
	if (rc == 0)
		rc = compare(&sinks, before, after, &diff->sinks);
	if (rc < 0)
		pk_config_diff_finish(diff);
	diff->any = diff->cameras.n || diff->models.n || diff->sinks.n || diff->node ||
		    diff->telemetry || diff->runtime || diff->build || diff->store ||
		    diff->registries;
	return rc;
}

void pk_config_diff_finish(struct pk_config_diff *diff)
{
	pk_array_finish(&diff->cameras);
	pk_array_finish(&diff->models);
	pk_array_finish(&diff->sinks);
}

const struct pk_config_change *pk_config_changes_find(
	const struct pk_config_changes *changes, const char *name)
{
	for (size_t i = 0; i < changes->n; i++)
		if (strcmp(changes->items[i].name, name) == 0)
			return &changes->items[i];
	return NULL;
}
