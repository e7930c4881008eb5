// SPDX-License-Identifier: Apache-2.0
// Owns values and nodes in one arena; keeps names unique and use counts right.
#include "engine/ir/graph.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "engine/ir/attr_rule.h"
#include "engine/ir/infer.h"

#define PK_DATA_ALIGN 64 // what kernels want of constants

static const uint64_t pk_no_data = 0; // stands for the bytes of an empty constant

struct pk_graph *pk_graph_create(size_t max_bytes)
{
	struct pk_arena *arena = pk_arena_create(max_bytes);
	if (!arena)
		return NULL;
	struct pk_graph *graph = pk_arena_new(arena, struct pk_graph);
	if (!graph) {
		pk_arena_destroy(arena);
		return NULL;
	}
	graph->arena = arena;
	pk_list_init(&graph->nodes);
	return graph;
}

void pk_graph_destroy(struct pk_graph *graph)
{
	if (graph)
		pk_arena_destroy(graph->arena);
}

void *pk_graph_alloc(struct pk_graph *graph, size_t bytes)
{
	size_t padded;
	if (pk_add_overflow(bytes, PK_DATA_ALIGN - 1, &padded))
		return NULL;
	char *block = pk_arena_alloc(graph->arena, padded);
	if (!block)
		return NULL;
	return block + (-(uintptr_t)block & (PK_DATA_ALIGN - 1));
}

// Appends to one of the graph's pointer vectors.
static int pk_graph_push(
	struct pk_graph *graph, struct pk_value ***items, int *n, int *cap, struct pk_value *value)
{
	if (*n == *cap) {
		int new_cap;
		if (pk_mul_overflow(*cap, 2, &new_cap))
			return -ENOMEM;
		new_cap = PK_MAX(new_cap, 8);
		struct pk_value **bigger =
			pk_arena_array(graph->arena, (size_t)new_cap, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		if (*n > 0)
			memcpy(bigger, *items, (size_t)*n * sizeof(*bigger));
		*items = bigger;
		*cap = new_cap;
	}
	(*items)[(*n)++] = value;
	return 0;
}

// FNV-1a, started at the graph's address so that colliding names cannot be prepared in a file.
static size_t pk_name_bucket(const struct pk_graph *graph, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uintptr_t)graph;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	return (size_t)h & (graph->n_names - 1);
}

static void pk_name_link(struct pk_graph *graph, struct pk_value *value)
{
	struct pk_value **bucket = &graph->names[pk_name_bucket(graph, value->name)];
	value->name_next = *bucket;
	*bucket = value;
}

static void pk_name_unlink(struct pk_graph *graph, struct pk_value *value)
{
	struct pk_value **at = &graph->names[pk_name_bucket(graph, value->name)];
	while (*at && *at != value)
		at = &(*at)->name_next;
	if (*at)
		*at = value->name_next;
}

static int pk_name_table_grow(struct pk_graph *graph)
{
	if ((size_t)graph->n_values < graph->n_names)
		return 0;
	size_t n = PK_MAX(graph->n_names * 2, (size_t)64);
	struct pk_value **names = pk_arena_array(graph->arena, n, sizeof(struct pk_value *));
	if (!names)
		return -ENOMEM;
	graph->names = names;
	graph->n_names = n;
	for (int i = 0; i < graph->n_values; i++)
		pk_name_link(graph, graph->values[i]);
	return 0;
}

struct pk_value *pk_graph_find_value(const struct pk_graph *graph, const char *name)
{
	if (graph->n_names == 0)
		return NULL;
	struct pk_value *value = graph->names[pk_name_bucket(graph, name)];
	while (value && strcmp(value->name, name) != 0)
		value = value->name_next;
	return value;
}

static bool pk_name_taken(
	const struct pk_graph *graph, char *text, size_t size, const char *name, unsigned suffix)
{
	snprintf(text, size, "%s.%u", name, suffix);
	return pk_graph_find_value(graph, text) != NULL;
}

// Doubling, then halving the step: many equal names stay cheap.
static char *pk_name_unique(struct pk_graph *graph, const char *name)
{
	if (!pk_graph_find_value(graph, name))
		return pk_arena_strdup(graph->arena, name);
	size_t size = strlen(name) + 16;
	char *text = pk_arena_alloc(graph->arena, size);
	if (!text)
		return NULL;
	unsigned free_at = 1;
	while (pk_name_taken(graph, text, size, name, free_at))
		free_at *= 2;
	unsigned taken = free_at / 2;
	while (free_at - taken > 1) {
		unsigned mid = taken + (free_at - taken) / 2;
		if (pk_name_taken(graph, text, size, name, mid))
			taken = mid;
		else
			free_at = mid;
	}
	pk_name_taken(graph, text, size, name, free_at); // writes the name
	return text;
}

static struct pk_value *pk_graph_new_value(struct pk_graph *graph, const char *name)
{
	char made[32];
	if (!name || !*name) {
		snprintf(made, sizeof(made), "v%d", graph->n_values);
		name = made;
	}
	struct pk_value *value = pk_arena_new(graph->arena, struct pk_value);
	if (!value || pk_name_table_grow(graph) < 0)
		return NULL;
	value->name = pk_name_unique(graph, name);
	if (!value->name)
		return NULL;
	value->id = graph->n_values;
	if (pk_graph_push(graph, &graph->values, &graph->n_values, &graph->cap_values, value) < 0)
		return NULL;
	pk_name_link(graph, value);
	return value;
}

static struct pk_value *pk_graph_new_typed(
	struct pk_graph *graph, const char *name, enum pk_dtype dtype, const struct pk_shape *shape)
{
	if (pk_tensor_bytes(dtype, shape) == SIZE_MAX)
		return NULL;
	struct pk_value *value = pk_graph_new_value(graph, name);
	if (!value)
		return NULL;
	value->dtype = dtype;
	value->shape = *shape;
	return value;
}

struct pk_value *pk_graph_add_input(
	struct pk_graph *graph, const char *name, enum pk_dtype dtype, const struct pk_shape *shape)
{
	struct pk_value *value = pk_graph_new_typed(graph, name, dtype, shape);
	if (!value)
		return NULL;
	if (pk_graph_push(graph, &graph->inputs, &graph->n_inputs, &graph->cap_inputs, value) < 0)
		return NULL;
	value->is_input = true;
	return value;
}

struct pk_value *pk_graph_add_const(struct pk_graph *graph, const char *name, enum pk_dtype dtype,
	const struct pk_shape *shape, const void *data)
{
	if (!data && pk_shape_elements(shape) != 0)
		return NULL;
	struct pk_value *value = pk_graph_new_typed(graph, name, dtype, shape);
	if (value)
		value->data = data ? data : &pk_no_data;
	return value;
}

struct pk_value *pk_graph_add_const_copy(struct pk_graph *graph, const char *name,
	enum pk_dtype dtype, const struct pk_shape *shape, const void *data)
{
	size_t bytes = pk_tensor_bytes(dtype, shape);
	if (bytes == SIZE_MAX || (bytes > 0 && !data))
		return NULL;
	if (bytes == 0)
		return pk_graph_add_const(graph, name, dtype, shape, NULL);
	void *copy = pk_graph_alloc(graph, bytes);
	if (!copy)
		return NULL;
	memcpy(copy, data, bytes);
	return pk_graph_add_const(graph, name, dtype, shape, copy);
}

int pk_graph_add_output(struct pk_graph *graph, struct pk_value *value)
{
	int r = pk_graph_push(
		graph, &graph->outputs, &graph->n_outputs, &graph->cap_outputs, value);
	if (r == 0)
		value->is_output = true;
	return r;
}

// Room for every operand the op may have, so that pk_graph_set_input need not allocate.
static int pk_node_alloc(
	struct pk_graph *graph, struct pk_node *node, struct pk_value *const *inputs, int n_inputs)
{
	const struct pk_op_info *info = pk_op_info(node->op);
	node->cap_inputs = PK_MAX(n_inputs, info->n_inputs_max);
	node->inputs = pk_arena_array(
		graph->arena, (size_t)PK_MAX(node->cap_inputs, 1), sizeof(struct pk_value *));
	node->attrs = pk_arena_array(
		graph->arena, (size_t)PK_MAX(info->n_attrs, 1), sizeof(struct pk_attr_value));
	if (!node->inputs || !node->attrs)
		return -ENOMEM;
	for (int i = 0; i < n_inputs; i++)
		pk_graph_set_input(node, i, inputs[i]);
	node->n_inputs = n_inputs;
	for (int i = 0; i < info->n_attrs; i++)
		pk_attr_rule_neutral(node, info->attrs[i], &node->attrs[i]);
	return 0;
}

static void pk_node_unlink(struct pk_graph *graph, struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++)
		pk_graph_set_input(node, i, NULL);
	pk_list_remove(&node->link);
	graph->n_nodes--;
}

struct pk_node *pk_graph_new_node(struct pk_graph *graph, enum pk_op op, const char *name,
	struct pk_value *const *inputs, int n_inputs, struct pk_node *before)
{
	struct pk_node *node = pk_arena_new(graph->arena, struct pk_node);
	if (!node)
		return NULL;
	node->op = op;
	node->name = pk_arena_strdup(graph->arena, name ? name : "");
	if (!node->name || pk_node_alloc(graph, node, inputs, n_inputs) < 0)
		return NULL;
	pk_list_insert(before ? &before->link : &graph->nodes, &node->link);
	graph->n_nodes++;
	return node;
}

static int pk_node_add_outputs(
	struct pk_graph *graph, struct pk_node *node, const char *const *names, int n_outputs)
{
	node->outputs = pk_arena_array(
		graph->arena, (size_t)PK_MAX(n_outputs, 1), sizeof(struct pk_value *));
	if (!node->outputs)
		return -ENOMEM;
	for (int i = 0; i < n_outputs; i++) {
		struct pk_value *value = pk_graph_new_value(graph, names ? names[i] : NULL);
		if (!value)
			return -ENOMEM;
		value->producer = node;
		value->output_idx = i;
		node->outputs[node->n_outputs++] = value;
	}
	return 0;
}

int pk_graph_finish_node(struct pk_graph *graph, struct pk_node *node, const char *const *names,
	int n_outputs, const struct pk_shape *shape, struct pk_err *err)
{
	const struct pk_op_info *info = pk_op_info(node->op);
	int r = -EINVAL;
	if (n_outputs < info->n_outputs_min ||
		(info->n_outputs_max >= 0 && n_outputs > info->n_outputs_max))
		pk_fail(err, r, "%s `%s`: %d outputs", info->name, node->name, n_outputs);
	else if ((r = pk_node_add_outputs(graph, node, names, n_outputs)) < 0)
		pk_fail(err, r, "%s `%s`: no memory", info->name, node->name);
	else
		r = pk_infer_node(node, shape, err);
	if (r < 0) {
		for (int i = 0; i < node->n_outputs; i++)
			node->outputs[i]->producer = NULL;
		pk_node_unlink(graph, node);
	}
	return r;
}

void pk_graph_set_input(struct pk_node *node, int input_idx, struct pk_value *value)
{
	assert(input_idx >= 0 && input_idx < node->cap_inputs);
	struct pk_value *old = node->inputs[input_idx];
	if (old)
		old->n_uses--;
	node->inputs[input_idx] = value;
	if (value)
		value->n_uses++;
	if (input_idx >= node->n_inputs)
		node->n_inputs = input_idx + 1;
}

bool pk_graph_can_replace(const struct pk_value *old, const struct pk_value *value)
{
	return !old->is_output || (!value->is_input && !value->is_output);
}

static void pk_graph_swap_names(struct pk_graph *graph, struct pk_value *a, struct pk_value *b)
{
	pk_name_unlink(graph, a);
	pk_name_unlink(graph, b);
	char *name = a->name;
	a->name = b->name;
	b->name = name;
	pk_name_link(graph, a);
	pk_name_link(graph, b);
}

void pk_graph_replace_uses(struct pk_graph *graph, struct pk_value *old, struct pk_value *value)
{
	if (old == value)
		return;
	// Users stand behind the producer.
	struct pk_list *link = old->producer ? old->producer->link.next : graph->nodes.next;
	for (; link != &graph->nodes && old->n_uses > 0; link = link->next) {
		struct pk_node *node = pk_list_entry(link, struct pk_node, link);
		for (int k = 0; k < node->n_inputs; k++)
			if (node->inputs[k] == old)
				pk_graph_set_input(node, k, value);
	}
	if (!old->is_output)
		return;
	if (pk_graph_can_replace(old, value))
		pk_graph_swap_names(graph, old, value);
	for (int i = 0; i < graph->n_outputs; i++)
		if (graph->outputs[i] == old)
			graph->outputs[i] = value;
	old->is_output = false;
	value->is_output = true;
}

void pk_graph_remove_node(struct pk_graph *graph, struct pk_node *node)
{
	for (int i = 0; i < node->n_outputs; i++) {
		assert(node->outputs[i]->n_uses == 0 && !node->outputs[i]->is_output);
		node->outputs[i]->producer = NULL;
	}
	pk_node_unlink(graph, node);
}

struct pk_node *pk_graph_only_user(const struct pk_graph *graph, const struct pk_value *value)
{
	if (value->n_uses != 1 || value->is_output)
		return NULL;
	const struct pk_list *link =
		value->producer ? value->producer->link.next : graph->nodes.next;
	for (; link != &graph->nodes; link = link->next) {
		struct pk_node *node = pk_list_entry(link, struct pk_node, link);
		for (int i = 0; i < node->n_inputs; i++)
			if (node->inputs[i] == value)
				return node;
	}
	return NULL;
}

struct pk_attr_value *pk_node_attr(const struct pk_node *node, enum pk_attr_id id)
{
	int i = pk_op_attr_index(node->op, id);
	assert(i >= 0);
	return &node->attrs[i];
}

int64_t pk_node_int(const struct pk_node *node, enum pk_attr_id id)
{
	return pk_node_attr(node, id)->i[0];
}

double pk_node_float(const struct pk_node *node, enum pk_attr_id id)
{
	return pk_node_attr(node, id)->f[0];
}

enum pk_fn pk_node_fn(const struct pk_node *node, enum pk_attr_id id)
{
	return (enum pk_fn)pk_node_attr(node, id)->i[0];
}

void pk_node_set_int(struct pk_node *node, enum pk_attr_id id, int64_t v)
{
	pk_node_set_ints(node, id, &v, 1);
}

void pk_node_set_float(struct pk_node *node, enum pk_attr_id id, double v)
{
	pk_node_set_floats(node, id, &v, 1);
}

void pk_node_set_ints(struct pk_node *node, enum pk_attr_id id, const int64_t *v, int n)
{
	struct pk_attr_value *attr = pk_node_attr(node, id);
	assert(!pk_attr_rule_is_float(id) && n >= 0 && n <= PK_ATTR_MAX_ITEMS);
	attr->n = n;
	if (n > 0)
		memcpy(attr->i, v, (size_t)n * sizeof(*v));
}

void pk_node_set_floats(struct pk_node *node, enum pk_attr_id id, const double *v, int n)
{
	struct pk_attr_value *attr = pk_node_attr(node, id);
	assert(pk_attr_rule_is_float(id) && n >= 0 && n <= PK_ATTR_MAX_ITEMS);
	attr->n = n;
	if (n > 0)
		memcpy(attr->f, v, (size_t)n * sizeof(*v));
}
