// SPDX-License-Identifier: Apache-2.0
// Types of the operators that move elements without computing.
#include <errno.h>
#include <math.h>

#include "engine/ir/infer_impl.h"

int pk_infer_identity(struct pk_infer *infer)
{
	return 0;
}

int pk_infer_concat(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_ANY);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	struct pk_shape *out = &infer->out[0].shape;
	for (int i = 1; i < infer->node->n_inputs; i++) {
		const struct pk_shape *part = &infer->node->inputs[i]->shape;
		bool same = part->rank == out->rank;
		for (int d = 0; same && d < out->rank; d++)
			same = d == axis || part->dims[d] == out->dims[d];
		if (!same)
			return pk_fail(infer->err, -EINVAL,
				"operand %d differs from operand 0 beside axis %d", i, axis);
		out->dims[axis] += part->dims[axis];
		if (out->dims[axis] > PK_MAX_ELEMENTS)
			return pk_fail(infer->err, -EFBIG, "axis %d is too long", axis);
	}
	return 0;
}

int pk_infer_slice(struct pk_infer *infer)
{
	int r = pk_infer_take_given(infer, true);
	if (r < 0)
		return r;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const int64_t *starts = pk_node_attr(infer->node, PK_ATTR_STARTS)->i;
	const int64_t *steps = pk_node_attr(infer->node, PK_ATTR_STEPS)->i;
	for (int i = 0; i < x->rank; i++) {
		int64_t n = infer->out[0].shape.dims[i];
		if (steps[i] == 0)
			return pk_fail(infer->err, -EINVAL, "step 0 on axis %d", i);
		if (n == 0)
			continue;
		int64_t last = starts[i] + (n - 1) * steps[i]; // below 2^63
		if (starts[i] >= x->dims[i] || last < 0 || last >= x->dims[i])
			return pk_fail(infer->err, -EINVAL,
				"axis %d: elements %lld to %lld of %lld", i, (long long)starts[i],
				(long long)last, (long long)x->dims[i]);
	}
	return 0;
}

int pk_infer_reshape(struct pk_infer *infer)
{
	int r = pk_infer_take_given(infer, false);
	if (r < 0)
		return r;
	int64_t from = pk_shape_elements(&infer->node->inputs[0]->shape);
	int64_t to = pk_shape_elements(&infer->out[0].shape);
	if (from != to)
		return pk_fail(infer->err, -EINVAL, "%lld elements cannot become %lld",
			(long long)from, (long long)to);
	return 0;
}

int pk_infer_transpose(struct pk_infer *infer)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const int64_t *perm = pk_node_attr(infer->node, PK_ATTR_PERM)->i;
	unsigned seen = 0;
	for (int i = 0; i < x->rank; i++) {
		if (perm[i] >= x->rank || (seen >> perm[i] & 1))
			return pk_fail(infer->err, -EINVAL, "perm is no permutation");
		seen |= 1u << perm[i];
		infer->out[0].shape.dims[i] = x->dims[perm[i]];
	}
	return 0;
}

// Whether what the mode copies into the border is there. Negative pads crop first.
static int pk_infer_pad_axis(struct pk_infer *infer, int64_t mode, int axis)
{
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const int64_t *pads = pk_node_attr(infer->node, PK_ATTR_PADS)->i;
	int64_t begin = pads[axis], end = pads[axis + x->rank], in = x->dims[axis];
	int64_t kept = in + (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
	int64_t widest = begin > end ? begin : end;
	if (kept < 0)
		return pk_fail(infer->err, -EINVAL, "pads crop more than axis %d has", axis);
	if (widest > 0 && mode != PK_MODE_CONSTANT && kept < 1)
		return pk_fail(infer->err, -EINVAL, "axis %d is empty: nothing to copy", axis);
	if (widest > 0 && mode == PK_MODE_REFLECT && widest >= kept)
		return pk_fail(infer->err, -EINVAL, "axis %d: cannot reflect %lld of %lld", axis,
			(long long)widest, (long long)kept);
	infer->out[0].shape.dims[axis] = in + begin + end;
	return 0;
}

int pk_infer_pad(struct pk_infer *infer)
{
	int64_t mode = pk_node_int(infer->node, PK_ATTR_MODE);
	if (mode != PK_MODE_CONSTANT && mode != PK_MODE_REFLECT && mode != PK_MODE_EDGE &&
		mode != PK_MODE_WRAP)
		return pk_fail(infer->err, -EINVAL, "mode: `%s` is none of pad",
			pk_enum_text(PK_ATTR_MODE, mode));
	int r = 0;
	for (int i = 0; i < infer->node->inputs[0]->shape.rank && r == 0; i++)
		r = pk_infer_pad_axis(infer, mode, i);
	return r;
}

// The scale decides where samples are taken, the shape how many: they must be of one mind.
static int pk_infer_resize_axis(struct pk_infer *infer, bool crop, int axis)
{
	const struct pk_attr_value *roi = pk_node_attr(infer->node, PK_ATTR_ROI);
	double scale = pk_node_attr(infer->node, PK_ATTR_SCALES)->f[axis];
	int rank = infer->node->inputs[0]->shape.rank;
	int64_t in = infer->node->inputs[0]->shape.dims[axis];
	int64_t out = infer->out[0].shape.dims[axis];
	if (!(scale >= 0x1p-31 && scale <= 0x1p31))
		return pk_fail(infer->err, -EINVAL, "scale %g on axis %d", scale, axis);
	if (!(fabs(roi->f[axis]) <= 0x1p31 && fabs(roi->f[axis + rank]) <= 0x1p31))
		return pk_fail(infer->err, -EINVAL, "roi on axis %d is out of range", axis);
	if (in == 0 && out != 0)
		return pk_fail(infer->err, -EINVAL, "axis %d is empty: nothing to sample", axis);
	if (!crop && fabs((double)out - (double)in * scale) > 1.0 + 1e-6 * (double)out)
		return pk_fail(infer->err, -EINVAL, "axis %d: %lld x %g is not %lld", axis,
			(long long)in, scale, (long long)out);
	return 0;
}

int pk_infer_resize(struct pk_infer *infer)
{
	int64_t mode = pk_node_int(infer->node, PK_ATTR_MODE);
	if (mode != PK_MODE_NEAREST && mode != PK_MODE_LINEAR && mode != PK_MODE_CUBIC)
		return pk_fail(infer->err, -EINVAL, "mode: `%s` is none of resize",
			pk_enum_text(PK_ATTR_MODE, mode));
	int r = pk_infer_dtype_in(infer, 0, PK_DT_NUMBER);
	if (r == 0)
		r = pk_infer_take_given(infer, true);
	bool crop = pk_node_int(infer->node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE;
	for (int i = 0; r == 0 && i < infer->out[0].shape.rank; i++)
		r = pk_infer_resize_axis(infer, crop, i);
	return r;
}

int pk_infer_expand(struct pk_infer *infer)
{
	int r = pk_infer_take_given(infer, false);
	return r < 0 ? r : pk_infer_broadcasts_to(infer, 0, &infer->out[0].shape, "operand");
}

int pk_infer_tile(struct pk_infer *infer)
{
	int r = pk_infer_take_given(infer, true);
	if (r < 0)
		return r;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	for (int i = 0; i < x->rank; i++) {
		int64_t in = x->dims[i], out = infer->out[0].shape.dims[i];
		if (in == 0 ? out != 0 : out % in != 0)
			return pk_fail(infer->err, -EINVAL, "axis %d: %lld is no multiple of %lld",
				i, (long long)out, (long long)in);
	}
	return 0;
}

int pk_infer_gather(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 1, PK_DT(I32) | PK_DT(I64));
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	const struct pk_shape *at = &infer->node->inputs[1]->shape;
	struct pk_shape *out = &infer->out[0].shape;
	if (x->rank + at->rank - 1 > PK_MAX_RANK)
		return pk_fail(infer->err, -EINVAL, "rank %d is above %d", x->rank + at->rank - 1,
			PK_MAX_RANK);
	if (x->dims[axis] == 0 && pk_shape_elements(at) > 0)
		return pk_fail(infer->err, -EINVAL, "axis %d is empty", axis);
	out->rank = x->rank + at->rank - 1;
	for (int i = 0; i < at->rank; i++)
		out->dims[axis + i] = at->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		out->dims[i + at->rank - 1] = x->dims[i];
	return 0;
}

int pk_infer_depth_to_space(struct pk_infer *infer)
{
	int64_t mode = pk_node_int(infer->node, PK_ATTR_MODE);
	int64_t block = pk_node_int(infer->node, PK_ATTR_BLOCK);
	struct pk_shape *out = &infer->out[0].shape;
	int r = pk_infer_rank(infer, 4, 4);
	if (r < 0)
		return r;
	if (mode != PK_MODE_DCR && mode != PK_MODE_CRD)
		return pk_fail(infer->err, -EINVAL, "mode: `%s` is none of depth_to_space",
			pk_enum_text(PK_ATTR_MODE, mode));
	if (out->dims[1] % (block * block) != 0)
		return pk_fail(infer->err, -EINVAL, "%lld channels in blocks of %lld x %lld",
			(long long)out->dims[1], (long long)block, (long long)block);
	out->dims[1] /= block * block;
	out->dims[2] *= block; // each below 2^62
	out->dims[3] *= block;
	return 0;
}

int pk_infer_space_to_depth(struct pk_infer *infer)
{
	int64_t block = pk_node_int(infer->node, PK_ATTR_BLOCK);
	struct pk_shape *out = &infer->out[0].shape;
	int r = pk_infer_rank(infer, 4, 4);
	if (r < 0)
		return r;
	if (out->dims[2] % block != 0 || out->dims[3] % block != 0)
		return pk_fail(infer->err, -EINVAL, "%lld x %lld in blocks of %lld",
			(long long)out->dims[2], (long long)out->dims[3], (long long)block);
	// A block larger than the elements there are can only divide an empty tensor.
	if (block > 0x8000)
		return pk_fail(infer->err, -EFBIG, "block %lld is too large", (long long)block);
	if (out->dims[1] > PK_MAX_ELEMENTS / (block * block))
		return pk_fail(infer->err, -EFBIG, "too many channels");
	out->dims[1] *= block * block;
	out->dims[2] /= block;
	out->dims[3] /= block;
	return 0;
}
