// SPDX-License-Identifier: Apache-2.0
// F14: pixels of a 2x2 (or b x b) block side by side in the channels, then a conv of stride s, is a
// conv of b times the kernel, stride and pads on the picture itself, with its weights re-ordered.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

#define PK_FOCUS_MAX_BLOCK 4

// Channel group q of the conv's operand holds the pixels (row[q], column[q]) of each block.
struct pk_focus {
	struct pk_value *source; // the picture
	int64_t block;
	int64_t row[PK_FOCUS_MAX_BLOCK * PK_FOCUS_MAX_BLOCK];
	int64_t column[PK_FOCUS_MAX_BLOCK * PK_FOCUS_MAX_BLOCK];
};

// The slice takes every step-th index of the axis, and all steps begin together below step.
static bool pk_focus_axis(const struct pk_node *slice, int axis, int64_t step)
{
	int64_t start = pk_node_attr(slice, PK_ATTR_STARTS)->i[axis];
	int64_t by = pk_node_attr(slice, PK_ATTR_STEPS)->i[axis];
	int64_t n = slice->outputs[0]->shape.dims[axis];
	// One index of output leaves the step open.
	return slice->inputs[0]->shape.dims[axis] == step * n && start < step &&
	       (by == step || n == 1);
}

// A slice of every block-th row and column, of all images and channels.
static bool pk_focus_take_slice(struct pk_focus *focus, const struct pk_node *slice, int q)
{
	const int64_t *starts = pk_node_attr(slice, PK_ATTR_STARTS)->i;
	struct pk_value *x = slice->inputs[0];
	if (q == 0)
		focus->source = x;
	if (x != focus->source || x->shape.rank != 4 || !pk_focus_axis(slice, 0, 1) ||
		!pk_focus_axis(slice, 1, 1) || !pk_focus_axis(slice, 2, focus->block) ||
		!pk_focus_axis(slice, 3, focus->block))
		return false;
	focus->row[q] = starts[2];
	focus->column[q] = starts[3];
	return true;
}

static bool pk_focus_is_complete(const struct pk_focus *focus)
{
	unsigned seen = 0;
	for (int q = 0; q < focus->block * focus->block; q++)
		seen |= 1u << (focus->row[q] * focus->block + focus->column[q]);
	return seen == (1u << (focus->block * focus->block)) - 1;
}

static bool pk_focus_from_concat(struct pk_focus *focus, const struct pk_node *concat)
{
	int64_t b = 2;
	while (b < PK_FOCUS_MAX_BLOCK && b * b < concat->n_inputs)
		b++;
	if (b * b != concat->n_inputs || pk_node_int(concat, PK_ATTR_AXIS) != 1)
		return false;
	focus->block = b;
	for (int q = 0; q < concat->n_inputs; q++) {
		const struct pk_node *slice = concat->inputs[q]->producer;
		if (!slice || slice->op != PK_OP_SLICE || !pk_focus_take_slice(focus, slice, q))
			return false;
	}
	return pk_focus_is_complete(focus);
}

static bool pk_focus_from_space_to_depth(struct pk_focus *focus, const struct pk_node *node)
{
	focus->source = node->inputs[0];
	focus->block = pk_node_int(node, PK_ATTR_BLOCK);
	if (focus->block < 2 || focus->block > PK_FOCUS_MAX_BLOCK || focus->source->shape.rank != 4)
		return false;
	for (int q = 0; q < focus->block * focus->block; q++) {
		focus->row[q] = q / focus->block;
		focus->column[q] = q % focus->block;
	}
	return true;
}

static bool pk_focus_match(struct pk_focus *focus, const struct pk_node *conv)
{
	const struct pk_node *node = pk_match_inner(conv->inputs[0]);
	const struct pk_value *w = conv->inputs[1];
	const struct pk_attr_value *dilations = pk_node_attr(conv, PK_ATTR_DILATIONS);
	if (!node || !w->data || w->shape.rank != 4 || pk_node_int(conv, PK_ATTR_GROUP) != 1 ||
		dilations->i[0] != 1 || dilations->i[1] != 1)
		return false;
	return node->op == PK_OP_CONCAT           ? pk_focus_from_concat(focus, node)
	       : node->op == PK_OP_SPACE_TO_DEPTH ? pk_focus_from_space_to_depth(focus, node)
						  : false;
}

// w[m, q * c + k, i, j] goes to [m, k, b * i + row[q], b * j + column[q]].
static void pk_focus_move_weights(const struct pk_focus *focus, const struct pk_value *w, char *out)
{
	const int64_t *d = w->shape.dims;
	int64_t b = focus->block, c = d[1] / (b * b);
	size_t bytes = pk_dtype_bytes(w->dtype);
	const char *src = w->data;
	for (int64_t at = 0; at < d[0] * d[1] * d[2] * d[3]; at++) {
		int64_t j = at % d[3], i = at / d[3] % d[2], channel = at / (d[3] * d[2]) % d[1];
		int64_t m = at / (d[3] * d[2] * d[1]), q = channel / c, k = channel % c;
		int64_t row = (m * c + k) * b * d[2] + b * i + focus->row[q];
		int64_t to = row * b * d[3] + b * j + focus->column[q];
		memcpy(out + (size_t)to * bytes, src + (size_t)at * bytes, bytes);
	}
}

static struct pk_value *pk_focus_new_weights(
	struct pk_graph *graph, const struct pk_focus *focus, const struct pk_value *w)
{
	struct pk_shape shape = w->shape;
	shape.dims[1] /= focus->block * focus->block;
	shape.dims[2] *= focus->block;
	shape.dims[3] *= focus->block;
	char *data = pk_graph_alloc(graph, pk_tensor_bytes(w->dtype, &w->shape));
	if (!data)
		return NULL;
	pk_focus_move_weights(focus, w, data);
	return pk_graph_add_const(graph, w->name, w->dtype, &shape, data);
}

static int pk_focus_rewrite(
	struct pk_graph *graph, const struct pk_focus *focus, struct pk_node *conv)
{
	struct pk_value *blocks = conv->inputs[0];
	struct pk_value *w = pk_focus_new_weights(graph, focus, conv->inputs[1]);
	if (!w)
		return -ENOMEM;
	pk_graph_set_input(conv, 0, focus->source);
	pk_graph_set_input(conv, 1, w);
	struct pk_attr_value *strides = pk_node_attr(conv, PK_ATTR_STRIDES);
	struct pk_attr_value *pads = pk_node_attr(conv, PK_ATTR_PADS);
	for (int i = 0; i < strides->n; i++)
		strides->i[i] *= focus->block;
	for (int i = 0; i < pads->n; i++)
		pads->i[i] *= focus->block;
	return pk_rewrite_drop_dead(graph, blocks, conv) < 0 ? -ENOMEM : 1;
}

int pk_pass_fold_focus(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	(void)ctx;
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		struct pk_focus focus = {0};
		if (node->op != PK_OP_CONV || !pk_focus_match(&focus, node))
			continue;
		int r = pk_focus_rewrite(graph, &focus, node);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
