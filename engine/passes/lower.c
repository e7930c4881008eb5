// SPDX-License-Identifier: Apache-2.0
// F2: batch norm that stands alone becomes a depthwise conv of 1x1, which takes an activation and
// has fast kernels. F17: a pool over the whole plane becomes a reduction.
#include <errno.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/passes/affine.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

// Channel numbers as a constant of the given shape.
static struct pk_value *pk_lower_const(struct pk_graph *graph, const char *name,
	enum pk_dtype dtype, const struct pk_shape *shape, const double *numbers)
{
	int64_t n = pk_shape_elements(shape);
	void *data = pk_graph_alloc(graph, pk_tensor_bytes(dtype, shape));
	if (!data)
		return NULL;
	for (int64_t i = 0; i < n; i++)
		pk_element_put_float(dtype, data, (size_t)i, numbers[i]);
	return pk_graph_add_const(graph, name, dtype, shape, data);
}

static struct pk_node *pk_lower_new_conv(struct pk_graph *graph, struct pk_node *bn,
	const struct pk_affine *affine, struct pk_err *err)
{
	struct pk_value *x = bn->inputs[0];
	struct pk_shape bias = {1, {affine->n}}, weights = {x->shape.rank, {affine->n}};
	for (int i = 1; i < weights.rank; i++)
		weights.dims[i] = 1;
	struct pk_value *operands[] = {x,
		pk_lower_const(graph, bn->inputs[1]->name, x->dtype, &weights, affine->scale),
		pk_lower_const(graph, bn->inputs[2]->name, x->dtype, &bias, affine->shift)};
	if (!operands[1] || !operands[2])
		return NULL;
	struct pk_node *conv = pk_graph_new_node(graph, PK_OP_CONV, "", operands, 3, bn);
	if (!conv)
		return NULL;
	pk_node_set_int(conv, PK_ATTR_GROUP, affine->n);
	const char *name = bn->outputs[0]->name;
	return pk_graph_finish_node(graph, conv, &name, 1, NULL, err) < 0 ? NULL : conv;
}

static int pk_lower_bn_node(struct pk_graph *graph, struct pk_node *bn, struct pk_err *err)
{
	const struct pk_value *x = bn->inputs[0];
	if (x->dtype != PK_F32 || x->shape.rank < 3 || x->shape.rank > 4)
		return 0;
	struct pk_affine affine = {0};
	int r = pk_affine_from_bn(&affine, bn);
	if (r == 1) {
		struct pk_node *conv = pk_lower_new_conv(graph, bn, &affine, err);
		r = conv ? pk_rewrite_replace(graph, bn->outputs[0], conv->outputs[0], conv)
			 : -ENOMEM;
		r = r < 0 ? r : 1;
	}
	pk_affine_finish(&affine);
	return r;
}

int pk_pass_lower_bn(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_BATCH_NORM ? pk_lower_bn_node(graph, node, ctx->err) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}

// One window, all of the plane, nothing of the padding: then each cell counts once.
static bool pk_lower_is_whole(const struct pk_node *pool)
{
	const struct pk_attr_value *kernel = pk_node_attr(pool, PK_ATTR_KERNEL);
	const struct pk_attr_value *dilations = pk_node_attr(pool, PK_ATTR_DILATIONS);
	const struct pk_attr_value *pads = pk_node_attr(pool, PK_ATTR_PADS);
	const struct pk_shape *x = &pool->inputs[0]->shape, *y = &pool->outputs[0]->shape;
	for (int i = 0; i < kernel->n; i++) {
		if (kernel->i[i] != x->dims[i + 2] || y->dims[i + 2] != 1 ||
			(dilations->i[i] != 1 && kernel->i[i] != 1))
			return false;
	}
	for (int i = 0; i < pads->n; i++)
		if (pads->i[i] != 0)
			return false;
	return true;
}

static int pk_lower_pool_node(struct pk_graph *graph, struct pk_node *pool, struct pk_err *err)
{
	enum pk_fn fn = pk_node_fn(pool, PK_ATTR_FN);
	bool average = fn == PK_FN_POOL_AVG;
	if ((!average && fn != PK_FN_POOL_MAX) || !pk_lower_is_whole(pool))
		return 0;
	struct pk_node *reduce = pk_graph_new_node(graph, PK_OP_REDUCE, "", pool->inputs, 1, pool);
	if (!reduce)
		return -ENOMEM;
	int64_t axes[PK_MAX_RANK];
	int n_axes = pool->inputs[0]->shape.rank - 2;
	for (int i = 0; i < n_axes; i++)
		axes[i] = i + 2;
	pk_node_set_int(reduce, PK_ATTR_FN, average ? PK_FN_REDUCE_MEAN : PK_FN_REDUCE_MAX);
	pk_node_set_ints(reduce, PK_ATTR_AXES, axes, n_axes);
	pk_node_set_int(reduce, PK_ATTR_KEEPDIMS, 1);
	const char *name = pool->outputs[0]->name;
	int r = pk_graph_finish_node(graph, reduce, &name, 1, NULL, err);
	if (r == 0)
		r = pk_rewrite_replace(graph, pool->outputs[0], reduce->outputs[0], reduce);
	return r < 0 ? r : 1;
}

int pk_pass_lower_pool(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_POOL ? pk_lower_pool_node(graph, node, ctx->err) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
