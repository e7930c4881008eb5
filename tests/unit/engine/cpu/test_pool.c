// SPDX-License-Identifier: Apache-2.0
// The thread pool: every chunk once, work after work, busy pools, many callers. Also built with
// ThreadSanitizer.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "engine/cpu/pool.h"

#define MAX_CHUNKS 200

struct counts {
	struct pk_cpu_pool *pool;
	int chunk[MAX_CHUNKS]; // plain: each chunk belongs to one thread, and pk_cpu_parallel
			       // orders it before its return
	_Atomic int inside[PK_CPU_MAX_THREADS];
	_Atomic int clashes;
};

static void count_chunk(void *ctx, int64_t chunk, int thread)
{
	struct counts *counts = ctx;
	if (atomic_fetch_add(&counts->inside[thread], 1) != 0)
		atomic_fetch_add(&counts->clashes, 1);
	counts->chunk[chunk]++;
	atomic_fetch_sub(&counts->inside[thread], 1);
}

static void check_work(struct counts *counts, int64_t n)
{
	memset(counts->chunk, 0, sizeof(counts->chunk));
	pk_cpu_parallel(counts->pool, n, count_chunk, counts);
	for (int64_t i = 0; i < MAX_CHUNKS; i++)
		assert_int_equal(counts->chunk[i], i < n);
	assert_int_equal(atomic_load(&counts->clashes), 0);
}

static void every_chunk_runs_once(void **state)
{
	static const int threads[] = {1, 2, 3, 8};
	(void)state;
	for (size_t i = 0; i < PK_ARRAY_LEN(threads); i++) {
		struct counts counts = {0};
		assert_int_equal(pk_cpu_pool_create(threads[i], &counts.pool, NULL), 0);
		assert_int_equal(pk_cpu_pool_threads(counts.pool), threads[i]);
		for (int round = 0; round < 300; round++)
			check_work(&counts, round % MAX_CHUNKS);
		pk_cpu_pool_destroy(counts.pool);
	}
}

static void without_a_pool_the_caller_does_it(void **state)
{
	struct counts counts = {0};
	(void)state;
	assert_int_equal(pk_cpu_pool_threads(NULL), 1);
	check_work(&counts, 17);
	check_work(&counts, 0);
}

// A chunk that asks for more work finds the pool busy.
static void nest(void *ctx, int64_t chunk, int thread)
{
	struct counts *outer = ctx;
	struct counts inner = {.pool = outer->pool};
	(void)thread;
	pk_cpu_parallel(inner.pool, 5, count_chunk, &inner);
	for (int i = 0; i < 5; i++)
		outer->chunk[chunk] += inner.chunk[i];
}

static void work_within_work_stays_on_its_thread(void **state)
{
	struct counts counts = {0};
	(void)state;
	assert_int_equal(pk_cpu_pool_create(3, &counts.pool, NULL), 0);
	pk_cpu_parallel(counts.pool, 20, nest, &counts);
	for (int i = 0; i < 20; i++)
		assert_int_equal(counts.chunk[i], 5);
	pk_cpu_pool_destroy(counts.pool);
}

static void *caller_main(void *arg)
{
	struct counts counts = {.pool = arg};
	for (int round = 0; round < 200; round++) {
		memset(counts.chunk, 0, sizeof(counts.chunk));
		pk_cpu_parallel(counts.pool, 9, count_chunk, &counts);
		for (int i = 0; i < 9; i++) {
			if (counts.chunk[i] != 1)
				return arg;
		}
	}
	return NULL;
}

static void callers_share_a_pool(void **state)
{
	pthread_t callers[3];
	struct pk_cpu_pool *pool = NULL;
	(void)state;
	assert_int_equal(pk_cpu_pool_create(3, &pool, NULL), 0);
	for (size_t i = 0; i < PK_ARRAY_LEN(callers); i++)
		assert_int_equal(pthread_create(&callers[i], NULL, caller_main, pool), 0);
	for (size_t i = 0; i < PK_ARRAY_LEN(callers); i++) {
		void *failed = pool;
		pthread_join(callers[i], &failed);
		assert_null(failed);
	}
	pk_cpu_pool_destroy(pool);
}

static void highest_thread(void *ctx, int64_t chunk, int thread)
{
	_Atomic int *highest = ctx;
	int seen = atomic_load(highest);
	(void)chunk;
	while (thread > seen && !atomic_compare_exchange_weak(highest, &seen, thread))
		;
}

static void a_limit_leaves_threads_out(void **state)
{
	static const int limits[] = {1, 2, 4, 3, 1, 4};
	struct counts counts = {0};
	(void)state;
	assert_int_equal(pk_cpu_pool_create(4, &counts.pool, NULL), 0);
	assert_int_equal(pk_cpu_pool_limit(counts.pool), 4);
	for (size_t i = 0; i < PK_ARRAY_LEN(limits); i++) {
		_Atomic int highest = 0;
		pk_cpu_pool_set_limit(counts.pool, limits[i]);
		assert_int_equal(pk_cpu_pool_limit(counts.pool), limits[i]);
		check_work(&counts, 50); // whoever was on its way in is out after this
		for (int round = 0; round < 50; round++)
			pk_cpu_parallel(counts.pool, 50, highest_thread, (void *)&highest);
		if (limits[i] == 1)
			assert_int_equal(atomic_load(&highest), 0);
		check_work(&counts, 77);
	}
	pk_cpu_pool_set_limit(counts.pool, 0);
	assert_int_equal(pk_cpu_pool_limit(counts.pool), 1);
	pk_cpu_pool_set_limit(counts.pool, 99);
	assert_int_equal(pk_cpu_pool_limit(counts.pool), 4);
	assert_int_equal(pk_cpu_pool_threads(counts.pool), 4);
	pk_cpu_pool_destroy(counts.pool);
	assert_int_equal(pk_cpu_pool_limit(NULL), 1);
}

static void sizes_are_checked(void **state)
{
	struct pk_cpu_pool *pool = NULL;
	struct pk_err err = {0};
	(void)state;
	assert_true(pk_cpu_pool_create(-1, &pool, &err) < 0);
	assert_true(pk_cpu_pool_create(PK_CPU_MAX_THREADS + 1, &pool, &err) < 0);
	assert_non_null(strstr(err.text, "threads: 1 to 64"));
	assert_int_equal(pk_cpu_pool_create(0, &pool, &err), 0);
	assert_true(pk_cpu_pool_threads(pool) >= 1);
	pk_cpu_pool_destroy(pool);
	pk_cpu_pool_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_chunk_runs_once),
		cmocka_unit_test(without_a_pool_the_caller_does_it),
		cmocka_unit_test(work_within_work_stays_on_its_thread),
		cmocka_unit_test(callers_share_a_pool),
		cmocka_unit_test(a_limit_leaves_threads_out),
		cmocka_unit_test(sizes_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
