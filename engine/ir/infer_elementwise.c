// SPDX-License-Identifier: Apache-2.0
// Types of the element by element operators.
#include <errno.h>

#include "engine/ir/infer_impl.h"

// Element types per function; functions that are not listed take floats only.
struct pk_fn_types {
	enum pk_fn fn;
	unsigned set;
};
static const struct pk_fn_types pk_unary_types[] = {
	{PK_FN_RELU, PK_DT_FLOAT | PK_DT_SIGNED},
	{PK_FN_CLIP, PK_DT_NUMBER},
	{PK_FN_ABS, PK_DT_NUMBER},
	{PK_FN_NEG, PK_DT_FLOAT | PK_DT_SIGNED},
	{PK_FN_SIGN, PK_DT_NUMBER},
	{PK_FN_NOT, PK_DT(BOOL)},
};

static unsigned pk_unary_set(enum pk_fn fn)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_unary_types); i++)
		if (pk_unary_types[i].fn == fn)
			return pk_unary_types[i].set;
	return PK_DT_FLOAT;
}

int pk_infer_unary(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	if (fn == PK_FN_NONE || (pk_fn_class(fn) != PK_FN_CLASS_U && fn != PK_FN_NOT))
		return pk_fail(
			infer->err, -EINVAL, "fn: `%s` does not take one operand", pk_fn_name(fn));
	return pk_infer_dtype_in(infer, 0, pk_unary_set(fn));
}

static int pk_infer_broadcast_operands(struct pk_infer *infer, int from)
{
	struct pk_shape *out = &infer->out[0].shape;
	*out = infer->node->inputs[from]->shape;
	for (int i = from + 1; i < infer->node->n_inputs; i++) {
		const struct pk_shape *other = &infer->node->inputs[i]->shape;
		char a[PK_SHAPE_TEXT_MAX], b[PK_SHAPE_TEXT_MAX];
		pk_shape_format(out, a);
		pk_shape_format(other, b);
		if (!pk_shape_broadcast(out, other, out))
			return pk_fail(infer->err, -EINVAL, "%s and %s do not broadcast", a, b);
	}
	return 0;
}

int pk_infer_binary(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	unsigned set = PK_DT_NUMBER;
	enum pk_fn_class class = pk_fn_class(fn);
	if (fn == PK_FN_NOT ||
		(class != PK_FN_CLASS_B && class != PK_FN_CLASS_C && class != PK_FN_CLASS_L))
		return pk_fail(
			infer->err, -EINVAL, "fn: `%s` does not take two operands", pk_fn_name(fn));
	if (class == PK_FN_CLASS_L)
		set = PK_DT(BOOL);
	else if (fn == PK_FN_EQUAL)
		set = PK_DT_ANY;
	int r = pk_infer_same_dtype(infer, set);
	if (r == 0)
		r = pk_infer_broadcast_operands(infer, 0);
	if (class == PK_FN_CLASS_C)
		infer->out[0].dtype = PK_BOOL;
	return r;
}

int pk_infer_prelu(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_WIDE);
	return r < 0 ? r : pk_infer_broadcasts_to(infer, 1, &infer->out[0].shape, "slope");
}

int pk_infer_where(struct pk_infer *infer)
{
	const struct pk_node *node = infer->node;
	if (node->inputs[0]->dtype != PK_BOOL)
		return pk_fail(infer->err, -EINVAL, "condition must be bool");
	if (node->inputs[1]->dtype != node->inputs[2]->dtype)
		return pk_fail(infer->err, -EINVAL, "operands 1 and 2 are %s and %s",
			pk_dtype_name(node->inputs[1]->dtype),
			pk_dtype_name(node->inputs[2]->dtype));
	infer->out[0].dtype = node->inputs[1]->dtype;
	return pk_infer_broadcast_operands(infer, 0);
}

int pk_infer_cast(struct pk_infer *infer)
{
	infer->out[0].dtype = (enum pk_dtype)pk_node_int(infer->node, PK_ATTR_TO);
	return 0;
}
