// SPDX-License-Identifier: Apache-2.0
// F22, second half: dequantize sinks and quantize rises through operators that only pass numbers
// on, until the two meet and vanish.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/qdq.h"
#include "engine/passes/rewrite.h"

static bool pk_qdq_constants(const struct pk_node *node, enum pk_dtype stored)
{
	const struct pk_value *scale = node->inputs[1];
	const struct pk_value *zero = node->n_inputs > 2 ? node->inputs[2] : NULL;
	if ((stored != PK_I8 && stored != PK_U8) || !scale->data || (zero && !zero->data))
		return false;
	int64_t n = pk_shape_elements(&scale->shape);
	for (int64_t i = 0; i < n; i++) {
		float s = ((const float *)scale->data)[i];
		if (!(s > 0) || !isfinite(s))
			return false;
	}
	return n > 0;
}

struct pk_node *pk_qdq_source(const struct pk_value *value)
{
	struct pk_node *node = value ? value->producer : NULL;
	if (!node || node->op != PK_OP_DEQUANTIZE)
		return NULL;
	return pk_qdq_constants(node, node->inputs[0]->dtype) ? node : NULL;
}

bool pk_qdq_is_quantize(const struct pk_node *node)
{
	return node && node->op == PK_OP_QUANTIZE &&
	       pk_qdq_constants(node, node->outputs[0]->dtype);
}

bool pk_qdq_is_whole(const struct pk_node *node)
{
	return pk_shape_elements(&node->inputs[1]->shape) == 1;
}

float pk_qdq_scale(const struct pk_node *node, int64_t channel)
{
	return ((const float *)node->inputs[1]->data)[pk_qdq_is_whole(node) ? 0 : channel];
}

static int64_t pk_qdq_zero(const struct pk_node *node, int64_t channel)
{
	const struct pk_value *zero = node->n_inputs > 2 ? node->inputs[2] : NULL;
	return zero ? pk_element_get_int(zero->dtype, zero->data, (size_t)channel) : 0;
}

static enum pk_dtype pk_qdq_stored(const struct pk_node *node)
{
	return node->op == PK_OP_QUANTIZE ? node->outputs[0]->dtype : node->inputs[0]->dtype;
}

bool pk_qdq_equal(const struct pk_node *a, const struct pk_node *b)
{
	int64_t n = pk_shape_elements(&a->inputs[1]->shape);
	if (pk_qdq_stored(a) != pk_qdq_stored(b) || n != pk_shape_elements(&b->inputs[1]->shape))
		return false;
	if (n > 1 && pk_node_int(a, PK_ATTR_AXIS) != pk_node_int(b, PK_ATTR_AXIS))
		return false;
	for (int64_t i = 0; i < n; i++)
		if (pk_qdq_scale(a, i) != pk_qdq_scale(b, i) ||
			pk_qdq_zero(a, i) != pk_qdq_zero(b, i))
			return false;
	return true;
}

// Outputs of these hold numbers of their operands, in an order that rounding does not change.
static bool pk_qdq_passes_on(const struct pk_node *node)
{
	switch (node->op) {
	case PK_OP_CONCAT:
	case PK_OP_SLICE:
	case PK_OP_RESHAPE:
	case PK_OP_TRANSPOSE:
	case PK_OP_EXPAND:
	case PK_OP_TILE:
	case PK_OP_DEPTH_TO_SPACE:
	case PK_OP_SPACE_TO_DEPTH:
		return true;
	case PK_OP_POOL:
		return pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_MAX;
	case PK_OP_RESIZE: // the crop form brings in a number of its own
		return pk_node_int(node, PK_ATTR_MODE) == PK_MODE_NEAREST &&
		       pk_node_int(node, PK_ATTR_COORD) != PK_COORD_TF_CROP_AND_RESIZE;
	default:
		return false;
	}
}

// The same node on other operands, before `node`. NULL: error in err.
static struct pk_node *pk_qdq_twin(struct pk_graph *graph, struct pk_node *node,
	struct pk_value *const *inputs, struct pk_err *err)
{
	struct pk_node *twin =
		pk_graph_new_node(graph, node->op, node->name, inputs, node->n_inputs, node);
	if (!twin) {
		pk_fail(err, -ENOMEM, "no memory");
		return NULL;
	}
	memcpy(twin->attrs, node->attrs,
		(size_t)pk_op_info(node->op)->n_attrs * sizeof(*node->attrs));
	const struct pk_shape *shape = &node->outputs[0]->shape;
	const char *name = node->outputs[0]->name;
	return pk_graph_finish_node(graph, twin, &name, 1, shape, err) < 0 ? NULL : twin;
}

// A quantize or dequantize of x like another one, before `before`.
static struct pk_node *pk_qdq_like(struct pk_graph *graph, const struct pk_node *like,
	struct pk_value *x, struct pk_node *before, struct pk_err *err)
{
	struct pk_value *inputs[] = {
		x, like->inputs[1], like->n_inputs > 2 ? like->inputs[2] : NULL};
	struct pk_node *node =
		pk_graph_new_node(graph, like->op, like->name, inputs, like->n_inputs, before);
	if (!node) {
		pk_fail(err, -ENOMEM, "no memory");
		return NULL;
	}
	memcpy(node->attrs, like->attrs,
		(size_t)pk_op_info(like->op)->n_attrs * sizeof(*like->attrs));
	const char *name = x->name;
	return pk_graph_finish_node(graph, node, &name, 1, NULL, err) < 0 ? NULL : node;
}

// op(dequantize(x), …) becomes dequantize(op(x, …)).
static int pk_qdq_sink(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	struct pk_node *first = pk_qdq_source(node->inputs[0]);
	struct pk_value **inputs =
		pk_arena_array(graph->arena, (size_t)node->n_inputs, sizeof(*inputs));
	if (!inputs)
		return -ENOMEM;
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_node *source = pk_qdq_source(node->inputs[i]);
		if (!source || !pk_qdq_is_whole(source) || !pk_qdq_equal(source, first))
			return 0;
		inputs[i] = source->inputs[0];
	}
	struct pk_node *twin = pk_qdq_twin(graph, node, inputs, err);
	struct pk_node *dequantize =
		twin ? pk_qdq_like(graph, first, twin->outputs[0], node, err) : NULL;
	if (!dequantize)
		return -ENOMEM;
	int r = pk_rewrite_replace(graph, node->outputs[0], dequantize->outputs[0], NULL);
	return r < 0 ? r : 1;
}

// quantize(op(x, …)) becomes op(quantize(x), …). A slice stays below: of a part there is less to
// do.
static int pk_qdq_rise(struct pk_graph *graph, struct pk_node *quantize, struct pk_err *err)
{
	struct pk_node *node = pk_match_inner(quantize->inputs[0]);
	if (!node || !pk_qdq_passes_on(node) || node->op == PK_OP_SLICE ||
		!pk_qdq_is_whole(quantize))
		return 0;
	struct pk_value **inputs =
		pk_arena_array(graph->arena, (size_t)node->n_inputs, sizeof(*inputs));
	if (!inputs)
		return -ENOMEM;
	for (int i = 0; i < node->n_inputs; i++) {
		struct pk_node *each = pk_qdq_like(graph, quantize, node->inputs[i], node, err);
		if (!each)
			return -ENOMEM;
		inputs[i] = each->outputs[0];
	}
	struct pk_node *twin = pk_qdq_twin(graph, node, inputs, err);
	if (!twin)
		return -ENOMEM;
	int r = pk_rewrite_replace(graph, quantize->outputs[0], twin->outputs[0], NULL);
	return r < 0 ? r : 1;
}

int pk_qdq_move(struct pk_graph *graph, struct pk_node *node, struct pk_pass_ctx *ctx)
{
	if (node->n_inputs > 0 && pk_qdq_passes_on(node) && pk_qdq_source(node->inputs[0]))
		return pk_qdq_sink(graph, node, ctx->err);
	if (!pk_qdq_is_quantize(node))
		return 0;
	struct pk_node *source = pk_qdq_source(node->inputs[0]);
	if (!source)
		return pk_qdq_rise(graph, node, ctx->err);
	if (!pk_qdq_equal(source, node) ||
		!pk_graph_can_replace(node->outputs[0], source->inputs[0]))
		return 0;
	int r = pk_rewrite_replace(graph, node->outputs[0], source->inputs[0], NULL);
	return r < 0 ? r : 1;
}
