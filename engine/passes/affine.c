// SPDX-License-Identifier: Apache-2.0
// Folding a per-channel scale and shift into weights and bias.
#include "engine/passes/affine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/passes/match.h"

static int64_t pk_channel_conv(const struct pk_node *node, int64_t idx)
{
	const struct pk_shape *w = &node->inputs[1]->shape;
	return idx / (pk_shape_elements(w) / w->dims[0]);
}

// Weights are [c, m/g, k…]: the channel of group g follows from the input channel.
static int64_t pk_channel_conv_transpose(const struct pk_node *node, int64_t idx)
{
	const struct pk_shape *w = &node->inputs[1]->shape;
	int64_t taps = pk_shape_elements(w) / (w->dims[0] * w->dims[1]);
	int64_t per_group = w->dims[0] / pk_node_int(node, PK_ATTR_GROUP);
	int64_t in = idx / (taps * w->dims[1]);
	return in / per_group * w->dims[1] + idx / taps % w->dims[1];
}

static int64_t pk_channel_gemm(const struct pk_node *node, int64_t idx)
{
	int64_t inner = node->inputs[1]->shape.dims[1];
	return pk_node_int(node, PK_ATTR_TRANS_B) ? idx / inner : idx % inner;
}

struct pk_affine_row {
	enum pk_op op;
	int64_t (*channel)(const struct pk_node *node, int64_t idx); // of weight idx
};
static const struct pk_affine_row pk_affine_rows[] = {
	{PK_OP_CONV, pk_channel_conv},
	{PK_OP_CONV_TRANSPOSE, pk_channel_conv_transpose},
	{PK_OP_GEMM, pk_channel_gemm},
};

static const struct pk_affine_row *pk_affine_row(const struct pk_node *node)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_affine_rows); i++)
		if (pk_affine_rows[i].op == node->op)
			return &pk_affine_rows[i];
	return NULL;
}

static const struct pk_value *pk_affine_addend(const struct pk_node *node)
{
	return node->n_inputs > 2 ? node->inputs[2] : NULL;
}

static bool pk_affine_is_bare(const struct pk_node *node)
{
	if (node->op == PK_OP_GEMM)
		return true;
	return pk_node_fn(node, PK_ATTR_ACT) == PK_FN_NONE &&
	       (node->op != PK_OP_CONV || pk_node_int(node, PK_ATTR_RESIDUAL) == PK_RESIDUAL_NONE);
}

bool pk_affine_takes(const struct pk_node *node)
{
	if (!pk_affine_row(node) || !pk_affine_is_bare(node))
		return false;
	const struct pk_value *w = node->inputs[1], *addend = pk_affine_addend(node);
	int stride;
	if (!w->data || !pk_dtype_is_float(w->dtype) || pk_shape_elements(&w->shape) == 0)
		return false;
	if (!addend)
		return true;
	if (node->op == PK_OP_GEMM)
		return pk_match_channels(addend, &node->outputs[0]->shape, 1, &stride);
	return addend->data != NULL;
}

int pk_affine_init(struct pk_affine *affine, const struct pk_node *node)
{
	affine->n = node->outputs[0]->shape.dims[1];
	size_t n = (size_t)PK_MAX(affine->n, (int64_t)1);
	affine->scale = calloc(n, sizeof(double));
	affine->shift = calloc(n, sizeof(double));
	if (!affine->scale || !affine->shift)
		return -ENOMEM;
	for (int64_t i = 0; i < affine->n; i++)
		affine->scale[i] = 1;
	return 0;
}

enum { PK_AFFINE_BN_X, PK_AFFINE_BN_SCALE, PK_AFFINE_BN_BIAS, PK_AFFINE_BN_MEAN, PK_AFFINE_BN_VAR };

static double pk_affine_bn_param(const struct pk_node *bn, int input_idx, int64_t channel)
{
	const struct pk_value *param = bn->inputs[input_idx];
	return pk_element_get(param->dtype, param->data, (size_t)channel);
}

static bool pk_affine_bn_is_const(const struct pk_node *bn)
{
	for (int i = PK_AFFINE_BN_SCALE; i <= PK_AFFINE_BN_VAR; i++)
		if (!bn->inputs[i]->data)
			return false;
	return true;
}

// False when a channel has no finite scale, as with a negative variance.
static bool pk_affine_bn_numbers(const struct pk_node *bn, struct pk_affine *affine)
{
	double epsilon = pk_node_float(bn, PK_ATTR_EPSILON);
	for (int64_t i = 0; i < affine->n; i++) {
		double scale = pk_affine_bn_param(bn, PK_AFFINE_BN_SCALE, i) /
			       sqrt(pk_affine_bn_param(bn, PK_AFFINE_BN_VAR, i) + epsilon);
		affine->scale[i] = scale;
		affine->shift[i] = pk_affine_bn_param(bn, PK_AFFINE_BN_BIAS, i) -
				   scale * pk_affine_bn_param(bn, PK_AFFINE_BN_MEAN, i);
		if (!isfinite(scale) || !isfinite(affine->shift[i]))
			return false;
	}
	return true;
}

int pk_affine_from_bn(struct pk_affine *affine, const struct pk_node *bn)
{
	if (!pk_affine_bn_is_const(bn))
		return 0;
	int r = pk_affine_init(affine, bn);
	return r < 0 ? r : pk_affine_bn_numbers(bn, affine);
}

void pk_affine_finish(struct pk_affine *affine)
{
	free(affine->scale);
	free(affine->shift);
	*affine = (struct pk_affine){0};
}

static bool pk_affine_put(enum pk_dtype dtype, void *data, int64_t idx, double v)
{
	pk_element_put_float(dtype, data, (size_t)idx, v);
	return isfinite(pk_element_get(dtype, data, (size_t)idx));
}

// 1 with *out set, 0 when a result is not finite, -ENOMEM.
static int pk_affine_weights(struct pk_graph *graph, const struct pk_node *node,
	const struct pk_affine *affine, struct pk_value **out)
{
	const struct pk_value *w = node->inputs[1];
	const struct pk_affine_row *row = pk_affine_row(node);
	void *data = pk_graph_alloc(graph, pk_tensor_bytes(w->dtype, &w->shape));
	if (!data)
		return -ENOMEM;
	int64_t n = pk_shape_elements(&w->shape);
	for (int64_t i = 0; i < n; i++) {
		double v = pk_element_get(w->dtype, w->data, (size_t)i);
		if (!pk_affine_put(w->dtype, data, i, v * affine->scale[row->channel(node, i)]))
			return 0;
	}
	*out = pk_graph_add_const(graph, w->name, w->dtype, &w->shape, data);
	return *out ? 1 : -ENOMEM;
}

// The addend as it stands, per channel, times gemm's beta.
static double pk_affine_old_addend(const struct pk_node *node, int64_t channel)
{
	const struct pk_value *addend = pk_affine_addend(node);
	int stride;
	if (!addend)
		return 0;
	bool found = pk_match_channels(addend, &node->outputs[0]->shape, 1, &stride);
	if (node->op != PK_OP_GEMM || !found)
		stride = 1; // a conv's bias is a vector of the channels
	double v = pk_element_get(addend->dtype, addend->data, (size_t)(channel * stride));
	return node->op == PK_OP_GEMM ? v * pk_node_float(node, PK_ATTR_BETA) : v;
}

static int pk_affine_bias(struct pk_graph *graph, const struct pk_node *node,
	const struct pk_affine *affine, struct pk_value **out)
{
	const struct pk_value *addend = pk_affine_addend(node);
	enum pk_dtype dtype = node->inputs[1]->dtype;
	struct pk_shape shape = {1, {affine->n}};
	const char *name = addend ? addend->name : node->inputs[1]->name;
	void *data = pk_graph_alloc(graph, pk_tensor_bytes(dtype, &shape));
	if (!data)
		return -ENOMEM;
	for (int64_t i = 0; i < affine->n; i++) {
		double v = pk_affine_old_addend(node, i) * affine->scale[i] + affine->shift[i];
		if (!pk_affine_put(dtype, data, i, v))
			return 0;
	}
	*out = pk_graph_add_const(graph, name, dtype, &shape, data);
	return *out ? 1 : -ENOMEM;
}

static bool pk_affine_is_all(const double *v, int64_t n, double want)
{
	for (int64_t i = 0; i < n; i++)
		if (v[i] != want)
			return false;
	return true;
}

int pk_affine_apply(struct pk_graph *graph, struct pk_node *node, const struct pk_affine *affine)
{
	struct pk_value *w = node->inputs[1], *bias = NULL;
	int r = 1;
	if (!pk_affine_is_all(affine->scale, affine->n, 1))
		r = pk_affine_weights(graph, node, affine, &w);
	if (r == 1 && (pk_affine_addend(node) || !pk_affine_is_all(affine->shift, affine->n, 0)))
		r = pk_affine_bias(graph, node, affine, &bias);
	if (r != 1)
		return r;
	pk_graph_set_input(node, 1, w);
	if (bias)
		pk_graph_set_input(node, 2, bias);
	if (node->op == PK_OP_GEMM && bias)
		pk_node_set_float(node, PK_ATTR_BETA, 1);
	return 1;
}
