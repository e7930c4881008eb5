// SPDX-License-Identifier: Apache-2.0
// What supports() of the kernels asks of a node.
#include "engine/cpu/kernels/check.h"

#include <string.h>

#include "engine/cpu/kernels/number.h"

#define SMALL_MAX INT64_C(0x7fffffff)

bool pk_check_all_dtype(const struct pk_node *node, enum pk_dtype dtype)
{
	for (int i = 0; i < node->n_inputs; i++) {
		if (node->inputs[i] && node->inputs[i]->dtype != dtype)
			return false;
	}
	for (int i = 0; i < node->n_outputs; i++) {
		if (node->outputs[i]->dtype != dtype)
			return false;
	}
	return true;
}

bool pk_check_all_float(const struct pk_node *node)
{
	enum pk_dtype dtype = node->outputs[0]->dtype;
	return pk_number_is_float(dtype) && pk_check_all_dtype(node, dtype);
}

bool pk_check_same_dtype(const struct pk_node *node)
{
	return node->inputs[0]->dtype == node->outputs[0]->dtype &&
	       pk_dtype_bytes(node->outputs[0]->dtype);
}

// Copies one attribute of n items to the last n of three; all within 0..SMALL_MAX (or its
// negative).
static bool take(const struct pk_node *node, enum pk_attr_id id, int offset, int n, int64_t *out,
	int64_t least)
{
	const struct pk_attr_value *attr = pk_node_attr(node, id);
	if (attr->n < offset + n)
		return false;
	for (int i = 0; i < n; i++) {
		out[3 - n + i] = attr->i[offset + i];
		if (attr->i[offset + i] < least || attr->i[offset + i] > SMALL_MAX)
			return false;
	}
	return true;
}

static bool take_attrs(struct pk_window *geom, const struct pk_node *node, int n)
{
	return take(node, PK_ATTR_STRIDES, 0, n, geom->stride, 1) &&
	       take(node, PK_ATTR_DILATIONS, 0, n, geom->dilation, 1) &&
	       take(node, PK_ATTR_PADS, 0, n, geom->pad, -SMALL_MAX) &&
	       take(node, PK_ATTR_PADS, n, n, geom->pad_end, -SMALL_MAX);
}

static bool take_kernel(struct pk_window *geom, const struct pk_node *node, int n)
{
	geom->group = 1;
	if (node->op == PK_OP_POOL || node->op == PK_OP_POOL_INDEX)
		return take(node, PK_ATTR_KERNEL, 0, n, geom->kernel, 1) &&
		       geom->in_c == geom->out_c;
	const struct pk_shape *w = pk_check_in_shape(node, 1);
	bool transposed = node->op == PK_OP_CONV_TRANSPOSE;
	int64_t group = pk_node_int(node, PK_ATTR_GROUP);
	if (w->rank != n + 2 || group < 1 || geom->in_c % group || geom->out_c % group)
		return false;
	geom->group = group;
	for (int i = 0; i < n; i++)
		geom->kernel[3 - n + i] = w->dims[2 + i];
	int64_t rows = transposed ? geom->in_c : geom->out_c;
	int64_t per_group = (transposed ? geom->out_c : geom->in_c) / group;
	return w->dims[0] == rows && w->dims[1] == per_group;
}

// Last input cell that a window touches stays far from overflow.
static bool reach_ok(const struct pk_window *geom)
{
	for (int i = 0; i < 3; i++) {
		if (geom->kernel[i] > SMALL_MAX || geom->out[i] * geom->stride[i] > SMALL_MAX * 4 ||
			geom->kernel[i] * geom->dilation[i] > SMALL_MAX * 4)
			return false;
	}
	return true;
}

bool pk_window_init(struct pk_window *geom, const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int n = x->rank - 2;
	if (n < 1 || n > 3 || y->rank != x->rank || x->dims[0] != y->dims[0])
		return false;
	memset(geom, 0, sizeof(*geom));
	for (int i = 0; i < 3; i++) {
		geom->in[i] = geom->out[i] = geom->kernel[i] = 1;
		geom->stride[i] = geom->dilation[i] = 1;
	}
	geom->batch = x->dims[0];
	geom->in_c = x->dims[1];
	geom->out_c = y->dims[1];
	for (int i = 0; i < n; i++) {
		geom->in[3 - n + i] = x->dims[2 + i];
		geom->out[3 - n + i] = y->dims[2 + i];
	}
	if (!take_attrs(geom, node, n) || !take_kernel(geom, node, n) || !reach_ok(geom))
		return false;
	geom->in_plane = geom->in[0] * geom->in[1] * geom->in[2];
	geom->out_plane = geom->out[0] * geom->out[1] * geom->out[2];
	geom->kernel_plane = geom->kernel[0] * geom->kernel[1] * geom->kernel[2];
	return true;
}

bool pk_check_conv_bias(const struct pk_node *node)
{
	const struct pk_value *bias = pk_check_input(node, 2);
	return !bias ||
	       (bias->shape.rank == 1 && bias->shape.dims[0] == pk_check_out_shape(node)->dims[1]);
}

bool pk_check_conv_residual(const struct pk_node *node)
{
	bool added = pk_node_int(node, PK_ATTR_RESIDUAL) != PK_RESIDUAL_NONE;
	const struct pk_value *residual = pk_check_input(node, 3);
	if (!added || !residual)
		return added == (residual != NULL);
	return pk_shape_equal(&residual->shape, pk_check_out_shape(node));
}
