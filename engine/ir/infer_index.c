// SPDX-License-Identifier: Apache-2.0
// Types of the operators whose operands say where: gathers, scatters, running sums, samplers.
#include <errno.h>
#include <math.h>

#include "engine/ir/infer_impl.h"

#define PK_DT_INDEX (PK_DT(I32) | PK_DT(I64))

static const struct pk_shape *pk_operand_shape(const struct pk_infer *infer, int idx)
{
	return &infer->node->inputs[idx]->shape;
}

// A clamped index needs an element to land on.
static int pk_infer_not_empty(struct pk_infer *infer, int axis)
{
	const struct pk_shape *at = pk_operand_shape(infer, 1);
	if (pk_operand_shape(infer, 0)->dims[axis] == 0 && pk_shape_elements(at) > 0)
		return pk_fail(infer->err, -EINVAL, "axis %d is empty", axis);
	return 0;
}

// indices have x's rank and fit into it beside axis. The axis, or -EINVAL.
static int pk_infer_element_indices(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 1, PK_DT_INDEX);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	const struct pk_shape *x = pk_operand_shape(infer, 0), *at = pk_operand_shape(infer, 1);
	if (at->rank != x->rank)
		return pk_fail(infer->err, -EINVAL, "indices have rank %d, operand 0 has %d",
			at->rank, x->rank);
	for (int i = 0; i < x->rank; i++)
		if (i != axis && at->dims[i] > x->dims[i])
			return pk_fail(infer->err, -EINVAL, "indices go beyond axis %d", i);
	r = pk_infer_not_empty(infer, axis);
	return r < 0 ? r : axis;
}

int pk_infer_gather_elements(struct pk_infer *infer)
{
	int axis = pk_infer_element_indices(infer);
	if (axis < 0)
		return axis;
	infer->out[0].shape = *pk_operand_shape(infer, 1);
	return 0;
}

// Operand 2 has operand 0's type, and fn is one that scatters can combine with.
static int pk_infer_updates(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	const struct pk_value *x = infer->node->inputs[0], *updates = infer->node->inputs[2];
	if (fn != PK_FN_NONE && fn != PK_FN_ADD && fn != PK_FN_MUL && fn != PK_FN_MIN &&
		fn != PK_FN_MAX)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` cannot scatter", pk_fn_name(fn));
	if (fn != PK_FN_NONE && x->dtype == PK_BOOL)
		return pk_fail(infer->err, -EINVAL, "operand 0 cannot be bool");
	if (updates->dtype != x->dtype)
		return pk_fail(infer->err, -EINVAL, "updates are %s, operand 0 is %s",
			pk_dtype_name(updates->dtype), pk_dtype_name(x->dtype));
	return 0;
}

int pk_infer_scatter_elements(struct pk_infer *infer)
{
	int r = pk_infer_updates(infer);
	int axis = r < 0 ? r : pk_infer_element_indices(infer);
	if (axis < 0)
		return axis;
	if (!pk_shape_equal(pk_operand_shape(infer, 1), pk_operand_shape(infer, 2)))
		return pk_fail(infer->err, -EINVAL, "updates and indices differ in shape");
	return 0;
}

// The last dim of indices: how many coordinates; they start at axis `from`. Or -EINVAL.
static int pk_infer_coordinates(struct pk_infer *infer, int from)
{
	int r = pk_infer_dtype_in(infer, 1, PK_DT_INDEX);
	if (r < 0)
		return r;
	const struct pk_shape *x = pk_operand_shape(infer, 0), *at = pk_operand_shape(infer, 1);
	if (x->rank < 1 || at->rank < 1 || from >= at->rank)
		return pk_fail(infer->err, -EINVAL, "ranks %d and %d with %d batch dims", x->rank,
			at->rank, from);
	int64_t k = at->dims[at->rank - 1];
	if (k < 1 || k > x->rank - from)
		return pk_fail(infer->err, -EINVAL, "%lld coordinates for %d axes", (long long)k,
			x->rank - from);
	for (int i = 0; i < (int)k && r == 0; i++)
		r = pk_infer_not_empty(infer, from + i);
	return r < 0 ? r : (int)k;
}

// Leading dims of indices, then the axes of x that coordinates leave.
static int pk_infer_point_shape(struct pk_infer *infer, int first_left, struct pk_shape *out)
{
	const struct pk_shape *x = pk_operand_shape(infer, 0), *at = pk_operand_shape(infer, 1);
	int rank = at->rank - 1 + x->rank - first_left;
	if (rank > PK_MAX_RANK)
		return pk_fail(infer->err, -EINVAL, "rank %d is above %d", rank, PK_MAX_RANK);
	*out = *at;
	out->rank = at->rank - 1;
	for (int i = first_left; i < x->rank; i++)
		out->dims[out->rank++] = x->dims[i];
	return 0;
}

int pk_infer_gather_nd(struct pk_infer *infer)
{
	int batch = (int)pk_node_int(infer->node, PK_ATTR_BATCH_DIMS);
	int k = pk_infer_coordinates(infer, batch);
	if (k < 0)
		return k;
	const struct pk_shape *x = pk_operand_shape(infer, 0), *at = pk_operand_shape(infer, 1);
	for (int i = 0; i < batch; i++)
		if (x->dims[i] != at->dims[i])
			return pk_fail(infer->err, -EINVAL, "batch dim %d differs", i);
	struct pk_shape out;
	int r = pk_infer_point_shape(infer, batch + k, &out);
	if (r == 0)
		infer->out[0].shape = out;
	return r;
}

int pk_infer_scatter_nd(struct pk_infer *infer)
{
	int r = pk_infer_updates(infer);
	int k = r < 0 ? r : pk_infer_coordinates(infer, 0);
	if (k < 0)
		return k;
	struct pk_shape wanted;
	r = pk_infer_point_shape(infer, k, &wanted);
	if (r == 0 && !pk_shape_equal(&wanted, pk_operand_shape(infer, 2)))
		r = pk_fail(
			infer->err, -EINVAL, "updates do not have the shape of what they replace");
	return r;
}

int pk_infer_cum_sum(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 0, PK_DT_NUMBER);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	return axis < 0 ? axis : 0;
}

int pk_infer_grid_sample(struct pk_infer *infer)
{
	int64_t mode = pk_node_int(infer->node, PK_ATTR_MODE);
	if (mode != PK_MODE_NEAREST && mode != PK_MODE_LINEAR && mode != PK_MODE_CUBIC)
		return pk_fail(infer->err, -EINVAL, "mode: `%s` is none of grid_sample",
			pk_enum_text(PK_ATTR_MODE, mode));
	int r = pk_infer_same_dtype(infer, PK_DT_FLOAT);
	if (r == 0)
		r = pk_infer_rank(infer, 4, 4);
	if (r < 0)
		return r;
	const struct pk_shape *x = pk_operand_shape(infer, 0), *grid = pk_operand_shape(infer, 1);
	if (grid->rank != 4 || grid->dims[3] != 2 || grid->dims[0] != x->dims[0])
		return pk_fail(infer->err, -EINVAL, "the grid must be [%lld,h,w,2]",
			(long long)x->dims[0]);
	if (x->dims[2] < 1 || x->dims[3] < 1)
		return pk_fail(infer->err, -EINVAL, "operand 0 is empty: nothing to sample");
	infer->out[0].shape.dims[2] = grid->dims[1];
	infer->out[0].shape.dims[3] = grid->dims[2];
	return 0;
}

static int pk_infer_roi_attrs(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	int64_t coord = pk_node_int(infer->node, PK_ATTR_COORD);
	double scale = pk_node_float(infer->node, PK_ATTR_SPATIAL_SCALE);
	if (fn != PK_FN_POOL_MAX && fn != PK_FN_POOL_AVG)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` is no pooling", pk_fn_name(fn));
	if (coord != PK_COORD_HALF_PIXEL && coord != PK_COORD_ASYMMETRIC)
		return pk_fail(infer->err, -EINVAL, "coord: `%s` is none of roi_align",
			pk_enum_text(PK_ATTR_COORD, coord));
	if (!(scale > 0 && scale <= 0x1p31))
		return pk_fail(infer->err, -EINVAL, "spatial_scale: %g", scale);
	return 0;
}

int pk_infer_roi_align(struct pk_infer *infer)
{
	int r = pk_infer_roi_attrs(infer);
	if (r == 0)
		r = pk_infer_dtype_in(infer, 0, PK_DT_FLOAT);
	if (r == 0)
		r = pk_infer_dtype_in(infer, 1, PK_DT(F32));
	if (r == 0)
		r = pk_infer_dtype_in(infer, 2, PK_DT(I64));
	if (r == 0)
		r = pk_infer_rank(infer, 4, 4);
	if (r == 0)
		r = pk_infer_take_given(infer, true);
	if (r < 0)
		return r;
	const struct pk_shape *x = pk_operand_shape(infer, 0), *rois = pk_operand_shape(infer, 1);
	const struct pk_shape *out = &infer->out[0].shape;
	if (rois->rank != 2 || rois->dims[1] != 4)
		return pk_fail(infer->err, -EINVAL, "rois must be [n,4]");
	if (out->dims[0] != rois->dims[0] || out->dims[1] != x->dims[1])
		return pk_fail(infer->err, -EINVAL, "output must be [%lld,%lld,h,w]",
			(long long)rois->dims[0], (long long)x->dims[1]);
	if (x->dims[0] < 1 || x->dims[2] < 1 || x->dims[3] < 1)
		return pk_fail(infer->err, -EINVAL, "operand 0 is empty: nothing to sample");
	return pk_infer_vector(infer, 2, rois->dims[0], "batch indices");
}
