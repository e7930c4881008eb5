// SPDX-License-Identifier: Apache-2.0
// F1: batch norm behind conv, conv_transpose or gemm goes into their weights. Alone it goes to
// lower.c.
#include <errno.h>

#include "engine/passes/affine.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

static int pk_fold_bn_node(struct pk_graph *graph, struct pk_node *bn)
{
	struct pk_node *node = pk_match_inner(bn->inputs[0]);
	if (!node || !pk_affine_takes(node))
		return 0;
	struct pk_affine affine = {0};
	int r = pk_affine_from_bn(&affine, bn);
	if (r == 1)
		r = pk_affine_apply(graph, node, &affine);
	if (r == 1 && pk_rewrite_absorb_user(graph, node, bn) < 0)
		r = -ENOMEM;
	pk_affine_finish(&affine);
	return r;
}

int pk_pass_fold_bn(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_BATCH_NORM ? pk_fold_bn_node(graph, node) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
