// SPDX-License-Identifier: Apache-2.0
// The inference table and the checks that all operators share.
#include "engine/ir/infer.h"

#include <errno.h>

#include "base/checked.h"
#include "engine/ir/attr_rule.h"
#include "engine/ir/infer_impl.h"

static int (*const pk_infer_rows[PK_N_OPS])(struct pk_infer *infer) = {
	[PK_OP_CONV] = pk_infer_conv,
	[PK_OP_CONV_TRANSPOSE] = pk_infer_conv_transpose,
	[PK_OP_POOL] = pk_infer_pool,
	[PK_OP_BATCH_NORM] = pk_infer_batch_norm,
	[PK_OP_INSTANCE_NORM] = pk_infer_instance_norm,
	[PK_OP_LAYER_NORM] = pk_infer_layer_norm,
	[PK_OP_GEMM] = pk_infer_gemm,
	[PK_OP_MATMUL] = pk_infer_matmul,
	[PK_OP_UNARY] = pk_infer_unary,
	[PK_OP_BINARY] = pk_infer_binary,
	[PK_OP_PRELU] = pk_infer_prelu,
	[PK_OP_WHERE] = pk_infer_where,
	[PK_OP_CAST] = pk_infer_cast,
	[PK_OP_SOFTMAX] = pk_infer_softmax,
	[PK_OP_REDUCE] = pk_infer_reduce,
	[PK_OP_ARG_REDUCE] = pk_infer_arg_reduce,
	[PK_OP_TOP_K] = pk_infer_top_k,
	[PK_OP_CONCAT] = pk_infer_concat,
	[PK_OP_SLICE] = pk_infer_slice,
	[PK_OP_RESHAPE] = pk_infer_reshape,
	[PK_OP_TRANSPOSE] = pk_infer_transpose,
	[PK_OP_PAD] = pk_infer_pad,
	[PK_OP_RESIZE] = pk_infer_resize,
	[PK_OP_EXPAND] = pk_infer_expand,
	[PK_OP_TILE] = pk_infer_tile,
	[PK_OP_GATHER] = pk_infer_gather,
	[PK_OP_GATHER_ELEMENTS] = pk_infer_gather_elements,
	[PK_OP_GATHER_ND] = pk_infer_gather_nd,
	[PK_OP_SCATTER_ELEMENTS] = pk_infer_scatter_elements,
	[PK_OP_SCATTER_ND] = pk_infer_scatter_nd,
	[PK_OP_CUM_SUM] = pk_infer_cum_sum,
	[PK_OP_GRID_SAMPLE] = pk_infer_grid_sample,
	[PK_OP_ROI_ALIGN] = pk_infer_roi_align,
	[PK_OP_POOL_INDEX] = pk_infer_pool_index,
	[PK_OP_DEPTH_TO_SPACE] = pk_infer_depth_to_space,
	[PK_OP_SPACE_TO_DEPTH] = pk_infer_space_to_depth,
	[PK_OP_IDENTITY] = pk_infer_identity,
	[PK_OP_REORDER] = pk_infer_identity,
	[PK_OP_QUANTIZE] = pk_infer_quantize,
	[PK_OP_DEQUANTIZE] = pk_infer_dequantize,
	[PK_OP_QCONV] = pk_infer_qconv,
	[PK_OP_QMATMUL] = pk_infer_qmatmul,
	[PK_OP_QBINARY] = pk_infer_qbinary,
	[PK_OP_LOOKUP] = pk_infer_lookup,
};

const struct pk_value *pk_infer_operand(const struct pk_infer *infer, int input_idx)
{
	return input_idx < infer->node->n_inputs ? infer->node->inputs[input_idx] : NULL;
}

int pk_infer_dtype_in(struct pk_infer *infer, int input_idx, unsigned set)
{
	const struct pk_value *value = pk_infer_operand(infer, input_idx);
	if (value && !(set >> value->dtype & 1))
		return pk_fail(infer->err, -EINVAL, "operand %d cannot be %s", input_idx,
			pk_dtype_name(value->dtype));
	return 0;
}

int pk_infer_same_dtype(struct pk_infer *infer, unsigned set)
{
	int r = pk_infer_dtype_in(infer, 0, set);
	if (r < 0)
		return r;
	enum pk_dtype dtype = infer->node->inputs[0]->dtype;
	for (int i = 1; i < infer->node->n_inputs; i++) {
		const struct pk_value *value = infer->node->inputs[i];
		if (value && value->dtype != dtype)
			return pk_fail(infer->err, -EINVAL, "operand %d is %s, operand 0 is %s", i,
				pk_dtype_name(value->dtype), pk_dtype_name(dtype));
	}
	return 0;
}

int pk_infer_vector(struct pk_infer *infer, int input_idx, int64_t n, const char *what)
{
	const struct pk_value *value = pk_infer_operand(infer, input_idx);
	if (!value || (value->shape.rank == 1 && value->shape.dims[0] == n))
		return 0;
	char text[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&value->shape, text);
	return pk_fail(infer->err, -EINVAL, "%s is %s, [%lld] needed", what, text, (long long)n);
}

int pk_infer_broadcasts_to(
	struct pk_infer *infer, int input_idx, const struct pk_shape *shape, const char *what)
{
	const struct pk_value *value = pk_infer_operand(infer, input_idx);
	struct pk_shape both;
	if (!value ||
		(pk_shape_broadcast(&value->shape, shape, &both) && pk_shape_equal(&both, shape)))
		return 0;
	char from[PK_SHAPE_TEXT_MAX], to[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&value->shape, from);
	pk_shape_format(shape, to);
	return pk_fail(infer->err, -EINVAL, "%s %s does not broadcast to %s", what, from, to);
}

int pk_infer_rank(struct pk_infer *infer, int min, int max)
{
	int rank = infer->node->inputs[0]->shape.rank;
	if (rank < min || rank > max)
		return pk_fail(
			infer->err, -EINVAL, "operand 0 has rank %d, not %d..%d", rank, min, max);
	return 0;
}

int pk_infer_axis(struct pk_infer *infer)
{
	int64_t axis = pk_node_int(infer->node, PK_ATTR_AXIS);
	int rank = infer->node->inputs[0]->shape.rank;
	if (axis < 0 || axis >= rank)
		return pk_fail(infer->err, -EINVAL, "axis %lld of rank %d", (long long)axis, rank);
	return (int)axis;
}

int pk_infer_take_given(struct pk_infer *infer, bool same_rank)
{
	if (!infer->given)
		return pk_fail(infer->err, -EINVAL, "needs an output shape");
	if (pk_shape_elements(infer->given) < 0)
		return pk_fail(infer->err, -EFBIG, "output shape is too large or negative");
	if (same_rank && infer->given->rank != infer->node->inputs[0]->shape.rank)
		return pk_fail(infer->err, -EINVAL, "output rank %d, operand rank %d",
			infer->given->rank, infer->node->inputs[0]->shape.rank);
	infer->out[0].shape = *infer->given;
	return 0;
}

static int pk_infer_check_operand(struct pk_infer *infer, const struct pk_op_info *info, int i)
{
	const struct pk_value *value = infer->node->inputs[i];
	bool optional = i >= info->n_inputs_min && info->n_inputs_max >= 0;
	if (!value)
		return optional ? 0 : pk_fail(infer->err, -EINVAL, "operand %d is missing", i);
	if (pk_dtype_bytes(value->dtype) == 0)
		return pk_fail(infer->err, -EINVAL, "operand %d has no type", i);
	if (pk_shape_elements(&value->shape) < 0)
		return pk_fail(infer->err, -EFBIG, "operand %d is too large", i);
	return 0;
}

static int pk_infer_check_node(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	const struct pk_op_info *info = pk_op_info(node->op);
	if (node->n_inputs < info->n_inputs_min ||
		(info->n_inputs_max >= 0 && node->n_inputs > info->n_inputs_max))
		return pk_fail(infer->err, -EINVAL, "%d operands", node->n_inputs);
	if (node->n_outputs < info->n_outputs_min || node->n_outputs > info->n_outputs_max ||
		node->n_outputs > PK_INFER_MAX_OUTPUTS)
		return pk_fail(infer->err, -EINVAL, "%d outputs", node->n_outputs);
	int r = 0;
	for (int i = 0; i < node->n_inputs && r == 0; i++)
		r = pk_infer_check_operand(infer, info, i);
	for (int i = 0; i < info->n_attrs && r == 0; i++)
		r = pk_attr_rule_check(node, info->attrs[i], &node->attrs[i], infer->err);
	return r;
}

static int pk_infer_run(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	int r = pk_infer_check_node(infer);
	if (r < 0)
		return r;
	for (int i = 0; i < PK_INFER_MAX_OUTPUTS; i++) {
		infer->out[i].dtype = node->inputs[0]->dtype;
		infer->out[i].shape = node->inputs[0]->shape;
	}
	r = pk_infer_rows[node->op](infer);
	if (r < 0)
		return r;
	for (int i = 0; i < node->n_outputs; i++)
		if (pk_tensor_bytes(infer->out[i].dtype, &infer->out[i].shape) == SIZE_MAX)
			return pk_fail(infer->err, -EFBIG, "output %d is too large", i);
	return 0;
}

int pk_infer_node(struct pk_node *node, const struct pk_shape *shape, struct pk_err *err)
{
	if ((int)node->op <= PK_OP_NONE || (int)node->op >= PK_N_OPS)
		return pk_fail(err, -EINVAL, "`%s`: no such operator", node->name);
	struct pk_infer infer = {.node = node, .given = shape, .err = err};
	int r = pk_infer_run(&infer);
	if (r < 0) {
		pk_err_prefix(err, "%s `%s`", pk_op_info(node->op)->name, node->name);
		return r;
	}
	for (int i = 0; i < node->n_outputs; i++) {
		node->outputs[i]->dtype = infer.out[i].dtype;
		node->outputs[i]->shape = infer.out[i].shape;
	}
	return 0;
}
