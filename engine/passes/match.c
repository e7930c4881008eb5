// SPDX-License-Identifier: Apache-2.0
// Questions that passes ask of a graph.
#include "engine/passes/match.h"

#include <math.h>

#include "base/checked.h"
#include "engine/ir/element.h"

struct pk_node *pk_match_inner(const struct pk_value *value)
{
	return value && value->n_uses == 1 && !value->is_output ? value->producer : NULL;
}

bool pk_match_fn(const struct pk_node *node, enum pk_op op, enum pk_fn fn)
{
	return node && node->op == op && pk_node_fn(node, PK_ATTR_FN) == fn;
}

struct pk_node *pk_match_inner_op(const struct pk_value *value, enum pk_op op)
{
	struct pk_node *node = pk_match_inner(value);
	return node && node->op == op ? node : NULL;
}

struct pk_node *pk_match_inner_fn(const struct pk_value *value, enum pk_op op, enum pk_fn fn)
{
	struct pk_node *node = pk_match_inner(value);
	return pk_match_fn(node, op, fn) ? node : NULL;
}

bool pk_match_scalar(const struct pk_value *value, double *out)
{
	if (!value || !value->data || !pk_dtype_is_float(value->dtype) ||
		pk_shape_elements(&value->shape) != 1)
		return false;
	*out = pk_element_get(value->dtype, value->data, 0);
	return true;
}

bool pk_match_near(enum pk_dtype dtype, double a, double b)
{
	double part = dtype == PK_BF16 ? 1e-2 : dtype == PK_F16 ? 1e-3 : 1e-6;
	return fabs(a - b) <= part * PK_MAX(fabs(a), fabs(b));
}

bool pk_match_number(const struct pk_value *value, double want)
{
	double have;
	return pk_match_scalar(value, &have) && pk_match_near(value->dtype, have, want);
}

bool pk_match_channels(
	const struct pk_value *value, const struct pk_shape *out, int axis, int *stride)
{
	if (!value || !value->data || !pk_dtype_is_float(value->dtype) ||
		value->shape.rank > out->rank)
		return false;
	int shift = out->rank - value->shape.rank;
	*stride = 0;
	for (int i = 0; i < value->shape.rank; i++) {
		int64_t dim = value->shape.dims[i];
		if (dim == 1)
			continue;
		if (i + shift != axis || dim != out->dims[axis])
			return false;
		*stride = 1;
	}
	return true;
}

bool pk_match_same_type(const struct pk_value *a, const struct pk_value *b)
{
	return a->dtype == b->dtype && pk_shape_equal(&a->shape, &b->shape);
}
