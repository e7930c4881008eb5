// SPDX-License-Identifier: Apache-2.0
// F23, F4: chains of relu and clip become one; prelu with one slope for all becomes leaky_relu.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

struct pk_interval {
	double low, high;
};

// relu and clip as intervals; false for other functions and for clips whose bounds cross.
static bool pk_interval_of(const struct pk_node *node, struct pk_interval *out)
{
	if (pk_match_fn(node, PK_OP_UNARY, PK_FN_RELU)) {
		*out = (struct pk_interval){0, INFINITY};
		return true;
	}
	if (!pk_match_fn(node, PK_OP_UNARY, PK_FN_CLIP))
		return false;
	out->low = pk_node_float(node, PK_ATTR_ALPHA);
	out->high = pk_node_float(node, PK_ATTR_BETA);
	return out->low <= out->high;
}

static double pk_interval_clamp(const struct pk_interval *i, double v)
{
	return v < i->low ? i->low : v > i->high ? i->high : v;
}

static int pk_merge_clip(struct pk_graph *graph, struct pk_node *outer)
{
	struct pk_interval a, b;
	if (!pk_interval_of(outer, &b))
		return 0;
	struct pk_value *middle = outer->inputs[0];
	struct pk_node *inner = pk_match_inner_op(middle, PK_OP_UNARY);
	if (!inner || !pk_interval_of(inner, &a))
		return 0;
	double low = pk_interval_clamp(&b, a.low), high = pk_interval_clamp(&b, a.high);
	bool relu = low == 0 && isinf(high) && high > 0;
	pk_node_set_int(outer, PK_ATTR_FN, relu ? PK_FN_RELU : PK_FN_CLIP);
	pk_node_set_float(outer, PK_ATTR_ALPHA, relu ? 0 : low);
	pk_node_set_float(outer, PK_ATTR_BETA, relu ? 0 : high);
	pk_graph_set_input(outer, 0, inner->inputs[0]);
	int r = pk_rewrite_drop_dead(graph, middle, outer);
	return r < 0 ? r : 1;
}

// All elements of a constant slope are the same number.
static bool pk_prelu_slope(const struct pk_node *prelu, double *out)
{
	const struct pk_value *slope = prelu->inputs[1];
	if (!slope->data || !pk_dtype_is_float(slope->dtype))
		return false;
	int64_t n = pk_shape_elements(&slope->shape);
	for (int64_t i = 0; i < n; i++) {
		double v = pk_element_get(slope->dtype, slope->data, (size_t)i);
		if (i > 0 && v != *out)
			return false;
		*out = v;
	}
	return n > 0 && isfinite(*out);
}

static int pk_merge_prelu(struct pk_graph *graph, struct pk_node *prelu, struct pk_err *err)
{
	double slope = 0;
	if (!pk_prelu_slope(prelu, &slope))
		return 0;
	struct pk_node *unary =
		pk_rewrite_new_unary(graph, PK_FN_LEAKY_RELU, prelu->inputs[0], prelu, err);
	if (!unary)
		return -ENOMEM;
	pk_node_set_float(unary, PK_ATTR_ALPHA, slope);
	int r = pk_rewrite_replace(graph, prelu->outputs[0], unary->outputs[0], unary);
	return r < 0 ? r : 1;
}

int pk_pass_merge_act(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_PRELU ? pk_merge_prelu(graph, node, ctx->err)
						: pk_merge_clip(graph, node);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
