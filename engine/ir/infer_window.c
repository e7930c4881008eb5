// SPDX-License-Identifier: Apache-2.0
// Types of the operators that slide a window: convolution, its transpose, pooling.
#include <errno.h>

#include "engine/ir/infer_impl.h"

#define PK_MAX_SPATIAL 3

static const int64_t *pk_infer_ints(const struct pk_infer *infer, enum pk_attr_id id)
{
	return pk_node_attr(infer->node, id)->i;
}

// Cells that a window of k taps covers. k and d are at most 2^31, so this fits.
static int64_t pk_window_extent(int64_t k, int64_t d)
{
	return (k - 1) * d + 1;
}

int pk_infer_act(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_ACT);
	if (pk_fn_class(fn) != PK_FN_CLASS_U)
		return pk_fail(infer->err, -EINVAL, "act: `%s` is no activation", pk_fn_name(fn));
	return 0;
}

// One axis of a convolution: how many windows of `extent` fit.
static int pk_infer_conv_axis(struct pk_infer *infer, int axis, int64_t k)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	int n_axes = x->rank - 2;
	const int64_t *pads = pk_infer_ints(infer, PK_ATTR_PADS);
	int64_t stride = pk_infer_ints(infer, PK_ATTR_STRIDES)[axis];
	int64_t extent = pk_window_extent(k, pk_infer_ints(infer, PK_ATTR_DILATIONS)[axis]);
	int64_t room = x->dims[axis + 2] + pads[axis] + pads[axis + n_axes];
	if (k < 1 || x->dims[axis + 2] < 1)
		return pk_fail(
			infer->err, -EINVAL, "window or input is empty on spatial axis %d", axis);
	if (room < extent)
		return pk_fail(infer->err, -EINVAL,
			"window of %lld is larger than the padded input of %lld on spatial axis %d",
			(long long)extent, (long long)room, axis);
	infer->out[0].shape.dims[axis + 2] = (room - extent) / stride + 1;
	return 0;
}

static int pk_infer_weights_rank(struct pk_infer *infer)
{
	int rank = infer->node->inputs[0]->shape.rank;
	const struct pk_shape *w = &infer->node->inputs[1]->shape;
	if (w->rank != rank)
		return pk_fail(infer->err, -EINVAL, "weights have rank %d, input has rank %d",
			w->rank, rank);
	return 0;
}

static int pk_infer_conv_operands(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_FLOAT);
	if (r == 0)
		r = pk_infer_rank(infer, 3, 2 + PK_MAX_SPATIAL);
	if (r < 0)
		return r;
	r = pk_infer_weights_rank(infer);
	return r < 0 ? r : pk_infer_act(infer);
}

static int pk_infer_residual(struct pk_infer *infer)
{
	const struct pk_value *residual = pk_infer_operand(infer, 3);
	bool wanted = pk_node_int(infer->node, PK_ATTR_RESIDUAL) != PK_RESIDUAL_NONE;
	if (wanted != (residual != NULL))
		return pk_fail(infer->err, -EINVAL, "residual attribute and operand 3 disagree");
	if (residual && !pk_shape_equal(&residual->shape, &infer->out[0].shape))
		return pk_fail(
			infer->err, -EINVAL, "residual must have exactly the output's shape");
	return 0;
}

int pk_infer_conv_shape(struct pk_infer *infer)
{
	int r = pk_infer_rank(infer, 3, 2 + PK_MAX_SPATIAL);
	if (r == 0)
		r = pk_infer_weights_rank(infer);
	if (r < 0)
		return r;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const struct pk_shape *w = &infer->node->inputs[1]->shape;
	int64_t group = pk_node_int(infer->node, PK_ATTR_GROUP);
	int64_t n_out = w->dims[0];
	if (x->dims[1] % group != 0 || x->dims[1] / group != w->dims[1])
		return pk_fail(infer->err, -EINVAL,
			"%lld input channels in %lld groups, weights take %lld each",
			(long long)x->dims[1], (long long)group, (long long)w->dims[1]);
	if (n_out % group != 0 || w->dims[1] < 1 || n_out < 1)
		return pk_fail(infer->err, -EINVAL, "%lld output channels in %lld groups",
			(long long)n_out, (long long)group);
	infer->out[0].shape.dims[1] = n_out;
	for (int axis = 0; axis < x->rank - 2 && r == 0; axis++)
		r = pk_infer_conv_axis(infer, axis, w->dims[axis + 2]);
	return r < 0 ? r : pk_infer_vector(infer, 2, n_out, "bias");
}

int pk_infer_conv(struct pk_infer *infer)
{
	int r = pk_infer_conv_operands(infer);
	if (r == 0)
		r = pk_infer_conv_shape(infer);
	return r < 0 ? r : pk_infer_residual(infer);
}

// out = stride * (in - 1) + output_padding + extent - pads
static int pk_infer_conv_transpose_axis(struct pk_infer *infer, int axis, int64_t k)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const int64_t *pads = pk_infer_ints(infer, PK_ATTR_PADS);
	int64_t stride = pk_infer_ints(infer, PK_ATTR_STRIDES)[axis];
	int64_t extent = pk_window_extent(k, pk_infer_ints(infer, PK_ATTR_DILATIONS)[axis]);
	int64_t in = x->dims[axis + 2];
	if (k < 1 || in < 1)
		return pk_fail(infer->err, -EINVAL, "empty spatial axis %d", axis);
	int64_t full = stride * (in - 1); // below 2^62, as extent is
	if (full > PK_MAX_ELEMENTS || extent > PK_MAX_ELEMENTS)
		return pk_fail(infer->err, -EFBIG, "output is too large on spatial axis %d", axis);
	int64_t out = full + pk_infer_ints(infer, PK_ATTR_OUTPUT_PADDING)[axis] + extent -
		      pads[axis] - pads[axis + x->rank - 2];
	if (out < 1)
		return pk_fail(infer->err, -EINVAL, "pads leave nothing of spatial axis %d", axis);
	infer->out[0].shape.dims[axis + 2] = out;
	return 0;
}

int pk_infer_conv_transpose(struct pk_infer *infer)
{
	int r = pk_infer_conv_operands(infer);
	if (r < 0)
		return r;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const struct pk_shape *w = &infer->node->inputs[1]->shape;
	int64_t group = pk_node_int(infer->node, PK_ATTR_GROUP);
	if (x->dims[1] != w->dims[0] || x->dims[1] % group != 0 || x->dims[1] < 1 || w->dims[1] < 1)
		return pk_fail(infer->err, -EINVAL,
			"%lld input channels in %lld groups, weights take %lld",
			(long long)x->dims[1], (long long)group, (long long)w->dims[0]);
	int64_t n_out = w->dims[1] * group; // both at most 2^31
	infer->out[0].shape.dims[1] = n_out;
	for (int axis = 0; axis < x->rank - 2 && r == 0; axis++)
		r = pk_infer_conv_transpose_axis(infer, axis, w->dims[axis + 2]);
	return r < 0 ? r : pk_infer_vector(infer, 2, n_out, "bias");
}

// The floor formula, or one window more when the caller asks for it (ceil mode). Every window
// starts before the input ends, and the first reaches into it: none covers padding alone.
static int pk_infer_pool_axis(struct pk_infer *infer, int axis)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	int64_t pad = pk_infer_ints(infer, PK_ATTR_PADS)[axis];
	int64_t stride = pk_infer_ints(infer, PK_ATTR_STRIDES)[axis];
	int64_t k = pk_infer_ints(infer, PK_ATTR_KERNEL)[axis];
	int r = pk_infer_conv_axis(infer, axis, k);
	if (r < 0)
		return r;
	int64_t *out = &infer->out[0].shape.dims[axis + 2];
	if (infer->given) {
		int64_t wanted = infer->given->dims[axis + 2];
		if (wanted != *out && wanted != *out + 1)
			return pk_fail(infer->err, -EINVAL,
				"%lld windows wanted on spatial axis %d, %lld fit",
				(long long)wanted, axis, (long long)*out);
		*out = wanted;
	}
	if (pad >= pk_window_extent(k, pk_infer_ints(infer, PK_ATTR_DILATIONS)[axis]) ||
		(*out - 1) > (x->dims[axis + 2] + pad - 1) / stride)
		return pk_fail(
			infer->err, -EINVAL, "a window on spatial axis %d is all padding", axis);
	return 0;
}

static int pk_infer_pool_windows(struct pk_infer *infer, unsigned set)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	int r = pk_infer_dtype_in(infer, 0, set);
	if (r == 0)
		r = pk_infer_rank(infer, 3, 2 + PK_MAX_SPATIAL);
	if (r < 0)
		return r;
	if (infer->given && (infer->given->rank != x->rank || infer->given->dims[0] != x->dims[0] ||
				    infer->given->dims[1] != x->dims[1]))
		return pk_fail(infer->err, -EINVAL, "wanted shape changes batch or channels");
	for (int axis = 0; axis < x->rank - 2 && r == 0; axis++)
		r = pk_infer_pool_axis(infer, axis);
	return r;
}

int pk_infer_pool(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	if (fn != PK_FN_POOL_MAX && fn != PK_FN_POOL_AVG)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` is no pooling", pk_fn_name(fn));
	return pk_infer_pool_windows(infer, fn == PK_FN_POOL_MAX ? PK_DT_NUMBER : PK_DT_FLOAT);
}

int pk_infer_pool_index(struct pk_infer *infer)
{
	int r = pk_infer_pool_windows(infer, PK_DT_NUMBER);
	infer->out[0].dtype = PK_I64;
	return r;
}
