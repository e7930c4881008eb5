// SPDX-License-Identifier: Apache-2.0
// The threads that kernels of the cpu runtime share: one pool per process, the caller takes part.
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_CPU_MAX_THREADS 64

struct pk_cpu_pool;

// n_threads 1..PK_CPU_MAX_THREADS, the caller of pk_cpu_parallel counted; 0: one per processor that
// this process may run on. The pool's threads take no signals. -EINVAL, -ENOMEM, -EAGAIN.
int pk_cpu_pool_create(int n_threads, struct pk_cpu_pool **out, struct pk_err *err) pk_must_check;
// Nothing may run on it any more. NULL is fine.
void pk_cpu_pool_destroy(struct pk_cpu_pool *pool);
PK_DEFINE_AUTO(pk_cpu_pool, pk_cpu_pool_destroy);
int pk_cpu_pool_threads(const struct pk_cpu_pool *pool); // 1 for NULL
// At most n_threads of them work from the next work on (at least 1, at most all: the default); the
// others sleep. Any thread, at any time.
void pk_cpu_pool_set_limit(struct pk_cpu_pool *pool, int n_threads);
int pk_cpu_pool_limit(const struct pk_cpu_pool *pool); // 1 for NULL

// One chunk of the work. thread is in 0..threads-1, and no two chunks have the same at one time.
typedef void pk_cpu_chunk_fn(void *ctx, int64_t chunk, int thread);

// Runs fn for every chunk 0..n_chunks-1, in any order, on as many threads as come by, and returns
// when all are done. Chunks are handed out one by one: a thread that lost its core keeps the others
// waiting for one chunk at most. A pool that is NULL or busy with another caller's work leaves all
// chunks to the caller (thread 0). Never allocates or fails. Any thread.
void pk_cpu_parallel(struct pk_cpu_pool *pool, int64_t n_chunks, pk_cpu_chunk_fn *fn, void *ctx);
