// SPDX-License-Identifier: Apache-2.0
// Bounded queue of pointers between threads; the place where threads meet.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct pk_queue;

struct pk_queue *pk_queue_create(size_t capacity) pk_must_check; // capacity >= 1; NULL: no memory
void pk_queue_destroy(
	struct pk_queue *queue); // what is still inside is the caller's to drain first
PK_DEFINE_AUTO(pk_queue, pk_queue_destroy);

// Any thread. Never waits: false when full or closed (the item stays the caller's).
bool pk_queue_try_push(struct pk_queue *queue, void *item) pk_must_check;
// Any thread. Waits up to timeout_ns (negative: for ever) for an item; NULL on timeout or when the
// queue is closed and empty.
void *pk_queue_pop(struct pk_queue *queue, int64_t timeout_ns) pk_must_check;
void pk_queue_close(struct pk_queue *queue); // wakes all; no more pushes
size_t pk_queue_len(struct pk_queue *queue);
