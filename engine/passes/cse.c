// SPDX-License-Identifier: Apache-2.0
// F23: equal nodes become one, and so do small equal constants.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/ir/attr_rule.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"

#define PK_CSE_MAX_CONST_BYTES 4096 // larger constants are weights: seldom equal, slow to hash

// Open addressing; holds nodes or values.
struct pk_cse_table {
	const void **slots;
	size_t n; // a power of two, more than twice the entries
};

static int pk_cse_init(struct pk_cse_table *table, int n_entries)
{
	table->n = 64;
	while (table->n < 2 * (size_t)n_entries + 2)
		table->n *= 2;
	table->slots = calloc(table->n, sizeof(*table->slots));
	return table->slots ? 0 : -ENOMEM;
}

// The entry that is equal to item, or NULL after item was put in.
static const void *pk_cse_find_or_add(struct pk_cse_table *table, uint64_t hash, const void *item,
	bool (*equal)(const void *a, const void *b))
{
	size_t at = (size_t)(hash ^ hash >> 32) & (table->n - 1);
	while (table->slots[at]) {
		if (equal(table->slots[at], item))
			return table->slots[at];
		at = (at + 1) & (table->n - 1);
	}
	table->slots[at] = item;
	return NULL;
}

static uint64_t pk_cse_hash(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static size_t pk_cse_attr_bytes(const struct pk_attr_value *value)
{
	return (size_t)value->n * sizeof(value->i[0]); // doubles are as long
}

static uint64_t pk_cse_hash_node(const struct pk_node *node)
{
	uint64_t h = pk_cse_hash(UINT64_C(0xcbf29ce484222325), &node->op, sizeof(node->op));
	h = pk_cse_hash(h, node->inputs, (size_t)node->n_inputs * sizeof(struct pk_value *));
	for (int i = 0; i < pk_op_info(node->op)->n_attrs; i++)
		h = pk_cse_hash(h, node->attrs[i].i, pk_cse_attr_bytes(&node->attrs[i]));
	return h;
}

static bool pk_cse_same_operation(const struct pk_node *a, const struct pk_node *b)
{
	if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
		memcmp(a->inputs, b->inputs, (size_t)a->n_inputs * sizeof(struct pk_value *)))
		return false;
	for (int i = 0; i < pk_op_info(a->op)->n_attrs; i++)
		if (a->attrs[i].n != b->attrs[i].n ||
			memcmp(a->attrs[i].i, b->attrs[i].i, pk_cse_attr_bytes(&a->attrs[i])))
			return false;
	return true;
}

// Equal, and the outputs' names allow one to stand for the other.
static bool pk_cse_same_node(const void *first, const void *second)
{
	const struct pk_node *a = first, *b = second;
	if (!pk_cse_same_operation(a, b))
		return false;
	for (int i = 0; i < a->n_outputs; i++)
		if (!pk_match_same_type(a->outputs[i], b->outputs[i]) ||
			!pk_graph_can_replace(b->outputs[i], a->outputs[i]))
			return false;
	return true;
}

static int pk_cse_nodes(struct pk_graph *graph)
{
	struct pk_cse_table table;
	if (pk_cse_init(&table, graph->n_nodes) < 0)
		return -ENOMEM;
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		const struct pk_node *first =
			pk_cse_find_or_add(&table, pk_cse_hash_node(node), node, pk_cse_same_node);
		if (!first)
			continue;
		for (int i = 0; i < node->n_outputs; i++)
			pk_graph_replace_uses(graph, node->outputs[i], first->outputs[i]);
		pk_graph_remove_node(graph, node);
		n++;
	}
	free(table.slots);
	return n;
}

static bool pk_cse_is_small(const struct pk_value *value)
{
	return value->data && value->n_uses > 0 && !value->is_output &&
	       pk_tensor_bytes(value->dtype, &value->shape) <= PK_CSE_MAX_CONST_BYTES;
}

static bool pk_cse_same_const(const void *first, const void *second)
{
	const struct pk_value *a = first, *b = second;
	return pk_match_same_type(a, b) &&
	       memcmp(a->data, b->data, pk_tensor_bytes(a->dtype, &a->shape)) == 0;
}

// Fills twins[id] with the first equal constant; how many there are.
static int pk_cse_find_twins(
	struct pk_graph *graph, struct pk_cse_table *table, struct pk_value **twins)
{
	int n = 0;
	for (int i = 0; i < graph->n_values; i++) {
		struct pk_value *value = graph->values[i];
		if (!pk_cse_is_small(value))
			continue;
		uint64_t h = pk_cse_hash((uint64_t)value->dtype, value->data,
			pk_tensor_bytes(value->dtype, &value->shape));
		const struct pk_value *first =
			pk_cse_find_or_add(table, h, value, pk_cse_same_const);
		if (!first)
			continue;
		twins[i] = graph->values[first->id];
		n++;
	}
	return n;
}

// One walk for all constants: each may be used anywhere.
static void pk_cse_use_twins(struct pk_graph *graph, struct pk_value *const *twins)
{
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		for (int i = 0; i < node->n_inputs; i++)
			if (node->inputs[i] && twins[node->inputs[i]->id])
				pk_graph_set_input(node, i, twins[node->inputs[i]->id]);
	}
}

static int pk_cse_consts(struct pk_graph *graph)
{
	struct pk_cse_table table = {0};
	pk_auto_free struct pk_value **twins =
		calloc((size_t)graph->n_values + 1, sizeof(struct pk_value *));
	if (!twins || pk_cse_init(&table, graph->n_values) < 0)
		return -ENOMEM;
	int n = pk_cse_find_twins(graph, &table, twins);
	if (n > 0)
		pk_cse_use_twins(graph, twins);
	free(table.slots);
	return n;
}

int pk_pass_cse(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n_consts = pk_cse_consts(graph);
	int n_nodes = n_consts < 0 ? n_consts : pk_cse_nodes(graph);
	return n_nodes < 0 ? n_nodes : n_consts + n_nodes;
}
