// SPDX-License-Identifier: Apache-2.0
// Offset assignment for tensors of known lifetime; after the greedy strategies of Pisarchyk and
// Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020).
#include "engine/compile/planner.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/checked.h"

struct order {
	size_t idx;
	size_t primary, secondary; // larger first
	int first;
};

static int compare_order(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;
	if (a->primary != b->primary)
		return a->primary > b->primary ? -1 : 1;
	if (a->secondary != b->secondary)
		return a->secondary > b->secondary ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->idx < b->idx ? -1 : 1;
}

static bool live_together(const struct pk_placement *a, const struct pk_placement *b)
{
	return a->first <= b->last && b->first <= a->last;
}

struct span {
	size_t begin, end;
};

static int compare_span(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

// The lowest gap that holds item among those placed before it (order[0..n_placed)).
static size_t find_gap(const struct pk_placement *items, const struct order *order, size_t n_placed,
	const struct pk_placement *item, size_t align, struct span *spans)
{
	size_t n = 0;
	for (size_t i = 0; i < n_placed; i++) {
		const struct pk_placement *other = &items[order[i].idx];
		if (other->bytes && live_together(item, other))
			spans[n++] = (struct span){other->offset, other->offset + other->bytes};
	}
	qsort(spans, n, sizeof(*spans), compare_span);
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		if (spans[i].begin >= at && spans[i].begin - at >= item->bytes)
			break;
		at = PK_MAX(at, pk_align_up(spans[i].end, align));
	}
	return at;
}

static size_t place_in_order(
	struct pk_placement *items, struct order *order, size_t n, size_t align, struct span *spans)
{
	size_t peak = 0;
	qsort(order, n, sizeof(*order), compare_order);
	for (size_t i = 0; i < n; i++) {
		struct pk_placement *item = &items[order[i].idx];
		item->offset = item->bytes ? find_gap(items, order, i, item, align, spans) : 0;
		peak = PK_MAX(peak, item->offset + item->bytes);
	}
	return peak;
}

// Bytes live at step `at`.
static size_t live_bytes(const struct pk_placement *items, size_t n, int at, size_t align)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		if (items[i].first <= at && at <= items[i].last)
			sum += pk_align_up(items[i].bytes, align);
	}
	return sum;
}

static size_t bound_below(const struct pk_placement *items, size_t n, size_t align)
{
	size_t bound = 0;
	for (size_t i = 0; i < n; i++) // the maximum is reached where some buffer begins
		bound = PK_MAX(bound, live_bytes(items, n, items[i].first, align));
	return bound;
}

static void order_by_size(const struct pk_placement *items, struct order *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (struct order){
			.idx = i, .primary = items[i].bytes, .first = items[i].first};
}

static void order_by_breadth(
	const struct pk_placement *items, struct order *order, size_t n, size_t align)
{
	for (size_t i = 0; i < n; i++) {
		size_t widest = 0;
		for (size_t k = 0; k < n; k++) {
			if (items[i].first <= items[k].first && items[k].first <= items[i].last)
				widest =
					PK_MAX(widest, live_bytes(items, n, items[k].first, align));
		}
		order[i] = (struct order){.idx = i,
			.primary = widest,
			.secondary = items[i].bytes,
			.first = items[i].first};
	}
}

// Above this many buffers the O(n^3) breadth order is left out.
#define MAX_BREADTH_ITEMS 400

int pk_planner_place(struct pk_placement *items, size_t n, size_t align, size_t *peak_bytes,
	size_t *lower_bound_bytes)
{
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		size_t aligned = pk_align_up(items[i].bytes, align);
		if (aligned == SIZE_MAX || pk_add_overflow(total, aligned, &total))
			return -EOVERFLOW;
	}
	pk_auto_free struct order *order = calloc(n ? n : 1, sizeof(*order));
	pk_auto_free struct span *spans = calloc(n ? n : 1, sizeof(*spans));
	pk_auto_free size_t *kept = calloc(n ? n : 1, sizeof(*kept));
	if (!order || !spans || !kept)
		return -ENOMEM;
	order_by_size(items, order, n);
	size_t peak = place_in_order(items, order, n, align, spans);
	*lower_bound_bytes = bound_below(items, n, align);
	if (peak > *lower_bound_bytes && n <= MAX_BREADTH_ITEMS) {
		for (size_t i = 0; i < n; i++)
			kept[i] = items[i].offset;
		order_by_breadth(items, order, n, align);
		size_t other = place_in_order(items, order, n, align, spans);
		if (other >= peak) {
			for (size_t i = 0; i < n; i++)
				items[i].offset = kept[i];
		}
		peak = PK_MIN(peak, other);
	}
	*peak_bytes = pk_align_up(peak, align);
	return 0;
}

bool pk_planner_holds(const struct pk_placement *items, size_t n, size_t arena_bytes)
{
	for (size_t i = 0; i < n; i++) {
		size_t end;
		if (pk_add_overflow(items[i].offset, items[i].bytes, &end) || end > arena_bytes)
			return false;
		for (size_t k = 0; k < i; k++) {
			bool apart = items[k].offset + items[k].bytes <= items[i].offset ||
				     end <= items[k].offset;
			if (!apart && items[i].bytes && items[k].bytes &&
				live_together(&items[i], &items[k]))
				return false;
		}
	}
	return true;
}
