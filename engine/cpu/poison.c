// SPDX-License-Identifier: Apache-2.0
// Fills the gaps between live values.
#include "engine/cpu/poison.h"
#include "engine/ir/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct span {
	size_t begin, end;
	int first, last; // written by node `first`, needed until node `last`
};

struct pk_poison {
	size_t arena_bytes;
	size_t n;
	struct span spans[]; // of all values, by their begin
};

static int compare_span(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

struct pk_poison *pk_poison_create(const struct pk_graph *graph, const struct pk_memory_plan *plan)
{
	const struct pk_sharing *sharing = &plan->sharing;
	struct pk_poison *poison =
		calloc(1, sizeof(*poison) + (size_t)plan->n_values * sizeof(poison->spans[0]));
	if (!poison)
		return NULL;
	poison->arena_bytes = plan->arena_bytes;
	for (int i = 0; i < plan->n_values; i++) {
		const struct pk_value *value = graph->values[i];
		size_t begin = plan->offsets[i];
		if (begin == PK_NO_BUFFER)
			continue;
		poison->spans[poison->n++] = (struct span){
			.begin = begin,
			.end = begin + pk_layout_bytes(value),
			.first = sharing->first[i],
			.last = sharing->last[i],
		};
	}
	qsort(poison->spans, poison->n, sizeof(poison->spans[0]), compare_span);
	return poison;
}

void pk_poison_destroy(struct pk_poison *poison)
{
	free(poison);
}

void pk_poison_fill(struct pk_poison *poison, int at, unsigned char *arena)
{
	size_t done = 0; // all below is live or filled
	for (size_t i = 0; i < poison->n; i++) {
		const struct span *span = &poison->spans[i];
		if (span->first >= at || span->last < at)
			continue;
		if (span->begin > done)
			memset(arena + done, PK_POISON_BYTE, span->begin - done);
		done = PK_MAX(done, span->end);
	}
	if (poison->arena_bytes > done)
		memset(arena + done, PK_POISON_BYTE, poison->arena_bytes - done);
}
