// SPDX-License-Identifier: Apache-2.0
// Latency histograms: lock-free writers, approximate readers.
#include "base/metric.h"

#include <stddef.h>

// The unit is an eighth of a microsecond, so the first eight buckets are the linear part below
// 1 us and each later group of eight covers one power of two.
#define PK_HISTOGRAM_UNIT_NS    125
#define PK_HISTOGRAM_GROUP_LOG2 3
#define PK_HISTOGRAM_GROUP      (1u << PK_HISTOGRAM_GROUP_LOG2)

static size_t pk_histogram_bucket(uint64_t ns)
{
	uint64_t units = ns / PK_HISTOGRAM_UNIT_NS;
	if (units < PK_HISTOGRAM_GROUP)
		return (size_t)units;
	unsigned shift = 63u - (unsigned)__builtin_clzll(units) - PK_HISTOGRAM_GROUP_LOG2;
	size_t idx =
		(shift + 1) * PK_HISTOGRAM_GROUP + ((units >> shift) & (PK_HISTOGRAM_GROUP - 1));
	return idx < PK_HISTOGRAM_BUCKETS ? idx : PK_HISTOGRAM_BUCKETS - 1;
}

// First value above the bucket; the last bucket has no end.
static uint64_t pk_histogram_edge_ns(size_t idx)
{
	if (idx < PK_HISTOGRAM_GROUP)
		return (idx + 1) * PK_HISTOGRAM_UNIT_NS;
	if (idx == PK_HISTOGRAM_BUCKETS - 1)
		return UINT64_MAX;
	uint64_t within = PK_HISTOGRAM_GROUP + idx % PK_HISTOGRAM_GROUP + 1;
	return (within << (idx / PK_HISTOGRAM_GROUP - 1)) * PK_HISTOGRAM_UNIT_NS;
}

void pk_histogram_add(struct pk_histogram *h, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
	atomic_fetch_add_explicit(&h->buckets[pk_histogram_bucket(v)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, v, memory_order_relaxed);
	uint64_t max = atomic_load_explicit(&h->max_ns, memory_order_relaxed);
	while (v > max && !atomic_compare_exchange_weak_explicit(&h->max_ns, &max, v,
				  memory_order_relaxed, memory_order_relaxed)) {
	}
}

static uint64_t pk_histogram_load(const _Atomic uint64_t *v)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)v, memory_order_relaxed);
}

int64_t pk_histogram_quantile(const struct pk_histogram *h, double q)
{
	// The buckets' own sum, not h->count: a writer may stand between the two.
	uint64_t n = 0;
	for (size_t i = 0; i < PK_HISTOGRAM_BUCKETS; i++)
		n += pk_histogram_load(&h->buckets[i]);
	if (n == 0)
		return 0;
	q = q > 0.0 ? (q < 1.0 ? q : 1.0) : 0.0;
	uint64_t rank = (uint64_t)(q * (double)n), seen = 0;
	if ((double)rank < q * (double)n || rank == 0)
		rank++;
	size_t idx = 0;
	for (; idx < PK_HISTOGRAM_BUCKETS - 1; idx++) {
		seen += pk_histogram_load(&h->buckets[idx]);
		if (seen >= rank)
			break;
	}
	uint64_t max = pk_histogram_load(&h->max_ns), edge = pk_histogram_edge_ns(idx);
	return (int64_t)(edge < max ? edge : max);
}

static void pk_histogram_sub_one(_Atomic uint64_t *a, const _Atomic uint64_t *b)
{
	uint64_t va = pk_histogram_load(a), vb = pk_histogram_load(b);
	atomic_store_explicit(a, va > vb ? va - vb : 0, memory_order_relaxed);
}

void pk_histogram_sub(struct pk_histogram *a, const struct pk_histogram *b)
{
	for (size_t i = 0; i < PK_HISTOGRAM_BUCKETS; i++)
		pk_histogram_sub_one(&a->buckets[i], &b->buckets[i]);
	pk_histogram_sub_one(&a->count, &b->count);
	pk_histogram_sub_one(&a->sum_ns, &b->sum_ns);
}
