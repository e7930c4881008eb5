// SPDX-License-Identifier: Apache-2.0
// Bounded queue of pointers between threads: a ring under one mutex.
#include "base/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "base/clock.h"

struct pk_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled; // an item came in, or the queue was closed; CLOCK_MONOTONIC
	size_t capacity;
	size_t first; // oldest item
	size_t n;
	bool closed;
	void *items[];
};

static int pk_queue_init_sync(struct pk_queue *queue)
{
	pthread_condattr_t attr;
	if (pthread_condattr_init(&attr) != 0)
		return -1;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	int r = pthread_cond_init(&queue->filled, &attr);
	pthread_condattr_destroy(&attr);
	if (r != 0)
		return -1;
	if (pthread_mutex_init(&queue->lock, NULL) != 0) {
		pthread_cond_destroy(&queue->filled);
		return -1;
	}
	return 0;
}

struct pk_queue *pk_queue_create(size_t capacity)
{
	size_t bytes;
	if (capacity == 0 || pk_mul_overflow(capacity, sizeof(void *), &bytes) ||
		pk_add_overflow(bytes, sizeof(struct pk_queue), &bytes))
		return NULL;
	struct pk_queue *queue = calloc(1, bytes);
	if (!queue)
		return NULL;
	queue->capacity = capacity;
	if (pk_queue_init_sync(queue) < 0) {
		free(queue);
		return NULL;
	}
	return queue;
}

void pk_queue_destroy(struct pk_queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

// The three below are called with the lock held.
static void pk_queue_put(struct pk_queue *queue, void *item)
{
	queue->items[(queue->first + queue->n) % queue->capacity] = item;
	queue->n++;
	pthread_cond_signal(&queue->filled);
}

static void *pk_queue_take(struct pk_queue *queue)
{
	if (queue->n == 0)
		return NULL;
	void *item = queue->items[queue->first];
	queue->first = (queue->first + 1) % queue->capacity;
	queue->n--;
	return item;
}

static void pk_queue_wait_filled(struct pk_queue *queue, int64_t timeout_ns)
{
	int64_t now_ns = pk_now_ns(), deadline_ns;
	if (pk_add_overflow(now_ns, timeout_ns, &deadline_ns))
		deadline_ns = INT64_MAX;
	struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / PK_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % PK_NS_PER_S)};
	while (queue->n == 0 && !queue->closed) {
		if (timeout_ns < 0)
			pthread_cond_wait(&queue->filled, &queue->lock);
		else if (pthread_cond_timedwait(&queue->filled, &queue->lock, &deadline) != 0)
			return;
	}
}

bool pk_queue_try_push(struct pk_queue *queue, void *item)
{
	pthread_mutex_lock(&queue->lock);
	bool fits = !queue->closed && queue->n < queue->capacity;
	if (fits)
		pk_queue_put(queue, item);
	pthread_mutex_unlock(&queue->lock);
	return fits;
}

void *pk_queue_pop(struct pk_queue *queue, int64_t timeout_ns)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->n == 0 && timeout_ns != 0)
		pk_queue_wait_filled(queue, timeout_ns);
	void *item = pk_queue_take(queue);
	pthread_mutex_unlock(&queue->lock);
	return item;
}

void pk_queue_close(struct pk_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

size_t pk_queue_len(struct pk_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	size_t n = queue->n;
	pthread_mutex_unlock(&queue->lock);
	return n;
}
