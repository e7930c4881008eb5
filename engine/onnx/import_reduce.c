// SPDX-License-Identifier: Apache-2.0
// Softmax, reductions along axes, ArgMax and ArgMin, TopK.
#include <errno.h>

#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

static struct pk_value *emit_softmax(struct pk_importer *im, int out, struct pk_value *x, int axis)
{
	struct pk_node *node = pk_emit_begin(im, PK_OP_SOFTMAX, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, im->row->arg);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	}
	return pk_emit_end(im, node, out, NULL);
}

// Before opset 13 the input was seen as a matrix: all dims before axis by all dims from it on.
int pk_import_softmax(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	bool coerced = im->opset < 13;
	int rank = x->shape.rank;
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", coerced ? 1 : -1), rank);
	if (im->rc)
		return im->rc;
	if (!coerced || axis == rank - 1) {
		emit_softmax(im, 0, x, axis);
		return im->rc;
	}
	struct pk_shape matrix = {2, {1, 1}};
	for (int i = 0; i < rank; i++)
		matrix.dims[i >= axis] *= x->shape.dims[i];
	struct pk_value *y = pk_emit_reshape(im, PK_TEMP, x, &matrix);
	y = emit_softmax(im, PK_TEMP, y, 1);
	if (y)
		pk_emit_reshape(im, 0, y, &x->shape);
	return im->rc;
}

// The axes, all of them when none are given. false: nothing is to be reduced, and the output is x.
static bool read_axes(struct pk_importer *im, struct pk_ints *axes)
{
	int rank = im->inputs[0]->shape.rank;
	pk_importer_ints_from(im, "axes", 1, axes);
	pk_importer_axes(im, axes, rank);
	if (im->rc || axes->n)
		return true;
	if (pk_importer_int(im, "noop_with_empty_axes", 0))
		return false;
	for (int axis = 0; axis < rank; axis++)
		axes->v[axes->n++] = axis;
	return true;
}

static bool keeps_dims(const struct pk_importer *im)
{
	return pk_importer_int(im, "keepdims", 1) != 0;
}

int pk_import_reduce(struct pk_importer *im)
{
	enum pk_fn fn = (enum pk_fn)im->row->arg;
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	if (!read_axes(im, &axes)) {
		pk_emit_alias(im, 0, x);
		return im->rc;
	}
	if (x->dtype != PK_BOOL) {
		pk_emit_reduce(im, 0, fn, x, &axes, keeps_dims(im));
		return im->rc;
	}
	// Opset 20: max and min of bool mean any and all.
	x = pk_emit_cast(im, PK_TEMP, x, PK_I32);
	x = pk_emit_reduce(im, PK_TEMP, fn, x, &axes, keeps_dims(im));
	pk_emit_cast(im, 0, x, PK_BOOL);
	return im->rc;
}

int pk_import_reduce_sum_square(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	if (!read_axes(im, &axes)) {
		pk_emit_binary(im, 0, PK_FN_MUL, x, x);
		return im->rc;
	}
	x = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, x, x);
	pk_emit_reduce(im, 0, PK_FN_REDUCE_SUM, x, &axes, keeps_dims(im));
	return im->rc;
}

int pk_import_reduce_log_sum(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	if (read_axes(im, &axes))
		x = pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_SUM, x, &axes, keeps_dims(im));
	pk_emit_unary(im, 0, PK_FN_LOG, x);
	return im->rc;
}

// max + log(sum(exp(x - max))): large x do not overflow.
int pk_import_reduce_log_sum_exp(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	if (!read_axes(im, &axes)) {
		pk_emit_alias(im, 0, x);
		return im->rc;
	}
	struct pk_value *max = pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_MAX, x, &axes, true);
	struct pk_value *y = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, x, max);
	y = pk_emit_unary(im, PK_TEMP, PK_FN_EXP, y);
	y = pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_SUM, y, &axes, keeps_dims(im));
	y = pk_emit_unary(im, PK_TEMP, PK_FN_LOG, y);
	if (y)
		max = pk_emit_reshape(im, PK_TEMP, max, &y->shape);
	pk_emit_binary(im, 0, PK_FN_ADD, y, max);
	return im->rc;
}

int pk_import_arg_reduce(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), x->shape.rank);
	struct pk_node *node = pk_emit_begin(im, PK_OP_ARG_REDUCE, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, im->row->arg);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, keeps_dims(im));
		pk_node_set_int(node, PK_ATTR_SELECT_LAST,
			pk_importer_int(im, "select_last_index", 0) != 0);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_top_k(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", -1), x->shape.rank);
	struct pk_ints k = {.n = 1, .v = {pk_importer_int(im, "k", 0)}};
	if (!pk_importer_attr(im, "k"))
		pk_importer_const_ints(im, 1, "k", &k);
	if (!im->rc && k.n != 1)
		pk_importer_fail(im, -EINVAL, "k must be one number");
	struct pk_node *node = pk_emit_begin(im, PK_OP_TOP_K, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_K, k.v[0]);
		pk_node_set_int(node, PK_ATTR_LARGEST, pk_importer_int(im, "largest", 1) != 0);
	}
	pk_emit_end_pair(im, node);
	return im->rc;
}
