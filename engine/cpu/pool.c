// SPDX-License-Identifier: Apache-2.0
// The thread pool: work is posted behind one word, `gate`, that threads enter and leave; waiting is
// a bounded spin, then a futex, since camera nodes share their cores with decoders.
#include "engine/cpu/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "engine/cpu/float_mode.h"

// gate: the number of pool threads inside, and two flags. Threads enter only while it is open.
#define GATE_OPEN    0x80000000u
#define GATE_WAITING 0x40000000u // the caller sleeps until the last one leaves

// Longer than the gaps between the layers of a model, shorter than what a decoder would miss.
#define SPIN_NS   (30 * PK_NS_PER_US)
#define SPIN_LOOK 64 // pauses between looks at the clock

struct member {
	struct pk_cpu_pool *pool;
	pthread_t thread;
	int number; // 1..n_threads-1; the caller is 0
};

struct pk_cpu_pool {
	pthread_mutex_t busy; // held by the one caller whose work is inside
	int n_threads;
	int n_started;
	struct member *members;
	// Written while the gate is shut and nobody is inside.
	pk_cpu_chunk_fn *fn;
	void *ctx;
	int64_t n_chunks;
	// Apart from each other: all threads write here.
	_Alignas(64) _Atomic int64_t next_chunk;
	_Alignas(64) _Atomic uint32_t gate;
	_Alignas(64) _Atomic uint32_t posted; // counts works: what sleepers wait on
	_Atomic uint32_t n_sleeping;
	_Atomic uint32_t limit; // members of this number and above wait on it
	_Atomic bool stop;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
	syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static void pause_core(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void run_chunks(struct pk_cpu_pool *pool, int thread)
{
	for (;;) {
		int64_t chunk =
			atomic_fetch_add_explicit(&pool->next_chunk, 1, memory_order_relaxed);
		if (chunk >= pool->n_chunks)
			return;
		pool->fn(pool->ctx, chunk, thread);
	}
}

// True when the gate was open and the thread is inside now.
static bool enter(struct pk_cpu_pool *pool)
{
	uint32_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
	while (gate & GATE_OPEN) {
		if (atomic_compare_exchange_weak_explicit(&pool->gate, &gate, gate + 1,
			    memory_order_acquire, memory_order_relaxed))
			return true;
	}
	return false;
}

static void leave(struct pk_cpu_pool *pool)
{
	uint32_t before = atomic_fetch_sub_explicit(&pool->gate, 1, memory_order_release);
	if (before == (GATE_WAITING | 1))
		futex_wake(&pool->gate, 1);
}

// Until something new was posted: spinning for a while, then asleep.
static void await_work(struct pk_cpu_pool *pool, uint32_t seen)
{
	int64_t end = pk_now_ns() + SPIN_NS;
	do {
		for (int i = 0; i < SPIN_LOOK; i++) {
			if (atomic_load_explicit(&pool->posted, memory_order_acquire) != seen)
				return;
			pause_core();
		}
	} while (pk_now_ns() < end);
	// Announced before the futex compares: whoever posts sees the sleeper, or the futex the
	// post.
	atomic_fetch_add(&pool->n_sleeping, 1);
	while (atomic_load(&pool->posted) == seen)
		futex_wait(&pool->posted, seen);
	atomic_fetch_sub(&pool->n_sleeping, 1);
}

// While the limit leaves this member out.
static void await_turn(struct pk_cpu_pool *pool, int number)
{
	uint32_t limit;
	while ((limit = atomic_load(&pool->limit)) <= (uint32_t)number)
		futex_wait(&pool->limit, limit);
}

static void *member_main(void *arg)
{
	struct member *self = arg;
	struct pk_cpu_pool *pool = self->pool;
	uint32_t seen = 0;
	pk_float_mode_flush();
	while (!atomic_load(&pool->stop)) {
		await_turn(pool, self->number);
		if (enter(pool)) {
			run_chunks(pool, self->number);
			leave(pool);
		}
		await_work(pool, seen);
		seen = atomic_load(&pool->posted);
	}
	return NULL;
}

static void post(struct pk_cpu_pool *pool, int n_wanted)
{
	atomic_fetch_add(&pool->posted, 1);
	if (atomic_load(&pool->n_sleeping) > 0)
		futex_wake(&pool->posted, n_wanted);
}

// Nobody may enter any more; waits for those inside.
static void shut(struct pk_cpu_pool *pool)
{
	uint32_t gate = atomic_fetch_and_explicit(&pool->gate, ~GATE_OPEN, memory_order_acquire);
	int64_t end = 0;
	for (gate &= ~GATE_OPEN; gate != 0;
		gate = atomic_load_explicit(&pool->gate, memory_order_acquire)) {
		int64_t now = pk_now_ns();
		end = end ? end : now + SPIN_NS;
		if (now < end) {
			for (int i = 0; i < SPIN_LOOK; i++)
				pause_core();
			continue;
		}
		gate = atomic_fetch_or_explicit(&pool->gate, GATE_WAITING, memory_order_acquire) |
		       GATE_WAITING;
		while (gate != GATE_WAITING) {
			futex_wait(&pool->gate, gate);
			gate = atomic_load_explicit(&pool->gate, memory_order_acquire);
		}
		atomic_store_explicit(&pool->gate, 0, memory_order_relaxed);
	}
}

void pk_cpu_parallel(struct pk_cpu_pool *pool, int64_t n_chunks, pk_cpu_chunk_fn *fn, void *ctx)
{
	int limit = pk_cpu_pool_limit(pool);
	if (limit == 1 || n_chunks <= 1 || pthread_mutex_trylock(&pool->busy) != 0) {
		for (int64_t chunk = 0; chunk < n_chunks; chunk++)
			fn(ctx, chunk, 0);
		return;
	}
	pool->fn = fn;
	pool->ctx = ctx;
	pool->n_chunks = n_chunks;
	atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
	atomic_store_explicit(&pool->gate, GATE_OPEN, memory_order_release);
	post(pool, n_chunks < limit ? (int)n_chunks - 1 : limit - 1);
	run_chunks(pool, 0);
	shut(pool);
	pthread_mutex_unlock(&pool->busy);
}

int pk_cpu_pool_threads(const struct pk_cpu_pool *pool)
{
	return pool ? pool->n_threads : 1;
}

int pk_cpu_pool_limit(const struct pk_cpu_pool *pool)
{
	return pool ? (int)atomic_load_explicit(&pool->limit, memory_order_relaxed) : 1;
}

void pk_cpu_pool_set_limit(struct pk_cpu_pool *pool, int n_threads)
{
	int n = n_threads < 1 ? 1 : n_threads > pool->n_threads ? pool->n_threads : n_threads;
	atomic_store(&pool->limit, (uint32_t)n);
	futex_wake(&pool->limit, INT_MAX);
}

static int processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < 1 ? 1 : n > PK_CPU_MAX_THREADS ? PK_CPU_MAX_THREADS : n;
}

static int start_members(struct pk_cpu_pool *pool)
{
	for (int i = 1; i < pool->n_threads; i++) {
		struct member *member = &pool->members[i - 1];
		char name[16];
		*member = (struct member){.pool = pool, .number = i};
		snprintf(name, sizeof(name), "cpu-%d", i);
		int r = pk_thread_start(&member->thread, name, member_main, member);
		if (r < 0)
			return r;
		pool->n_started++;
	}
	return 0;
}

int pk_cpu_pool_create(int n_threads, struct pk_cpu_pool **out, struct pk_err *err)
{
	if (n_threads < 0 || n_threads > PK_CPU_MAX_THREADS)
		return pk_fail(err, -EINVAL, "%d threads: 1 to %d, or 0 for all processors",
			n_threads, PK_CPU_MAX_THREADS);
	pk_auto(pk_cpu_pool) pool = aligned_alloc(_Alignof(struct pk_cpu_pool), sizeof(*pool));
	if (!pool)
		return pk_fail(err, -ENOMEM, "out of memory");
	*pool = (struct pk_cpu_pool){.n_threads = n_threads ? n_threads : processors()};
	atomic_store(&pool->limit, (uint32_t)pool->n_threads);
	pthread_mutex_init(&pool->busy, NULL);
	pool->members = calloc((size_t)pool->n_threads, sizeof(*pool->members));
	if (!pool->members)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = start_members(pool);
	if (r < 0)
		return pk_fail(err, r, "cannot start thread %d of %d", pool->n_started + 1,
			pool->n_threads);
	*out = pk_steal(pool);
	return 0;
}

void pk_cpu_pool_destroy(struct pk_cpu_pool *pool)
{
	if (!pool)
		return;
	atomic_store(&pool->stop, true);
	pk_cpu_pool_set_limit(pool, INT_MAX);
	atomic_fetch_add(&pool->posted, 1);
	futex_wake(&pool->posted, INT_MAX);
	for (int i = 0; i < pool->n_started; i++)
		pthread_join(pool->members[i].thread, NULL);
	pthread_mutex_destroy(&pool->busy);
	free(pool->members);
	free(pool);
}
