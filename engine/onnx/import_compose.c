// SPDX-License-Identifier: Apache-2.0
// Operators that are a few others: each becomes those.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

static struct pk_value *number(struct pk_importer *im, double v)
{
	return pk_emit_scalar(im, PK_TEMP, im->inputs[0]->dtype, v);
}

static struct pk_value *emit_where(
	struct pk_importer *im, int out, struct pk_value *c, struct pk_value *a, struct pk_value *b)
{
	struct pk_value *operands[] = {c, a, b};
	return pk_emit_end(im, pk_emit_begin(im, PK_OP_WHERE, operands, 3), out, NULL);
}

// All but IsNaN are of floats, which are f32 here.
static bool is_float(struct pk_importer *im)
{
	enum pk_dtype dtype = im->inputs[0]->dtype;
	if (dtype != PK_F32)
		pk_importer_fail(im, -ENOTSUP, "elements of type %s are not supported",
			pk_dtype_name(dtype));
	return dtype == PK_F32;
}

// Only NaN differs from itself.
int pk_import_is_nan(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	pk_emit_unary(im, 0, PK_FN_NOT, pk_emit_binary(im, PK_TEMP, PK_FN_EQUAL, x, x));
	return im->rc;
}

int pk_import_is_inf(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	bool positive = pk_importer_int(im, "detect_positive", 1) != 0;
	bool negative = pk_importer_int(im, "detect_negative", 1) != 0;
	if (!is_float(im))
		return im->rc;
	if (positive && negative)
		x = pk_emit_unary(im, PK_TEMP, PK_FN_ABS, x);
	if (positive || negative) {
		struct pk_value *inf = number(im, positive ? (double)INFINITY : -(double)INFINITY);
		pk_emit_binary(im, 0, PK_FN_EQUAL, x, inf);
		return im->rc;
	}
	struct pk_value *no = pk_emit_scalar(im, PK_TEMP, PK_BOOL, 0);
	pk_emit_expand(im, 0, no, &x->shape);
	return im->rc;
}

// alpha * elu(x / alpha)
int pk_import_celu(struct pk_importer *im)
{
	double alpha = pk_importer_float(im, "alpha", 1);
	if (!is_float(im))
		return im->rc;
	if (!(fabs(alpha) > 0))
		return pk_importer_fail(im, -EINVAL, "alpha is %g", alpha);
	struct pk_value *scaled =
		pk_emit_binary(im, PK_TEMP, PK_FN_DIV, im->inputs[0], number(im, alpha));
	struct pk_value *low = pk_emit_unary(im, PK_TEMP, PK_FN_EXP, scaled);
	low = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, low, number(im, 1));
	low = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, low, number(im, alpha));
	low = pk_emit_binary(im, PK_TEMP, PK_FN_MIN, low, number(im, 0));
	struct pk_value *high =
		pk_emit_binary(im, PK_TEMP, PK_FN_MAX, im->inputs[0], number(im, 0));
	pk_emit_binary(im, 0, PK_FN_ADD, high, low);
	return im->rc;
}

int pk_import_thresholded_relu(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	if (!is_float(im))
		return im->rc;
	struct pk_value *above = pk_emit_binary(
		im, PK_TEMP, PK_FN_GREATER, x, number(im, pk_importer_float(im, "alpha", 1)));
	emit_where(im, 0, above, x, number(im, 0));
	return im->rc;
}

int pk_import_shrink(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	double bias = pk_importer_float(im, "bias", 0), lambd = pk_importer_float(im, "lambd", 0.5);
	if (!is_float(im))
		return im->rc;
	struct pk_value *below = pk_emit_binary(im, PK_TEMP, PK_FN_LESS, x, number(im, -lambd));
	struct pk_value *above = pk_emit_binary(im, PK_TEMP, PK_FN_GREATER, x, number(im, lambd));
	struct pk_value *lower = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, x, number(im, bias));
	struct pk_value *higher = pk_emit_binary(im, PK_TEMP, PK_FN_ADD, x, number(im, bias));
	struct pk_value *y = emit_where(im, PK_TEMP, above, lower, number(im, 0));
	emit_where(im, 0, below, higher, y);
	return im->rc;
}

// (x - mean) / (deviation + 1e-9), as the operator's definition has it.
int pk_import_mean_variance_norm(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	if (!is_float(im))
		return im->rc;
	pk_importer_ints(im, "axes", &axes);
	if (!axes.present)
		axes = (struct pk_ints){.n = 3, .v = {0, 2, 3}};
	pk_importer_axes(im, &axes, x->shape.rank);
	struct pk_value *mean = pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_MEAN, x, &axes, true);
	struct pk_value *off = pk_emit_binary(im, PK_TEMP, PK_FN_SUB, x, mean);
	struct pk_value *y = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, off, off);
	y = im->rc ? NULL : pk_emit_reduce(im, PK_TEMP, PK_FN_REDUCE_MEAN, y, &axes, true);
	y = pk_emit_unary(im, PK_TEMP, PK_FN_SQRT, y);
	y = pk_emit_binary(im, PK_TEMP, PK_FN_ADD, y, number(im, 1e-9));
	pk_emit_binary(im, 0, PK_FN_DIV, off, y);
	return im->rc;
}

// Where the norm is 0 all elements are, and stay so.
int pk_import_lp_norm(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int64_t p = pk_importer_int(im, "p", 2);
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", -1), x->shape.rank);
	struct pk_ints axes = {.n = 1, .v = {axis}};
	if (!is_float(im))
		return im->rc;
	if (p != 1 && p != 2)
		return pk_importer_fail(im, -EINVAL, "p is %lld, not 1 or 2", (long long)p);
	struct pk_value *norm =
		im->rc ? NULL
		       : pk_emit_reduce(im, PK_TEMP, p == 1 ? PK_FN_REDUCE_L1 : PK_FN_REDUCE_L2, x,
				 &axes, true);
	struct pk_value *none = pk_emit_binary(im, PK_TEMP, PK_FN_EQUAL, norm, number(im, 0));
	norm = emit_where(im, PK_TEMP, none, number(im, 1), norm);
	pk_emit_binary(im, 0, PK_FN_DIV, x, norm);
	return im->rc;
}
