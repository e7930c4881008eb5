// SPDX-License-Identifier: Apache-2.0
// F13: nodes whose output is one of their operands as it stands.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

static bool pk_ints_are(const struct pk_node *node, enum pk_attr_id id, int64_t want)
{
	const struct pk_attr_value *v = pk_node_attr(node, id);
	for (int i = 0; i < v->n; i++)
		if (v->i[i] != want)
			return false;
	return true;
}

static bool pk_noop_always(const struct pk_node *node)
{
	return true; // the type is compared for all
}

static bool pk_noop_transpose(const struct pk_node *node)
{
	const struct pk_attr_value *perm = pk_node_attr(node, PK_ATTR_PERM);
	for (int i = 0; i < perm->n; i++)
		if (perm->i[i] != i)
			return false;
	return true;
}

static bool pk_noop_slice(const struct pk_node *node)
{
	return pk_ints_are(node, PK_ATTR_STARTS, 0) && pk_ints_are(node, PK_ATTR_STEPS, 1);
}

static bool pk_noop_pad(const struct pk_node *node)
{
	return pk_ints_are(node, PK_ATTR_PADS, 0);
}

static bool pk_noop_concat(const struct pk_node *node)
{
	return node->n_inputs == 1;
}

// With scale 1 every coordinate rule but the crop maps each cell to itself.
static bool pk_noop_resize(const struct pk_node *node)
{
	const struct pk_attr_value *scales = pk_node_attr(node, PK_ATTR_SCALES);
	for (int i = 0; i < scales->n; i++)
		if (scales->f[i] != 1)
			return false;
	int64_t coord = pk_node_int(node, PK_ATTR_COORD);
	return coord != PK_COORD_TF_CROP_AND_RESIZE && coord != PK_COORD_TF_HALF_PIXEL_FOR_NN;
}

static bool pk_noop_block(const struct pk_node *node)
{
	return pk_node_int(node, PK_ATTR_BLOCK) == 1;
}

static bool pk_noop_unary(const struct pk_node *node)
{
	double low = pk_node_float(node, PK_ATTR_ALPHA), high = pk_node_float(node, PK_ATTR_BETA);
	return pk_node_fn(node, PK_ATTR_FN) == PK_FN_CLIP && isinf(low) && low < 0 && isinf(high) &&
	       high > 0;
}

struct pk_noop_row {
	enum pk_op op;
	bool (*is_noop)(const struct pk_node *node);
};
static const struct pk_noop_row pk_noop_rows[] = {
	{PK_OP_IDENTITY, pk_noop_always},
	{PK_OP_CAST, pk_noop_always},
	{PK_OP_RESHAPE, pk_noop_always},
	{PK_OP_EXPAND, pk_noop_always},
	{PK_OP_TILE, pk_noop_always},
	{PK_OP_TRANSPOSE, pk_noop_transpose},
	{PK_OP_SLICE, pk_noop_slice},
	{PK_OP_PAD, pk_noop_pad},
	{PK_OP_CONCAT, pk_noop_concat},
	{PK_OP_RESIZE, pk_noop_resize},
	{PK_OP_DEPTH_TO_SPACE, pk_noop_block},
	{PK_OP_SPACE_TO_DEPTH, pk_noop_block},
	{PK_OP_UNARY, pk_noop_unary},
};

struct pk_neutral_row {
	enum pk_fn fn;
	double number;
	bool either; // the number may stand left too
};
static const struct pk_neutral_row pk_neutral_rows[] = {
	{PK_FN_ADD, 0, true},
	{PK_FN_SUB, 0, false},
	{PK_FN_MUL, 1, true},
	{PK_FN_DIV, 1, false},
};

// All elements of a constant are the number; for a zero of either sign.
static bool pk_noop_is_all(const struct pk_value *value, double number)
{
	if (!value->data)
		return false;
	int64_t n = pk_shape_elements(&value->shape);
	for (int64_t i = 0; i < n; i++)
		if (pk_element_get(value->dtype, value->data, (size_t)i) != number)
			return false;
	return n > 0;
}

// Operand that passes through a binary node, or -1.
static int pk_noop_binary(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_neutral_rows); i++) {
		const struct pk_neutral_row *row = &pk_neutral_rows[i];
		if (row->fn != fn)
			continue;
		if (pk_noop_is_all(node->inputs[1], row->number))
			return 0;
		if (row->either && pk_noop_is_all(node->inputs[0], row->number))
			return 1;
	}
	return -1;
}

static int pk_noop_operand(const struct pk_node *node)
{
	if (node->op == PK_OP_BINARY)
		return pk_noop_binary(node);
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_noop_rows); i++)
		if (pk_noop_rows[i].op == node->op)
			return pk_noop_rows[i].is_noop(node) ? 0 : -1;
	return -1;
}

int pk_pass_remove_noop(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int idx = pk_noop_operand(node);
		if (idx < 0 || !pk_match_same_type(node->inputs[idx], node->outputs[0]) ||
			!pk_graph_can_replace(node->outputs[0], node->inputs[idx]))
			continue;
		if (pk_rewrite_replace(graph, node->outputs[0], node->inputs[idx], NULL) < 0)
			return -ENOMEM;
		n++;
	}
	return n;
}
