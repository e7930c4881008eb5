// SPDX-License-Identifier: Apache-2.0
// Groups values that share bytes, places the groups, writes and checks the section.
#include "engine/cuda/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/compile/planner.h"
#include "engine/cuda/layout.h"

#define HEADER_WORDS 4

struct planner {
	const struct pk_cuda_steps *steps;
	struct pk_cuda_memory *memory;
	int *first, *last;          // by group: steps at which its bytes are needed
	struct pk_placement *items; // one for each group
	int *item_of;               // by group
	size_t n_items;
};

static void planner_finish(struct planner *p)
{
	free(p->first);
	free(p->last);
	free(p->items);
	free(p->item_of);
}

static int planner_init(struct planner *p)
{
	size_t n = (size_t)p->steps->graph->n_values + 1;
	p->memory->offsets = calloc(n, sizeof(*p->memory->offsets));
	p->memory->groups = calloc(n, sizeof(*p->memory->groups));
	p->first = calloc(n, sizeof(*p->first));
	p->last = calloc(n, sizeof(*p->last));
	p->items = calloc(n, sizeof(*p->items));
	p->item_of = calloc(n, sizeof(*p->item_of));
	bool complete = p->memory->offsets && p->memory->groups && p->first && p->last &&
			p->items && p->item_of;
	return complete ? 0 : -ENOMEM;
}

static bool needs_place(const struct pk_value *value)
{
	return value && !value->data && (value->producer || value->is_input);
}

// Lifetimes of single values; inputs are written before the first step, outputs read after the
// last.
static void find_lifetimes(struct planner *p)
{
	const struct pk_graph *graph = p->steps->graph;
	for (int i = 0; i < graph->n_values; i++) {
		p->memory->groups[i] = needs_place(graph->values[i]) ? i : -1;
		p->first[i] = p->last[i] = -1;
	}
	for (int at = 0; at < p->steps->n; at++) {
		const struct pk_node *node = p->steps->items[at].call.node;
		for (int i = 0; i < node->n_outputs; i++)
			p->first[node->outputs[i]->id] = p->last[node->outputs[i]->id] = at;
		for (int i = 0; i < node->n_inputs; i++) {
			if (needs_place(node->inputs[i]))
				p->last[node->inputs[i]->id] = at;
		}
	}
	for (int i = 0; i < graph->n_outputs; i++)
		p->last[graph->outputs[i]->id] = p->steps->n;
}

// y's bytes are those of x's group from here on.
static void join(struct planner *p, const struct pk_value *x, const struct pk_value *y)
{
	int group = p->memory->groups[x->id];
	p->memory->groups[y->id] = group;
	p->last[group] = PK_MAX(p->last[group], p->last[y->id]);
}

// Element i of the result may be written while only element i of the group's bytes is still read.
static bool reads_alike(const struct planner *p, const struct pk_cuda_step *step, int group)
{
	const struct pk_node *node = step->call.node;
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *x = node->inputs[i];
		if (needs_place(x) && p->memory->groups[x->id] == group &&
			!pk_cuda_tensor_equal(&step->call.inputs[i], &step->call.outputs[0]))
			return false;
	}
	return true;
}

// An operand that dies at this step, equally laid, not a graph input (it may be run again).
static const struct pk_value *dead_operand(const struct planner *p, int at)
{
	const struct pk_cuda_step *step = &p->steps->items[at];
	const struct pk_node *node = step->call.node;
	if (!step->row || !step->row->in_place || node->n_outputs != 1)
		return NULL;
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *x = node->inputs[i];
		if (!needs_place(x) ||
			!pk_cuda_tensor_equal(&step->call.inputs[i], &step->call.outputs[0]))
			continue;
		int group = p->memory->groups[x->id];
		if (p->last[group] == at && !p->steps->graph->values[group]->is_input &&
			reads_alike(p, step, group))
			return x;
	}
	return NULL;
}

// In the order of the steps: a view reads its operand, so it is joined before that operand dies.
static void join_groups(struct planner *p)
{
	for (int at = 0; at < p->steps->n; at++) {
		const struct pk_cuda_step *step = &p->steps->items[at];
		const struct pk_node *node = step->call.node;
		const struct pk_value *x =
			step->kind == PK_CUDA_STEP_VIEW ? node->inputs[0] : dead_operand(p, at);
		if (x)
			join(p, x, node->outputs[0]);
	}
}

static void make_items(struct planner *p)
{
	const struct pk_graph *graph = p->steps->graph;
	for (int i = 0; i < graph->n_values; i++) {
		int group = p->memory->groups[i];
		if (group < 0)
			continue;
		if (group == i) {
			p->item_of[i] = (int)p->n_items;
			p->items[p->n_items++] =
				(struct pk_placement){.first = p->first[i], .last = p->last[i]};
		}
	}
	for (int i = 0; i < graph->n_values; i++) {
		int group = p->memory->groups[i];
		size_t bytes = pk_cuda_tensor_bytes(&p->steps->tensors[i]);
		if (group < 0)
			continue;
		struct pk_placement *item = &p->items[p->item_of[group]];
		item->bytes = PK_MAX(item->bytes, pk_align_up(bytes, PK_CUDA_ALIGN));
	}
}

static void set_offsets(struct planner *p)
{
	for (int i = 0; i < p->steps->graph->n_values; i++) {
		int group = p->memory->groups[i];
		p->memory->offsets[i] =
			group < 0 ? PK_CUDA_NO_PLACE : p->items[p->item_of[group]].offset;
	}
}

static int group_values(struct planner *p)
{
	int r = planner_init(p);
	if (r < 0)
		return r;
	find_lifetimes(p);
	join_groups(p);
	make_items(p);
	return 0;
}

int pk_cuda_memory_plan(
	const struct pk_cuda_steps *steps, struct pk_cuda_memory *out, struct pk_err *err)
{
	*out = (struct pk_cuda_memory){0};
	pk_cleanup(planner_finish) struct planner p = {.steps = steps, .memory = out};
	int r = group_values(&p);
	if (r == 0)
		r = pk_planner_place(p.items, p.n_items, PK_CUDA_ALIGN, &out->arena_bytes,
			&out->lower_bound_bytes);
	if (r < 0) {
		pk_cuda_memory_finish(out);
		return pk_fail(err, r, "memory plan: %s", strerror(-r));
	}
	set_offsets(&p);
	return 0;
}

void pk_cuda_memory_finish(struct pk_cuda_memory *memory)
{
	free(memory->offsets);
	free(memory->groups);
	*memory = (struct pk_cuda_memory){0};
}

int pk_cuda_memory_write(
	const struct pk_cuda_steps *steps, const struct pk_cuda_memory *memory, struct pk_buf *out)
{
	const uint64_t header[HEADER_WORDS] = {(uint64_t)steps->float_type, memory->arena_bytes,
		memory->lower_bound_bytes, (uint64_t)steps->graph->n_values};
	pk_buf_append(out, header, sizeof(header));
	for (int i = 0; i < steps->graph->n_values; i++) {
		uint64_t offset = memory->offsets[i];
		pk_buf_append(out, &offset, sizeof(offset));
	}
	return pk_buf_error(out);
}

static uint64_t word(const struct pk_cuda_bytes *section, size_t idx)
{
	uint64_t v;
	memcpy(&v, (const char *)section->data + idx * sizeof(v), sizeof(v));
	return v;
}

int pk_cuda_memory_float_type(
	const struct pk_cuda_bytes *section, enum pk_dtype *float_type, struct pk_err *err)
{
	if (!section->data || section->n < HEADER_WORDS * sizeof(uint64_t))
		return pk_fail(err, -EBADMSG, "memory plan: too short");
	uint64_t type = word(section, 0);
	if (type != PK_F32 && type != PK_F16)
		return pk_fail(err, -EBADMSG, "memory plan: no such float type");
	*float_type = (enum pk_dtype)type;
	return 0;
}

static int read_offsets(struct planner *p, const struct pk_cuda_bytes *section)
{
	struct pk_cuda_memory *memory = p->memory;
	uint64_t n = (uint64_t)p->steps->graph->n_values;
	if (word(section, 3) != n || section->n != (HEADER_WORDS + n) * sizeof(uint64_t))
		return -EBADMSG;
	memory->arena_bytes = word(section, 1);
	memory->lower_bound_bytes = word(section, 2);
	for (int i = 0; i < p->steps->graph->n_values; i++) {
		uint64_t offset = word(section, HEADER_WORDS + (size_t)i);
		if (memory->groups[i] != i)
			continue;
		if (offset % PK_CUDA_ALIGN != 0)
			return -EBADMSG;
		p->items[p->item_of[i]].offset = offset;
	}
	return pk_planner_holds(p->items, p->n_items, memory->arena_bytes) ? 0 : -EBADMSG;
}

int pk_cuda_memory_read(const struct pk_cuda_steps *steps, const struct pk_cuda_bytes *section,
	struct pk_cuda_memory *out, struct pk_err *err)
{
	*out = (struct pk_cuda_memory){0};
	pk_cleanup(planner_finish) struct planner p = {.steps = steps, .memory = out};
	int r = group_values(&p);
	if (r == 0)
		r = read_offsets(&p, section);
	if (r < 0) {
		pk_cuda_memory_finish(out);
		return pk_fail(err, r,
			r == -ENOMEM ? "out of memory" : "memory plan does not fit the graph");
	}
	set_offsets(&p);
	return 0;
}
