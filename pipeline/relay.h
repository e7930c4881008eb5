// SPDX-License-Identifier: Apache-2.0
// A camera's encoded stream as it passes on its way to the decoder, for whoever wants to see it.
// It outlives the camera's sources, so that a reader does not notice when one is started again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct _GstBuffer;
struct _GstCaps;
struct pk_relay;

// One encoded picture. Borrowed during a call.
struct pk_relay_unit {
	struct _GstBuffer *buffer;
	struct _GstCaps *caps;
	int64_t pts_ns, dts_ns; // monotonic clock time at which it is due; -1: not known
	bool key;               // a decoder may start here
	bool gap;               // what came before it is missing
	// What came since the last key frame, that one first, without this one; none when that is
	// not kept. They have none of their own.
	const struct pk_relay_unit *before;
	size_t n_before;
};

// At most so much is kept of what came since the last key frame; a longer stretch is forgotten and
// the next key frame waited for.
#define PK_RELAY_KEPT_BYTES ((size_t)8 * 1024 * 1024)
#define PK_RELAY_KEPT_UNITS ((size_t)600)

// Owned by who subscribes; stays where it is while subscribed.
struct pk_relay_reader {
	// On the camera's streaming thread: must not block.
	void (*unit)(void *ctx, const struct pk_relay_unit *unit);
	void *ctx;
	struct pk_relay_reader *next; // the relay's
};

struct pk_relay *pk_relay_create(void) pk_must_check; // NULL: no memory
struct pk_relay *pk_relay_ref(struct pk_relay *relay);
void pk_relay_unref(struct pk_relay *relay); // NULL is fine

// Any thread.
void pk_relay_subscribe(struct pk_relay *relay, struct pk_relay_reader *reader);
// No call to the reader happens afterwards. Not from within one.
void pk_relay_unsubscribe(struct pk_relay *relay, struct pk_relay_reader *reader);
bool pk_relay_is_read(struct pk_relay *relay);
// From now on what came since the last key frame is kept, so that a new reader need not wait for
// the next one.
void pk_relay_keep(struct pk_relay *relay);

// One thread at a time.
void pk_relay_publish(struct pk_relay *relay, const struct pk_relay_unit *unit);
// Media type of the last unit ("video/x-h264"), "" before the first; and when it came (monotonic).
void pk_relay_look(struct pk_relay *relay, char media[32], int64_t *last_ns);
