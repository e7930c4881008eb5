// SPDX-License-Identifier: Apache-2.0
// Lifetimes over the node order, alias classes for views, and the MEMPLAN section's bytes.
#include "engine/compile/memory_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/compile/planner.h"

// One arena may not exceed this: a bound against absurd graphs, far above any camera model.
#define MAX_ARENA_BYTES (UINT64_C(16) << 30)

static bool needs_buffer(const struct pk_value *value)
{
	return !value->data && (value->producer || value->is_input);
}

static void find_roots(const struct pk_graph *graph, int *roots)
{
	for (int i = 0; i < graph->n_values; i++)
		roots[i] = i;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		bool view = pk_op_info(node->op)->flags & PK_OP_VIEW;
		if (view && needs_buffer(node->inputs[0]))
			roots[node->outputs[0]->id] = roots[node->inputs[0]->id];
	}
}

struct lifetime {
	int first, last; // node positions; -1 before all, n_nodes after all
	bool used;
};

static void touch(struct lifetime *life, int at)
{
	if (!life->used) {
		*life = (struct lifetime){at, at, true};
		return;
	}
	life->first = PK_MIN(life->first, at);
	life->last = PK_MAX(life->last, at);
}

static void find_lifetimes(const struct pk_graph *graph, const int *roots, struct lifetime *lives)
{
	int at = 0;
	for (int i = 0; i < graph->n_inputs; i++)
		touch(&lives[roots[graph->inputs[i]->id]], -1);
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		for (int i = 0; i < node->n_inputs; i++) {
			if (node->inputs[i] && needs_buffer(node->inputs[i]))
				touch(&lives[roots[node->inputs[i]->id]], at);
		}
		for (int i = 0; i < node->n_outputs; i++)
			touch(&lives[roots[node->outputs[i]->id]], at);
		at++;
	}
	for (int i = 0; i < graph->n_outputs; i++) {
		if (needs_buffer(graph->outputs[i]))
			touch(&lives[roots[graph->outputs[i]->id]], at);
	}
}

// Fills items (one per root with a lifetime) and which value each stands for; returns their number.
static size_t collect(const struct pk_graph *graph, const int *roots, struct pk_placement *items,
	int *item_values, struct lifetime *lives)
{
	size_t n = 0;
	find_lifetimes(graph, roots, lives);
	for (int i = 0; i < graph->n_values; i++) {
		const struct pk_value *value = graph->values[i];
		if (roots[i] != i || !lives[i].used)
			continue;
		items[n] = (struct pk_placement){
			.bytes = pk_tensor_bytes(value->dtype, &value->shape),
			.first = lives[i].first,
			.last = lives[i].last,
		};
		item_values[n++] = i;
	}
	return n;
}

struct scratch {
	struct pk_placement *items;
	int *item_values;
	struct lifetime *lives;
	size_t n_items;
};

static void scratch_finish(struct scratch *scratch)
{
	free(scratch->items);
	free(scratch->item_values);
	free(scratch->lives);
}

static int prepare(const struct pk_graph *graph, struct pk_memory_plan *plan,
	struct scratch *scratch, struct pk_err *err)
{
	size_t n = (size_t)graph->n_values + 1;
	plan->n_values = graph->n_values;
	plan->offsets = malloc(n * sizeof(*plan->offsets));
	plan->roots = calloc(n, sizeof(*plan->roots));
	scratch->items = calloc(n, sizeof(*scratch->items));
	scratch->item_values = calloc(n, sizeof(*scratch->item_values));
	scratch->lives = calloc(n, sizeof(*scratch->lives));
	if (!plan->offsets || !plan->roots || !scratch->items || !scratch->item_values ||
		!scratch->lives)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		plan->offsets[i] = PK_NO_BUFFER;
	find_roots(graph, plan->roots);
	scratch->n_items =
		collect(graph, plan->roots, scratch->items, scratch->item_values, scratch->lives);
	return 0;
}

static void spread_to_views(const struct pk_graph *graph, struct pk_memory_plan *plan)
{
	for (int i = 0; i < graph->n_values; i++)
		plan->offsets[i] = plan->offsets[plan->roots[i]];
}

int pk_memory_plan_make(
	const struct pk_graph *graph, size_t align, struct pk_memory_plan *out, struct pk_err *err)
{
	pk_cleanup(scratch_finish) struct scratch scratch = {0};
	struct pk_memory_plan plan = {0};
	int r = prepare(graph, &plan, &scratch, err);
	if (r == 0) {
		r = pk_planner_place(scratch.items, scratch.n_items, align, &plan.arena_bytes,
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
	for (size_t i = 0; i < scratch.n_items; i++)
		plan.offsets[scratch.item_values[i]] = scratch.items[i].offset;
	spread_to_views(graph, &plan);
	*out = plan;
	return 0;
}

void pk_memory_plan_finish(struct pk_memory_plan *plan)
{
	free(plan->offsets);
	free(plan->roots);
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

// Takes the offsets of the section for every root that needs one.
static bool take_offsets(const uint64_t *words, size_t align, const struct scratch *scratch)
{
	for (size_t i = 0; i < scratch->n_items; i++) {
		uint64_t offset = words[scratch->item_values[i]];
		if (offset % align != 0)
			return false;
		scratch->items[i].offset = (size_t)offset;
	}
	return true;
}

int pk_memory_plan_read(const struct pk_graph *graph, size_t align, const void *bytes, size_t n,
	struct pk_memory_plan *out, struct pk_err *err)
{
	uint64_t header[HEADER_WORDS];
	if (n < sizeof(header))
		return pk_fail(err, -EBADMSG, "memory plan is cut off");
	memcpy(header, bytes, sizeof(header));
	if (header[2] != (uint64_t)graph->n_values ||
		n != sizeof(header) + (size_t)graph->n_values * sizeof(uint64_t) ||
		header[0] > MAX_ARENA_BYTES)
		return pk_fail(err, -EBADMSG, "memory plan does not belong to the graph");
	pk_cleanup(scratch_finish) struct scratch scratch = {0};
	struct pk_memory_plan plan = {0};
	int r = prepare(graph, &plan, &scratch, err);
	const uint64_t *words = (const uint64_t *)((const char *)bytes + sizeof(header));
	if (r == 0 && !(take_offsets(words, align, &scratch) &&
			      pk_planner_holds(scratch.items, scratch.n_items, (size_t)header[0])))
		r = pk_fail(err, -EBADMSG, "memory plan lets buffers collide");
	if (r < 0) {
		pk_memory_plan_finish(&plan);
		return r;
	}
	plan.arena_bytes = (size_t)header[0];
	plan.lower_bound_bytes = (size_t)header[1];
	for (size_t i = 0; i < scratch.n_items; i++)
		plan.offsets[scratch.item_values[i]] = scratch.items[i].offset;
	spread_to_views(graph, &plan);
	*out = plan;
	return 0;
}
