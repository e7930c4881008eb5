// SPDX-License-Identifier: Apache-2.0
// BatchNormalization, InstanceNormalization, GroupNormalization, LayerNormalization, LRN.
#include <errno.h>

#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

static void set_epsilon(struct pk_importer *im, struct pk_node *node)
{
	if (node)
		pk_node_set_float(node, PK_ATTR_EPSILON, pk_importer_float(im, "epsilon", 1e-5));
}

int pk_import_batch_norm(struct pk_importer *im)
{
	if (pk_importer_int(im, "training_mode", 0) ||
		(im->opset < 7 && !pk_importer_int(im, "is_test", 0)))
		return pk_importer_fail(im, -ENOTSUP,
			"it is in training mode; export the model for inference (eval mode)");
	if (!pk_importer_int(im, "spatial", 1))
		return pk_importer_fail(
			im, -ENOTSUP, "spatial = 0 (statistics per element) is not supported");
	struct pk_node *node = pk_emit_begin(im, PK_OP_BATCH_NORM, im->inputs, 5);
	set_epsilon(im, node);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_instance_norm(struct pk_importer *im)
{
	struct pk_node *node = pk_emit_begin(im, PK_OP_INSTANCE_NORM, im->inputs, 3);
	set_epsilon(im, node);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// A vector over channels, shaped to broadcast over a tensor of `rank`.
static struct pk_value *over_channels(struct pk_importer *im, struct pk_value *v, int rank)
{
	struct pk_shape shape = {.rank = rank - 1};
	if (im->rc)
		return NULL;
	for (int i = 0; i < shape.rank; i++)
		shape.dims[i] = 1;
	shape.dims[0] = pk_shape_elements(&v->shape);
	return pk_emit_reshape(im, PK_TEMP, v, &shape);
}

// [n] → one number per channel: opset 18 gives scale and bias per group.
static struct pk_value *spread(
	struct pk_importer *im, struct pk_value *v, int64_t groups, int64_t channels)
{
	struct pk_shape column = {2, {groups, 1}}, table = {2, {groups, channels / groups}};
	struct pk_shape flat = {1, {channels}};
	if (pk_shape_elements(&v->shape) != groups || groups == channels)
		return v;
	struct pk_value *wide =
		pk_emit_expand(im, PK_TEMP, pk_emit_reshape(im, PK_TEMP, v, &column), &table);
	return wide ? pk_emit_reshape(im, PK_TEMP, wide, &flat) : NULL;
}

// Groups become the channels of an instance norm; scale and bias follow.
int pk_import_group_norm(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int64_t groups = pk_importer_int(im, "num_groups", 1);
	int64_t channels = x->shape.rank >= 3 ? x->shape.dims[1] : 0;
	if (groups < 1 || channels < 1 || channels % groups)
		return pk_importer_fail(im, -EINVAL, "%lld channels in %lld groups",
			(long long)channels, (long long)groups);
	int64_t all = pk_shape_elements(&x->shape);
	struct pk_shape grouped = {3, {x->shape.dims[0], groups, 0}};
	struct pk_shape one = {1, {1}}, per_group = {1, {groups}};
	if (x->shape.dims[0] > 0)
		grouped.dims[2] = all / x->shape.dims[0] / groups;
	struct pk_value *unit = pk_emit_scalar(im, PK_TEMP, PK_F32, 1);
	struct pk_value *zero = pk_emit_scalar(im, PK_TEMP, PK_F32, 0);
	if (im->rc)
		return im->rc;
	unit = pk_emit_expand(im, PK_TEMP, pk_emit_reshape(im, PK_TEMP, unit, &one), &per_group);
	zero = pk_emit_expand(im, PK_TEMP, pk_emit_reshape(im, PK_TEMP, zero, &one), &per_group);
	struct pk_value *operands[] = {pk_emit_reshape(im, PK_TEMP, x, &grouped), unit, zero};
	struct pk_node *node = pk_emit_begin(im, PK_OP_INSTANCE_NORM, operands, 3);
	set_epsilon(im, node);
	struct pk_value *y = pk_emit_end(im, node, PK_TEMP, NULL);
	y = y ? pk_emit_reshape(im, PK_TEMP, y, &x->shape) : NULL;
	struct pk_value *scale = spread(im, im->inputs[1], groups, channels);
	struct pk_value *bias = spread(im, im->inputs[2], groups, channels);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, y, over_channels(im, scale, x->shape.rank));
	pk_emit_binary(im, 0, PK_FN_ADD, y, over_channels(im, bias, x->shape.rank));
	return im->rc;
}

static bool is_wanted(const struct pk_importer *im, size_t out)
{
	return out < im->node->n_outputs && im->node->outputs[out].n;
}

// The outputs Mean and InvStdDev, which inference has no use for, when somebody asked for them.
static void emit_statistics(struct pk_importer *im, struct pk_value *x, int axis)
{
	struct pk_ints axes = {0};
	if (im->rc || (!is_wanted(im, 1) && !is_wanted(im, 2)))
		return;
	for (int i = axis; i < x->shape.rank; i++)
		axes.v[axes.n++] = i;
	struct pk_value *mean = pk_emit_reduce(im, 1, PK_FN_REDUCE_MEAN, x, &axes, true);
	struct pk_value *y = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, x, mean);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, y, y);
	y = pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_MEAN, y, &axes, true);
	struct pk_value *epsilon =
		pk_emit_scalar(im, PK_TEMP, PK_F32, pk_importer_float(im, "epsilon", 1e-5));
	y = pk_emit_binary(im, PK_TEMP, PK_FN_ADD, y, epsilon);
	y = pk_emit_unary(im, PK_TEMP, PK_FN_SQRT, y);
	pk_emit_unary(im, 2, PK_FN_RECIPROCAL, y);
}

int pk_import_layer_norm(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_value *operands[] = {x, im->inputs[1], pk_importer_input(im, 2)};
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", -1), x->shape.rank);
	struct pk_node *node = pk_emit_begin(im, PK_OP_LAYER_NORM, operands, 3);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	set_epsilon(im, node);
	pk_emit_end(im, node, 0, NULL);
	emit_statistics(im, x, axis);
	return im->rc;
}

// The mean of squares over `size` neighbouring channels, as a pool over [n, 1, c, rest].
static struct pk_value *square_mean(struct pk_importer *im, struct pk_value *x, int64_t size)
{
	int64_t n = x->shape.dims[0], c = x->shape.dims[1];
	int64_t rest = n * c > 0 ? pk_shape_elements(&x->shape) / (n * c) : 0;
	struct pk_shape plane = {4, {n, 1, c, rest}};
	int64_t kernel[] = {size, 1}, pads[] = {(size - 1) / 2, 0, size / 2, 0};
	struct pk_value *y = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, x, x);
	y = y ? pk_emit_reshape(im, PK_TEMP, y, &plane) : NULL;
	struct pk_node *node = pk_emit_begin(im, PK_OP_POOL, &y, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, PK_FN_POOL_AVG);
		pk_node_set_ints(node, PK_ATTR_KERNEL, kernel, 2);
		pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
		pk_node_set_int(node, PK_ATTR_COUNT_PAD, 1);
	}
	y = pk_emit_end(im, node, PK_TEMP, NULL);
	return y ? pk_emit_reshape(im, PK_TEMP, y, &x->shape) : NULL;
}

// y = x * (bias + alpha / size * sum of squares) ^ -beta
int pk_import_lrn(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int64_t size = pk_importer_int(im, "size", 1);
	if (x->shape.rank < 3 || size < 1 || size > PK_MAX_ELEMENTS)
		return pk_importer_fail(im, -EINVAL, "size %lld for an input of rank %d",
			(long long)size, x->shape.rank);
	struct pk_value *alpha =
		pk_emit_scalar(im, PK_TEMP, PK_F32, pk_importer_float(im, "alpha", 1e-4));
	struct pk_value *beta =
		pk_emit_scalar(im, PK_TEMP, PK_F32, -pk_importer_float(im, "beta", 0.75));
	struct pk_value *bias =
		pk_emit_scalar(im, PK_TEMP, PK_F32, pk_importer_float(im, "bias", 1));
	struct pk_value *y = square_mean(im, x, size);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, y, alpha);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_ADD, y, bias);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_POW, y, beta);
	pk_emit_binary(im, 0, PK_FN_MUL, x, y);
	return im->rc;
}
