// SPDX-License-Identifier: Apache-2.0
// Cameras and their states in an array under a lock that is held for copies only.
#include "pipeline/roster.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "pipeline/station.h"

struct pk_roster_entry {
	struct pk_roster_camera camera;
	char sinks[PK_STATION_MAX_SINKS][64];
	size_t n_sinks;
};

struct pk_roster {
	_Atomic int refs;
	_Atomic uint64_t version;
	pthread_mutex_t lock; // entries
	PK_ARRAY(struct pk_roster_entry) entries;
};

struct pk_roster *pk_roster_create(void)
{
	struct pk_roster *roster = calloc(1, sizeof(*roster));
	if (!roster)
		return NULL;
	roster->refs = 1;
	roster->version = 1;
	pthread_mutex_init(&roster->lock, NULL);
	return roster;
}

struct pk_roster *pk_roster_ref(struct pk_roster *roster)
{
	atomic_fetch_add_explicit(&roster->refs, 1, memory_order_relaxed);
	return roster;
}

void pk_roster_unref(struct pk_roster *roster)
{
	if (!roster || atomic_fetch_sub_explicit(&roster->refs, 1, memory_order_acq_rel) != 1)
		return;
	pk_array_each (entry, &roster->entries)
		pk_relay_unref(entry->camera.relay);
	pk_array_finish(&roster->entries);
	pthread_mutex_destroy(&roster->lock);
	free(roster);
}

static struct pk_roster_entry *pk_roster_find(struct pk_roster *roster, const char *name)
{
	pk_array_each (entry, &roster->entries) {
		if (strcmp(entry->camera.name, name) == 0)
			return entry;
	}
	return NULL;
}

static void pk_roster_changed(struct pk_roster *roster)
{
	atomic_fetch_add(&roster->version, 1);
}

static void pk_roster_route(struct pk_roster_entry *entry, const struct pk_camera_config *config)
{
	snprintf(entry->camera.model, sizeof(entry->camera.model), "%s", config->model);
	entry->n_sinks = 0;
	for (size_t i = 0; i < config->n_sinks && i < PK_STATION_MAX_SINKS; i++)
		snprintf(entry->sinks[entry->n_sinks++], sizeof(entry->sinks[0]), "%s",
			config->sinks[i]);
}

int pk_roster_put(
	struct pk_roster *roster, const struct pk_camera_config *config, struct pk_relay *relay)
{
	pthread_mutex_lock(&roster->lock);
	struct pk_roster_entry *entry = pk_roster_find(roster, config->name);
	if (!entry && (entry = pk_array_push(&roster->entries)))
		snprintf(entry->camera.name, sizeof(entry->camera.name), "%s", config->name);
	if (entry && entry->camera.relay != relay) { // new, or its camera was started anew
		pk_relay_unref(entry->camera.relay);
		entry->camera.relay = pk_relay_ref(relay);
		entry->camera.state = PK_CAMERA_STARTING;
		entry->camera.cause[0] = '\0';
	}
	if (entry)
		pk_roster_route(entry, config);
	pthread_mutex_unlock(&roster->lock);
	pk_roster_changed(roster);
	return entry ? 0 : -ENOMEM;
}

void pk_roster_prune(struct pk_roster *roster, const struct pk_config *config)
{
	size_t n = 0;
	pthread_mutex_lock(&roster->lock);
	for (size_t i = 0; i < roster->entries.n; i++) {
		struct pk_roster_entry *entry = &roster->entries.items[i];
		if (pk_config_camera(config, entry->camera.name))
			roster->entries.items[n++] = *entry;
		else
			pk_relay_unref(entry->camera.relay);
	}
	roster->entries.n = n;
	pthread_mutex_unlock(&roster->lock);
	pk_roster_changed(roster);
}

void pk_roster_set_state(
	struct pk_roster *roster, const char *camera, enum pk_camera_state state, const char *cause)
{
	pthread_mutex_lock(&roster->lock);
	struct pk_roster_entry *entry = pk_roster_find(roster, camera);
	if (entry) {
		entry->camera.state = state;
		snprintf(entry->camera.cause, sizeof(entry->camera.cause), "%s", cause);
	}
	pthread_mutex_unlock(&roster->lock);
	pk_roster_changed(roster);
}

uint64_t pk_roster_version(struct pk_roster *roster)
{
	return atomic_load(&roster->version);
}

static bool pk_roster_is_for(const struct pk_roster_entry *entry, const char *sink)
{
	for (size_t i = 0; i < entry->n_sinks; i++)
		if (strcmp(entry->sinks[i], sink) == 0)
			return true;
	return false;
}

bool pk_roster_next(
	struct pk_roster *roster, const char *sink, size_t *at, struct pk_roster_camera *out)
{
	bool found = false;
	pthread_mutex_lock(&roster->lock);
	for (; *at < roster->entries.n && !found; (*at)++) {
		const struct pk_roster_entry *entry = &roster->entries.items[*at];
		found = pk_roster_is_for(entry, sink);
		if (!found)
			continue;
		*out = entry->camera;
		out->relay = entry->camera.relay ? pk_relay_ref(entry->camera.relay) : NULL;
	}
	pthread_mutex_unlock(&roster->lock);
	return found;
}
