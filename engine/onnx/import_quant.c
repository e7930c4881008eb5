// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear and the integer products.
#include <errno.h>

#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/window.h"

// Refuses blocks; gives the axis, or 0 where one scale serves all.
static int read_axis(struct pk_importer *im)
{
	const struct pk_value *x = im->inputs[0], *scale = im->inputs[1];
	if (pk_importer_int(im, "block_size", 0))
		pk_importer_fail(im, -ENOTSUP, "blocked quantisation is not supported");
	if (pk_shape_elements(&scale->shape) == 1)
		return 0;
	return pk_importer_axis(im, pk_importer_int(im, "axis", 1), x->shape.rank);
}

static enum pk_dtype quantized_dtype(struct pk_importer *im)
{
	const struct pk_value *zero = pk_importer_input(im, 2);
	int64_t wanted = pk_importer_int(im, "output_dtype", 0);
	enum pk_dtype dtype = zero ? zero->dtype : PK_U8;
	if (!wanted)
		return dtype;
	enum pk_dtype named = pk_dtype_from_onnx(wanted);
	if (named == PK_DTYPE_NONE)
		pk_importer_fail(
			im, -ENOTSUP, "output_dtype %lld is not supported", (long long)wanted);
	else if (zero && zero->dtype != named)
		pk_importer_fail(im, -EINVAL, "output_dtype differs from the zero point's type");
	return named;
}

int pk_import_quantize(struct pk_importer *im)
{
	int axis = read_axis(im);
	enum pk_dtype to = quantized_dtype(im);
	struct pk_value *operands[] = {pk_emit_cast(im, PK_TEMP, im->inputs[0], PK_F32),
		pk_emit_cast(im, PK_TEMP, im->inputs[1], PK_F32), pk_importer_input(im, 2)};
	struct pk_node *node = pk_emit_begin(im, PK_OP_QUANTIZE, operands, 3);
	if (node) {
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_TO, to);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_dequantize(struct pk_importer *im)
{
	int axis = read_axis(im);
	struct pk_value *operands[] = {im->inputs[0], im->inputs[1], pk_importer_input(im, 2)};
	struct pk_node *node = pk_emit_begin(im, PK_OP_DEQUANTIZE, operands, 3);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// fn(0, reduce(x)): the range always holds 0, so that 0 is a quantised value.
static struct pk_value *range_end(struct pk_importer *im, enum pk_fn reduce, enum pk_fn fn)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes = {.present = true, .n = x->shape.rank};
	for (int i = 0; i < axes.n; i++)
		axes.v[i] = i;
	struct pk_value *end = axes.n ? pk_emit_reduce(im, PK_TEMP, reduce, x, &axes, false) : x;
	return pk_emit_binary(im, PK_TEMP, fn, end, pk_emit_scalar(im, PK_TEMP, PK_F32, 0));
}

// scale = (max - min) / 255, zero = round(clip(-min / scale)); nothing but zeros: scale 1.
int pk_import_dynamic_quantize(struct pk_importer *im)
{
	struct pk_value *high = range_end(im, PK_FN_REDUCE_MAX, PK_FN_MAX);
	struct pk_value *low = range_end(im, PK_FN_REDUCE_MIN, PK_FN_MIN);
	struct pk_value *range = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, high, low);
	struct pk_value *none = pk_emit_scalar(im, PK_TEMP, PK_F32, 0);
	struct pk_value *parts[] = {pk_emit_binary(im, PK_TEMP, PK_FN_EQUAL, range, none),
		pk_emit_scalar(im, PK_TEMP, PK_F32, 1),
		pk_emit_binary(
			im, PK_TEMP, PK_FN_DIV, range, pk_emit_scalar(im, PK_TEMP, PK_F32, 255))};
	struct pk_value *scale = pk_emit_end(im, pk_emit_begin(im, PK_OP_WHERE, parts, 3), 1, NULL);
	struct pk_value *zero = pk_emit_binary(
		im, PK_TEMP, PK_FN_DIV, pk_emit_binary(im, PK_TEMP, PK_FN_SUB, none, low), scale);
	struct pk_node *clip = pk_emit_begin(im, PK_OP_UNARY, &zero, 1);
	if (clip) {
		pk_node_set_int(clip, PK_ATTR_FN, PK_FN_CLIP);
		pk_node_set_float(clip, PK_ATTR_ALPHA, 0);
		pk_node_set_float(clip, PK_ATTR_BETA, 255);
	}
	zero = pk_emit_unary(im, PK_TEMP, PK_FN_ROUND, pk_emit_end(im, clip, PK_TEMP, NULL));
	zero = pk_emit_cast(im, 2, zero, PK_U8);
	struct pk_value *operands[] = {im->inputs[0], scale, zero};
	struct pk_node *node = pk_emit_begin(im, PK_OP_QUANTIZE, operands, 3);
	if (node)
		pk_node_set_int(node, PK_ATTR_TO, PK_U8);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// a * b / y, the factor from sums to quantised outputs.
static struct pk_value *multiplier(
	struct pk_importer *im, struct pk_value *a, struct pk_value *b, struct pk_value *y)
{
	struct pk_value *scales[] = {a, b, y};
	for (int i = 0; i < 3; i++)
		scales[i] = pk_emit_cast(im, PK_TEMP, scales[i], PK_F32);
	return pk_emit_binary(im, PK_TEMP, PK_FN_DIV,
		pk_emit_binary(im, PK_TEMP, PK_FN_MUL, scales[0], scales[1]), scales[2]);
}

static void set_window(struct pk_importer *im, struct pk_node *node, const struct pk_window *window)
{
	int64_t group = pk_importer_int(im, "group", 1);
	if (group < 1 || group > PK_MAX_ELEMENTS)
		pk_importer_fail(im, -EINVAL, "group is %lld", (long long)group);
	if (!node || im->rc)
		return;
	pk_window_set(node, window);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
}

// The product of the operands (as qconv names them), in type `to`.
static int emit_product(
	struct pk_importer *im, enum pk_op op, struct pk_value *const *operands, enum pk_dtype to)
{
	struct pk_window window = {0};
	if (op == PK_OP_QCONV && !im->rc) {
		pk_window_read(im, operands[0], operands[1], &window);
		pk_window_resolve_same(&window);
	}
	struct pk_node *node = pk_emit_begin(im, op, operands, 8);
	if (node)
		pk_node_set_int(node, PK_ATTR_TO, to);
	if (op == PK_OP_QCONV)
		set_window(im, node, &window);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// A zero point that is one number, of any rank.
static struct pk_value *whole(struct pk_importer *im, struct pk_value *value, const char *what)
{
	if (value && pk_shape_elements(&value->shape) != 1)
		pk_importer_fail(im, -ENOTSUP, "%s of more than one number is not supported", what);
	return value;
}

// One number per column as ONNX lets it be written: [n] or [1, …, n].
static struct pk_value *per_column(
	struct pk_importer *im, struct pk_value *value, const struct pk_value *b)
{
	int64_t n = b->shape.rank > 1 ? b->shape.dims[b->shape.rank - 1] : 1;
	struct pk_shape flat = {1, {n}};
	if (im->rc || !value || pk_shape_elements(&value->shape) == 1 || value->shape.rank <= 1)
		return value;
	if (pk_shape_elements(&value->shape) != n) {
		pk_importer_fail(im, -ENOTSUP,
			"scale and zero point of b must be one number or one per column");
		return NULL;
	}
	return pk_emit_reshape(im, PK_TEMP, value, &flat);
}

int pk_import_qlinear_conv(struct pk_importer *im)
{
	struct pk_value **in = im->inputs;
	struct pk_value *mult = multiplier(
		im, whole(im, in[1], "a scale of x"), in[4], whole(im, in[6], "a scale of y"));
	struct pk_value *operands[] = {
		in[0], in[3], pk_importer_input(im, 8), mult, in[2], in[5], NULL, in[7]};
	return emit_product(im, PK_OP_QCONV, operands, in[7]->dtype);
}

int pk_import_conv_integer(struct pk_importer *im)
{
	struct pk_value *operands[] = {im->inputs[0], im->inputs[1], NULL, NULL,
		whole(im, pk_importer_input(im, 2), "a zero point of x"), pk_importer_input(im, 3),
		NULL, NULL};
	return emit_product(im, PK_OP_QCONV, operands, PK_I32);
}

int pk_import_qlinear_matmul(struct pk_importer *im)
{
	struct pk_value **in = im->inputs, *b = in[3];
	struct pk_value *mult = multiplier(im, whole(im, in[1], "a scale of a"),
		per_column(im, in[4], b), whole(im, in[6], "a scale of y"));
	struct pk_value *operands[] = {in[0], b, NULL, mult, whole(im, in[2], "a zero point of a"),
		per_column(im, in[5], b), NULL, in[7]};
	return emit_product(im, PK_OP_QMATMUL, operands, in[7]->dtype);
}

int pk_import_matmul_integer(struct pk_importer *im)
{
	struct pk_value *b = im->inputs[1], *b_zero = pk_importer_input(im, 3);
	struct pk_value *operands[] = {im->inputs[0], b, NULL, NULL,
		whole(im, pk_importer_input(im, 2), "a zero point of a"), per_column(im, b_zero, b),
		NULL, NULL};
	return emit_product(im, PK_OP_QMATMUL, operands, PK_I32);
}
