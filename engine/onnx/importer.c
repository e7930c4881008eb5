// SPDX-License-Identifier: Apache-2.0
// What a handler of one ONNX operator sees: operands, attributes and lists of numbers.
#include "engine/onnx/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

int pk_importer_fail(struct pk_importer *im, int code, const char *fmt, ...)
{
	char text[PK_ERR_TEXT_MAX];
	va_list args;
	if (im->rc)
		return im->rc;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	im->rc = code;
	return pk_fail(im->err, code, "%s", text);
}

struct pk_value *pk_importer_input(const struct pk_importer *im, int i)
{
	return i < im->n_inputs ? im->inputs[i] : NULL;
}

const struct pk_onnx_attr *pk_importer_attr(const struct pk_importer *im, const char *name)
{
	for (size_t i = 0; i < im->node->n_attrs; i++)
		if (pk_onnx_str_is(im->node->attrs[i].name, name))
			return &im->node->attrs[i];
	return NULL;
}

int64_t pk_importer_int(const struct pk_importer *im, const char *name, int64_t absent)
{
	const struct pk_onnx_attr *attr = pk_importer_attr(im, name);
	return attr ? attr->i : absent;
}

double pk_importer_float(const struct pk_importer *im, const char *name, double absent)
{
	const struct pk_onnx_attr *attr = pk_importer_attr(im, name);
	return attr ? (double)attr->f : absent;
}

static void list_words(const char *const *words, char *out, size_t size)
{
	size_t n = 0;
	out[0] = '\0';
	for (; *words && n < size; words++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", *words);
}

int pk_importer_word(struct pk_importer *im, const char *name, const char *const *words, int absent)
{
	const struct pk_onnx_attr *attr = pk_importer_attr(im, name);
	char all[256];
	if (!attr)
		return absent;
	for (int i = 0; words[i]; i++)
		if (pk_onnx_str_is(attr->s, words[i]))
			return i;
	list_words(words, all, sizeof(all));
	pk_importer_fail(im, -ENOTSUP, "%s `%.*s` is not supported; it may be: %s", name,
		PK_STR_ARG(attr->s), all);
	return absent;
}

void pk_importer_ints(struct pk_importer *im, const char *name, struct pk_ints *out)
{
	const struct pk_onnx_attr *attr = pk_importer_attr(im, name);
	*out = (struct pk_ints){.present = attr != NULL};
	if (!attr)
		return;
	if (attr->n_ints > PK_ATTR_MAX_ITEMS) {
		pk_importer_fail(im, -EINVAL, "%s has %zu items; %d are possible", name,
			attr->n_ints, PK_ATTR_MAX_ITEMS);
		return;
	}
	out->n = (int)attr->n_ints;
	if (out->n)
		memcpy(out->v, attr->ints, attr->n_ints * sizeof(out->v[0]));
}

// A constant list, or NULL after a failure that says what is wrong.
static const struct pk_value *const_list(struct pk_importer *im, int i, const char *what)
{
	const struct pk_value *value = pk_importer_input(im, i);
	if (!value->data) {
		pk_importer_fail(im, -ENOTSUP,
			"%s is computed at run time; it must follow from constants and shapes "
			"(simplify the model, or export it with fixed shapes)",
			what);
		return NULL;
	}
	if (value->shape.rank > 1 || pk_shape_elements(&value->shape) > PK_ATTR_MAX_ITEMS) {
		char text[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&value->shape, text);
		pk_importer_fail(im, -EINVAL, "%s has the shape %s; a list of at most %d is needed",
			what, text, PK_ATTR_MAX_ITEMS);
		return NULL;
	}
	return value;
}

void pk_importer_const_ints(struct pk_importer *im, int i, const char *what, struct pk_ints *out)
{
	*out = (struct pk_ints){0};
	if (!pk_importer_input(im, i))
		return;
	out->present = true;
	const struct pk_value *value = const_list(im, i, what);
	if (!value)
		return;
	if (value->dtype != PK_I64 && value->dtype != PK_I32) {
		pk_importer_fail(
			im, -EINVAL, "%s is %s; i64 is needed", what, pk_dtype_name(value->dtype));
		return;
	}
	out->n = (int)pk_shape_elements(&value->shape);
	for (int k = 0; k < out->n; k++)
		out->v[k] = value->dtype == PK_I64 ? ((const int64_t *)value->data)[k]
						   : ((const int32_t *)value->data)[k];
}

void pk_importer_ints_from(struct pk_importer *im, const char *name, int i, struct pk_ints *out)
{
	if (pk_importer_attr(im, name))
		pk_importer_ints(im, name, out);
	else
		pk_importer_const_ints(im, i, name, out);
}

void pk_importer_const_floats(
	struct pk_importer *im, int i, const char *what, struct pk_floats *out)
{
	*out = (struct pk_floats){0};
	if (!pk_importer_input(im, i))
		return;
	out->present = true;
	const struct pk_value *value = const_list(im, i, what);
	if (!value)
		return;
	if (value->dtype != PK_F32) {
		pk_importer_fail(im, -EINVAL, "%s is %s; a float type is needed", what,
			pk_dtype_name(value->dtype));
		return;
	}
	out->n = (int)pk_shape_elements(&value->shape);
	for (int k = 0; k < out->n; k++)
		out->v[k] = (double)((const float *)value->data)[k];
}

bool pk_value_scalar_int(const struct pk_value *value, int64_t *out)
{
	if (!value || !value->data || pk_shape_elements(&value->shape) != 1)
		return false;
	switch (value->dtype) {
	case PK_I64:
		*out = *(const int64_t *)value->data;
		return true;
	case PK_I32:
		*out = *(const int32_t *)value->data;
		return true;
	case PK_I8:
		*out = *(const int8_t *)value->data;
		return true;
	case PK_U8:
	case PK_BOOL:
		*out = *(const uint8_t *)value->data;
		return true;
	default:
		return false;
	}
}

bool pk_value_scalar(const struct pk_value *value, double *out)
{
	int64_t v;
	if (pk_value_scalar_int(value, &v)) {
		*out = (double)v;
		return true;
	}
	if (!value || !value->data || value->dtype != PK_F32 ||
		pk_shape_elements(&value->shape) != 1)
		return false;
	*out = (double)*(const float *)value->data;
	return true;
}

int pk_importer_axis(struct pk_importer *im, int64_t axis, int rank)
{
	if (axis < -rank || axis >= rank) {
		pk_importer_fail(im, -EINVAL, "axis %lld is outside a tensor of rank %d",
			(long long)axis, rank);
		return 0;
	}
	return (int)(axis < 0 ? axis + rank : axis);
}

void pk_importer_axes(struct pk_importer *im, struct pk_ints *axes, int rank)
{
	bool used[PK_MAX_RANK] = {false};
	for (int i = 0; i < axes->n && !im->rc; i++) {
		int axis = pk_importer_axis(im, axes->v[i], rank);
		if (!im->rc && used[axis])
			pk_importer_fail(im, -EINVAL, "axis %d is given twice", axis);
		used[axis] = true;
	}
	if (im->rc)
		return;
	axes->n = 0;
	for (int axis = 0; axis < rank; axis++)
		if (used[axis])
			axes->v[axes->n++] = axis;
}
