// SPDX-License-Identifier: Apache-2.0
// Sampling of pictures at places that are data: grid_sample and roi_align.
#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"

// Far beyond every picture, and small enough for int64 arithmetic; NaN lands there too.
#define FAR_AWAY 0x1p40

struct grid {
	enum pk_dtype dtype;
	int64_t n, c, h, w, out_h, out_w;
	int64_t mode, padding;
	bool align_corners;
};

static bool grid_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *grid = pk_check_in_shape(node, 1);
	const struct pk_shape *y = pk_check_out_shape(node);
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	if (!pk_check_all_float(node) || x->rank != 4 || grid->rank != 4 || y->rank != 4 ||
		(mode != PK_MODE_NEAREST && mode != PK_MODE_LINEAR && mode != PK_MODE_CUBIC))
		return false;
	return x->dims[2] > 0 && x->dims[3] > 0 && grid->dims[3] == 2 &&
	       grid->dims[0] == x->dims[0] && y->dims[0] == x->dims[0] &&
	       y->dims[1] == x->dims[1] && y->dims[2] == grid->dims[1] &&
	       y->dims[3] == grid->dims[2];
}

static int grid_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	struct grid *s = pk_arena_new(arena, struct grid);
	if (!s)
		return -ENOMEM;
	*s = (struct grid){
		.dtype = node->inputs[0]->dtype,
		.n = x->dims[0],
		.c = x->dims[1],
		.h = x->dims[2],
		.w = x->dims[3],
		.out_h = y->dims[2],
		.out_w = y->dims[3],
		.mode = pk_node_int(node, PK_ATTR_MODE),
		.padding = pk_node_int(node, PK_ATTR_PADDING),
		.align_corners = pk_node_int(node, PK_ATTR_ALIGN_CORNERS) != 0,
	};
	*state = s;
	return 0;
}

// -1..1 to cells of an axis of n.
static double to_cells(const struct grid *s, double v, int64_t n)
{
	double size = (double)n;
	double at = s->align_corners ? (v + 1) / 2 * (size - 1) : ((v + 1) * size - 1) / 2;
	return at > -FAR_AWAY && at < FAR_AWAY ? at : -FAR_AWAY;
}

// Folds at back and forth between the two ends.
static double reflect(double at, double low, double high)
{
	double range = high - low;
	if (range <= 0)
		return low;
	double off = fmod(fabs(at - low), 2 * range);
	return low + (off > range ? 2 * range - off : off);
}

// Where a sample that lies outside is taken instead (zeros: where it is).
static double into_picture(const struct grid *s, double at, int64_t n)
{
	double last = (double)(n - 1);
	if (s->padding == PK_PADDING_BORDER)
		return fmin(fmax(at, 0), last);
	if (s->padding == PK_PADDING_REFLECTION)
		return s->align_corners ? reflect(at, 0, last) : reflect(at, -0.5, last + 0.5);
	return at;
}

static double cell(const struct grid *s, const void *x, int64_t plane, int64_t row, int64_t column)
{
	if (s->padding != PK_PADDING_ZEROS) {
		row = (int64_t)into_picture(s, (double)row, s->h);
		column = (int64_t)into_picture(s, (double)column, s->w);
		// Between the last cell and the edge of the picture.
		row = row < 0 ? 0 : row >= s->h ? s->h - 1 : row;
		column = column < 0 ? 0 : column >= s->w ? s->w - 1 : column;
	}
	if (row < 0 || row >= s->h || column < 0 || column >= s->w)
		return 0;
	return pk_number_f(s->dtype, x, plane + row * s->w + column);
}

#define CUBIC -0.75

// Weights of the four cells around a fraction t behind the second of them.
static void cubic_weights(double t, double out[4])
{
	const double a = CUBIC, u = 1 - t;
	out[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
	out[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
	out[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
	out[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

// The cells that a sample touches along one axis, and their weights.
struct taps {
	int64_t first;
	int n;
	double weights[4];
};

static void find_taps(const struct grid *s, double at, int64_t n, struct taps *taps)
{
	if (s->mode == PK_MODE_NEAREST) {
		taps->first = (int64_t)nearbyint(into_picture(s, at, n));
		taps->n = 1;
		taps->weights[0] = 1;
		return;
	}
	// Linear moves the sample, cubic the cells around it: padding bends what it reads there.
	if (s->mode == PK_MODE_LINEAR)
		at = into_picture(s, at, n);
	double low = floor(at), t = at - low;
	taps->first = (int64_t)low - (s->mode == PK_MODE_CUBIC);
	taps->n = s->mode == PK_MODE_CUBIC ? 4 : 2;
	taps->weights[0] = 1 - t;
	taps->weights[1] = t;
	if (s->mode == PK_MODE_CUBIC)
		cubic_weights(t, taps->weights);
}

static double sample(const struct grid *s, const void *x, int64_t plane, const struct taps *rows,
	const struct taps *columns)
{
	double sum = 0;
	for (int i = 0; i < rows->n; i++)
		for (int k = 0; k < columns->n; k++)
			sum += rows->weights[i] * columns->weights[k] *
			       cell(s, x, plane, rows->first + i, columns->first + k);
	return sum;
}

static void grid_run(const struct pk_cpu_call *call)
{
	const struct grid *s = call->state;
	int64_t n_out = s->out_h * s->out_w;
	for (int64_t n = 0; n < s->n; n++) {
		for (int64_t i = 0; i < n_out; i++) {
			struct taps rows, columns;
			int64_t at = (n * n_out + i) * 2;
			double gx = pk_number_f(s->dtype, call->inputs[1], at);
			double gy = pk_number_f(s->dtype, call->inputs[1], at + 1);
			find_taps(s, to_cells(s, gx, s->w), s->w, &columns);
			find_taps(s, to_cells(s, gy, s->h), s->h, &rows);
			for (int64_t c = 0; c < s->c; c++) {
				int64_t plane = n * s->c + c;
				pk_number_set_f(s->dtype, call->outputs[0], plane * n_out + i,
					sample(s, call->inputs[0], plane * s->h * s->w, &rows,
						&columns));
			}
		}
	}
}

const struct pk_cpu_kernel pk_kernel_grid_sample_ref = {
	.op = PK_OP_GRID_SAMPLE,
	.name = "grid_sample_ref",
	.supports = grid_supports,
	.setup = grid_setup,
	.run = grid_run,
};

#define MAX_SAMPLES 1024 // per bin and axis

struct roi {
	enum pk_dtype dtype;
	int64_t n, c, h, w, n_rois, out_h, out_w, sampling;
	double scale, offset;
	bool average;
};

static bool roi_shapes_ok(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *rois = pk_check_in_shape(node, 1);
	const struct pk_shape *batch = pk_check_in_shape(node, 2), *y = pk_check_out_shape(node);
	return x->rank == 4 && y->rank == 4 && rois->rank == 2 && batch->rank == 1 &&
	       rois->dims[1] == 4 && batch->dims[0] == rois->dims[0] &&
	       y->dims[0] == rois->dims[0] && y->dims[1] == x->dims[1] && x->dims[0] > 0 &&
	       x->dims[2] > 0 && x->dims[3] > 0;
}

static bool roi_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	int64_t sampling = pk_node_int(node, PK_ATTR_SAMPLING);
	double scale = pk_node_float(node, PK_ATTR_SPATIAL_SCALE);
	return pk_check_same_dtype(node) && pk_number_is_float(node->inputs[0]->dtype) &&
	       node->inputs[1]->dtype == PK_F32 && node->inputs[2]->dtype == PK_I64 &&
	       (fn == PK_FN_POOL_AVG || fn == PK_FN_POOL_MAX) && sampling >= 0 &&
	       sampling <= MAX_SAMPLES && scale > 0 && scale <= 0x1p31 && roi_shapes_ok(node);
}

static int roi_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	struct roi *s = pk_arena_new(arena, struct roi);
	if (!s)
		return -ENOMEM;
	*s = (struct roi){
		.dtype = node->inputs[0]->dtype,
		.n = x->dims[0],
		.c = x->dims[1],
		.h = x->dims[2],
		.w = x->dims[3],
		.n_rois = y->dims[0],
		.out_h = y->dims[2],
		.out_w = y->dims[3],
		.sampling = pk_node_int(node, PK_ATTR_SAMPLING),
		.scale = pk_node_float(node, PK_ATTR_SPATIAL_SCALE),
		.offset = pk_node_int(node, PK_ATTR_COORD) == PK_COORD_HALF_PIXEL ? 0.5 : 0,
		.average = pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_AVG,
	};
	*state = s;
	return 0;
}

// One axis of a region: where bins start, how long one is, samples in each.
struct bins {
	double start, size;
	int64_t n;
};

static struct bins find_bins(const struct roi *s, double low, double high, int64_t n_bins)
{
	struct bins b = {.start = low * s->scale - s->offset, .n = s->sampling};
	double length = high * s->scale - s->offset - b.start;
	if (s->offset == 0) // malformed regions are one cell long
		length = fmax(length, 1);
	b.size = length / (double)n_bins;
	if (!b.n)
		b.n = (int64_t)fmin(fmax(ceil(b.size), 0), MAX_SAMPLES); // NaN: 0
	return b;
}

// The two cells around a place, and how far behind the first; false: outside of the picture.
static bool around(double at, int64_t n, int64_t *low, int64_t *high, double *t)
{
	if (!(at >= -1 && at <= (double)n)) // NaN too
		return false;
	at = fmin(fmax(at, 0), (double)(n - 1));
	*low = (int64_t)at;
	*high = *low + 1 < n ? *low + 1 : *low;
	*t = at - (double)*low;
	return true;
}

// The four weighted cells around (row, column): their sum for the average, the largest for max.
static double roi_sample(
	const struct roi *s, const void *x, int64_t plane, double row, double column)
{
	int64_t top, bottom, left, right;
	double ty, tx;
	if (!around(row, s->h, &top, &bottom, &ty) || !around(column, s->w, &left, &right, &tx))
		return 0;
	double a = (1 - ty) * (1 - tx) * pk_number_f(s->dtype, x, plane + top * s->w + left);
	double b = (1 - ty) * tx * pk_number_f(s->dtype, x, plane + top * s->w + right);
	double c = ty * (1 - tx) * pk_number_f(s->dtype, x, plane + bottom * s->w + left);
	double d = ty * tx * pk_number_f(s->dtype, x, plane + bottom * s->w + right);
	return s->average ? a + b + c + d : fmax(fmax(a, b), fmax(c, d));
}

static double roi_bin(const struct roi *s, const void *x, int64_t plane, const struct bins *rows,
	const struct bins *columns, int64_t bin)
{
	double sum = 0, most = -INFINITY;
	if (rows->n * columns->n == 0) // a region turned inside out
		return 0;
	double y0 = rows->start + (double)(bin / s->out_w) * rows->size;
	double x0 = columns->start + (double)(bin % s->out_w) * columns->size;
	for (int64_t i = 0; i < rows->n; i++) {
		double row = y0 + ((double)i + 0.5) * rows->size / (double)rows->n;
		for (int64_t k = 0; k < columns->n; k++) {
			double column = x0 + ((double)k + 0.5) * columns->size / (double)columns->n;
			double v = roi_sample(s, x, plane, row, column);
			sum += v;
			most = fmax(most, v);
		}
	}
	return s->average ? sum / (double)(rows->n * columns->n) : most;
}

static void roi_run(const struct pk_cpu_call *call)
{
	const struct roi *s = call->state;
	int64_t n_bins = s->out_h * s->out_w;
	for (int64_t r = 0; r < s->n_rois; r++) {
		const float *box = (const float *)call->inputs[1] + r * 4;
		int64_t image = ((const int64_t *)call->inputs[2])[r];
		image = image < 0 ? 0 : image >= s->n ? s->n - 1 : image;
		struct bins columns = find_bins(s, (double)box[0], (double)box[2], s->out_w);
		struct bins rows = find_bins(s, (double)box[1], (double)box[3], s->out_h);
		for (int64_t c = 0; c < s->c; c++)
			for (int64_t bin = 0; bin < n_bins; bin++)
				pk_number_set_f(s->dtype, call->outputs[0],
					(r * s->c + c) * n_bins + bin,
					roi_bin(s, call->inputs[0],
						(image * s->c + c) * s->h * s->w, &rows, &columns,
						bin));
	}
}

const struct pk_cpu_kernel pk_kernel_roi_align_ref = {
	.op = PK_OP_ROI_ALIGN,
	.name = "roi_align_ref",
	.supports = roi_supports,
	.setup = roi_setup,
	.run = roi_run,
};
