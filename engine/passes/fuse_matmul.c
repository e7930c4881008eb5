// SPDX-License-Identifier: Apache-2.0
// F17: the product of two matrices and an addition become one gemm.
#include <errno.h>

#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

static bool pk_matmul_suits(const struct pk_node *matmul)
{
	return matmul && matmul->inputs[0]->shape.rank == 2 && matmul->inputs[1]->shape.rank == 2 &&
	       pk_dtype_is_float(matmul->inputs[0]->dtype);
}

// The gemm stands where the addition stood: there both operands are known.
static int pk_fuse_matmul_operand(
	struct pk_graph *graph, struct pk_node *add, int idx, struct pk_err *err)
{
	struct pk_value *product = add->inputs[idx];
	struct pk_node *matmul = pk_match_inner_op(product, PK_OP_MATMUL);
	if (!pk_matmul_suits(matmul) || !pk_match_same_type(product, add->outputs[0]))
		return 0;
	struct pk_value *operands[] = {matmul->inputs[0], matmul->inputs[1], add->inputs[1 - idx]};
	struct pk_node *gemm = pk_graph_new_node(graph, PK_OP_GEMM, "", operands, 3, add);
	if (!gemm)
		return -ENOMEM;
	const char *name = add->outputs[0]->name;
	int r = pk_graph_finish_node(graph, gemm, &name, 1, NULL, err);
	if (r == 0)
		r = pk_rewrite_replace(graph, add->outputs[0], gemm->outputs[0], gemm);
	return r < 0 ? r : 1;
}

int pk_pass_fuse_matmul(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = 0;
		bool is_add = pk_match_fn(node, PK_OP_BINARY, PK_FN_ADD);
		for (int i = 0; is_add && i < 2 && r == 0; i++)
			r = pk_fuse_matmul_operand(graph, node, i, ctx->err);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
