// SPDX-License-Identifier: Apache-2.0
// F4 and F6: what follows a convolution, an activation or the addition of a tensor of the output's
// shape, goes into it.
#include <errno.h>

#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

// Functions that convolutions take as act.
static const enum pk_fn pk_epilogue_fns[] = {
	PK_FN_RELU,
	PK_FN_LEAKY_RELU,
	PK_FN_CLIP,
	PK_FN_SIGMOID,
	PK_FN_TANH,
	PK_FN_SILU,
	PK_FN_HARD_SIGMOID,
	PK_FN_HARD_SWISH,
	PK_FN_ELU,
	PK_FN_GELU,
	PK_FN_GELU_TANH,
	PK_FN_MISH,
};

static bool pk_epilogue_has(enum pk_fn fn)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_epilogue_fns); i++)
		if (pk_epilogue_fns[i] == fn)
			return true;
	return false;
}

// Conv or conv_transpose with no act; a residual, if any, was added before where act would be.
static bool pk_epilogue_takes_act(const struct pk_node *node)
{
	if (!node || (node->op != PK_OP_CONV && node->op != PK_OP_CONV_TRANSPOSE) ||
		pk_node_fn(node, PK_ATTR_ACT) != PK_FN_NONE)
		return false;
	return node->op != PK_OP_CONV ||
	       pk_node_int(node, PK_ATTR_RESIDUAL) != PK_RESIDUAL_AFTER_ACT;
}

static int pk_fuse_act_node(struct pk_graph *graph, struct pk_node *unary)
{
	enum pk_fn fn = pk_node_fn(unary, PK_ATTR_FN);
	struct pk_node *node = pk_match_inner(unary->inputs[0]);
	if (!pk_epilogue_takes_act(node) || !pk_epilogue_has(fn))
		return 0;
	pk_node_set_int(node, PK_ATTR_ACT, fn);
	pk_node_set_float(node, PK_ATTR_ALPHA, pk_node_float(unary, PK_ATTR_ALPHA));
	pk_node_set_float(node, PK_ATTR_BETA, pk_node_float(unary, PK_ATTR_BETA));
	int r = pk_rewrite_absorb_user(graph, node, unary);
	return r < 0 ? r : 1;
}

int pk_pass_fuse_epilogue(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_UNARY ? pk_fuse_act_node(graph, node) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}

static struct pk_node *pk_residual_conv(const struct pk_node *add, int idx)
{
	struct pk_node *conv = pk_match_inner_op(add->inputs[idx], PK_OP_CONV);
	if (!conv || pk_node_int(conv, PK_ATTR_RESIDUAL) != PK_RESIDUAL_NONE)
		return NULL;
	if (!pk_match_same_type(add->inputs[0], add->inputs[1]))
		return NULL;
	return conv;
}

static bool pk_residual_is_later(
	const struct pk_graph *graph, const struct pk_node *node, const struct pk_node *than)
{
	const struct pk_list *link = than->link.next;
	while (link != &graph->nodes && link != &node->link)
		link = link->next;
	return link == &node->link;
}

// Of two convolutions that meet the later one takes the sum: the other is done by then.
static int pk_residual_choose(const struct pk_graph *graph, const struct pk_node *add)
{
	struct pk_node *a = pk_residual_conv(add, 0), *b = pk_residual_conv(add, 1);
	if (a && b)
		return pk_residual_is_later(graph, b, a);
	return a ? 0 : b ? 1 : -1;
}

// The convolution moves to where the addition stood, as the other operand may be made in between.
static int pk_fuse_residual_node(struct pk_graph *graph, struct pk_node *add)
{
	int idx = pk_residual_choose(graph, add);
	if (idx < 0)
		return 0;
	struct pk_node *conv = add->inputs[idx]->producer;
	bool has_act = pk_node_fn(conv, PK_ATTR_ACT) != PK_FN_NONE;
	pk_graph_set_input(conv, 3, add->inputs[1 - idx]);
	pk_node_set_int(
		conv, PK_ATTR_RESIDUAL, has_act ? PK_RESIDUAL_AFTER_ACT : PK_RESIDUAL_BEFORE_ACT);
	pk_rewrite_move(conv, add);
	int r = pk_rewrite_absorb_user(graph, conv, add);
	return r < 0 ? r : 1;
}

int pk_pass_fuse_residual(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = pk_match_fn(node, PK_OP_BINARY, PK_FN_ADD)
				? pk_fuse_residual_node(graph, node)
				: 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
