// SPDX-License-Identifier: Apache-2.0
// A byte ring of length-prefixed lines under one mutex that is held for copies only.
#include "pipeline/sinks/line_ring.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct pk_line_ring {
	pthread_mutex_t lock;
	size_t capacity;
	size_t first, used; // bytes
	char bytes[];
};

struct pk_line_ring *pk_line_ring_create(size_t capacity)
{
	struct pk_line_ring *ring = calloc(1, sizeof(*ring) + capacity);
	if (!ring)
		return NULL;
	ring->capacity = capacity;
	pthread_mutex_init(&ring->lock, NULL);
	return ring;
}

void pk_line_ring_destroy(struct pk_line_ring *ring)
{
	if (!ring)
		return;
	pthread_mutex_destroy(&ring->lock);
	free(ring);
}

// Both wrap at the end; `at` is below capacity.
static void pk_line_ring_write(struct pk_line_ring *ring, size_t at, const void *from, size_t n)
{
	size_t head = PK_MIN(n, ring->capacity - at);
	memcpy(ring->bytes + at, from, head);
	memcpy(ring->bytes, (const char *)from + head, n - head);
}

static void pk_line_ring_read(const struct pk_line_ring *ring, size_t at, void *to, size_t n)
{
	size_t head = PK_MIN(n, ring->capacity - at);
	memcpy(to, ring->bytes + at, head);
	memcpy((char *)to + head, ring->bytes, n - head);
}

bool pk_line_ring_put(struct pk_line_ring *ring, const char *line, size_t n, bool *was_empty)
{
	uint32_t len = (uint32_t)n;
	if (n > ring->capacity || n > UINT32_MAX)
		return false;
	pthread_mutex_lock(&ring->lock);
	bool fits = sizeof(len) + n <= ring->capacity - ring->used;
	*was_empty = ring->used == 0;
	if (fits) {
		size_t at = (ring->first + ring->used) % ring->capacity;
		pk_line_ring_write(ring, at, &len, sizeof(len));
		pk_line_ring_write(ring, (at + sizeof(len)) % ring->capacity, line, n);
		ring->used += sizeof(len) + n;
	}
	pthread_mutex_unlock(&ring->lock);
	return fits;
}

size_t pk_line_ring_take(struct pk_line_ring *ring, struct pk_buf *out, size_t max)
{
	size_t moved = 0;
	pthread_mutex_lock(&ring->lock);
	while (ring->used) {
		uint32_t len;
		pk_line_ring_read(ring, ring->first, &len, sizeof(len));
		if (moved && moved + len > max)
			break;
		char *room = pk_buf_reserve(out, len);
		if (!room)
			break;
		pk_line_ring_read(ring, (ring->first + sizeof(len)) % ring->capacity, room, len);
		ring->first = (ring->first + sizeof(len) + len) % ring->capacity;
		ring->used -= sizeof(len) + len;
		moved += len;
	}
	if (ring->used == 0)
		ring->first = 0; // a reader that keeps up never touches the rest of the memory
	pthread_mutex_unlock(&ring->lock);
	return moved;
}
