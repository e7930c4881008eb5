// SPDX-License-Identifier: Apache-2.0
// Operators that give constants: literal ones, and those that follow from shapes.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/tensor_data.h"

static void emit_tensor(struct pk_importer *im, const struct pk_onnx_tensor *tensor)
{
	struct pk_tensor data;
	struct pk_err why = {0};
	int rc =
		pk_tensor_data_read(tensor, im->graph->arena, &data, &im->state->n_denormals, &why);
	if (rc) {
		pk_importer_fail(im, rc, "%s", why.text);
		return;
	}
	const char *name = im->node->n_outputs
				   ? pk_onnx_str_dup(im->state->scratch, im->node->outputs[0])
				   : NULL;
	struct pk_value *value =
		name ? pk_graph_add_const(im->graph, name, data.dtype, &data.shape, data.data)
		     : NULL;
	if (!value)
		pk_importer_fail(im, -ENOMEM, "no memory for the constant");
	else
		pk_emit_alias(im, 0, value);
}

int pk_import_constant(struct pk_importer *im)
{
	const struct pk_onnx_attr *attr = im->node->attrs;
	struct pk_shape list = {.rank = 1};
	if (im->node->n_attrs != 1)
		return pk_importer_fail(im, -EINVAL, "exactly one value is needed, %zu are given",
			im->node->n_attrs);
	switch (attr->type) {
	case PK_ONNX_TENSOR:
		emit_tensor(im, attr->t);
		break;
	case PK_ONNX_FLOAT:
		pk_emit_scalar(im, 0, PK_F32, (double)attr->f);
		break;
	case PK_ONNX_INT:
		pk_emit_const(im, 0, PK_I64, &(struct pk_shape){0}, &attr->i);
		break;
	case PK_ONNX_FLOATS:
		list.dims[0] = (int64_t)attr->n_floats;
		pk_emit_const(im, 0, PK_F32, &list, attr->floats);
		break;
	default: // INTS: the row allows nothing else
		list.dims[0] = (int64_t)attr->n_ints;
		pk_emit_const(im, 0, PK_I64, &list, attr->ints);
		break;
	}
	return im->rc;
}

// The element that ConstantOfShape repeats: 0 of f32 when there is none.
static bool read_fill(struct pk_importer *im, struct pk_tensor *fill)
{
	static const float zero;
	const struct pk_onnx_attr *attr = pk_importer_attr(im, "value");
	struct pk_err why = {0};
	*fill = (struct pk_tensor){.dtype = PK_F32, .data = (void *)(uintptr_t)&zero};
	if (!attr)
		return true;
	int rc = pk_tensor_data_read(
		attr->t, im->state->scratch, fill, &im->state->n_denormals, &why);
	if (rc)
		pk_importer_fail(im, rc, "%s", why.text);
	else if (pk_shape_elements(&fill->shape) != 1)
		pk_importer_fail(im, -EINVAL, "value must hold one element");
	return !im->rc;
}

int pk_import_constant_of_shape(struct pk_importer *im)
{
	struct pk_ints dims;
	struct pk_shape shape = {0}, scalar = {0};
	struct pk_tensor fill;
	pk_importer_const_ints(im, 0, "the shape", &dims);
	if (im->rc || !read_fill(im, &fill))
		return im->rc;
	if (dims.n > PK_MAX_RANK)
		return pk_importer_fail(
			im, -EINVAL, "%d dimensions; %d are possible", dims.n, PK_MAX_RANK);
	shape.rank = dims.n;
	for (int i = 0; i < dims.n; i++)
		shape.dims[i] = dims.v[i];
	if (pk_shape_elements(&shape) < 0)
		return pk_importer_fail(im, -EFBIG, "the shape is negative or too large");
	struct pk_value *value =
		pk_emit_const(im, shape.rank ? PK_TEMP : 0, fill.dtype, &scalar, fill.data);
	if (value && shape.rank)
		pk_emit_expand(im, 0, value, &shape);
	return im->rc;
}

// start and end (opset 15) are clamped, not checked.
int pk_import_shape(struct pk_importer *im)
{
	const struct pk_shape *shape = &im->inputs[0]->shape;
	int64_t rank = shape->rank;
	int64_t start = pk_importer_int(im, "start", 0), end = pk_importer_int(im, "end", rank);
	start = start < 0 ? PK_MAX(start, -rank) + rank : PK_MIN(start, rank);
	end = end < 0 ? PK_MAX(end, -rank) + rank : PK_MIN(end, rank);
	pk_emit_const_ints(im, 0, shape->dims + start, (int)PK_MAX(end - start, 0));
	return im->rc;
}

int pk_import_size(struct pk_importer *im)
{
	int64_t n = pk_shape_elements(&im->inputs[0]->shape);
	pk_emit_const(im, 0, PK_I64, &(struct pk_shape){0}, &n);
	return im->rc;
}

static bool range_ints(struct pk_importer *im, int64_t *start, int64_t *step, int64_t *n)
{
	int64_t limit, span;
	if (!pk_value_scalar_int(im->inputs[0], start) ||
		!pk_value_scalar_int(im->inputs[1], &limit) ||
		!pk_value_scalar_int(im->inputs[2], step) || *step == 0)
		return false;
	bool up = *step > 0;
	if (pk_sub_overflow(up ? limit : *start, up ? *start : limit, &span) || *step == INT64_MIN)
		return false;
	int64_t stride = up ? *step : -*step;
	*n = span <= 0 ? 0 : span / stride + (span % stride != 0);
	return true;
}

static bool range_floats(struct pk_importer *im, double *start, double *step, int64_t *n)
{
	double limit;
	if (!pk_value_scalar(im->inputs[0], start) || !pk_value_scalar(im->inputs[1], &limit) ||
		!pk_value_scalar(im->inputs[2], step))
		return false;
	double count = ceil((limit - *start) / *step);
	if (!(count < (double)PK_MAX_ELEMENTS)) // NaN too
		return false;
	*n = count > 0 ? (int64_t)count : 0;
	return true;
}

int pk_import_range(struct pk_importer *im)
{
	enum pk_dtype dtype = im->inputs[0]->dtype;
	int64_t n = 0, first = 0, stride = 0;
	double start = 0, step = 0;
	bool is_float = dtype == PK_F32;
	for (int i = 0; i < 3; i++)
		if (!im->inputs[i]->data)
			return pk_importer_fail(im, -ENOTSUP,
				"its bounds are computed at run time; they must be constants");
	bool ok = is_float ? range_floats(im, &start, &step, &n)
			   : range_ints(im, &first, &stride, &n);
	size_t item = pk_dtype_bytes(dtype);
	if (!ok || (!is_float && dtype != PK_I64 && dtype != PK_I32))
		return pk_importer_fail(im, -EINVAL, "start, limit and delta give no range");
	if ((uint64_t)n > im->state->max_folded_bytes / item)
		return pk_importer_fail(im, -EFBIG, "%lld elements are too many", (long long)n);
	void *data = pk_arena_array(im->state->scratch, (size_t)n, item);
	if (!data)
		return pk_importer_fail(im, -ENOMEM, "no memory for %lld elements", (long long)n);
	for (int64_t i = 0; i < n; i++) {
		if (is_float)
			((float *)data)[i] = (float)(start + (double)i * step);
		else if (dtype == PK_I64)
			((int64_t *)data)[i] = first + i * stride;
		else
			((int32_t *)data)[i] = (int32_t)(first + i * stride);
	}
	struct pk_shape shape = {1, {n}};
	pk_emit_const(im, 0, dtype, &shape, data);
	return im->rc;
}
