// SPDX-License-Identifier: Apache-2.0
// F9: zero padding in front of conv and avg pool, -inf padding in front of max pool, becomes pads.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/ir/infer.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

// Spatial axes only, and nothing cropped.
static bool pk_pad_is_spatial(const struct pk_node *pad)
{
	const struct pk_attr_value *pads = pk_node_attr(pad, PK_ATTR_PADS);
	int rank = pads->n / 2;
	if (rank < 3 || pk_node_int(pad, PK_ATTR_MODE) != PK_MODE_CONSTANT)
		return false;
	for (int i = 0; i < pads->n; i++)
		if (pads->i[i] < 0 || (i % rank < 2 && pads->i[i] != 0))
			return false;
	return true;
}

static bool pk_pad_all_zero(const struct pk_attr_value *pads)
{
	for (int i = 0; i < pads->n; i++)
		if (pads->i[i] != 0)
			return false;
	return true;
}

// Whether the user's own padding holds the same value as the pad node's.
static bool pk_pad_suits(const struct pk_node *pad, const struct pk_node *user)
{
	double value = pk_node_float(pad, PK_ATTR_VALUE);
	if (user->op == PK_OP_CONV)
		return value == 0;
	if (user->op != PK_OP_POOL)
		return false;
	if (pk_node_fn(user, PK_ATTR_FN) == PK_FN_POOL_MAX)
		return isinf(value) && value < 0;
	// An average counts the pad node's zeros; its own padding only when it says so.
	return value == 0 && (pk_node_int(user, PK_ATTR_COUNT_PAD) ||
				     pk_pad_all_zero(pk_node_attr(user, PK_ATTR_PADS)));
}

// Whether user, as it stands now, still gives its output's type.
static bool pk_pad_still_fits(const struct pk_node *user)
{
	struct pk_value type = {0}, *types[] = {&type};
	struct pk_node copy = *user;
	copy.outputs = types;
	return pk_infer_node(&copy, &user->outputs[0]->shape, NULL) == 0 &&
	       pk_match_same_type(&type, user->outputs[0]);
}

static void pk_pad_add(struct pk_node *user, const struct pk_node *pad, int sign)
{
	struct pk_attr_value *pads = pk_node_attr(user, PK_ATTR_PADS);
	const struct pk_attr_value *more = pk_node_attr(pad, PK_ATTR_PADS);
	int n_axes = pads->n / 2, rank = more->n / 2;
	for (int i = 0; i < n_axes; i++) {
		pads->i[i] += sign * more->i[i + 2];
		pads->i[i + n_axes] += sign * more->i[i + 2 + rank];
	}
}

static int pk_fold_pad_node(struct pk_graph *graph, struct pk_node *user)
{
	struct pk_node *pad = pk_match_inner_op(user->inputs[0], PK_OP_PAD);
	if (!pad || !pk_pad_is_spatial(pad) || !pk_pad_suits(pad, user))
		return 0;
	struct pk_value *padded = user->inputs[0];
	bool is_avg = user->op == PK_OP_POOL && pk_node_fn(user, PK_ATTR_FN) == PK_FN_POOL_AVG;
	int64_t count_pad = is_avg ? pk_node_int(user, PK_ATTR_COUNT_PAD) : 0;
	pk_graph_set_input(user, 0, pad->inputs[0]);
	pk_pad_add(user, pad, 1);
	if (is_avg)
		pk_node_set_int(user, PK_ATTR_COUNT_PAD, 1);
	if (pk_pad_still_fits(user)) {
		int r = pk_rewrite_drop_dead(graph, padded, user);
		return r < 0 ? r : 1;
	}
	pk_graph_set_input(user, 0, padded);
	pk_pad_add(user, pad, -1);
	if (is_avg)
		pk_node_set_int(user, PK_ATTR_COUNT_PAD, count_pad);
	return 0;
}

int pk_pass_fold_pad(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		if (node->op != PK_OP_CONV && node->op != PK_OP_POOL)
			continue;
		int r = pk_fold_pad_node(graph, node);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
