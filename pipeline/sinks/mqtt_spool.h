// SPDX-License-Identifier: Apache-2.0
// Results that wait for a broker: a byte ring of fixed size in which the newest push out the
// oldest.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"

struct pk_mqtt_spool;

struct pk_mqtt_spool *pk_mqtt_spool_create(size_t capacity) pk_must_check; // bytes; NULL: no memory
void pk_mqtt_spool_destroy(struct pk_mqtt_spool *spool);
PK_DEFINE_AUTO(pk_mqtt_spool, pk_mqtt_spool_destroy);

// Who is told of each message that is pushed out, with its tag. Under the spool's lock.
struct pk_mqtt_spool_victims {
	void (*evicted)(void *ctx, size_t tag);
	void *ctx;
};

// Copies the message in, pushing out as many of the oldest as needed. Never waits, never allocates.
// False: larger than the whole spool; nothing changed then. tag: below 2^32.
bool pk_mqtt_spool_put(struct pk_mqtt_spool *spool, size_t tag, const char *bytes, size_t n,
	const struct pk_mqtt_spool_victims *victims) pk_must_check;
// Takes the oldest message into out (cleared first). False: empty, or out cannot hold it.
bool pk_mqtt_spool_take(struct pk_mqtt_spool *spool, struct pk_buf *out, size_t *tag) pk_must_check;
size_t pk_mqtt_spool_used(struct pk_mqtt_spool *spool); // bytes
