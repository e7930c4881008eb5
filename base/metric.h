// SPDX-License-Identifier: Apache-2.0
// Atomic counters, gauges and latency histograms; written by any thread, read by telemetry.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct pk_counter {
	_Atomic uint64_t v;
};
struct pk_gauge {
	_Atomic int64_t v;
};

static inline void pk_counter_add(struct pk_counter *c, uint64_t n)
{
	atomic_fetch_add_explicit(&c->v, n, memory_order_relaxed);
}
static inline uint64_t pk_counter_get(const struct pk_counter *c)
{
	return atomic_load_explicit(&((struct pk_counter *)(uintptr_t)c)->v, memory_order_relaxed);
}
static inline void pk_gauge_set(struct pk_gauge *g, int64_t v)
{
	atomic_store_explicit(&g->v, v, memory_order_relaxed);
}
static inline int64_t pk_gauge_get(const struct pk_gauge *g)
{
	return atomic_load_explicit(&((struct pk_gauge *)(uintptr_t)g)->v, memory_order_relaxed);
}

// Log-linear buckets: 8 per power of two from 1 us up, so a quantile is right to within 12.5 %.
#define PK_HISTOGRAM_BUCKETS 256
struct pk_histogram {
	_Atomic uint64_t buckets[PK_HISTOGRAM_BUCKETS];
	_Atomic uint64_t count;
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t max_ns;
};

void pk_histogram_add(struct pk_histogram *h, int64_t ns); // negative counts as 0
// Value at quantile q in 0..1, the upper edge of its bucket, never above the maximum; 0 when empty.
int64_t pk_histogram_quantile(const struct pk_histogram *h, double q);
// a = a - b, for windows: copy, then subtract the copy of before. max_ns is a's.
void pk_histogram_sub(struct pk_histogram *a, const struct pk_histogram *b);
