// SPDX-License-Identifier: Apache-2.0
// The typed SSA graph that passes rewrite: values with static shapes, nodes in execution order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/list.h"
#include "engine/ir/op.h"
#include "engine/tensor.h"

#define PK_ATTR_MAX_ITEMS (2 * PK_MAX_RANK)

struct pk_attr_value {
	int n; // items used; 1 for scalars
	union {
		int64_t i[PK_ATTR_MAX_ITEMS]; // INT, INTS, ENUM, FN
		double f[PK_ATTR_MAX_ITEMS];  // FLOAT, FLOATS
	};
};

// One tensor. Owned by the graph (arena). Constant when data != NULL.
struct pk_value {
	char *name; // unique in the graph, never NULL
	enum pk_dtype dtype;
	struct pk_shape shape;
	int block; // layout: 0 plain, else channels in blocks of so many (engine/ir/layout.h)
	const void *data; // constant: dense little-endian bytes; owned by the graph or a mapping
	struct pk_node *producer; // NULL: input or constant
	int output_idx;           // which output of producer
	bool is_input, is_output; // of the graph
	bool elided; // constant without its bytes: its user reads packed weights; data is no use
	int n_uses;  // by node inputs (one per operand), graph outputs not counted
	int id;      // index in graph->values
	struct pk_value *name_next; // chain of the graph's name table
};

struct pk_node {
	struct pk_list link; // graph->nodes, execution order
	enum pk_op op;
	char *name;               // ONNX node names it stands for, joined by '+'; never NULL
	struct pk_value **inputs; // entries may be NULL: optional operand left out
	int n_inputs, cap_inputs;
	struct pk_value **outputs;
	int n_outputs;
	struct pk_attr_value *attrs; // pk_op_info(op)->n_attrs entries, all set
	const char *kernel;          // chosen by the runtime's build; NULL before
	const void *packed;          // weights in the kernel's own order, or NULL
	size_t packed_bytes;
};

struct pk_graph {
	struct pk_arena *arena;
	struct pk_list nodes;
	int n_nodes;
	struct pk_value **values; // all ever made; dead ones stay (no uses, no producer)
	int n_values, cap_values;
	struct pk_value **inputs;
	int n_inputs, cap_inputs;
	struct pk_value **outputs; // may name the same value twice, or an input or a constant
	int n_outputs, cap_outputs;
	struct pk_value **names; // hash table of all values by name
	size_t n_names;          // its buckets, a power of two
};

// max_bytes bounds everything the graph allocates (0: none).
struct pk_graph *pk_graph_create(size_t max_bytes) pk_must_check;
void pk_graph_destroy(struct pk_graph *graph);
PK_DEFINE_AUTO(pk_graph, pk_graph_destroy);

// New values. A name that is taken gets a suffix ("x.1"); without a name (NULL or "") one is made.
// NULL: no memory, or no legal type. data is not copied by pk_graph_add_const (it must outlive the
// graph); *_copy copies into the arena, 64-byte aligned. data may be NULL for a tensor of no
// elements.
struct pk_value *pk_graph_add_input(struct pk_graph *graph, const char *name, enum pk_dtype dtype,
	const struct pk_shape *shape);
struct pk_value *pk_graph_add_const(struct pk_graph *graph, const char *name, enum pk_dtype dtype,
	const struct pk_shape *shape, const void *data);
struct pk_value *pk_graph_add_const_copy(struct pk_graph *graph, const char *name,
	enum pk_dtype dtype, const struct pk_shape *shape, const void *data);
int pk_graph_add_output(struct pk_graph *graph, struct pk_value *value); // 0 or -ENOMEM
// Zeroed memory of the graph for what belongs to it (new constants), 64-byte aligned; NULL: none.
void *pk_graph_alloc(struct pk_graph *graph, size_t bytes) pk_must_check;
struct pk_value *pk_graph_find_value(const struct pk_graph *graph, const char *name);

// A node whose attributes stand at their neutral values (strides 1, pads 0, group 1, fn none, …)
// and whose outputs have no type yet: set attributes, then pk_graph_finish_node infers and checks.
// Appended before `before` (NULL: at the end). NULL: no memory. name is copied.
struct pk_node *pk_graph_new_node(struct pk_graph *graph, enum pk_op op, const char *name,
	struct pk_value *const *inputs, int n_inputs, struct pk_node *before);
// Creates the outputs (names: NULL or n_outputs strings, NULL entries get a name) and their types
// by engine/ir/infer.h. For ops whose output shape is not implied (slice, reshape, resize, expand,
// tile) pass it in shape; pool takes one too (ceil mode); else NULL. On failure (-EINVAL, -EFBIG,
// -ENOMEM) the node is out of the graph again.
int pk_graph_finish_node(struct pk_graph *graph, struct pk_node *node, const char *const *names,
	int n_outputs, const struct pk_shape *shape, struct pk_err *err) pk_must_check;

// Rewriting. Uses are kept right by these; do not write operands by hand.
// input_idx may be beyond n_inputs when the op has that optional operand; NULL leaves it out.
void pk_graph_set_input(struct pk_node *node, int input_idx, struct pk_value *value);
// Every use of old (operands and graph outputs) becomes use of value. When old was a graph output
// value takes over old's name, so that declared outputs keep their names; where it cannot
// (pk_graph_can_replace is false) it keeps its own: then rather leave an identity node between.
void pk_graph_replace_uses(struct pk_graph *graph, struct pk_value *old, struct pk_value *value);
// False when old is a graph output and value is itself an input or output, whose name must stay.
bool pk_graph_can_replace(const struct pk_value *old, const struct pk_value *value);
// Unlinks a node; its outputs must have no uses left.
void pk_graph_remove_node(struct pk_graph *graph, struct pk_node *node);
// Sole consuming node of value when it has exactly one use and is no graph output; else NULL.
// Cost: one walk over the nodes after the producer.
struct pk_node *pk_graph_only_user(const struct pk_graph *graph, const struct pk_value *value);

// Attribute access; asserts that the op has the attribute and n <= PK_ATTR_MAX_ITEMS.
struct pk_attr_value *pk_node_attr(const struct pk_node *node, enum pk_attr_id id);
int64_t pk_node_int(const struct pk_node *node, enum pk_attr_id id);
double pk_node_float(const struct pk_node *node, enum pk_attr_id id);
enum pk_fn pk_node_fn(const struct pk_node *node, enum pk_attr_id id);
void pk_node_set_int(struct pk_node *node, enum pk_attr_id id, int64_t v);
void pk_node_set_float(struct pk_node *node, enum pk_attr_id id, double v);
void pk_node_set_ints(struct pk_node *node, enum pk_attr_id id, const int64_t *v, int n);
void pk_node_set_floats(struct pk_node *node, enum pk_attr_id id, const double *v, int n);

#define pk_graph_each_node(it, graph) pk_list_each (it, &(graph)->nodes, link)
