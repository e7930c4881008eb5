// SPDX-License-Identifier: Apache-2.0
// Two steps over the nodes: values of the same bytes are put together (views, slices, concat), then
// results over operands that die there. A value's bytes must hold from first to last; two values
// whose bytes overlap and that are not parts of the same bytes may never be live together.
#include "engine/compile/sharing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/ir/layout.h"

// Pairs of values looked at for one result written in place; beyond it gets a buffer of its own.
#define MAX_PAIRS 4096

struct finder {
	const struct pk_graph *graph;
	const struct pk_memory_rules *rules;
	struct pk_sharing *sharing;
	struct pk_node **nodes; // by position
	int *contents;          // by value id: the buffer it had after the first step
	int *next;              // by value id: ring of the values in one buffer
	int *n_members;         // by buffer
	bool *fixed;            // by buffer: holds a graph input or output
};

static void finder_finish(struct finder *f)
{
	free(f->nodes);
	free(f->contents);
	free(f->next);
	free(f->n_members);
	free(f->fixed);
}

static bool needs_buffer(const struct pk_value *value)
{
	return value && !value->data && (value->producer || value->is_input);
}

static int finder_init(struct finder *f, struct pk_err *err)
{
	struct pk_sharing *s = f->sharing;
	size_t n = (size_t)f->graph->n_values + 1, n_nodes = (size_t)f->graph->n_nodes + 1;
	s->n_values = f->graph->n_values;
	s->n_nodes = f->graph->n_nodes;
	s->buffers = calloc(n, sizeof(*s->buffers));
	s->offsets = calloc(n, sizeof(*s->offsets));
	s->bytes = calloc(n, sizeof(*s->bytes));
	s->first = calloc(n, sizeof(*s->first));
	s->last = calloc(n, sizeof(*s->last));
	s->moves_nothing = calloc(n_nodes, sizeof(*s->moves_nothing));
	f->nodes = calloc(n_nodes, sizeof(struct pk_node *));
	f->contents = calloc(n, sizeof(*f->contents));
	f->next = calloc(n, sizeof(*f->next));
	f->n_members = calloc(n, sizeof(*f->n_members));
	f->fixed = calloc(n, sizeof(*f->fixed));
	bool complete = s->buffers && s->offsets && s->bytes && s->first && s->last &&
			s->moves_nothing && f->nodes && f->contents && f->next && f->n_members &&
			f->fixed;
	return complete ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static void find_lifetimes(struct finder *f)
{
	struct pk_sharing *s = f->sharing;
	int at = 0;
	for (int i = 0; i < f->graph->n_inputs; i++)
		s->first[f->graph->inputs[i]->id] = s->last[f->graph->inputs[i]->id] = -1;
	struct pk_node *node;
	pk_graph_each_node (node, f->graph) {
		for (int i = 0; i < node->n_outputs; i++)
			s->first[node->outputs[i]->id] = s->last[node->outputs[i]->id] = at;
		for (int i = 0; i < node->n_inputs; i++) {
			if (needs_buffer(node->inputs[i]))
				s->last[node->inputs[i]->id] = at;
		}
		f->nodes[at++] = node;
	}
	for (int i = 0; i < f->graph->n_outputs; i++)
		s->last[f->graph->outputs[i]->id] = at;
}

static void give_own_buffers(struct finder *f)
{
	for (int i = 0; i < f->graph->n_values; i++) {
		const struct pk_value *value = f->graph->values[i];
		bool needs = needs_buffer(value);
		f->sharing->buffers[i] = needs ? i : -1;
		f->sharing->bytes[i] = needs ? pk_layout_bytes(value) : 0;
		f->next[i] = i;
		f->n_members[i] = 1;
		f->fixed[i] = value->is_input || value->is_output;
	}
}

// All values of the buffer `from` move into `into`, `shift` bytes from its start.
static void merge(struct finder *f, int from, int into, size_t shift)
{
	int i = from;
	do {
		f->sharing->buffers[i] = into;
		f->sharing->offsets[i] += shift;
		i = f->next[i];
	} while (i != from);
	int after = f->next[into]; // joins the two rings
	f->next[into] = f->next[from];
	f->next[from] = after;
	f->n_members[into] += f->n_members[from];
	f->fixed[into] |= f->fixed[from];
}

static size_t value_bytes(const struct pk_value *value)
{
	return pk_layout_bytes(value);
}

// The first axis longer than one: parts along it are whole runs of bytes.
static int outermost_axis(const struct pk_shape *shape)
{
	int axis = 0;
	while (axis < shape->rank - 1 && shape->dims[axis] == 1)
		axis++;
	return axis;
}

// Bytes of one index of the axis, in a tensor whose outer axes are all 1.
static size_t bytes_along(const struct pk_value *value, int axis)
{
	size_t n = value_bytes(value);
	int64_t dim = value->shape.dims[axis];
	return dim > 0 ? n / (size_t)dim : 0;
}

// Where a slice that is one run of bytes begins in its operand; false: it is none.
static bool slice_begin(const struct pk_node *node, size_t *begin)
{
	const struct pk_value *x = node->inputs[0], *y = node->outputs[0];
	const struct pk_attr_value *starts = pk_node_attr(node, PK_ATTR_STARTS);
	const struct pk_attr_value *steps = pk_node_attr(node, PK_ATTR_STEPS);
	int rank = x->shape.rank, axis = outermost_axis(&x->shape);
	if (rank == 0 || y->shape.rank != rank || starts->n != rank || steps->n != rank)
		return false;
	for (int i = 0; i < rank; i++) {
		if (steps->i[i] != 1 && y->shape.dims[i] > 1)
			return false;
		if (i != axis && (starts->i[i] != 0 || y->shape.dims[i] != x->shape.dims[i]))
			return false;
	}
	int64_t start = starts->i[axis];
	if (start < 0 || start > x->shape.dims[axis] - y->shape.dims[axis])
		return false;
	*begin = (size_t)start * bytes_along(x, axis);
	return true;
}

// The output becomes a part of its operand's bytes.
static void share_view(struct finder *f, const struct pk_node *node)
{
	const struct pk_value *x = node->inputs[0], *y = node->outputs[0];
	bool view = pk_op_info(node->op)->flags & PK_OP_VIEW;
	size_t begin = 0;
	if (!needs_buffer(x) || x->dtype != y->dtype || value_bytes(y) > value_bytes(x))
		return;
	if (view ? value_bytes(y) != value_bytes(x) : !slice_begin(node, &begin))
		return;
	begin += f->sharing->offsets[x->id];
	if (begin % f->rules->align == 0)
		merge(f, y->id, f->sharing->buffers[x->id], begin);
}

struct part {
	size_t begin, end; // in the concat's output
};

static struct part concat_part(const struct pk_node *node, int operand_idx)
{
	struct part part = {0};
	for (int i = 0; i <= operand_idx; i++) {
		part.begin = part.end;
		part.end += value_bytes(node->inputs[i]);
	}
	return part;
}

// The whole buffer of operand `idx` fits into the concat's so that the operand is at its place and
// nothing else of the concat is written over it.
static bool may_embed(const struct finder *f, const struct pk_node *node, int idx, size_t *shift)
{
	const struct pk_sharing *s = f->sharing;
	const struct pk_value *x = node->inputs[idx];
	int buffer = s->buffers[x->id];
	struct part part = concat_part(node, idx);
	size_t total = value_bytes(node->outputs[0]);
	if (f->fixed[buffer] || part.begin == part.end || part.begin < s->offsets[x->id])
		return false;
	*shift = part.begin - s->offsets[x->id];
	if (*shift % f->rules->align != 0 || *shift > total || s->bytes[buffer] > total - *shift)
		return false;
	for (int i = 0; i < node->n_inputs; i++) {
		struct part other = concat_part(node, i);
		if (other.end <= *shift || other.begin >= *shift + s->bytes[buffer])
			continue;
		const struct pk_value *y = node->inputs[i];
		if (!needs_buffer(y) || s->buffers[y->id] != buffer ||
			s->offsets[y->id] + *shift != other.begin)
			return false;
	}
	return true;
}

// Above this many operands the quadratic search is left out.
#define MAX_CONCAT_PARTS 64

static void share_concat(struct finder *f, const struct pk_node *node)
{
	struct pk_sharing *s = f->sharing;
	const struct pk_value *y = node->outputs[0];
	if (y->shape.rank == 0 || node->n_inputs > MAX_CONCAT_PARTS ||
		pk_node_int(node, PK_ATTR_AXIS) > outermost_axis(&y->shape))
		return;
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *x = node->inputs[i];
		size_t shift;
		if (!needs_buffer(x) || x->dtype != y->dtype || s->buffers[x->id] == y->id)
			continue;
		if (may_embed(f, node, i, &shift))
			merge(f, s->buffers[x->id], y->id, shift);
	}
}

static bool bears_in_place(const struct finder *f, const struct pk_node *node)
{
	return f->rules->in_place && f->rules->in_place(node);
}

static void share_contents(struct finder *f)
{
	for (int at = 0; at < f->graph->n_nodes; at++) {
		const struct pk_node *node = f->nodes[at];
		if (!pk_layout_is_transparent(node))
			continue;
		if (pk_op_info(node->op)->flags & PK_OP_VIEW || node->op == PK_OP_SLICE)
			share_view(f, node);
		else if (node->op == PK_OP_CONCAT && bears_in_place(f, node))
			share_concat(f, node);
	}
	memcpy(f->contents, f->sharing->buffers, (size_t)f->graph->n_values * sizeof(*f->contents));
}

static bool overlap(size_t a, size_t a_bytes, size_t b, size_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

// `y`, written by the node at which `x` is last read, may lie over it.
static bool may_overwrite(
	const struct finder *f, const struct pk_value *x, const struct pk_value *y, size_t distance)
{
	int at = f->sharing->first[y->id];
	if (distance != 0 || f->sharing->last[x->id] != at || at < 0 || !y->producer)
		return false;
	return (pk_op_info(y->producer->op)->flags & PK_OP_ELEMENTWISE) &&
	       bears_in_place(f, y->producer) && x->block == y->block &&
	       value_bytes(x) == value_bytes(y) &&
	       pk_shape_elements(&x->shape) == pk_shape_elements(&y->shape);
}

// Whether values a and b may have the addresses a_at and b_at (from the start of one buffer).
static bool may_meet(const struct finder *f, int a, size_t a_at, int b, size_t b_at)
{
	const struct pk_sharing *s = f->sharing;
	const struct pk_value *va = f->graph->values[a], *vb = f->graph->values[b];
	size_t distance = a_at > b_at ? a_at - b_at : b_at - a_at;
	if (f->contents[a] == f->contents[b] ||
		!overlap(a_at, value_bytes(va), b_at, value_bytes(vb)))
		return true;
	if (s->last[a] < s->first[b] || s->last[b] < s->first[a])
		return true;
	return (s->last[a] == s->first[b] && may_overwrite(f, va, vb, distance)) ||
	       (s->last[b] == s->first[a] && may_overwrite(f, vb, va, distance));
}

static bool may_merge(const struct finder *f, int from, int into, size_t shift)
{
	const struct pk_sharing *s = f->sharing;
	if ((int64_t)f->n_members[from] * f->n_members[into] > MAX_PAIRS)
		return false;
	int a = from;
	do {
		int b = into;
		do {
			if (!may_meet(f, a, s->offsets[a] + shift, b, s->offsets[b]))
				return false;
			b = f->next[b];
		} while (b != into);
		a = f->next[a];
	} while (a != from);
	return true;
}

// The smaller buffer goes into the larger one so that x and y have one address.
static bool overwrite(struct finder *f, const struct pk_value *x, const struct pk_value *y)
{
	const struct pk_sharing *s = f->sharing;
	if (s->buffers[x->id] == s->buffers[y->id] || value_bytes(y) == 0 ||
		!may_overwrite(f, x, y, 0))
		return false;
	bool swap = s->bytes[s->buffers[y->id]] > s->bytes[s->buffers[x->id]];
	const struct pk_value *small = swap ? x : y, *large = swap ? y : x;
	int from = s->buffers[small->id], into = s->buffers[large->id];
	size_t from_at = s->offsets[small->id], into_at = s->offsets[large->id];
	if (into_at < from_at || into_at - from_at + s->bytes[from] > s->bytes[into] ||
		!may_merge(f, from, into, into_at - from_at))
		return false;
	merge(f, from, into, into_at - from_at);
	return true;
}

static void share_dead_operands(struct finder *f)
{
	for (int at = 0; at < f->graph->n_nodes; at++) {
		const struct pk_node *node = f->nodes[at];
		if (node->n_outputs != 1 || !(pk_op_info(node->op)->flags & PK_OP_ELEMENTWISE))
			continue;
		for (int i = 0; i < node->n_inputs; i++) {
			const struct pk_value *x = node->inputs[i];
			if (needs_buffer(x) && !x->is_input && overwrite(f, x, node->outputs[0]))
				break;
		}
	}
}

static bool lies_at(const struct pk_sharing *s, const struct pk_value *part,
	const struct pk_value *whole, size_t offset)
{
	return needs_buffer(part) && s->buffers[part->id] == s->buffers[whole->id] &&
	       s->offsets[part->id] == s->offsets[whole->id] + offset;
}

static bool moves_nothing(const struct finder *f, const struct pk_node *node)
{
	const struct pk_sharing *s = f->sharing;
	size_t begin = 0;
	if (!pk_layout_is_transparent(node))
		return false;
	if (node->op == PK_OP_CONCAT) {
		for (int i = 0; i < node->n_inputs; i++) {
			if (!lies_at(s, node->inputs[i], node->outputs[0], begin))
				return false;
			begin += value_bytes(node->inputs[i]);
		}
		return true;
	}
	bool view = pk_op_info(node->op)->flags & PK_OP_VIEW;
	if (!view && (node->op != PK_OP_SLICE || !slice_begin(node, &begin)))
		return false;
	return needs_buffer(node->inputs[0]) &&
	       lies_at(s, node->outputs[0], node->inputs[0], begin);
}

int pk_sharing_find(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	struct pk_sharing *out, struct pk_err *err)
{
	*out = (struct pk_sharing){0};
	pk_cleanup(finder_finish) struct finder f = {
		.graph = graph, .rules = rules, .sharing = out};
	int r = finder_init(&f, err);
	if (r < 0) {
		pk_sharing_finish(out);
		return r;
	}
	find_lifetimes(&f);
	give_own_buffers(&f);
	share_contents(&f);
	share_dead_operands(&f);
	for (int at = 0; at < graph->n_nodes; at++)
		out->moves_nothing[at] = moves_nothing(&f, f.nodes[at]);
	return 0;
}

void pk_sharing_finish(struct pk_sharing *sharing)
{
	free(sharing->buffers);
	free(sharing->offsets);
	free(sharing->bytes);
	free(sharing->first);
	free(sharing->last);
	free(sharing->moves_nothing);
	*sharing = (struct pk_sharing){0};
}
