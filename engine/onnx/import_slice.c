// SPDX-License-Identifier: Apache-2.0
// Operators that take tensors apart or put them together: Concat, Split, Slice, Gather, Pad.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

int pk_import_concat(struct pk_importer *im)
{
	int rank = im->inputs[0]->shape.rank;
	int64_t absent = im->opset < 4 ? 1 : 0; // required since opset 4: the row says so
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", absent), rank);
	if (im->n_inputs == 1) {
		pk_emit_alias(im, 0, im->inputs[0]);
		return im->rc;
	}
	struct pk_node *node = pk_emit_begin(im, PK_OP_CONCAT, im->inputs, im->n_inputs);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

static struct pk_value *emit_slice(struct pk_importer *im, int out, struct pk_value *x,
	const int64_t *starts, const int64_t *steps, const struct pk_shape *shape)
{
	bool whole = pk_shape_equal(&x->shape, shape);
	for (int i = 0; i < x->shape.rank && whole; i++)
		whole = steps[i] == 1; // all of it, in order
	if (whole)
		return pk_emit_alias(im, out, x);
	struct pk_node *node = pk_emit_begin(im, PK_OP_SLICE, &x, 1);
	if (node) {
		pk_node_set_ints(node, PK_ATTR_STARTS, starts, x->shape.rank);
		pk_node_set_ints(node, PK_ATTR_STEPS, steps, x->shape.rank);
	}
	return pk_emit_end(im, node, out, shape);
}

// Sizes of all outputs when none are given: equal, the last one smaller where that may be.
static int64_t equal_size(struct pk_importer *im, int64_t dim)
{
	int64_t n = pk_importer_int(im, "num_outputs", im->n_outputs);
	if (n != im->n_outputs) {
		pk_importer_fail(im, -EINVAL, "num_outputs is %lld, there are %d outputs",
			(long long)n, im->n_outputs);
		return 0;
	}
	int64_t size = n ? (dim + n - 1) / n : 0;
	if (im->opset < 18 && n && dim % n)
		pk_importer_fail(im, -EINVAL, "%lld does not split into %lld equal parts",
			(long long)dim, (long long)n);
	return size;
}

// The sizes may be more than a list of PK_ATTR_MAX_ITEMS: they are read where they lie.
static int64_t given_size(struct pk_importer *im, const struct pk_onnx_attr *attr,
	const struct pk_value *value, int i)
{
	int64_t n = attr ? (int64_t)attr->n_ints : pk_shape_elements(&value->shape);
	if (n != im->n_outputs) {
		pk_importer_fail(
			im, -EINVAL, "%lld sizes for %d outputs", (long long)n, im->n_outputs);
		return 0;
	}
	if (attr)
		return attr->ints[i];
	if (!value->data || value->dtype != PK_I64) {
		pk_importer_fail(im, -ENOTSUP, "the sizes must be constants of type i64");
		return 0;
	}
	return ((const int64_t *)value->data)[i];
}

int pk_import_split(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	const struct pk_onnx_attr *attr = pk_importer_attr(im, "split");
	const struct pk_value *sizes = pk_importer_input(im, 1);
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), x->shape.rank);
	int64_t starts[PK_MAX_RANK] = {0}, steps[PK_MAX_RANK];
	for (int i = 0; i < PK_MAX_RANK; i++)
		steps[i] = 1;
	for (int i = 0; i < im->n_outputs && !im->rc; i++) {
		int64_t left = x->shape.dims[axis] - starts[axis];
		int64_t size = attr || sizes ? given_size(im, attr, sizes, i)
					     : PK_MIN(equal_size(im, x->shape.dims[axis]), left);
		if (!im->rc && (size < 0 || size > left))
			pk_importer_fail(im, -EINVAL, "part %d has %lld of the %lld left", i,
				(long long)size, (long long)left);
		if (im->rc)
			break;
		struct pk_shape shape = x->shape;
		shape.dims[axis] = size;
		if (im->node->outputs[i].n)
			emit_slice(im, i, x, starts, steps, &shape);
		starts[axis] += size;
	}
	if (!im->rc && starts[axis] != x->shape.dims[axis])
		pk_importer_fail(im, -EINVAL, "the parts have %lld of %lld",
			(long long)starts[axis], (long long)x->shape.dims[axis]);
	return im->rc;
}

struct slice {
	struct pk_ints starts, ends, axes, steps;
};

static void read_slice(struct pk_importer *im, struct slice *s)
{
	if (im->opset < 10) {
		pk_importer_ints(im, "starts", &s->starts);
		pk_importer_ints(im, "ends", &s->ends);
		pk_importer_ints(im, "axes", &s->axes);
		s->steps = (struct pk_ints){0};
	} else {
		pk_importer_const_ints(im, 1, "starts", &s->starts);
		pk_importer_const_ints(im, 2, "ends", &s->ends);
		pk_importer_const_ints(im, 3, "axes", &s->axes);
		pk_importer_const_ints(im, 4, "steps", &s->steps);
	}
	int n = s->starts.n;
	if (!im->rc && (s->ends.n != n || (s->axes.present && s->axes.n != n) ||
			       (s->steps.present && s->steps.n != n)))
		pk_importer_fail(im, -EINVAL, "starts, ends, axes and steps differ in length");
}

// One axis: clamps as numpy does, where INT64_MAX and its like mean "to the end".
static void slice_axis(struct pk_importer *im, int64_t dim, int64_t *start, int64_t end,
	int64_t *step, int64_t *size)
{
	bool back = *step < 0;
	if (*step == 0 || *step == INT64_MIN) {
		pk_importer_fail(im, -EINVAL, "step is %lld", (long long)*step);
		return;
	}
	int64_t low = back ? -1 : 0, high = back ? dim - 1 : dim;
	*start = *start < 0 ? PK_MAX(*start, -dim - 1) + dim : *start;
	*start = PK_MIN(PK_MAX(*start, low), high);
	end = end < 0 ? PK_MAX(end, -dim - 1) + dim : end;
	end = PK_MIN(PK_MAX(end, low), high);
	*step = PK_MIN(PK_MAX(*step, -PK_MAX_ELEMENTS), PK_MAX_ELEMENTS);
	int64_t span = back ? *start - end : end - *start, stride = back ? -*step : *step;
	*size = span > 0 ? (span + stride - 1) / stride : 0;
	if (*size == 0)
		*start = 0; // nothing is read
}

int pk_import_slice(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct slice s;
	int64_t starts[PK_MAX_RANK] = {0}, steps[PK_MAX_RANK];
	struct pk_shape shape = x->shape;
	bool used[PK_MAX_RANK] = {false};
	for (int i = 0; i < PK_MAX_RANK; i++)
		steps[i] = 1;
	read_slice(im, &s);
	for (int i = 0; i < s.starts.n && !im->rc; i++) {
		int axis = pk_importer_axis(im, s.axes.present ? s.axes.v[i] : i, x->shape.rank);
		if (!im->rc && used[axis])
			pk_importer_fail(im, -EINVAL, "axis %d is given twice", axis);
		if (im->rc)
			break;
		used[axis] = true;
		starts[axis] = s.starts.v[i];
		steps[axis] = s.steps.present ? s.steps.v[i] : 1;
		slice_axis(im, x->shape.dims[axis], &starts[axis], s.ends.v[i], &steps[axis],
			&shape.dims[axis]);
	}
	if (!im->rc)
		emit_slice(im, 0, x, starts, steps, &shape);
	return im->rc;
}

static void check_indices(struct pk_importer *im, const struct pk_value *indices, int64_t dim)
{
	int64_t n = pk_shape_elements(&indices->shape);
	if (!indices->data || (indices->dtype != PK_I64 && indices->dtype != PK_I32))
		return;
	for (int64_t i = 0; i < n; i++) {
		int64_t at = indices->dtype == PK_I64 ? ((const int64_t *)indices->data)[i]
						      : ((const int32_t *)indices->data)[i];
		if (at < -dim || at >= dim) {
			pk_importer_fail(im, -EINVAL, "index %lld is outside an axis of %lld",
				(long long)at, (long long)dim);
			return;
		}
	}
}

int pk_import_gather(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int axis = pk_importer_axis(im, pk_importer_int(im, "axis", 0), x->shape.rank);
	if (!im->rc)
		check_indices(im, im->inputs[1], x->shape.dims[axis]);
	struct pk_node *node = pk_emit_begin(im, PK_OP_GATHER, im->inputs, 2);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// pads of all axes from pads of some.
static void spread_pads(struct pk_importer *im, const struct pk_ints *pads, int rank, int64_t *out)
{
	struct pk_ints axes;
	bool used[PK_MAX_RANK] = {false};
	pk_importer_const_ints(im, 3, "axes", &axes);
	for (int i = 0; i < rank && !axes.present; i++)
		axes.v[axes.n++] = i;
	if (!im->rc && pads->n != 2 * axes.n)
		pk_importer_fail(im, -EINVAL, "pads has %d items for %d axes", pads->n, axes.n);
	for (int i = 0; i < axes.n && !im->rc; i++) {
		int axis = pk_importer_axis(im, axes.v[i], rank);
		if (!im->rc && used[axis])
			pk_importer_fail(im, -EINVAL, "axis %d is given twice", axis);
		used[axis] = true;
		out[axis] = pads->v[i];
		out[axis + rank] = pads->v[i + axes.n];
	}
	for (int i = 0; i < 2 * rank && !im->rc; i++)
		if (out[i] < -PK_MAX_ELEMENTS || out[i] > PK_MAX_ELEMENTS)
			pk_importer_fail(im, -EINVAL, "pads holds %lld", (long long)out[i]);
}

static double read_pad_value(struct pk_importer *im)
{
	struct pk_value *value = pk_importer_input(im, 2);
	double v = pk_importer_float(im, "value", 0);
	if (value && pk_shape_elements(&value->shape) == 0) // "" and [] both mean absent
		value = NULL;
	if (value && !pk_value_scalar(value, &v))
		pk_importer_fail(im, -ENOTSUP, "the padding value must be one constant number");
	return v;
}

int pk_import_pad(struct pk_importer *im)
{
	static const char *const words[] = {"constant", "reflect", "edge", "wrap", NULL};
	static const enum pk_enum_word modes[] = {
		PK_MODE_CONSTANT, PK_MODE_REFLECT, PK_MODE_EDGE, PK_MODE_WRAP};
	struct pk_value *x = im->inputs[0];
	int64_t pads[PK_ATTR_MAX_ITEMS] = {0};
	struct pk_ints given;
	bool any = false;
	pk_importer_ints_from(im, "pads", 1, &given);
	spread_pads(im, &given, x->shape.rank, pads);
	int mode = pk_importer_word(im, "mode", words, 0);
	double value = read_pad_value(im);
	for (int i = 0; i < 2 * x->shape.rank; i++)
		any |= pads[i] != 0;
	if (!any) {
		pk_emit_alias(im, 0, x);
		return im->rc;
	}
	struct pk_node *node = pk_emit_begin(im, PK_OP_PAD, &x, 1); // negative pads crop first
	if (node) {
		pk_node_set_int(node, PK_ATTR_MODE, modes[mode]);
		pk_node_set_ints(node, PK_ATTR_PADS, pads, 2 * x->shape.rank);
		pk_node_set_float(node, PK_ATTR_VALUE, value);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}
