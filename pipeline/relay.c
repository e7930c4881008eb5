// SPDX-License-Identifier: Apache-2.0
// Readers of an encoded stream in a list under a lock that is held while they are told.
#include "pipeline/relay.h"

#include <gst/gst.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

struct pk_relay {
	_Atomic int refs;
	_Atomic int n_readers;
	pthread_mutex_t lock; // the rest
	struct pk_relay_reader *readers;
	GstCaps *caps; // of the last unit
	int64_t last_ns;
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

struct pk_relay *pk_relay_ref(struct pk_relay *relay)
{
	atomic_fetch_add_explicit(&relay->refs, 1, memory_order_relaxed);
	return relay;
}

void pk_relay_unref(struct pk_relay *relay)
{
	if (!relay || atomic_fetch_sub_explicit(&relay->refs, 1, memory_order_acq_rel) != 1)
		return;
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

void pk_relay_publish(struct pk_relay *relay, const struct pk_relay_unit *unit)
{
	pthread_mutex_lock(&relay->lock);
	if (relay->caps != unit->caps)
		gst_caps_replace(&relay->caps, unit->caps);
	relay->last_ns = pk_now_ns();
	for (struct pk_relay_reader *at = relay->readers; at; at = at->next)
		at->unit(at->ctx, unit);
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
