// SPDX-License-Identifier: Apache-2.0
// F12: computes nodes whose operands are all constant, up to a bound of bytes.
#include <errno.h>

#include "base/checked.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

#define PK_FOLD_MAX_OUTPUTS 8

static bool pk_fold_is_const(const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++)
		if (node->inputs[i] && !node->inputs[i]->data)
			return false;
	return node->n_outputs <= PK_FOLD_MAX_OUTPUTS;
}

static size_t pk_fold_bytes(const struct pk_node *node)
{
	size_t sum = 0;
	for (int i = 0; i < node->n_outputs; i++) {
		size_t bytes = pk_tensor_bytes(node->outputs[i]->dtype, &node->outputs[i]->shape);
		if (pk_add_overflow(sum, bytes, &sum))
			return SIZE_MAX;
	}
	return sum;
}

static int pk_fold_replace(struct pk_graph *graph, struct pk_node *node, void *const *data)
{
	for (int i = 0; i < node->n_outputs; i++) {
		struct pk_value *old = node->outputs[i];
		struct pk_value *value =
			pk_graph_add_const(graph, old->name, old->dtype, &old->shape, data[i]);
		if (!value)
			return -ENOMEM;
		pk_graph_replace_uses(graph, old, value);
	}
	return pk_rewrite_drop_dead(graph, node->outputs[0], NULL);
}

// 1 when folded, 0 when left alone.
static int pk_fold_node(struct pk_graph *graph, struct pk_node *node, struct pk_pass_ctx *ctx)
{
	void *data[PK_FOLD_MAX_OUTPUTS] = {0};
	struct pk_err why = {0};
	size_t bytes = pk_fold_bytes(node);
	if (bytes > ctx->folded_bytes_left)
		return 0;
	for (int i = 0; i < node->n_outputs; i++) {
		size_t n = pk_tensor_bytes(node->outputs[i]->dtype, &node->outputs[i]->shape);
		data[i] = pk_graph_alloc(graph, PK_MAX(n, (size_t)1));
		if (!data[i])
			return -ENOMEM;
	}
	int r = ctx->evaluator->eval(node, data, &why);
	if (r == -ENOTSUP)
		return 0;
	if (r < 0)
		return pk_fail(ctx->err, r, "%s", pk_err_text(&why, r));
	ctx->folded_bytes_left -= bytes;
	r = pk_fold_replace(graph, node, data);
	return r < 0 ? r : 1;
}

int pk_pass_fold_const(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	if (!ctx->evaluator)
		return 0;
	pk_graph_each_node (node, graph) {
		bool wanted = node->op != PK_OP_DEQUANTIZE || ctx->expand_quantized;
		int r = wanted && pk_fold_is_const(node) ? pk_fold_node(graph, node, ctx) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}

int pk_pass_expand_const(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	ctx->expand_quantized = true;
	return pk_pass_fold_const(graph, ctx);
}
