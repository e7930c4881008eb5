// SPDX-License-Identifier: Apache-2.0
// Offset assignment for tensors of known lifetime; after the greedy strategies of Pisarchyk and
// Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020).
#include "engine/compile/planner.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static size_t place_in_order(struct pk_placement *items, const struct order *order, size_t n,
	size_t align, struct span *spans)
{
	size_t peak = 0;
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

// Above this many buffers the O(n^3) breadth order and the search are left out.
#define MAX_BREADTH_ITEMS 400
// Orders tried after the two greedy ones, while the peak is above the lower bound.
#define MAX_TRIES 200
#define MAX_SWAPS 1000

struct search {
	struct pk_placement *items;
	struct order *order;
	struct span *spans;
	size_t *offsets; // of the best placement so far
	size_t n, align, peak, bound;
};

static void search_finish(struct search *s)
{
	free(s->order);
	free(s->spans);
	free(s->offsets);
}

// Places in the present order and keeps the result when it is better; the peak reached.
static size_t try_order(struct search *s)
{
	size_t peak = place_in_order(s->items, s->order, s->n, s->align, s->spans);
	if (peak < s->peak) {
		s->peak = peak;
		for (size_t i = 0; i < s->n; i++)
			s->offsets[i] = s->items[i].offset;
	}
	return peak;
}

// The first in order that ends at the peak goes to the front, where it gets a low place.
static void promote_highest(struct search *s, size_t peak)
{
	size_t at = 0;
	while (at + 1 < s->n) {
		const struct pk_placement *item = &s->items[s->order[at].idx];
		if (item->bytes && item->offset + item->bytes == peak)
			break;
		at++;
	}
	struct order highest = s->order[at];
	memmove(s->order + 1, s->order, at * sizeof(*s->order));
	s->order[0] = highest;
}

static void search_from(struct search *s, int tries)
{
	qsort(s->order, s->n, sizeof(*s->order), compare_order);
	size_t peak = try_order(s);
	for (int i = 0; i < tries && s->peak > s->bound; i++) {
		promote_highest(s, peak);
		peak = try_order(s);
	}
}

// Swaps two at random and keeps the swap when the peak grows no higher.
static void search_by_swaps(struct search *s, int tries)
{
	uint32_t seed = 1;
	qsort(s->order, s->n, sizeof(*s->order), compare_order);
	size_t peak = try_order(s);
	for (int i = 0; i < tries && s->peak > s->bound; i++) {
		seed = seed * 1664525u + 1013904223u;
		size_t a = (seed >> 8) % s->n;
		seed = seed * 1664525u + 1013904223u;
		size_t b = (seed >> 8) % s->n;
		struct order kept[2] = {s->order[a], s->order[b]};
		s->order[a] = kept[1];
		s->order[b] = kept[0];
		size_t now = try_order(s);
		if (now <= peak) {
			peak = now;
			continue;
		}
		s->order[a] = kept[0];
		s->order[b] = kept[1];
	}
}

static bool is_above_bound(const struct search *s)
{
	return s->peak > s->bound && s->n <= MAX_BREADTH_ITEMS;
}

static void search_all(struct search *s)
{
	order_by_size(s->items, s->order, s->n);
	search_from(s, 0);
	if (is_above_bound(s)) {
		order_by_breadth(s->items, s->order, s->n, s->align);
		search_from(s, MAX_TRIES);
	}
	if (is_above_bound(s)) {
		order_by_size(s->items, s->order, s->n);
		search_from(s, MAX_TRIES);
	}
	if (is_above_bound(s)) {
		order_by_breadth(s->items, s->order, s->n, s->align);
		search_by_swaps(s, MAX_SWAPS);
	}
}

static int check_total(const struct pk_placement *items, size_t n, size_t align)
{
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		size_t aligned = pk_align_up(items[i].bytes, align);
		if (aligned == SIZE_MAX || pk_add_overflow(total, aligned, &total))
			return -EOVERFLOW;
	}
	return 0;
}

int pk_planner_place(struct pk_placement *items, size_t n, size_t align, size_t *peak_bytes,
	size_t *lower_bound_bytes)
{
	int r = check_total(items, n, align);
	if (r < 0)
		return r;
	pk_cleanup(search_finish) struct search search = {
		.items = items,
		.order = calloc(n ? n : 1, sizeof(struct order)),
		.spans = calloc(n ? n : 1, sizeof(struct span)),
		.offsets = calloc(n ? n : 1, sizeof(size_t)),
		.n = n,
		.align = align,
		.peak = SIZE_MAX,
		.bound = bound_below(items, n, align),
	};
	if (!search.order || !search.spans || !search.offsets)
		return -ENOMEM;
	search_all(&search);
	for (size_t i = 0; i < n; i++)
		items[i].offset = search.offsets[i];
	*peak_bytes = pk_align_up(search.peak, align);
	*lower_bound_bytes = search.bound;
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
