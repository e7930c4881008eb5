// SPDX-License-Identifier: Apache-2.0
// A byte ring of messages with a length and a tag before each, under one mutex held for copies
// only.
#include "pipeline/sinks/mqtt_spool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct pk_mqtt_spool {
	pthread_mutex_t lock;
	size_t capacity;
	size_t first, used; // bytes
	char bytes[];
};

struct pk_spool_head {
	uint32_t len, tag;
};

struct pk_mqtt_spool *pk_mqtt_spool_create(size_t capacity)
{
	// Not touched before it is needed: a broker that is always there costs no memory.
	struct pk_mqtt_spool *spool = calloc(1, sizeof(*spool) + capacity);
	if (!spool)
		return NULL;
	spool->capacity = capacity;
	pthread_mutex_init(&spool->lock, NULL);
	return spool;
}

void pk_mqtt_spool_destroy(struct pk_mqtt_spool *spool)
{
	if (!spool)
		return;
	pthread_mutex_destroy(&spool->lock);
	free(spool);
}

// Both wrap at the end; `at` is below capacity.
static void pk_spool_write(struct pk_mqtt_spool *spool, size_t at, const void *from, size_t n)
{
	size_t head = PK_MIN(n, spool->capacity - at);
	memcpy(spool->bytes + at, from, head);
	memcpy(spool->bytes, (const char *)from + head, n - head);
}

static void pk_spool_read(const struct pk_mqtt_spool *spool, size_t at, void *to, size_t n)
{
	size_t head = PK_MIN(n, spool->capacity - at);
	memcpy(to, spool->bytes + at, head);
	memcpy((char *)to + head, spool->bytes, n - head);
}

static struct pk_spool_head pk_spool_peek(const struct pk_mqtt_spool *spool)
{
	struct pk_spool_head head;
	pk_spool_read(spool, spool->first, &head, sizeof(head));
	return head;
}

static void pk_spool_pop(struct pk_mqtt_spool *spool, const struct pk_spool_head *head)
{
	size_t n = sizeof(*head) + head->len;
	spool->used -= n;
	// An empty ring starts anew, so that little of it is ever touched.
	spool->first = spool->used ? (spool->first + n) % spool->capacity : 0;
}

bool pk_mqtt_spool_put(struct pk_mqtt_spool *spool, size_t tag, const char *bytes, size_t n,
	const struct pk_mqtt_spool_victims *victims)
{
	struct pk_spool_head head = {.len = (uint32_t)n, .tag = (uint32_t)tag};
	if (n > UINT32_MAX || n > spool->capacity || sizeof(head) > spool->capacity - n)
		return false;
	pthread_mutex_lock(&spool->lock);
	while (sizeof(head) + n > spool->capacity - spool->used) {
		struct pk_spool_head oldest = pk_spool_peek(spool);
		pk_spool_pop(spool, &oldest);
		if (victims)
			victims->evicted(victims->ctx, oldest.tag);
	}
	size_t at = (spool->first + spool->used) % spool->capacity;
	pk_spool_write(spool, at, &head, sizeof(head));
	pk_spool_write(spool, (at + sizeof(head)) % spool->capacity, bytes, n);
	spool->used += sizeof(head) + n;
	pthread_mutex_unlock(&spool->lock);
	return true;
}

bool pk_mqtt_spool_take(struct pk_mqtt_spool *spool, struct pk_buf *out, size_t *tag)
{
	bool taken = false;
	pk_buf_clear(out);
	pthread_mutex_lock(&spool->lock);
	if (spool->used) {
		struct pk_spool_head head = pk_spool_peek(spool);
		char *room = head.len ? pk_buf_reserve(out, head.len) : NULL;
		taken = room || head.len == 0;
		if (room)
			pk_spool_read(spool, (spool->first + sizeof(head)) % spool->capacity, room,
				head.len);
		if (taken) {
			*tag = head.tag;
			pk_spool_pop(spool, &head);
		}
	}
	pthread_mutex_unlock(&spool->lock);
	return taken;
}

size_t pk_mqtt_spool_used(struct pk_mqtt_spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	size_t used = spool->used;
	pthread_mutex_unlock(&spool->lock);
	return used;
}
