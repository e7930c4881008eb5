// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample of all opsets, raised to one form: scales, output shape and rules explicit.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

// As the IR wants it: per axis of the input.
struct resize {
	struct pk_value *x;
	int rank;
	struct pk_ints axes; // those that the lists of the node speak of
	double scales[PK_MAX_RANK];
	double roi[2 * PK_MAX_RANK];
	struct pk_shape shape;
	enum pk_enum_word mode, coord, nearest;
	double cubic, extrapolation;
	bool exclude_outside, antialias;
};

static const char *const mode_words[] = {"nearest", "linear", "cubic", NULL};
static const enum pk_enum_word modes[] = {PK_MODE_NEAREST, PK_MODE_LINEAR, PK_MODE_CUBIC};

static void init_resize(struct pk_importer *im, struct resize *r)
{
	*r = (struct resize){.x = im->inputs[0],
		.rank = im->inputs[0]->shape.rank,
		.shape = im->inputs[0]->shape,
		.coord = PK_COORD_HALF_PIXEL,
		.nearest = PK_NEAREST_ROUND_PREFER_FLOOR,
		.cubic = -0.75};
	for (int i = 0; i < r->rank; i++) {
		r->scales[i] = 1;
		r->roi[i + r->rank] = 1;
		r->axes.v[i] = i;
	}
	r->axes.n = r->rank;
}

static void emit_resize(struct pk_importer *im, const struct resize *r)
{
	bool same = pk_shape_equal(&r->x->shape, &r->shape);
	for (int i = 0; i < r->rank; i++)
		same &= r->scales[i] == 1; // samples fall on themselves, but for a crop
	if (same && r->coord != PK_COORD_TF_CROP_AND_RESIZE) {
		pk_emit_alias(im, 0, r->x);
		return;
	}
	struct pk_value *x = r->x;
	struct pk_node *node = pk_emit_begin(im, PK_OP_RESIZE, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_MODE, r->mode);
		pk_node_set_int(node, PK_ATTR_COORD, r->coord);
		pk_node_set_int(node, PK_ATTR_NEAREST, r->nearest);
		pk_node_set_floats(node, PK_ATTR_SCALES, r->scales, r->rank);
		pk_node_set_floats(node, PK_ATTR_ROI, r->roi, 2 * r->rank);
		pk_node_set_float(node, PK_ATTR_CUBIC, r->cubic);
		pk_node_set_int(node, PK_ATTR_EXCLUDE_OUTSIDE, r->exclude_outside);
		pk_node_set_int(node, PK_ATTR_ANTIALIAS, r->antialias);
		pk_node_set_float(node, PK_ATTR_VALUE, r->extrapolation);
	}
	pk_emit_end(im, node, 0, &r->shape);
}

// out = floor(in * scale), and for a crop floor(in * (end - start) * scale). In f32, as the scales
// are: 3 * (5 / 3) is 5 there, but less in double, where the rounding of the scale shows.
static void shape_from_scales(struct pk_importer *im, struct resize *r)
{
	for (int i = 0; i < r->rank && !im->rc; i++) {
		bool crop = r->coord == PK_COORD_TF_CROP_AND_RESIZE;
		float part = crop ? (float)(r->roi[i + r->rank] - r->roi[i]) : 1.0f;
		float in = (float)r->x->shape.dims[i];
		double out = (double)floorf(in * part * (float)r->scales[i]);
		if (!(r->scales[i] > 0) || !(out >= 0) || !(out <= (double)PK_MAX_ELEMENTS)) {
			pk_importer_fail(im, -EINVAL, "scale %g on axis %d", r->scales[i], i);
			return;
		}
		r->shape.dims[i] = (int64_t)out;
	}
}

static void take_scales(struct pk_importer *im, struct resize *r, const struct pk_floats *scales)
{
	if (!im->rc && scales->n != r->axes.n)
		pk_importer_fail(im, -EINVAL, "%d scales for %d axes", scales->n, r->axes.n);
	for (int i = 0; i < r->axes.n && !im->rc; i++)
		r->scales[r->axes.v[i]] = scales->v[i];
	if (!im->rc)
		shape_from_scales(im, r);
}

enum policy {
	POLICY_STRETCH,
	POLICY_NOT_LARGER,
	POLICY_NOT_SMALLER,
};

// One scale for all axes, the smallest or the largest; out is rounded to the nearest.
static void keep_aspect_ratio(struct pk_importer *im, struct resize *r, enum policy policy)
{
	double scale = 0;
	for (int i = 0; i < r->axes.n; i++) {
		double own = r->scales[r->axes.v[i]];
		bool take = policy == POLICY_NOT_LARGER ? own < scale : own > scale;
		scale = i == 0 || take ? own : scale;
	}
	for (int i = 0; i < r->axes.n && !im->rc; i++) {
		int axis = (int)r->axes.v[i];
		double out = floor(scale * (double)r->x->shape.dims[axis] + 0.5);
		if (!(out <= (double)PK_MAX_ELEMENTS)) {
			pk_importer_fail(im, -EFBIG, "the output is too large");
			return;
		}
		r->scales[axis] = scale;
		r->shape.dims[axis] = (int64_t)out;
	}
}

static void take_sizes(struct pk_importer *im, struct resize *r, const struct pk_ints *sizes)
{
	static const char *const words[] = {"stretch", "not_larger", "not_smaller", NULL};
	enum policy policy =
		(enum policy)pk_importer_word(im, "keep_aspect_ratio_policy", words, 0);
	if (!im->rc && sizes->n != r->axes.n)
		pk_importer_fail(im, -EINVAL, "%d sizes for %d axes", sizes->n, r->axes.n);
	for (int i = 0; i < r->axes.n && !im->rc; i++) {
		int axis = (int)r->axes.v[i];
		int64_t in = r->x->shape.dims[axis];
		if (sizes->v[i] < 1 || sizes->v[i] > PK_MAX_ELEMENTS || in < 1) {
			pk_importer_fail(im, -EINVAL, "axis %d: %lld to %lld", axis, (long long)in,
				(long long)sizes->v[i]);
			return;
		}
		r->scales[axis] = (double)sizes->v[i] / (double)in;
		r->shape.dims[axis] = sizes->v[i];
	}
	if (!im->rc && policy != POLICY_STRETCH)
		keep_aspect_ratio(im, r, policy);
}

static void read_rules(struct pk_importer *im, struct resize *r)
{
	static const char *const coord_words[] = {"half_pixel", "half_pixel_symmetric",
		"pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
		"tf_crop_and_resize", NULL};
	static const enum pk_enum_word coords[] = {PK_COORD_HALF_PIXEL,
		PK_COORD_HALF_PIXEL_SYMMETRIC, PK_COORD_PYTORCH_HALF_PIXEL, PK_COORD_ALIGN_CORNERS,
		PK_COORD_ASYMMETRIC, PK_COORD_TF_HALF_PIXEL_FOR_NN, PK_COORD_TF_CROP_AND_RESIZE};
	static const char *const nearest_words[] = {
		"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
	static const enum pk_enum_word nearests[] = {PK_NEAREST_ROUND_PREFER_FLOOR,
		PK_NEAREST_ROUND_PREFER_CEIL, PK_NEAREST_FLOOR, PK_NEAREST_CEIL};
	r->mode = modes[pk_importer_word(im, "mode", mode_words, 0)];
	r->coord = coords[pk_importer_word(im, "coordinate_transformation_mode", coord_words, 0)];
	r->nearest = nearests[pk_importer_word(im, "nearest_mode", nearest_words, 0)];
	r->cubic = pk_importer_float(im, "cubic_coeff_a", -0.75);
	r->extrapolation = pk_importer_float(im, "extrapolation_value", 0);
	r->exclude_outside = pk_importer_int(im, "exclude_outside", 0) != 0;
	r->antialias = pk_importer_int(im, "antialias", 0) != 0;
}

static void read_axes(struct pk_importer *im, struct resize *r)
{
	struct pk_ints axes, sorted;
	pk_importer_ints(im, "axes", &axes);
	if (!axes.present || im->rc)
		return;
	sorted = axes;
	pk_importer_axes(im, &sorted, r->rank); // range and doubles
	for (int i = 0; i < axes.n && !im->rc; i++)
		axes.v[i] = pk_importer_axis(im, axes.v[i], r->rank);
	r->axes = axes;
}

static void read_roi(struct pk_importer *im, struct resize *r)
{
	struct pk_floats roi;
	if (r->coord != PK_COORD_TF_CROP_AND_RESIZE || im->rc)
		return;
	pk_importer_const_floats(im, 1, "roi", &roi);
	if (!im->rc && roi.n != 2 * r->axes.n)
		pk_importer_fail(im, -EINVAL, "roi has %d items for %d axes", roi.n, r->axes.n);
	for (int i = 0; i < r->axes.n && !im->rc; i++) {
		r->roi[r->axes.v[i]] = roi.v[i];
		r->roi[r->axes.v[i] + r->rank] = roi.v[i + r->axes.n];
	}
}

// Opset 11 and later. Exporters leave out scales as "" or as an empty tensor.
int pk_import_resize(struct pk_importer *im)
{
	struct resize r;
	struct pk_value *scales = pk_importer_input(im, 2), *sizes = pk_importer_input(im, 3);
	struct pk_floats scale_list = {0};
	struct pk_ints size_list = {0};
	init_resize(im, &r);
	read_rules(im, &r);
	read_axes(im, &r);
	read_roi(im, &r);
	bool by_sizes = sizes && pk_shape_elements(&sizes->shape) > 0;
	bool by_scales = scales && pk_shape_elements(&scales->shape) > 0;
	if (!by_sizes && !by_scales)
		pk_importer_fail(im, -EINVAL, "neither scales nor sizes are given");
	if (by_sizes)
		pk_importer_const_ints(im, 3, "sizes", &size_list);
	else if (by_scales)
		pk_importer_const_floats(im, 2, "scales", &scale_list);
	if (!im->rc && by_sizes)
		take_sizes(im, &r, &size_list);
	else if (!im->rc)
		take_scales(im, &r, &scale_list);
	if (!im->rc)
		emit_resize(im, &r);
	return im->rc;
}

// Upsample and Resize-10: always asymmetric. Nearest rounds down when it enlarges and up when it
// shrinks, which is what runtimes of that time did and models were trained against.
int pk_import_upsample(struct pk_importer *im)
{
	struct resize r;
	struct pk_floats scales = {0};
	const struct pk_onnx_attr *attr = pk_importer_attr(im, "scales");
	bool shrinks = false, grows = false;
	init_resize(im, &r);
	int mode = pk_importer_word(im, "mode", mode_words, 0);
	if (mode == 2)
		pk_importer_fail(im, -EINVAL, "mode `cubic` does not exist at this opset");
	r.mode = modes[mode];
	r.coord = PK_COORD_ASYMMETRIC;
	if (attr && attr->n_floats <= PK_ATTR_MAX_ITEMS)
		for (size_t i = 0; i < attr->n_floats; i++)
			scales.v[scales.n++] = (double)attr->floats[i];
	else if (!attr)
		pk_importer_const_floats(im, 1, "scales", &scales);
	take_scales(im, &r, &scales);
	for (int i = 0; i < r.rank; i++) {
		shrinks |= r.scales[i] < 1;
		grows |= r.scales[i] > 1;
	}
	if (shrinks && grows && r.mode == PK_MODE_NEAREST)
		pk_importer_fail(im, -ENOTSUP,
			"nearest that enlarges one axis and shrinks another; export the model with "
			"opset 11 or higher");
	r.nearest = shrinks ? PK_NEAREST_CEIL : PK_NEAREST_FLOOR;
	if (!im->rc)
		emit_resize(im, &r);
	return im->rc;
}
