// SPDX-License-Identifier: Apache-2.0
// Tables of the conversion from camera picture to input tensor, and the loop over output rows.
#include "engine/image/preprocess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "engine/isa.h"

// Luma weights of R and B, ITU-R BT.601 and BT.709; G is the rest.
static const struct {
	double r, b;
} luma_weights[] = {
	[PK_MATRIX_BT601] = {0.299, 0.114},
	[PK_MATRIX_BT709] = {0.2126, 0.0722},
};

static bool is_yuv(enum pk_pixel_format format)
{
	return format == PK_PIXEL_NV12 || format == PK_PIXEL_I420;
}

static void set_colors(struct pk_preprocess *pre)
{
	double kr = luma_weights[pre->matrix].r, kb = luma_weights[pre->matrix].b;
	double kg = 1 - kr - kb, chroma = pre->full_range ? 1 : 255.0 / 224;
	pre->luma_scale = pre->full_range ? 1 : 255.0F / 219;
	pre->luma_base = pre->full_range ? 0 : 16;
	pre->r_v = (float)(2 * (1 - kr) * chroma);
	pre->b_u = (float)(2 * (1 - kb) * chroma);
	pre->g_u = (float)(-2 * (1 - kb) * kb / kg * chroma);
	pre->g_v = (float)(-2 * (1 - kr) * kr / kg * chroma);
	for (int c = 0; c < pre->n_channels; c++) {
		pre->scale[c] = pre->spec.scale / pre->spec.std[c];
		pre->offset[c] = -pre->spec.mean[c] / pre->spec.std[c];
		pre->pad[c] = pre->spec.pad[c] * pre->scale[c] + pre->offset[c];
	}
}

static size_t padded(int n)
{
	return pk_align_up((size_t)n, PK_IMAGE_VECTOR);
}

static int alloc_taps(struct pk_axis_taps *taps, int n)
{
	size_t count = padded(n);
	taps->low = calloc(count, sizeof(*taps->low));
	taps->high = calloc(count, sizeof(*taps->high));
	taps->part = calloc(count, sizeof(*taps->part));
	return taps->low && taps->high && taps->part ? 0 : -ENOMEM;
}

// n outputs from first on; source coordinate = (i + 0.5) * scale + offset, pixel centres at 0.5.
static int make_taps(
	struct pk_axis_taps *taps, int first, int n, double scale, double offset, int n_source)
{
	if (alloc_taps(taps, n) < 0)
		return -ENOMEM;
	taps->first = n_source - 1;
	for (int i = 0; i < n; i++) {
		double at = ((double)(first + i) + 0.5) * scale + offset - 0.5;
		at = fmin(fmax(at, 0), (double)(n_source - 1));
		taps->low[i] = (int)at;
		taps->high[i] = PK_MIN(taps->low[i] + 1, n_source - 1);
		taps->part[i] = (float)(at - floor(at));
		taps->first = PK_MIN(taps->first, taps->low[i]);
		taps->last = PK_MAX(taps->last, taps->high[i]);
	}
	return 0;
}

#define WINDOW_BYTES 16
#define WINDOW_TAPS  4
#define NO_BYTE      0x80U // in a shuffle: zero

// Fills one window's part; false when a tap lies outside it.
static bool make_window(struct pk_sampler *s, int first, int n, int components, int row_bytes)
{
	struct pk_windows *w = &s->windows;
	int at = PK_MIN(s->x.low[first] * components, row_bytes - WINDOW_BYTES);
	w->at[first / WINDOW_TAPS] = at;
	for (int i = first; i < first + n; i++) {
		int low = s->x.low[i] * components - at, high = s->x.high[i] * components - at;
		if (high + components > WINDOW_BYTES)
			return false;
		w->low[i] = NO_BYTE * 0x01010100U | (uint32_t)low;
		w->high[i] = NO_BYTE * 0x01010100U | (uint32_t)high;
	}
	return true;
}

static void windows_finish(struct pk_windows *w)
{
	free(w->at);
	free(w->low);
	free(w->high);
	*w = (struct pk_windows){0};
}

// components: interleaved bytes of a pixel. Without windows where they do not do.
static int make_windows(struct pk_sampler *s, int n, int components, int width)
{
	struct pk_windows *w = &s->windows;
	int row_bytes = width * components;
	if (row_bytes < WINDOW_BYTES || components > 2)
		return 0;
	w->at = calloc(padded(n) / WINDOW_TAPS, sizeof(*w->at));
	w->low = calloc(padded(n), sizeof(*w->low));
	w->high = calloc(padded(n), sizeof(*w->high));
	if (!w->at || !w->low || !w->high)
		return -ENOMEM;
	for (size_t i = (size_t)n; i < padded(n); i++)
		w->low[i] = w->high[i] = NO_BYTE * 0x01010101U;
	for (int i = 0; i < n; i += WINDOW_TAPS) {
		if (!make_window(s, i, PK_MIN(n - i, WINDOW_TAPS), components, row_bytes)) {
			windows_finish(w);
			return 0;
		}
	}
	return 0;
}

// shrink: source pixels per sample of this plane along each axis. Chroma samples are taken to lie
// in the middle of the pixels that they stand for.
static int make_sampler(struct pk_sampler *s, const struct pk_preprocess *pre, int shrink)
{
	const struct pk_image_map *m = &pre->map;
	int width = (m->src_width + shrink - 1) / shrink;
	int height = (m->src_height + shrink - 1) / shrink;
	int r = make_taps(
		&s->x, m->x0, m->x1 - m->x0, m->scale_x / shrink, m->offset_x / shrink, width);
	if (r == 0)
		r = make_taps(&s->y, m->y0, m->y1 - m->y0, m->scale_y / shrink,
			m->offset_y / shrink, height);
	if (r < 0)
		return r;
	s->row = calloc((size_t)width * (size_t)s->n_components, sizeof(*s->row));
	if (!s->row)
		return -ENOMEM;
	bool planes = shrink == 2 && pre->format == PK_PIXEL_I420;
	return make_windows(s, m->x1 - m->x0, planes ? 1 : s->n_components, width);
}

static int make_tables(struct pk_preprocess *pre)
{
	size_t covered = padded(pre->map.x1 - pre->map.x0);
	bool packed = pre->format == PK_PIXEL_RGB || pre->format == PK_PIXEL_BGR;
	pre->luma.n_components = packed ? 3 : 1;
	int r = make_sampler(&pre->luma, pre, 1);
	if (r == 0 && is_yuv(pre->format) && pre->n_channels == 3) {
		pre->chroma.n_components = 2; // I420 rows are put side by side as NV12's are
		r = make_sampler(&pre->chroma, pre, 2);
	}
	for (int c = 0; c < 3 && r == 0; c++) {
		pre->pixels[c] = calloc(covered, sizeof(float));
		r = pre->pixels[c] ? 0 : -ENOMEM;
	}
	return r;
}

static int check_spec(const struct pk_image_spec *spec, struct pk_err *err)
{
	if (spec->width < 1 || spec->width > PK_IMAGE_MAX_SIDE || spec->height < 1 ||
		spec->height > PK_IMAGE_MAX_SIDE)
		return pk_fail(err, -EINVAL, "model input of %dx%d: sides must be 1..%d",
			spec->width, spec->height, PK_IMAGE_MAX_SIDE);
	for (int c = 0; c < (spec->color == PK_COLOR_GRAY ? 1 : 3); c++) {
		if (!isfinite(spec->std[c]) || spec->std[c] == 0 || !isfinite(spec->mean[c]) ||
			!isfinite(spec->pad[c]))
			return pk_fail(err, -EINVAL,
				"normalisation of channel %d: mean and pad must be finite, std "
				"finite "
				"and not 0",
				c);
	}
	if (!isfinite(spec->scale))
		return pk_fail(err, -EINVAL, "normalisation: scale must be finite");
	return 0;
}

// Bytes of a row of each plane; 0: the format has no such plane.
static void row_bytes(const struct pk_image *image, int out[3])
{
	int half = (image->width + 1) / 2;
	bool packed = image->format == PK_PIXEL_RGB || image->format == PK_PIXEL_BGR;
	out[0] = packed ? 3 * image->width : image->width;
	out[1] = image->format == PK_PIXEL_NV12   ? 2 * half
		 : image->format == PK_PIXEL_I420 ? half
						  : 0;
	out[2] = image->format == PK_PIXEL_I420 ? half : 0;
}

static int check_image(const struct pk_image *image, struct pk_err *err)
{
	int bytes[3];
	if ((unsigned)image->format > PK_PIXEL_GRAY8 || (unsigned)image->matrix > PK_MATRIX_BT709)
		return pk_fail(err, -EINVAL, "picture: unknown pixel format or colour matrix");
	if (image->width < 1 || image->width > PK_IMAGE_MAX_SIDE || image->height < 1 ||
		image->height > PK_IMAGE_MAX_SIDE)
		return pk_fail(err, -EINVAL, "picture of %dx%d: sides must be 1..%d", image->width,
			image->height, PK_IMAGE_MAX_SIDE);
	row_bytes(image, bytes);
	for (int i = 0; i < 3; i++) {
		if (image->strides[i] < bytes[i])
			return pk_fail(err, -EINVAL,
				"picture: plane %d has a stride of %d bytes, a row needs %d", i,
				image->strides[i], bytes[i]);
	}
	return 0;
}

int pk_preprocess_create(const struct pk_image_spec *spec, const struct pk_image *like,
	struct pk_preprocess **out, struct pk_err *err)
{
	pk_auto(pk_preprocess) pre = NULL;
	int r = check_spec(spec, err);
	if (r == 0)
		r = check_image(like, err);
	if (r < 0)
		return r;
	pre = calloc(1, sizeof(*pre));
	if (!pre)
		return pk_fail(err, -ENOMEM, "out of memory");
	pre->spec = *spec;
	pre->format = like->format;
	pre->matrix = like->matrix;
	pre->full_range = like->full_range;
	pre->n_channels = spec->color == PK_COLOR_GRAY ? 1 : 3;
	pk_image_map_make(spec, like->width, like->height, &pre->map);
	set_colors(pre);
	if (make_tables(pre) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_preprocess_choose_row(pre);
#if defined(__x86_64__)
	bool windows = pre->luma.windows.low && (!pre->chroma.row || pre->chroma.windows.low);
	if (pk_isa_has_avx2() && windows)
		pk_preprocess_choose_row_avx2(pre);
#endif
	*out = pk_steal(pre);
	return 0;
}

static void sampler_finish(struct pk_sampler *s)
{
	struct pk_axis_taps *axes[] = {&s->x, &s->y};
	for (size_t i = 0; i < PK_ARRAY_LEN(axes); i++) {
		free(axes[i]->low);
		free(axes[i]->high);
		free(axes[i]->part);
	}
	windows_finish(&s->windows);
	free(s->row);
}

void pk_preprocess_destroy(struct pk_preprocess *pre)
{
	if (!pre)
		return;
	sampler_finish(&pre->luma);
	sampler_finish(&pre->chroma);
	for (int c = 0; c < 3; c++)
		free(pre->pixels[c]);
	free(pre);
}

bool pk_preprocess_fits(const struct pk_preprocess *pre, const struct pk_image *image)
{
	bool same_colors = !is_yuv(pre->format) ||
			   (pre->matrix == image->matrix && pre->full_range == image->full_range);
	return pre->format == image->format && pre->map.src_width == image->width &&
	       pre->map.src_height == image->height && same_colors;
}

const struct pk_image_map *pk_preprocess_map(const struct pk_preprocess *pre)
{
	return &pre->map;
}

void pk_preprocess_run(struct pk_preprocess *pre, const struct pk_image *image, float *out)
{
	const struct pk_image_map *m = &pre->map;
	int width = pre->spec.width;
	for (int y = 0; y < pre->spec.height; y++) {
		if (y < m->y0 || y >= m->y1) {
			pk_preprocess_pad_run(pre, out, y, 0, width);
			continue;
		}
		pre->row(pre, image, y - m->y0);
		pk_preprocess_pad_run(pre, out, y, 0, m->x0);
		pk_preprocess_emit_row(pre, out, y);
		pk_preprocess_pad_run(pre, out, y, m->x1, width);
	}
}
