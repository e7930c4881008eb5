// SPDX-License-Identifier: Apache-2.0
// F10, F13: reshape after reshape, transpose after transpose, slice after slice, and transposes
// that only move axes of one.
#include <errno.h>

#include "base/checked.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

// node's operand was made by `inner` of the same op; node now reads what inner read. Where others
// use the value in between, inner stays for them.
static int pk_merge_skip(struct pk_graph *graph, struct pk_node *node, struct pk_node *inner)
{
	struct pk_value *middle = node->inputs[0];
	pk_graph_set_input(node, 0, inner->inputs[0]);
	int r = pk_rewrite_drop_dead(graph, middle, node);
	return r < 0 ? r : 1;
}

static int pk_merge_transpose(struct pk_graph *graph, struct pk_node *node, struct pk_node *inner)
{
	struct pk_attr_value *perm = pk_node_attr(node, PK_ATTR_PERM);
	const struct pk_attr_value *first = pk_node_attr(inner, PK_ATTR_PERM);
	for (int i = 0; i < perm->n; i++)
		perm->i[i] = first->i[perm->i[i]];
	return pk_merge_skip(graph, node, inner);
}

// Where a step leaps over elements the inner slice is no view: reading past it costs no more. Else
// it must have no other use.
static bool pk_merge_may_skip_slice(const struct pk_node *inner)
{
	const struct pk_attr_value *steps = pk_node_attr(inner, PK_ATTR_STEPS);
	for (int i = 0; i < steps->n; i++)
		if (steps->i[i] != 1)
			return true;
	return pk_match_inner(inner->outputs[0]) != NULL;
}

static int pk_merge_slice(struct pk_graph *graph, struct pk_node *node, struct pk_node *inner)
{
	struct pk_attr_value *starts = pk_node_attr(node, PK_ATTR_STARTS);
	struct pk_attr_value *steps = pk_node_attr(node, PK_ATTR_STEPS);
	const struct pk_attr_value *first = pk_node_attr(inner, PK_ATTR_STARTS);
	const struct pk_attr_value *stride = pk_node_attr(inner, PK_ATTR_STEPS);
	int64_t from[PK_MAX_RANK], by[PK_MAX_RANK];
	if (!pk_merge_may_skip_slice(inner) || pk_shape_elements(&node->outputs[0]->shape) == 0)
		return 0;
	for (int i = 0; i < starts->n; i++) {
		bool one = node->outputs[0]->shape.dims[i] == 1; // the step does not count
		if (pk_mul_overflow(starts->i[i], stride->i[i], &from[i]) ||
			pk_mul_overflow(steps->i[i], stride->i[i], &by[i]))
			return 0;
		from[i] += first->i[i];
		by[i] = one ? 1 : by[i];
	}
	pk_node_set_ints(node, PK_ATTR_STARTS, from, starts->n);
	pk_node_set_ints(node, PK_ATTR_STEPS, by, steps->n);
	return pk_merge_skip(graph, node, inner);
}

// The axes longer than one keep their order: the bytes stay as they are.
static bool pk_merge_is_reshape(const struct pk_node *transpose)
{
	const struct pk_attr_value *perm = pk_node_attr(transpose, PK_ATTR_PERM);
	int64_t last = -1;
	for (int i = 0; i < perm->n; i++) {
		if (transpose->inputs[0]->shape.dims[perm->i[i]] == 1)
			continue;
		if (perm->i[i] < last)
			return false;
		last = perm->i[i];
	}
	return true;
}

static int pk_merge_to_reshape(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	struct pk_value *out = node->outputs[0];
	struct pk_node *reshape =
		pk_graph_new_node(graph, PK_OP_RESHAPE, "", node->inputs, 1, node);
	if (!reshape)
		return -ENOMEM;
	const char *name = out->name;
	int r = pk_graph_finish_node(graph, reshape, &name, 1, &out->shape, err);
	if (r == 0)
		r = pk_rewrite_replace(graph, out, reshape->outputs[0], reshape);
	return r < 0 ? r : 1;
}

static int pk_merge_node(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	struct pk_node *inner = node->inputs[0] ? node->inputs[0]->producer : NULL;
	bool same = inner && inner->op == node->op;
	if (node->op == PK_OP_RESHAPE)
		return same ? pk_merge_skip(graph, node, inner) : 0;
	if (node->op == PK_OP_SLICE)
		return same ? pk_merge_slice(graph, node, inner) : 0;
	if (node->op != PK_OP_TRANSPOSE)
		return 0;
	if (same)
		return pk_merge_transpose(graph, node, inner);
	return pk_merge_is_reshape(node) ? pk_merge_to_reshape(graph, node, err) : 0;
}

int pk_pass_merge_move(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = pk_merge_node(graph, node, ctx->err);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
