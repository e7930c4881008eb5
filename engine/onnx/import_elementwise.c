// SPDX-License-Identifier: Apache-2.0
// Functions of one, two or more tensors, element by element.
#include <errno.h>
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/tensor_data.h"

int pk_import_unary(struct pk_importer *im)
{
	pk_emit_unary(im, 0, (enum pk_fn)im->row->arg, im->inputs[0]);
	return im->rc;
}

// Where the parameters of a function come from.
struct parameters {
	enum pk_fn fn;
	const char *alpha;
	double alpha_absent;
	const char *beta; // NULL: none
	double beta_absent;
};

static const struct parameters parameters[] = {
	{PK_FN_LEAKY_RELU, "alpha", 0.01, NULL, 0},
	{PK_FN_ELU, "alpha", 1.0, NULL, 0},
	{PK_FN_SELU, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
	{PK_FN_HARD_SIGMOID, "alpha", 0.2, "beta", 0.5},
};

static struct pk_value *emit_alpha_beta(
	struct pk_importer *im, enum pk_fn fn, struct pk_value *x, double alpha, double beta)
{
	struct pk_node *node = pk_emit_begin(im, PK_OP_UNARY, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, fn);
		pk_node_set_float(node, PK_ATTR_ALPHA, alpha);
		pk_node_set_float(node, PK_ATTR_BETA, beta);
	}
	return pk_emit_end(im, node, 0, NULL);
}

int pk_import_alpha_beta(struct pk_importer *im)
{
	const struct parameters *p = parameters;
	while ((int)p->fn != im->row->arg)
		p++; // every row's arg stands in the table (a test walks the rows)
	emit_alpha_beta(im, p->fn, im->inputs[0], pk_importer_float(im, p->alpha, p->alpha_absent),
		p->beta ? pk_importer_float(im, p->beta, p->beta_absent) : 0);
	return im->rc;
}

int pk_import_gelu(struct pk_importer *im)
{
	static const char *const words[] = {"none", "tanh", NULL};
	int approximate = pk_importer_word(im, "approximate", words, 0);
	pk_emit_unary(im, 0, approximate ? PK_FN_GELU_TANH : PK_FN_GELU, im->inputs[0]);
	return im->rc;
}

struct bounds {
	enum pk_dtype dtype;
	double low, high;
};

static const struct bounds dtype_bounds[] = {
	{PK_F32, -FLT_MAX, FLT_MAX},
	{PK_I64, -0x1p63, 0x1p63},
	{PK_I32, INT32_MIN, INT32_MAX},
	{PK_I8, INT8_MIN, INT8_MAX},
	{PK_U8, 0, UINT8_MAX},
};

static const struct bounds *find_bounds(enum pk_dtype dtype)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(dtype_bounds); i++)
		if (dtype_bounds[i].dtype == dtype)
			return &dtype_bounds[i];
	return NULL;
}

static double into(double v, const struct bounds *bounds)
{
	return fmin(fmax(v, bounds->low), bounds->high);
}

// A bound that is computed at run time: max(x, low), then min(that, high), as ONNX defines Clip.
static int clip_by_values(struct pk_importer *im, struct pk_value *low, struct pk_value *high)
{
	struct pk_value *y = im->inputs[0];
	if (low)
		y = pk_emit_binary(im, high ? PK_TEMP : 0, PK_FN_MAX, y, low);
	if (high)
		pk_emit_binary(im, 0, PK_FN_MIN, y, high);
	return im->rc;
}

// Before opset 11 the bounds are attributes, and floats are the only type.
static int clip_by_attributes(struct pk_importer *im, const struct bounds *bounds)
{
	double low = pk_importer_float(im, "min", bounds->low);
	double high = pk_importer_float(im, "max", bounds->high);
	if (bounds->dtype != PK_F32)
		return pk_importer_fail(
			im, -EINVAL, "elements cannot be %s", pk_dtype_name(bounds->dtype));
	emit_alpha_beta(im, PK_FN_CLIP, im->inputs[0], into(low, bounds), into(high, bounds));
	return im->rc;
}

int pk_import_clip(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_value *operands[] = {pk_importer_input(im, 1), pk_importer_input(im, 2)};
	const struct bounds *bounds = find_bounds(x->dtype);
	if (!bounds)
		return pk_importer_fail(
			im, -EINVAL, "elements cannot be %s", pk_dtype_name(x->dtype));
	if (im->opset < 11)
		return clip_by_attributes(im, bounds);
	double limits[] = {bounds->low, bounds->high};
	bool is_constant = true;
	for (int i = 0; i < 2; i++) {
		if (!operands[i])
			continue;
		if (pk_shape_elements(&operands[i]->shape) != 1)
			return pk_importer_fail(
				im, -EINVAL, "%s must be one number", i ? "max" : "min");
		is_constant &= pk_value_scalar(operands[i], &limits[i]);
	}
	if (!operands[0] && !operands[1])
		pk_emit_alias(im, 0, x);
	else if (!is_constant || x->dtype == PK_I64) // an i64 bound may not fit a double
		clip_by_values(im, operands[0], operands[1]);
	else
		emit_alpha_beta(
			im, PK_FN_CLIP, x, into(limits[0], bounds), into(limits[1], bounds));
	return im->rc;
}

// Before opset 7 the second operand was lined up with `axis` of the first, not with its end.
static struct pk_value *align_legacy(struct pk_importer *im, struct pk_value *a, struct pk_value *b)
{
	struct pk_shape shape = b->shape;
	if (im->opset >= 7)
		return b;
	if (!pk_importer_int(im, "broadcast", 0)) {
		if (!pk_shape_equal(&a->shape, &b->shape))
			pk_importer_fail(im, -EINVAL, "shapes differ without broadcast = 1");
		return b;
	}
	if (!pk_importer_attr(im, "axis"))
		return b;
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), a->shape.rank);
	if (axis + b->shape.rank > a->shape.rank)
		pk_importer_fail(
			im, -EINVAL, "axis %d leaves no room for the second operand", axis);
	if (im->rc)
		return NULL;
	while (axis + shape.rank < a->shape.rank)
		shape.dims[shape.rank++] = 1;
	return pk_emit_reshape(im, PK_TEMP, b, &shape);
}

int pk_import_binary(struct pk_importer *im)
{
	struct pk_value *b = align_legacy(im, im->inputs[0], im->inputs[1]);
	pk_emit_binary(im, 0, (enum pk_fn)im->row->arg, im->inputs[0], b);
	return im->rc;
}

int pk_import_mod(struct pk_importer *im)
{
	bool fmod = pk_importer_int(im, "fmod", 0) != 0;
	if (!fmod && im->inputs[0]->dtype == PK_F32)
		return pk_importer_fail(im, -EINVAL, "fmod must be 1 for floats");
	pk_emit_binary(im, 0, fmod ? PK_FN_FMOD : PK_FN_MOD, im->inputs[0], im->inputs[1]);
	return im->rc;
}

// The exponent may have another type than the base; the result has the base's.
int pk_import_pow(struct pk_importer *im)
{
	struct pk_value *base = im->inputs[0];
	struct pk_value *exponent = align_legacy(im, base, im->inputs[1]);
	enum pk_dtype dtype = base->dtype;
	if (im->rc)
		return im->rc;
	if (exponent->dtype == PK_F32 && dtype != PK_F32) {
		base = pk_emit_cast(im, PK_TEMP, base, PK_F32);
		struct pk_value *y = pk_emit_binary(im, PK_TEMP, PK_FN_POW, base, exponent);
		pk_emit_cast(im, 0, y, dtype);
		return im->rc;
	}
	exponent = pk_emit_cast(im, PK_TEMP, exponent, dtype);
	pk_emit_binary(im, 0, PK_FN_POW, base, exponent);
	return im->rc;
}

// A chain over all operands; the last one goes to `out`.
static struct pk_value *emit_chain(struct pk_importer *im, int out, enum pk_fn fn)
{
	struct pk_value *y = im->inputs[0];
	if (im->n_inputs == 1)
		return pk_emit_alias(im, out, y);
	for (int i = 1; i < im->n_inputs; i++)
		y = pk_emit_binary(im, i + 1 == im->n_inputs ? out : PK_TEMP, fn, y, im->inputs[i]);
	return y;
}

int pk_import_variadic(struct pk_importer *im)
{
	emit_chain(im, 0, (enum pk_fn)im->row->arg);
	return im->rc;
}

int pk_import_mean(struct pk_importer *im)
{
	struct pk_value *sum = emit_chain(im, PK_TEMP, PK_FN_ADD);
	struct pk_value *share = pk_emit_scalar(im, PK_TEMP, PK_F32, 1.0 / im->n_inputs);
	pk_emit_binary(im, 0, PK_FN_MUL, sum, share);
	return im->rc;
}

int pk_import_prelu(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0], *slope = im->inputs[1];
	// Before opset 7 a vector of slopes went along the channels.
	if (im->opset < 7 && slope->shape.rank == 1 && x->shape.rank > 2) {
		struct pk_shape shape = {.rank = x->shape.rank - 1};
		for (int i = 0; i < shape.rank; i++)
			shape.dims[i] = 1;
		shape.dims[0] = slope->shape.dims[0];
		slope = pk_emit_reshape(im, PK_TEMP, slope, &shape);
	}
	struct pk_value *operands[] = {x, slope};
	pk_emit_end(im, pk_emit_begin(im, PK_OP_PRELU, operands, 2), 0, NULL);
	return im->rc;
}

int pk_import_where(struct pk_importer *im)
{
	pk_emit_end(im, pk_emit_begin(im, PK_OP_WHERE, im->inputs, 3), 0, NULL);
	return im->rc;
}

int pk_import_cast(struct pk_importer *im)
{
	int64_t to = pk_importer_int(im, "to", 0);
	enum pk_dtype dtype = pk_tensor_data_dtype(to);
	if (dtype == PK_DTYPE_NONE)
		return pk_importer_fail(im, -ENOTSUP, "elements of type %s are not supported",
			pk_tensor_data_type_name(to));
	pk_emit_cast(im, 0, im->inputs[0], dtype);
	return im->rc;
}

int pk_import_cast_like(struct pk_importer *im)
{
	pk_emit_cast(im, 0, im->inputs[0], im->inputs[1]->dtype);
	return im->rc;
}
