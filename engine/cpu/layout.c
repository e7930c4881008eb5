// SPDX-License-Identifier: Apache-2.0
// Chooses layouts node by node, in order, and puts reorders where a value is wanted in another one.
#include "engine/cpu/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/cpu/kernel.h"
#include "engine/ir/layout.h"

#define MAX_INPUTS         64 // of a node that may be blocked
#define MAX_PLAIN_CHANNELS 4  // a convolution of so few reads them plain

struct layouter {
	struct pk_graph *graph;
	int block;
	struct pk_value **twins; // by value id: the same tensor in the other layout, or NULL
	int n_twins;
};

static struct pk_value *twin_of(const struct layouter *l, const struct pk_value *value)
{
	return value->id < l->n_twins ? l->twins[value->id] : NULL;
}

// The value in that layout when there is such a one already.
static struct pk_value *have(const struct layouter *l, struct pk_value *value, int block)
{
	if (value->block == block)
		return value;
	struct pk_value *twin = twin_of(l, value);
	return twin && twin->block == block ? twin : NULL;
}

// A reorder of value before `before`.
static struct pk_value *add_reorder(
	struct layouter *l, struct pk_value *value, int block, struct pk_node *before)
{
	struct pk_err ignored = {0};
	struct pk_node *node = pk_graph_new_node(l->graph, PK_OP_REORDER, "", &value, 1, before);
	if (!node || pk_graph_finish_node(l->graph, node, NULL, 1, NULL, &ignored) < 0)
		return NULL;
	struct pk_value *twin = node->outputs[0];
	twin->block = block;
	if (twin->id < l->n_twins && value->id < l->n_twins) {
		l->twins[value->id] = twin;
		l->twins[twin->id] = value;
	}
	return twin;
}

static int want(struct layouter *l, struct pk_node *node, int idx, int block)
{
	struct pk_value *value = have(l, node->inputs[idx], block);
	if (!value)
		value = add_reorder(l, node->inputs[idx], block, node);
	if (!value)
		return -ENOMEM;
	if (value != node->inputs[idx])
		pk_graph_set_input(node, idx, value);
	return 0;
}

// The node as it would be with these layouts, to ask the kernels about.
struct draft {
	struct pk_node node;
	struct pk_value values[MAX_INPUTS + 1];
	struct pk_value *inputs[MAX_INPUTS], *outputs[1];
	int blocks[MAX_INPUTS + 1]; // of the inputs, then of the output
};

static bool draft_runs(struct draft *draft, const struct pk_node *node)
{
	draft->node = *node;
	draft->node.inputs = draft->inputs;
	draft->node.outputs = draft->outputs;
	for (int i = 0; i <= node->n_inputs; i++) {
		bool is_output = i == node->n_inputs;
		struct pk_value *value = is_output ? node->outputs[0] : node->inputs[i];
		struct pk_value **at = is_output ? &draft->outputs[0] : &draft->inputs[i];
		*at = NULL;
		if (!value)
			continue;
		draft->values[i] = *value;
		draft->values[i].block = draft->blocks[i];
		*at = &draft->values[i];
		if (draft->blocks[i] &&
			!pk_layout_block_fits(value->dtype, &value->shape, draft->blocks[i]))
			return false;
	}
	return pk_cpu_kernel_default(&draft->node) != NULL;
}

static bool is_picture(const struct pk_value *value)
{
	return value && !value->data && value->shape.rank == 4 && value->dtype == PK_F32;
}

// Blocked inputs, as far as they are pictures. Bytes of those that are blocked already, and of all.
static void draft_inputs(const struct layouter *l, const struct pk_node *node, struct draft *draft,
	size_t *blocked, size_t *all)
{
	*blocked = *all = 0;
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_value *value = node->inputs[i];
		draft->blocks[i] = is_picture(value) ? l->block : 0;
		if (!is_picture(value))
			continue;
		size_t bytes = pk_layout_bytes(value);
		*all += bytes;
		*blocked += have(l, value, l->block) ? bytes : 0;
	}
}

// Whether the node runs blocked, and how. Convolutions always would; the others follow their
// inputs.
static bool choose(const struct layouter *l, const struct pk_node *node, struct draft *draft)
{
	size_t blocked, all;
	if (node->n_outputs != 1 || node->n_inputs > MAX_INPUTS || node->op == PK_OP_REORDER)
		return false;
	draft_inputs(l, node, draft, &blocked, &all);
	draft->blocks[node->n_inputs] = l->block;
	if (node->op == PK_OP_CONV) {
		const struct pk_value *x = node->inputs[0];
		if (is_picture(x) && x->shape.dims[1] <= MAX_PLAIN_CHANNELS &&
			!have(l, node->inputs[0], l->block))
			draft->blocks[0] = 0;
		return draft_runs(draft, node);
	}
	if (blocked == 0 || blocked < all / 2)
		return false;
	if (draft_runs(draft, node))
		return true;
	draft->blocks[node->n_inputs] = 0; // a reduction to a plain result
	return node->op == PK_OP_REDUCE && draft_runs(draft, node);
}

// A graph output that became blocked: a plain one takes its name and its uses.
static int plain_output(struct layouter *l, struct pk_node *node)
{
	struct pk_value *value = node->outputs[0];
	struct pk_list *next = node->link.next;
	struct pk_node *before =
		next == &l->graph->nodes ? NULL : pk_list_entry(next, struct pk_node, link);
	struct pk_value *plain = add_reorder(l, value, 0, before);
	if (!plain)
		return -ENOMEM;
	pk_graph_replace_uses(l->graph, value, plain);
	pk_graph_set_input(plain->producer, 0, value);
	return 0;
}

static int lay_out(struct layouter *l, struct pk_node *node)
{
	struct draft draft;
	int r = 0;
	bool blocked = choose(l, node, &draft);
	for (int i = 0; r == 0 && i < node->n_inputs; i++) {
		if (node->inputs[i])
			r = want(l, node, i, blocked ? draft.blocks[i] : 0);
	}
	if (r < 0 || !blocked || !draft.blocks[node->n_inputs])
		return r;
	node->outputs[0]->block = l->block;
	return node->outputs[0]->is_output ? plain_output(l, node) : 0;
}

int pk_cpu_layout(struct pk_graph *graph, int block, struct pk_err *err)
{
	struct layouter l = {.graph = graph, .block = block, .n_twins = 2 * graph->n_values};
	l.twins = calloc((size_t)l.n_twins + 1, sizeof(struct pk_value *));
	int r = l.twins ? 0 : -ENOMEM;
	struct pk_node *node;
	pk_graph_each_node (node, graph) { // the reorders that are added stay out of it
		if (r == 0)
			r = lay_out(&l, node);
	}
	free(l.twins);
	return r < 0 ? pk_fail(err, r, "out of memory") : 0;
}
