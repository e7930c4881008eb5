// SPDX-License-Identifier: Apache-2.0
// Types of the quantised operators.
#include <errno.h>

#include "base/checked.h"
#include "engine/ir/infer_impl.h"

#define PK_DT_QUANT (PK_DT(I8) | PK_DT(U8))
// What quantize writes and dequantize reads; i32 is for biases.
#define PK_DT_STORED (PK_DT_QUANT | PK_DT(I16) | PK_DT(U16))

// One number (any rank), or a vector of n.
static int pk_infer_one_or(struct pk_infer *infer, int input_idx, int64_t n, const char *what)
{
	const struct pk_value *value = pk_infer_operand(infer, input_idx);
	if (!value || pk_shape_elements(&value->shape) == 1)
		return 0;
	return pk_infer_vector(infer, input_idx, n, what);
}

static int pk_infer_operand_dtype(
	struct pk_infer *infer, int input_idx, enum pk_dtype dtype, const char *what)
{
	const struct pk_value *value = pk_infer_operand(infer, input_idx);
	if (value && value->dtype != dtype)
		return pk_fail(infer->err, -EINVAL, "%s is %s, %s needed", what,
			pk_dtype_name(value->dtype), pk_dtype_name(dtype));
	return 0;
}

// Scale and zero point of quantize and dequantize.
static int pk_infer_scale(struct pk_infer *infer, enum pk_dtype stored)
{
	const struct pk_shape *scale = &infer->node->inputs[1]->shape;
	const struct pk_value *zero = pk_infer_operand(infer, 2);
	int64_t n = 1;
	if (pk_shape_elements(scale) != 1 || infer->out[0].shape.rank > 0) {
		int axis = 0;
		if (pk_shape_elements(scale) != 1)
			axis = pk_infer_axis(infer);
		if (axis < 0)
			return axis;
		n = infer->out[0].shape.dims[axis];
	}
	int r = pk_infer_operand_dtype(infer, 1, PK_F32, "scale");
	if (r == 0)
		r = pk_infer_one_or(infer, 1, n, "scale");
	if (r == 0)
		r = pk_infer_operand_dtype(infer, 2, stored, "zero point");
	if (r == 0 && zero && pk_shape_elements(&zero->shape) != pk_shape_elements(scale))
		r = pk_fail(infer->err, -EINVAL, "scale and zero point differ in size");
	return r;
}

int pk_infer_quantize(struct pk_infer *infer)
{
	enum pk_dtype to = (enum pk_dtype)pk_node_int(infer->node, PK_ATTR_TO);
	int r = pk_infer_dtype_in(infer, 0, PK_DT(F32));
	if (r == 0 && !(PK_DT_STORED >> to & 1))
		r = pk_fail(infer->err, -EINVAL, "to: %s is no quantised type", pk_dtype_name(to));
	infer->out[0].dtype = to;
	return r < 0 ? r : pk_infer_scale(infer, to);
}

int pk_infer_dequantize(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 0, PK_DT_STORED | PK_DT(I32));
	infer->out[0].dtype = PK_F32;
	return r < 0 ? r : pk_infer_scale(infer, infer->node->inputs[0]->dtype);
}

static int pk_infer_integer_types(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	enum pk_dtype to = (enum pk_dtype)pk_node_int(node, PK_ATTR_TO);
	const struct {
		int idx;
		enum pk_dtype dtype;
		const char *what;
	} rows[] = {
		{2, PK_I32, "bias"},
		{3, PK_F32, "mult"},
		{4, node->inputs[0]->dtype, "zero point of x"},
		{5, node->inputs[1]->dtype, "zero point of w"},
		{6, PK_F32, "scale of y"},
		{7, to, "zero point of y"},
	};
	int r = pk_infer_dtype_in(infer, 0, PK_DT_QUANT);
	if (r == 0)
		r = pk_infer_dtype_in(infer, 1, PK_DT_QUANT);
	if (r == 0 && !((PK_DT_QUANT | PK_DT(I32) | PK_DT(F32)) >> to & 1))
		r = pk_fail(infer->err, -EINVAL, "to: cannot be %s", pk_dtype_name(to));
	for (size_t i = 0; i < PK_ARRAY_LEN(rows) && r == 0; i++)
		r = pk_infer_operand_dtype(infer, rows[i].idx, rows[i].dtype, rows[i].what);
	infer->out[0].dtype = to;
	return r < 0 ? r : pk_infer_act(infer);
}

// The operands besides x, w; n: output channels or columns.
static int pk_infer_epilogue(struct pk_infer *infer, int64_t n)
{
	static const char *const whole[] = {"zero point of x", "scale of y", "zero point of y"};
	static const int whole_idx[] = {4, 6, 7};
	int r = pk_infer_vector(infer, 2, n, "bias");
	if (r == 0)
		r = pk_infer_one_or(infer, 3, n, "mult");
	if (r == 0)
		r = pk_infer_one_or(infer, 5, n, "zero point of w");
	for (int i = 0; i < 3 && r == 0; i++) {
		const struct pk_value *value = pk_infer_operand(infer, whole_idx[i]);
		if (value && pk_shape_elements(&value->shape) != 1)
			r = pk_fail(infer->err, -EINVAL, "%s must be one number", whole[i]);
	}
	return r;
}

int pk_infer_qconv(struct pk_infer *infer)
{
	int r = pk_infer_integer_types(infer);
	if (r == 0)
		r = pk_infer_conv_shape(infer);
	return r < 0 ? r : pk_infer_epilogue(infer, infer->node->inputs[1]->shape.dims[0]);
}

int pk_infer_qmatmul(struct pk_infer *infer)
{
	int r = pk_infer_integer_types(infer);
	if (r == 0)
		r = pk_infer_matmul_shape(infer);
	if (r < 0)
		return r;
	const struct pk_shape *b = &infer->node->inputs[1]->shape;
	return pk_infer_epilogue(infer, b->rank > 1 ? b->dims[b->rank - 1] : 1);
}

// Scales and zero points of qbinary: one number each.
static int pk_infer_whole(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	enum pk_dtype to = (enum pk_dtype)pk_node_int(node, PK_ATTR_TO);
	const struct {
		int idx;
		enum pk_dtype dtype;
		const char *what;
	} rows[] = {
		{2, PK_F32, "scale of a"},
		{3, PK_F32, "scale of b"},
		{4, node->inputs[0]->dtype, "zero point of a"},
		{5, node->inputs[1]->dtype, "zero point of b"},
		{6, to, "zero point of y"},
		{7, PK_F32, "scale of y"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		const struct pk_value *value = pk_infer_operand(infer, rows[i].idx);
		int r = pk_infer_operand_dtype(infer, rows[i].idx, rows[i].dtype, rows[i].what);
		if (r < 0)
			return r;
		if (value && pk_shape_elements(&value->shape) != 1)
			return pk_fail(infer->err, -EINVAL, "%s must be one number", rows[i].what);
	}
	return 0;
}

int pk_infer_qbinary(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	enum pk_dtype to = (enum pk_dtype)pk_node_int(node, PK_ATTR_TO);
	if (fn != PK_FN_ADD && fn != PK_FN_SUB && fn != PK_FN_MUL)
		return pk_fail(
			infer->err, -EINVAL, "fn: `%s` is not add, sub or mul", pk_fn_name(fn));
	int r = pk_infer_dtype_in(infer, 0, PK_DT_QUANT);
	if (r == 0)
		r = pk_infer_dtype_in(infer, 1, PK_DT_QUANT);
	if (r == 0 && !(PK_DT_QUANT >> to & 1))
		r = pk_fail(infer->err, -EINVAL, "to: cannot be %s", pk_dtype_name(to));
	if (r == 0)
		r = pk_infer_whole(infer);
	if (r == 0 && !pk_shape_broadcast(
			      &infer->out[0].shape, &node->inputs[1]->shape, &infer->out[0].shape))
		r = pk_fail(infer->err, -EINVAL, "a and b do not broadcast");
	infer->out[0].dtype = to;
	return r < 0 ? r : pk_infer_act(infer);
}

int pk_infer_lookup(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 0, PK_DT_QUANT);
	if (r == 0)
		r = pk_infer_dtype_in(infer, 1, PK_DT_QUANT);
	if (r == 0)
		r = pk_infer_vector(infer, 1, 256, "table");
	infer->out[0].dtype = infer->node->inputs[1]->dtype;
	return r;
}
