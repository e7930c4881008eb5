// SPDX-License-Identifier: Apache-2.0
// Queue: order, timeouts, closing, many threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/queue.h"

static int items[100000];

static void order_and_bound(void **state)
{
	pk_auto(pk_queue) queue = pk_queue_create(3);
	assert_non_null(queue);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3; i++)
			assert_true(pk_queue_try_push(queue, &items[i]));
		assert_false(pk_queue_try_push(queue, &items[3]));
		assert_int_equal(pk_queue_len(queue), 3);
		for (int i = 0; i < 3; i++)
			assert_ptr_equal(pk_queue_pop(queue, 0), &items[i]);
		assert_null(pk_queue_pop(queue, 0));
	}
}

static void bad_capacity_is_refused(void **state)
{
	assert_null(pk_queue_create(0));
	assert_null(pk_queue_create(SIZE_MAX));
	pk_queue_destroy(NULL);
}

static void timeout_waits_that_long(void **state)
{
	pk_auto(pk_queue) queue = pk_queue_create(1);
	int64_t start_ns = pk_now_ns();
	assert_null(pk_queue_pop(queue, 30 * PK_NS_PER_MS));
	int64_t took_ns = pk_now_ns() - start_ns;
	assert_true(took_ns >= 30 * PK_NS_PER_MS);
	assert_true(took_ns < 5 * PK_NS_PER_S);
}

static void close_drains_then_ends(void **state)
{
	pk_auto(pk_queue) queue = pk_queue_create(2);
	assert_true(pk_queue_try_push(queue, &items[0]));
	pk_queue_close(queue);
	assert_false(pk_queue_try_push(queue, &items[1]));
	assert_ptr_equal(pk_queue_pop(queue, -1), &items[0]);
	assert_null(pk_queue_pop(queue, -1));
}

static void *wait_for_ever(void *arg)
{
	return pk_queue_pop(arg, -1);
}

static void close_wakes_every_waiter(void **state)
{
	pk_auto(pk_queue) queue = pk_queue_create(1);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, queue), 0);
	usleep(20000);
	pk_queue_close(queue);
	for (int i = 0; i < 3; i++) {
		void *item;
		pthread_join(threads[i], &item);
		assert_null(item);
	}
}

struct relay {
	struct pk_queue *queue;
	int first, n;
	size_t n_got;
};

static void *produce(void *arg)
{
	struct relay *relay = arg;
	for (int i = 0; i < relay->n; i++)
		while (!pk_queue_try_push(relay->queue, &items[relay->first + i]))
			sched_yield();
	return NULL;
}

static void *consume(void *arg)
{
	struct relay *relay = arg;
	int *item;
	while ((item = pk_queue_pop(relay->queue, -1)) != NULL) {
		(*item)++; // each item reaches exactly one consumer
		relay->n_got++;
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	pk_auto(pk_queue) queue = pk_queue_create(7);
	struct relay makers[2] = {{queue, 0, 10000, 0}, {queue, 10000, 10000, 0}};
	struct relay takers[2] = {{queue, 0, 0, 0}, {queue, 0, 0, 0}};
	pthread_t threads[4];
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, produce, &makers[i]);
		pthread_create(&threads[2 + i], NULL, consume, &takers[i]);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pk_queue_close(queue);
	pthread_join(threads[2], NULL);
	pthread_join(threads[3], NULL);
	assert_int_equal(takers[0].n_got + takers[1].n_got, 20000);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(items[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_bound),
		cmocka_unit_test(bad_capacity_is_refused),
		cmocka_unit_test(timeout_waits_that_long),
		cmocka_unit_test(close_drains_then_ends),
		cmocka_unit_test(close_wakes_every_waiter),
		cmocka_unit_test(nothing_is_lost_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
