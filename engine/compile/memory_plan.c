// SPDX-License-Identifier: Apache-2.0
// One placement per shared buffer, and the MEMPLAN section's bytes.
#include "engine/compile/memory_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/compile/planner.h"

// One arena may not exceed this: a bound against absurd graphs, far above any camera model.
#define MAX_ARENA_BYTES (UINT64_C(16) << 30)

// One placement per buffer, and which buffer each stands for.
struct layout {
	struct pk_placement *items;
	int *buffers;
	size_t n_items;
};

static void layout_finish(struct layout *layout)
{
	free(layout->items);
	free(layout->buffers);
}

static void extend(struct pk_placement *item, int first, int last)
{
	item->first = PK_MIN(item->first, first);
	item->last = PK_MAX(item->last, last);
}

// A buffer is live from the first of its values to the last.
static int collect(const struct pk_sharing *sharing, struct layout *layout)
{
	size_t n = (size_t)sharing->n_values + 1;
	pk_auto_free size_t *item_of = calloc(n, sizeof(*item_of));
	layout->items = calloc(n, sizeof(*layout->items));
	layout->buffers = calloc(n, sizeof(*layout->buffers));
	if (!item_of || !layout->items || !layout->buffers)
		return -ENOMEM;
	for (int i = 0; i < sharing->n_values; i++) {
		if (sharing->buffers[i] != i)
			continue;
		item_of[i] = layout->n_items;
		layout->buffers[layout->n_items] = i;
		layout->items[layout->n_items++] = (struct pk_placement){.bytes = sharing->bytes[i],
			.first = sharing->first[i],
			.last = sharing->last[i]};
	}
	for (int i = 0; i < sharing->n_values; i++) {
		if (sharing->buffers[i] >= 0)
			extend(&layout->items[item_of[sharing->buffers[i]]], sharing->first[i],
				sharing->last[i]);
	}
	return 0;
}

static int prepare(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	struct pk_memory_plan *plan, struct layout *layout, struct pk_err *err)
{
	int r = pk_sharing_find(graph, rules, &plan->sharing, err);
	if (r < 0)
		return r;
	plan->n_values = graph->n_values;
	plan->offsets = calloc((size_t)graph->n_values + 1, sizeof(*plan->offsets));
	if (!plan->offsets || collect(&plan->sharing, layout) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void spread(const struct layout *layout, struct pk_memory_plan *plan)
{
	const struct pk_sharing *sharing = &plan->sharing;
	for (size_t i = 0; i < layout->n_items; i++)
		plan->offsets[layout->buffers[i]] = layout->items[i].offset;
	for (int i = 0; i < plan->n_values; i++) {
		int buffer = sharing->buffers[i];
		if (buffer < 0)
			plan->offsets[i] = PK_NO_BUFFER;
		else if (buffer != i)
			plan->offsets[i] = plan->offsets[buffer] + sharing->offsets[i];
	}
}

int pk_memory_plan_make(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	struct pk_memory_plan *out, struct pk_err *err)
{
	pk_cleanup(layout_finish) struct layout layout = {0};
	struct pk_memory_plan plan = {0};
	int r = prepare(graph, rules, &plan, &layout, err);
	if (r == 0) {
		r = pk_planner_place(layout.items, layout.n_items, rules->align, &plan.arena_bytes,
			&plan.lower_bound_bytes);
		if (r == 0 && plan.arena_bytes > MAX_ARENA_BYTES)
			r = -EFBIG;
		if (r < 0)
			(void)pk_fail(err, r, "activations do not fit any memory");
	}
	if (r < 0) {
		pk_memory_plan_finish(&plan);
		return r;
	}
	spread(&layout, &plan);
	*out = plan;
	return 0;
}

void pk_memory_plan_finish(struct pk_memory_plan *plan)
{
	free(plan->offsets);
	pk_sharing_finish(&plan->sharing);
	*plan = (struct pk_memory_plan){0};
}

#define HEADER_WORDS 3

int pk_memory_plan_write(const struct pk_memory_plan *plan, struct pk_buf *out)
{
	uint64_t header[HEADER_WORDS] = {
		plan->arena_bytes, plan->lower_bound_bytes, (uint64_t)plan->n_values};
	pk_buf_append(out, header, sizeof(header));
	for (int i = 0; i < plan->n_values; i++) {
		uint64_t offset = plan->offsets[i];
		pk_buf_append(out, &offset, sizeof(offset));
	}
	return pk_buf_error(out);
}

// Takes the offsets of the section for every buffer; those of other values follow from the graph.
static bool take_offsets(const uint64_t *words, size_t align, const struct layout *layout)
{
	for (size_t i = 0; i < layout->n_items; i++) {
		uint64_t offset = words[layout->buffers[i]];
		if (offset % align != 0)
			return false;
		layout->items[i].offset = (size_t)offset;
	}
	return true;
}

int pk_memory_plan_read(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	const struct pk_section_bytes *section, struct pk_memory_plan *out, struct pk_err *err)
{
	uint64_t header[HEADER_WORDS];
	if (section->n < sizeof(header))
		return pk_fail(err, -EBADMSG, "memory plan is cut off");
	memcpy(header, section->data, sizeof(header));
	if (header[2] != (uint64_t)graph->n_values ||
		section->n != sizeof(header) + (size_t)graph->n_values * sizeof(uint64_t) ||
		header[0] > MAX_ARENA_BYTES)
		return pk_fail(err, -EBADMSG, "memory plan does not belong to the graph");
	pk_cleanup(layout_finish) struct layout layout = {0};
	struct pk_memory_plan plan = {0};
	int r = prepare(graph, rules, &plan, &layout, err);
	const uint64_t *words = (const uint64_t *)((const char *)section->data + sizeof(header));
	if (r == 0 && !(take_offsets(words, rules->align, &layout) &&
			      pk_planner_holds(layout.items, layout.n_items, (size_t)header[0])))
		r = pk_fail(err, -EBADMSG, "memory plan lets buffers collide");
	if (r < 0) {
		pk_memory_plan_finish(&plan);
		return r;
	}
	plan.arena_bytes = (size_t)header[0];
	plan.lower_bound_bytes = (size_t)header[1];
	spread(&layout, &plan);
	*out = plan;
	return 0;
}
