// SPDX-License-Identifier: Apache-2.0
// F1: batch norm behind conv, conv_transpose or gemm goes into their weights. F2: alone it stays.
#include <errno.h>
#include <math.h>

#include "engine/ir/element.h"
#include "engine/passes/affine.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

enum { PK_BN_X, PK_BN_SCALE, PK_BN_BIAS, PK_BN_MEAN, PK_BN_VAR };

static double pk_bn_param(const struct pk_node *bn, int input_idx, int64_t channel)
{
	const struct pk_value *param = bn->inputs[input_idx];
	return pk_element_get(param->dtype, param->data, (size_t)channel);
}

static bool pk_bn_is_const(const struct pk_node *bn)
{
	for (int i = PK_BN_SCALE; i <= PK_BN_VAR; i++)
		if (!bn->inputs[i]->data)
			return false;
	return true;
}

// False when a channel has no finite scale, as with a negative variance.
static bool pk_bn_affine(const struct pk_node *bn, struct pk_affine *affine)
{
	double epsilon = pk_node_float(bn, PK_ATTR_EPSILON);
	for (int64_t i = 0; i < affine->n; i++) {
		double scale = pk_bn_param(bn, PK_BN_SCALE, i) /
			       sqrt(pk_bn_param(bn, PK_BN_VAR, i) + epsilon);
		affine->scale[i] = scale;
		affine->shift[i] =
			pk_bn_param(bn, PK_BN_BIAS, i) - scale * pk_bn_param(bn, PK_BN_MEAN, i);
		if (!isfinite(scale) || !isfinite(affine->shift[i]))
			return false;
	}
	return true;
}

static int pk_fold_bn_node(struct pk_graph *graph, struct pk_node *bn)
{
	struct pk_node *node = pk_match_inner(bn->inputs[PK_BN_X]);
	if (!node || !pk_affine_takes(node) || !pk_bn_is_const(bn))
		return 0;
	struct pk_affine affine = {0};
	int r = pk_affine_init(&affine, node);
	if (r == 0 && pk_bn_affine(bn, &affine))
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
