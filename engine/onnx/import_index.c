// SPDX-License-Identifier: Apache-2.0
// Operators whose operands say where: gathers, scatters, running sums, one-hot rows, triangles.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

int pk_import_gather_elements(struct pk_importer *im)
{
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), im->inputs[0]->shape.rank);
	struct pk_node *node = pk_emit_begin(im, PK_OP_GATHER_ELEMENTS, im->inputs, 2);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_gather_nd(struct pk_importer *im)
{
	int64_t batch = pk_importer_int(im, "batch_dims", 0);
	if (batch < 0 || batch >= PK_MAX_RANK)
		return pk_importer_fail(im, -EINVAL, "batch_dims is %lld", (long long)batch);
	struct pk_node *node = pk_emit_begin(im, PK_OP_GATHER_ND, im->inputs, 2);
	if (node)
		pk_node_set_int(node, PK_ATTR_BATCH_DIMS, batch);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

static enum pk_fn read_reduction(struct pk_importer *im)
{
	static const char *const words[] = {"none", "add", "mul", "min", "max", NULL};
	static const enum pk_fn fns[] = {PK_FN_NONE, PK_FN_ADD, PK_FN_MUL, PK_FN_MIN, PK_FN_MAX};
	int n = im->opset < 18 ? 3 : 5; // min and max came with opset 18
	int word = pk_importer_word(im, "reduction", words, 0);
	if (word >= n)
		pk_importer_fail(im, -EINVAL, "reduction `%s` needs opset 18", words[word]);
	return fns[word];
}

int pk_import_scatter_elements(struct pk_importer *im)
{
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), im->inputs[0]->shape.rank);
	enum pk_fn fn = read_reduction(im);
	struct pk_node *node = pk_emit_begin(im, PK_OP_SCATTER_ELEMENTS, im->inputs, 3);
	if (node) {
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_FN, fn);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_scatter_nd(struct pk_importer *im)
{
	enum pk_fn fn = read_reduction(im);
	struct pk_node *node = pk_emit_begin(im, PK_OP_SCATTER_ND, im->inputs, 3);
	if (node)
		pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_cum_sum(struct pk_importer *im)
{
	int64_t axis;
	if (!im->inputs[1]->data)
		return pk_importer_fail(
			im, -ENOTSUP, "its axis is computed at run time; it must be constant");
	if (!pk_value_scalar_int(im->inputs[1], &axis))
		return pk_importer_fail(im, -EINVAL, "axis must be one integer");
	axis = pk_importer_axis(im, axis, im->inputs[0]->shape.rank);
	struct pk_node *node = pk_emit_begin(im, PK_OP_CUM_SUM, im->inputs, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_EXCLUSIVE, pk_importer_int(im, "exclusive", 0) != 0);
		pk_node_set_int(node, PK_ATTR_REVERSE, pk_importer_int(im, "reverse", 0) != 0);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// 0, 1, …, n - 1 along `axis` of a shape of `rank`, to be compared with indices.
static struct pk_value *emit_ramp(struct pk_importer *im, int64_t n, int axis, int rank)
{
	struct pk_shape shape = {.rank = rank};
	if (im->rc)
		return NULL;
	if (n < 0 || (uint64_t)n > im->state->max_folded_bytes / sizeof(int64_t)) {
		pk_importer_fail(im, -EFBIG, "%lld rows are too many", (long long)n);
		return NULL;
	}
	int64_t *ramp = pk_arena_array(im->state->scratch, (size_t)n, sizeof(*ramp));
	if (!ramp) {
		pk_importer_fail(im, -ENOMEM, "no memory for %lld rows", (long long)n);
		return NULL;
	}
	for (int64_t i = 0; i < n; i++)
		ramp[i] = i;
	for (int i = 0; i < rank; i++)
		shape.dims[i] = i == axis ? n : 1;
	return pk_emit_const(im, PK_TEMP, PK_I64, &shape, ramp);
}

static struct pk_value *emit_where(
	struct pk_importer *im, int out, struct pk_value *c, struct pk_value *a, struct pk_value *b)
{
	struct pk_value *operands[] = {c, a, b};
	return pk_emit_end(im, pk_emit_begin(im, PK_OP_WHERE, operands, 3), out, NULL);
}

static struct pk_shape without_insertion(const struct pk_shape *shape, int axis)
{
	struct pk_shape out = {.rank = shape->rank + 1};
	for (int i = 0; i < out.rank; i++)
		out.dims[i] = i == axis ? 1 : shape->dims[i - (i > axis)];
	return out;
}

// values[0] or [1] as a scalar.
static struct pk_value *pick(struct pk_importer *im, struct pk_value *values, int64_t i)
{
	struct pk_shape one = {1, {1}}, scalar = {0};
	int64_t step = 1;
	struct pk_node *node = pk_emit_begin(im, PK_OP_SLICE, &values, 1);
	if (node) {
		pk_node_set_ints(node, PK_ATTR_STARTS, &i, 1);
		pk_node_set_ints(node, PK_ATTR_STEPS, &step, 1);
	}
	struct pk_value *v = pk_emit_end(im, node, PK_TEMP, &one);
	return v ? pk_emit_reshape(im, PK_TEMP, v, &scalar) : NULL;
}

// where(indices (from the end when negative) == 0, 1, …, depth - 1, on, off)
int pk_import_one_hot(struct pk_importer *im)
{
	struct pk_value *at = im->inputs[0], *values = im->inputs[2];
	double depth;
	if (!im->inputs[1]->data)
		return pk_importer_fail(
			im, -ENOTSUP, "its depth is computed at run time; it must be constant");
	if (!pk_value_scalar(im->inputs[1], &depth) || !(depth >= 0 && depth < 0x1p31))
		return pk_importer_fail(im, -EINVAL, "depth must be one number, 0 or more");
	if (at->shape.rank >= PK_MAX_RANK || values->shape.rank != 1 || values->shape.dims[0] != 2)
		return pk_importer_fail(im, -EINVAL,
			"values must be two numbers, and indices of "
			"rank %d or less",
			PK_MAX_RANK - 1);
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", -1), at->shape.rank + 1);
	struct pk_shape wide = without_insertion(&at->shape, axis);
	struct pk_value *ramp = emit_ramp(im, (int64_t)depth, axis, wide.rank);
	struct pk_value *n = pk_emit_scalar(im, PK_TEMP, PK_I64, (double)(int64_t)depth);
	struct pk_value *zero = pk_emit_scalar(im, PK_TEMP, PK_I64, 0);
	at = pk_emit_cast(im, PK_TEMP, at, PK_I64);
	struct pk_value *negative = pk_emit_binary(im, PK_TEMP, PK_FN_LESS, at, zero);
	at = emit_where(im, PK_TEMP, negative, pk_emit_binary(im, PK_TEMP, PK_FN_ADD, at, n), at);
	at = at ? pk_emit_reshape(im, PK_TEMP, at, &wide) : NULL;
	struct pk_value *hot = pk_emit_binary(im, PK_TEMP, PK_FN_EQUAL, at, ramp);
	emit_where(im, 0, hot, pick(im, values, 1), pick(im, values, 0));
	return im->rc;
}

// One at the largest element along the axis (the first of equals), zero elsewhere.
int pk_import_hardmax(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	bool coerced = im->opset < 13;
	struct pk_shape shape = x->shape, whole = x->shape;
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", coerced ? 1 : -1), shape.rank);
	if (im->rc)
		return im->rc;
	if (coerced) { // a matrix: all dims before axis by all dims from it on
		shape = (struct pk_shape){2, {1, 1}};
		for (int i = 0; i < whole.rank; i++)
			shape.dims[i >= axis] *= whole.dims[i];
		axis = 1;
	}
	enum pk_dtype dtype = x->dtype;
	x = pk_emit_reshape(im, PK_TEMP, x, &shape);
	struct pk_node *node = pk_emit_begin(im, PK_OP_ARG_REDUCE, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, PK_FN_REDUCE_MAX);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	}
	struct pk_value *at = pk_emit_end(im, node, PK_TEMP, NULL);
	struct pk_value *ramp = emit_ramp(im, shape.dims[axis], axis, shape.rank);
	struct pk_value *hot = pk_emit_binary(im, PK_TEMP, PK_FN_EQUAL, at, ramp);
	hot = hot ? pk_emit_cast(im, PK_TEMP, hot, dtype) : NULL;
	if (hot)
		pk_emit_reshape(im, 0, hot, &whole);
	return im->rc;
}

// A bool constant of the last two dims of a shape: keep(row, column).
static struct pk_value *emit_mask(
	struct pk_importer *im, const struct pk_shape *shape, bool upper, int64_t k)
{
	struct pk_shape plane = {2, {shape->dims[shape->rank - 2], shape->dims[shape->rank - 1]}};
	int64_t n = pk_shape_elements(&plane);
	if (n < 0 || (uint64_t)n > im->state->max_folded_bytes) {
		pk_importer_fail(im, -EFBIG, "the triangle is too large");
		return NULL;
	}
	uint8_t *mask = pk_arena_array(im->state->scratch, (size_t)n, 1);
	if (!mask) {
		pk_importer_fail(im, -ENOMEM, "no memory for the triangle");
		return NULL;
	}
	for (int64_t i = 0; i < n; i++) {
		int64_t ahead = i % plane.dims[1] - i / plane.dims[1]; // of the diagonal
		mask[i] = upper ? ahead >= k : ahead <= k;
	}
	return pk_emit_const(im, PK_TEMP, PK_BOOL, &plane, mask);
}

int pk_import_trilu(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0], *offset = pk_importer_input(im, 1);
	int64_t k = 0;
	if (offset && !offset->data)
		return pk_importer_fail(
			im, -ENOTSUP, "k is computed at run time; it must be constant");
	if (offset && !pk_value_scalar_int(offset, &k))
		return pk_importer_fail(im, -EINVAL, "k must be one integer");
	if (x->shape.rank < 2)
		return pk_importer_fail(
			im, -EINVAL, "the input has rank %d; 2 or more is needed", x->shape.rank);
	struct pk_value *mask = emit_mask(im, &x->shape, pk_importer_int(im, "upper", 1) != 0, k);
	emit_where(im, 0, mask, x, pk_emit_scalar(im, PK_TEMP, x->dtype, 0));
	return im->rc;
}
