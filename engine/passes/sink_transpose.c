// SPDX-License-Identifier: Apache-2.0
// F10: transposes move behind the nodes that can as well work on the untransposed tensor, until
// they meet their inverse or the end; conv and activation then stand side by side.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

#define PK_SINK_MAX_OPERANDS 64

// The permutation that all transposed operands of a node share.
struct pk_sink {
	const struct pk_node *transpose; // the first of them
	const int64_t *perm;
	int rank;
	struct pk_value *operands[PK_SINK_MAX_OPERANDS]; // without their transposes
};

static bool pk_sink_same_perm(const struct pk_sink *sink, const struct pk_node *transpose)
{
	const struct pk_attr_value *perm = pk_node_attr(transpose, PK_ATTR_PERM);
	return perm->n == sink->rank &&
	       memcmp(perm->i, sink->perm, (size_t)perm->n * sizeof(*perm->i)) == 0;
}

// A constant that varies along one axis at most keeps its bytes under any permutation: its shape
// then, behind the inverse of the transpose.
static bool pk_sink_const_shape(
	const struct pk_sink *sink, const struct pk_value *value, struct pk_shape *out)
{
	int n_long = 0, shift = sink->rank - value->shape.rank;
	*out = (struct pk_shape){.rank = sink->rank};
	if (shift < 0)
		return false;
	for (int i = 0; i < sink->rank; i++) {
		int64_t dim = i < shift ? 1 : value->shape.dims[i - shift];
		out->dims[sink->perm[i]] = dim;
		n_long += dim != 1;
	}
	return n_long <= 1;
}

// Constants stay here; pk_sink_reshape_consts gives them their shape.
static struct pk_value *pk_sink_operand(const struct pk_sink *sink, struct pk_value *value)
{
	struct pk_shape shape;
	if (!value)
		return NULL;
	if (value->data)
		return pk_sink_const_shape(sink, value, &shape) ? value : NULL;
	const struct pk_node *transpose = pk_match_inner_op(value, PK_OP_TRANSPOSE);
	return transpose && pk_sink_same_perm(sink, transpose) ? transpose->inputs[0] : NULL;
}

static int pk_sink_reshape_consts(
	struct pk_graph *graph, struct pk_sink *sink, const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_value *value = node->inputs[i];
		struct pk_shape shape;
		if (!value->data || pk_shape_elements(&value->shape) == 1 ||
			!pk_sink_const_shape(sink, value, &shape))
			continue;
		sink->operands[i] =
			pk_graph_add_const(graph, value->name, value->dtype, &shape, value->data);
		if (!sink->operands[i])
			return -ENOMEM;
	}
	return 0;
}

static bool pk_sink_match(struct pk_sink *sink, const struct pk_node *node)
{
	if (node->n_inputs > PK_SINK_MAX_OPERANDS || node->n_outputs != 1)
		return false;
	for (int i = 0; i < node->n_inputs && !sink->transpose; i++)
		sink->transpose = node->inputs[i]
					  ? pk_match_inner_op(node->inputs[i], PK_OP_TRANSPOSE)
					  : NULL;
	if (!sink->transpose)
		return false;
	const struct pk_attr_value *perm = pk_node_attr(sink->transpose, PK_ATTR_PERM);
	sink->perm = perm->i;
	sink->rank = perm->n;
	for (int i = 0; i < node->n_inputs; i++) {
		sink->operands[i] = pk_sink_operand(sink, node->inputs[i]);
		if (!sink->operands[i])
			return false;
	}
	return true;
}

// How a node follows a permutation of its operands: may it, and which attributes change.
struct pk_sink_change {
	int64_t axis; // -1: stays
	int64_t axes[PK_MAX_RANK];
	int n_axes; // -1: stay
	bool drops; // the transpose is gone
};

static bool pk_sink_elementwise(
	const struct pk_sink *sink, const struct pk_node *node, struct pk_sink_change *change)
{
	(void)change; // no attribute names an axis
	// A transpose behind a broadcast would move more than it does now.
	return pk_shape_equal(&node->outputs[0]->shape, &sink->transpose->outputs[0]->shape);
}

static bool pk_sink_axis(
	const struct pk_sink *sink, const struct pk_node *node, struct pk_sink_change *change)
{
	change->axis = sink->perm[pk_node_int(node, PK_ATTR_AXIS)];
	return true;
}

// The axes that are left keep their order, so that no transpose is left either.
static bool pk_sink_keeps_order(const struct pk_sink *sink, const bool *reduced)
{
	int64_t last = -1;
	for (int i = 0; i < sink->rank; i++) {
		if (reduced[sink->perm[i]])
			continue;
		if (sink->perm[i] < last)
			return false;
		last = sink->perm[i];
	}
	return true;
}

static bool pk_sink_axes(
	const struct pk_sink *sink, const struct pk_node *node, struct pk_sink_change *change)
{
	const struct pk_attr_value *axes = pk_node_attr(node, PK_ATTR_AXES);
	bool reduced[PK_MAX_RANK] = {false};
	for (int i = 0; i < axes->n; i++)
		reduced[sink->perm[axes->i[i]]] = true;
	change->n_axes = 0;
	for (int i = 0; i < sink->rank; i++)
		if (reduced[i])
			change->axes[change->n_axes++] = i;
	change->drops = !pk_node_int(node, PK_ATTR_KEEPDIMS);
	return !change->drops || pk_sink_keeps_order(sink, reduced);
}

struct pk_sink_row {
	enum pk_op op;
	bool (*follow)(const struct pk_sink *sink, const struct pk_node *node,
		struct pk_sink_change *change);
};
static const struct pk_sink_row pk_sink_rows[] = {
	{PK_OP_UNARY, pk_sink_elementwise},
	{PK_OP_CAST, pk_sink_elementwise},
	{PK_OP_BINARY, pk_sink_elementwise},
	{PK_OP_PRELU, pk_sink_elementwise},
	{PK_OP_SOFTMAX, pk_sink_axis},
	{PK_OP_CONCAT, pk_sink_axis},
	{PK_OP_REDUCE, pk_sink_axes},
};

static const struct pk_sink_row *pk_sink_row(const struct pk_node *node)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_sink_rows); i++)
		if (pk_sink_rows[i].op == node->op)
			return &pk_sink_rows[i];
	return NULL;
}

static struct pk_value *pk_sink_new_transpose(struct pk_graph *graph, const struct pk_sink *sink,
	struct pk_node *copy, struct pk_node *node, struct pk_err *err)
{
	const char *name = node->outputs[0]->name;
	struct pk_node *transpose = pk_graph_new_node(
		graph, PK_OP_TRANSPOSE, sink->transpose->name, copy->outputs, 1, node);
	if (!transpose)
		return NULL;
	pk_node_set_ints(transpose, PK_ATTR_PERM, sink->perm, sink->rank);
	return pk_graph_finish_node(graph, transpose, &name, 1, NULL, err) < 0
		       ? NULL
		       : transpose->outputs[0];
}

static struct pk_node *pk_sink_copy(struct pk_graph *graph, const struct pk_sink *sink,
	const struct pk_sink_change *change, struct pk_node *node, struct pk_err *err)
{
	struct pk_node *copy = pk_graph_new_node(
		graph, node->op, node->name, sink->operands, node->n_inputs, node);
	if (!copy)
		return NULL;
	memcpy(copy->attrs, node->attrs,
		(size_t)pk_op_info(node->op)->n_attrs * sizeof(*node->attrs));
	if (change->axis >= 0)
		pk_node_set_int(copy, PK_ATTR_AXIS, change->axis);
	if (change->n_axes >= 0)
		pk_node_set_ints(copy, PK_ATTR_AXES, change->axes, change->n_axes);
	const char *name = node->outputs[0]->name;
	return pk_graph_finish_node(graph, copy, &name, 1, NULL, err) < 0 ? NULL : copy;
}

static int pk_sink_node(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	struct pk_sink sink = {0};
	struct pk_sink_change change = {.axis = -1, .n_axes = -1};
	const struct pk_sink_row *row = pk_sink_row(node);
	if (!row || !pk_sink_match(&sink, node) || !row->follow(&sink, node, &change))
		return 0;
	if (pk_sink_reshape_consts(graph, &sink, node) < 0)
		return -ENOMEM;
	struct pk_node *copy = pk_sink_copy(graph, &sink, &change, node, err);
	if (!copy)
		return -ENOMEM;
	struct pk_value *y = change.drops ? copy->outputs[0]
					  : pk_sink_new_transpose(graph, &sink, copy, node, err);
	if (!y)
		return -ENOMEM;
	return pk_rewrite_replace(graph, node->outputs[0], y, NULL) < 0 ? -ENOMEM : 1;
}

int pk_pass_sink_transpose(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = pk_sink_node(graph, node, ctx->err);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
