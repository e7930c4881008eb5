// SPDX-License-Identifier: Apache-2.0
// Resize coordinates and filter taps along one axis.
#include "engine/cpu/kernels/resize.h"

#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"

struct axis {
	float in, out, scale; // float: the coordinates round as in other runtimes
	double start, end;    // roi
};

static struct axis axis_of(const struct pk_node *node, int axis)
{
	const struct pk_attr_value *roi = pk_node_attr(node, PK_ATTR_ROI);
	int rank = pk_check_in_shape(node, 0)->rank;
	bool has_roi = roi->n >= 2 * rank;
	return (struct axis){
		.in = (float)pk_check_in_shape(node, 0)->dims[axis],
		.out = (float)pk_check_out_shape(node)->dims[axis],
		.scale = (float)pk_node_attr(node, PK_ATTR_SCALES)->f[axis],
		.start = has_roi ? roi->f[axis] : 0,
		.end = has_roi ? roi->f[rank + axis] : 1,
	};
}

static float coord_half_pixel(const struct axis *a, float i)
{
	return (i + 0.5F) / a->scale - 0.5F;
}
static float coord_symmetric(const struct axis *a, float i)
{
	float adjustment = a->out / (a->scale * a->in);
	return a->in / 2 * (1 - adjustment) + (i + 0.5F) / a->scale - 0.5F;
}
static float coord_pytorch(const struct axis *a, float i)
{
	return a->out > 1 ? (i + 0.5F) / a->scale - 0.5F : 0;
}
static float coord_align_corners(const struct axis *a, float i)
{
	return a->out > 1 ? i * (a->in - 1) / (a->out - 1) : 0;
}
static float coord_asymmetric(const struct axis *a, float i)
{
	return i / a->scale;
}
static float coord_tf_nearest(const struct axis *a, float i)
{
	return (i + 0.5F) / a->scale;
}
static float coord_tf_crop(const struct axis *a, float i)
{
	double last = (double)a->in - 1;
	if (a->out <= 1)
		return (float)(0.5 * (a->start + a->end) * last);
	return (float)(a->start * last +
		       (double)i * (a->end - a->start) * last / ((double)a->out - 1));
}

typedef float coord_fn(const struct axis *a, float i);

static coord_fn *coord_of(const struct pk_node *node)
{
	switch (pk_node_int(node, PK_ATTR_COORD)) {
	case PK_COORD_HALF_PIXEL:
		return coord_half_pixel;
	case PK_COORD_HALF_PIXEL_SYMMETRIC:
		return coord_symmetric;
	case PK_COORD_PYTORCH_HALF_PIXEL:
		return coord_pytorch;
	case PK_COORD_ALIGN_CORNERS:
		return coord_align_corners;
	case PK_COORD_ASYMMETRIC:
		return coord_asymmetric;
	case PK_COORD_TF_HALF_PIXEL_FOR_NN:
		return coord_tf_nearest;
	case PK_COORD_TF_CROP_AND_RESIZE:
		return coord_tf_crop;
	default:
		return NULL;
	}
}

// Input coordinate of output i; axes that keep their size are left alone whatever the mode says.
static double coord_at(const struct pk_node *node, int axis, int64_t i)
{
	struct axis a = axis_of(node, axis);
	bool crop = pk_node_int(node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE;
	if (a.scale == 1 && a.in == a.out && !crop)
		return (double)i;
	return (double)coord_of(node)(&a, (float)i);
}

static bool outside_at(const struct pk_node *node, int axis, double x)
{
	return pk_node_int(node, PK_ATTR_COORD) == PK_COORD_TF_CROP_AND_RESIZE &&
	       (x < 0 || x > (double)(pk_check_in_shape(node, 0)->dims[axis] - 1));
}

static int64_t clamp_index(double x, int64_t n)
{
	if (!(x > 0))
		return 0;
	return x >= (double)(n - 1) ? n - 1 : (int64_t)x;
}

int64_t pk_resize_nearest(const struct pk_node *node, int axis, int64_t i)
{
	double x = coord_at(node, axis, i), rounded;
	if (outside_at(node, axis, x))
		return -1;
	switch (pk_node_int(node, PK_ATTR_NEAREST)) {
	case PK_NEAREST_ROUND_PREFER_FLOOR:
		rounded = ceil(x - 0.5);
		break;
	case PK_NEAREST_ROUND_PREFER_CEIL:
		rounded = floor(x + 0.5);
		break;
	case PK_NEAREST_FLOOR:
		rounded = floor(x);
		break;
	default:
		rounded = ceil(x);
	}
	return clamp_index(rounded, pk_check_in_shape(node, 0)->dims[axis]);
}

// Scale by which the filter widens when antialiasing; 1 else.
static double filter_scale(const struct pk_node *node, int axis)
{
	double scale = pk_node_attr(node, PK_ATTR_SCALES)->f[axis];
	return pk_node_int(node, PK_ATTR_ANTIALIAS) && scale < 1 ? scale : 1;
}

static bool untouched(const struct pk_node *node, int axis)
{
	return pk_node_attr(node, PK_ATTR_SCALES)->f[axis] == 1 &&
	       pk_check_in_shape(node, 0)->dims[axis] == pk_check_out_shape(node)->dims[axis] &&
	       pk_node_int(node, PK_ATTR_COORD) != PK_COORD_TF_CROP_AND_RESIZE;
}

static double filter_reach(const struct pk_node *node, int axis)
{
	double taps = pk_node_int(node, PK_ATTR_MODE) == PK_MODE_CUBIC ? 2 : 1;
	return taps / filter_scale(node, axis);
}

int64_t pk_resize_n_taps(const struct pk_node *node, int axis)
{
	if (untouched(node, axis))
		return 1;
	return 2 * (int64_t)ceil(filter_reach(node, axis));
}

bool pk_resize_axis_ok(const struct pk_node *node, int axis)
{
	const struct pk_attr_value *scales = pk_node_attr(node, PK_ATTR_SCALES);
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	if (axis >= scales->n || !(scales->f[axis] > 0) || !isfinite(scales->f[axis]) ||
		!coord_of(node))
		return false;
	if (pk_check_in_shape(node, 0)->dims[axis] == 0)
		return pk_check_out_shape(node)->dims[axis] == 0;
	if (mode == PK_MODE_NEAREST)
		return true;
	return (mode == PK_MODE_LINEAR || mode == PK_MODE_CUBIC) &&
	       filter_reach(node, axis) <= PK_RESIZE_TAPS_MAX / 2; // wider ones: absurd scales
}

static double linear_weight(double distance)
{
	return fmax(0, 1 - fabs(distance));
}

// Keys' cubic convolution kernel with coefficient a.
static double cubic_weight(double distance, double a)
{
	double d = fabs(distance);
	if (d <= 1)
		return ((a + 2) * d - (a + 3)) * d * d + 1;
	return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

static double weight_at(const struct pk_node *node, int axis, double distance)
{
	distance *= filter_scale(node, axis);
	if (pk_node_int(node, PK_ATTR_MODE) == PK_MODE_CUBIC)
		return cubic_weight(distance, pk_node_float(node, PK_ATTR_CUBIC));
	return linear_weight(distance);
}

// Taps outside the input repeat the edge, or are left out and the rest scaled up.
bool pk_resize_taps(const struct pk_node *node, int axis, int64_t i, int64_t *idx, double *weights)
{
	int64_t n = pk_check_in_shape(node, 0)->dims[axis];
	int64_t n_taps = pk_resize_n_taps(node, axis);
	bool exclude = pk_node_int(node, PK_ATTR_EXCLUDE_OUTSIDE) != 0;
	bool normalise = exclude || filter_scale(node, axis) != 1;
	double x = coord_at(node, axis, i), sum = 0;
	bool outside = outside_at(node, axis, x);
	if (untouched(node, axis)) {
		idx[0] = i;
		weights[0] = 1;
		return false;
	}
	// Beyond the input by more than the filter all taps are the edge's.
	x = fmin(fmax(x, -(double)n_taps - 1), (double)(n + n_taps));
	double first = floor(x) - (double)(n_taps / 2 - 1);
	for (int64_t t = 0; t < n_taps; t++) {
		double at = first + (double)t;
		idx[t] = clamp_index(at, n);
		weights[t] = weight_at(node, axis, x - at);
		if (exclude && (at < 0 || at > (double)(n - 1)))
			weights[t] = 0;
		sum += weights[t];
	}
	for (int64_t t = 0; normalise && sum != 0 && t < n_taps; t++)
		weights[t] /= sum;
	return outside;
}

int pk_resize_axis_init(
	struct pk_resize_axis *out, const struct pk_node *node, int axis, struct pk_arena *arena)
{
	size_t n = (size_t)pk_check_out_shape(node)->dims[axis];
	out->n_taps = pk_resize_n_taps(node, axis);
	out->idx = pk_arena_array(arena, n * (size_t)out->n_taps, sizeof(*out->idx));
	out->weights = pk_arena_array(arena, n * (size_t)out->n_taps, sizeof(*out->weights));
	out->outside = pk_arena_array(arena, n, sizeof(*out->outside));
	if (!out->idx || !out->weights || !out->outside)
		return -ENOMEM;
	for (int64_t i = 0; i < (int64_t)n; i++)
		out->outside[i] = pk_resize_taps(
			node, axis, i, out->idx + i * out->n_taps, out->weights + i * out->n_taps);
	return 0;
}
