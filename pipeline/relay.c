// SPDX-License-Identifier: Apache-2.0
// Readers of an encoded stream in a list under a lock that is held while they are told.
#include "pipeline/relay.h"

#include <gst/gst.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"

struct pk_relay {
	_Atomic int refs;
	_Atomic int n_readers;
	pthread_mutex_t lock; // the rest
	struct pk_relay_reader *readers;
	GstCaps *caps; // of the last unit
	int64_t last_ns;
	bool keep;
	PK_ARRAY(struct pk_relay_unit) kept; // with a reference of each buffer
	size_t kept_bytes;
};

struct pk_relay *pk_relay_create(void)
{
	struct pk_relay *relay = calloc(1, sizeof(*relay));
	if (!relay)
		return NULL;
	relay->refs = 1;
	pthread_mutex_init(&relay->lock, NULL);
	return relay;
}

static void pk_relay_forget(struct pk_relay *relay)
{
	pk_array_each (unit, &relay->kept)
		gst_buffer_unref(unit->buffer);
	relay->kept.n = 0;
	relay->kept_bytes = 0;
}

struct pk_relay *pk_relay_ref(struct pk_relay *relay)
{
	atomic_fetch_add_explicit(&relay->refs, 1, memory_order_relaxed);
	return relay;
}

void pk_relay_unref(struct pk_relay *relay)
{
	if (!relay || atomic_fetch_sub_explicit(&relay->refs, 1, memory_order_acq_rel) != 1)
		return;
	pk_relay_forget(relay);
	pk_array_finish(&relay->kept);
	gst_caps_replace(&relay->caps, NULL);
	pthread_mutex_destroy(&relay->lock);
	free(relay);
}

void pk_relay_subscribe(struct pk_relay *relay, struct pk_relay_reader *reader)
{
	pthread_mutex_lock(&relay->lock);
	reader->next = relay->readers;
	relay->readers = reader;
	atomic_fetch_add(&relay->n_readers, 1);
	pthread_mutex_unlock(&relay->lock);
}

void pk_relay_unsubscribe(struct pk_relay *relay, struct pk_relay_reader *reader)
{
	pthread_mutex_lock(&relay->lock);
	for (struct pk_relay_reader **at = &relay->readers; *at; at = &(*at)->next) {
		if (*at != reader)
			continue;
		*at = reader->next;
		atomic_fetch_sub(&relay->n_readers, 1);
		break;
	}
	pthread_mutex_unlock(&relay->lock);
}

bool pk_relay_is_read(struct pk_relay *relay)
{
	return atomic_load_explicit(&relay->n_readers, memory_order_relaxed) > 0;
}

void pk_relay_keep(struct pk_relay *relay)
{
	pthread_mutex_lock(&relay->lock);
	relay->keep = true;
	pthread_mutex_unlock(&relay->lock);
}

// An unbroken stretch from a key frame on, or nothing.
static void pk_relay_remember(struct pk_relay *relay, const struct pk_relay_unit *unit)
{
	size_t n = gst_buffer_get_size(unit->buffer);
	bool full =
		relay->kept.n == PK_RELAY_KEPT_UNITS || relay->kept_bytes + n > PK_RELAY_KEPT_BYTES;
	if (unit->key || unit->gap || full)
		pk_relay_forget(relay);
	if (!unit->key && relay->kept.n == 0)
		return;
	struct pk_relay_unit *place = pk_array_push(&relay->kept);
	if (!place) {
		pk_relay_forget(relay);
		return;
	}
	*place = *unit;
	place->caps = NULL; // the same for all
	place->before = NULL;
	place->n_before = 0;
	gst_buffer_ref(place->buffer);
	relay->kept_bytes += n;
}

void pk_relay_publish(struct pk_relay *relay, const struct pk_relay_unit *unit)
{
	pthread_mutex_lock(&relay->lock);
	struct pk_relay_unit told = *unit;
	if (relay->caps != unit->caps) {
		gst_caps_replace(&relay->caps, unit->caps);
		pk_relay_forget(relay);
	}
	if (unit->gap && !unit->key)
		pk_relay_forget(relay);
	relay->last_ns = pk_now_ns();
	told.before = relay->kept.items;
	told.n_before = relay->kept.n;
	for (struct pk_relay_reader *at = relay->readers; at; at = at->next)
		at->unit(at->ctx, &told);
	if (relay->keep && unit->buffer)
		pk_relay_remember(relay, unit);
	pthread_mutex_unlock(&relay->lock);
}

void pk_relay_look(struct pk_relay *relay, char media[32], int64_t *last_ns)
{
	pthread_mutex_lock(&relay->lock);
	const char *name =
		relay->caps ? gst_structure_get_name(gst_caps_get_structure(relay->caps, 0)) : "";
	g_strlcpy(media, name, 32);
	*last_ns = relay->last_ns;
	pthread_mutex_unlock(&relay->lock);
}
