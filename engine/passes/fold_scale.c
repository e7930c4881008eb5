// SPDX-License-Identifier: Apache-2.0
// F3: add, sub, mul, div of a per-channel constant behind conv, conv_transpose or gemm goes into
// their weights and bias.
#include <errno.h>
#include <math.h>

#include "engine/ir/element.h"
#include "engine/passes/affine.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

// What `y fn c` (or `c fn y` when swapped) is as scale and shift; false: no affine map.
static bool pk_scale_of(enum pk_fn fn, bool swapped, double c, double *scale, double *shift)
{
	*scale = 1;
	*shift = 0;
	if (fn == PK_FN_ADD) {
		*shift = c;
	} else if (fn == PK_FN_SUB) {
		*scale = swapped ? -1 : 1;
		*shift = swapped ? c : -c;
	} else if (fn == PK_FN_MUL) {
		*scale = c;
	} else if (fn == PK_FN_DIV && !swapped) {
		*scale = 1 / c;
	} else {
		return false;
	}
	return isfinite(*scale) && isfinite(*shift);
}

static bool pk_scale_affine(const struct pk_node *binary, int const_idx, struct pk_affine *affine)
{
	const struct pk_value *c = binary->inputs[const_idx];
	enum pk_fn fn = pk_node_fn(binary, PK_ATTR_FN);
	int stride = 0;
	if (!pk_match_channels(c, &binary->outputs[0]->shape, 1, &stride))
		return false;
	for (int64_t i = 0; i < affine->n; i++) {
		double v = pk_element_get(c->dtype, c->data, (size_t)(i * stride));
		if (!pk_scale_of(fn, const_idx == 0, v, &affine->scale[i], &affine->shift[i]))
			return false;
	}
	return true;
}

static int pk_fold_scale_operand(struct pk_graph *graph, struct pk_node *binary, int const_idx)
{
	const struct pk_value *y = binary->inputs[1 - const_idx];
	struct pk_node *node = pk_match_inner(y);
	if (!node || !pk_affine_takes(node) || !pk_match_same_type(y, binary->outputs[0]))
		return 0;
	struct pk_affine affine = {0};
	int r = pk_affine_init(&affine, node);
	if (r == 0 && pk_scale_affine(binary, const_idx, &affine))
		r = pk_affine_apply(graph, node, &affine);
	if (r == 1 && pk_rewrite_absorb_user(graph, node, binary) < 0)
		r = -ENOMEM;
	pk_affine_finish(&affine);
	return r;
}

int pk_pass_fold_scale(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = 0;
		for (int i = 0; node->op == PK_OP_BINARY && i < 2 && r == 0; i++)
			if (node->inputs[i]->data)
				r = pk_fold_scale_operand(graph, node, i);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
