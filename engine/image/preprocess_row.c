// SPDX-License-Identifier: Apache-2.0
// One output row from the source planes: vertical blend, horizontal taps, colour conversion.
#include "engine/image/preprocess.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

// Source row of a plane.
static const uint8_t *plane_row(const struct pk_image *image, int plane, int row)
{
	return image->planes[plane] + (ptrdiff_t)row * image->strides[plane];
}

// out[i] = a[i] * (1 - part) + b[i] * part. Loops over whole rows, so that compilers vectorise
// them.
static void blend(const uint8_t *restrict a, const uint8_t *restrict b, float part, int n,
	float *restrict out)
{
	if (part == 0) {
		for (int i = 0; i < n; i++)
			out[i] = (float)a[i];
		return;
	}
	for (int i = 0; i < n; i++)
		out[i] = (float)a[i] + part * (float)(b[i] - a[i]);
}

// Blends the source rows under output row i, columns in use only.
static void blend_rows(struct pk_sampler *s, const struct pk_image *image, int plane, int i)
{
	int first = s->x.first * s->n_components, n = (s->x.last + 1) * s->n_components - first;
	blend(plane_row(image, plane, s->y.low[i]) + first,
		plane_row(image, plane, s->y.high[i]) + first, s->y.part[i], n, s->row + first);
}

// I420: two planes, put side by side as pairs.
static void blend_pair(struct pk_sampler *s, const struct pk_image *image, int i)
{
	const uint8_t *u0 = plane_row(image, 1, s->y.low[i]),
		      *u1 = plane_row(image, 1, s->y.high[i]);
	const uint8_t *v0 = plane_row(image, 2, s->y.low[i]),
		      *v1 = plane_row(image, 2, s->y.high[i]);
	float part = s->y.part[i];
	for (int x = s->x.first; x <= s->x.last; x++) {
		s->row[2 * x] = (float)u0[x] + part * (float)(u1[x] - u0[x]);
		s->row[2 * x + 1] = (float)v0[x] + part * (float)(v1[x] - v0[x]);
	}
}

// Component c (of n a pixel) at every output column.
static void take(const struct pk_sampler *s, int n_out, int c, float *restrict out)
{
	const float *row = s->row + c, *part = s->x.part;
	const int *low = s->x.low, *high = s->x.high, n = s->n_components;
	for (int x = 0; x < n_out; x++) {
		float a = row[low[x] * n], b = row[high[x] * n];
		out[x] = a + part[x] * (b - a);
	}
}

static int n_columns(const struct pk_preprocess *pre)
{
	return pre->map.x1 - pre->map.x0;
}

static float clamp(float v)
{
	v = v < 0 ? 0 : v;
	return v > 255 ? 255 : v;
}

// Y, U, V in pixels[0..2] become R, G, B in the output's order.
static void convert_yuv(struct pk_preprocess *pre)
{
	bool bgr = pre->spec.color == PK_COLOR_BGR;
	float *restrict p0 = pre->pixels[0], *restrict p1 = pre->pixels[1];
	float *restrict p2 = pre->pixels[2];
	// The outer two outputs: the one in place 0 and the one in place 2.
	float v0 = bgr ? 0 : pre->r_v, u0 = bgr ? pre->b_u : 0;
	float v2 = bgr ? pre->r_v : 0, u2 = bgr ? 0 : pre->b_u;
	float g_u = pre->g_u, g_v = pre->g_v, scale = pre->luma_scale, base = pre->luma_base;
	for (int x = 0, n = n_columns(pre); x < n; x++) {
		float y = (p0[x] - base) * scale, u = p1[x] - 128, v = p2[x] - 128;
		p0[x] = clamp(y + u0 * u + v0 * v);
		p1[x] = clamp(y + g_u * u + g_v * v);
		p2[x] = clamp(y + u2 * u + v2 * v);
	}
}

static void row_nv12(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	blend_rows(&pre->luma, image, 0, i);
	blend_rows(&pre->chroma, image, 1, i);
	take(&pre->luma, n_columns(pre), 0, pre->pixels[0]);
	take(&pre->chroma, n_columns(pre), 0, pre->pixels[1]);
	take(&pre->chroma, n_columns(pre), 1, pre->pixels[2]);
	convert_yuv(pre);
}

static void row_i420(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	blend_rows(&pre->luma, image, 0, i);
	blend_pair(&pre->chroma, image, i);
	take(&pre->luma, n_columns(pre), 0, pre->pixels[0]);
	take(&pre->chroma, n_columns(pre), 0, pre->pixels[1]);
	take(&pre->chroma, n_columns(pre), 1, pre->pixels[2]);
	convert_yuv(pre);
}

static void row_yuv_to_gray(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	blend_rows(&pre->luma, image, 0, i);
	take(&pre->luma, n_columns(pre), 0, pre->pixels[0]);
	for (int x = 0; x < n_columns(pre); x++)
		pre->pixels[0][x] = clamp((pre->pixels[0][x] - pre->luma_base) * pre->luma_scale);
}

static void row_packed(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	bool swap = (pre->format == PK_PIXEL_BGR) != (pre->spec.color == PK_COLOR_BGR);
	blend_rows(&pre->luma, image, 0, i);
	for (int c = 0; c < 3; c++)
		take(&pre->luma, n_columns(pre), swap ? 2 - c : c, pre->pixels[c]);
}

static void row_packed_to_gray(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	const bool bgr = pre->format == PK_PIXEL_BGR;
	const float *r = pre->pixels[bgr ? 2 : 0], *g = pre->pixels[1],
		    *b = pre->pixels[bgr ? 0 : 2];
	blend_rows(&pre->luma, image, 0, i);
	for (int c = 0; c < 3; c++)
		take(&pre->luma, n_columns(pre), c, pre->pixels[c]);
	for (int x = 0; x < n_columns(pre); x++)
		pre->pixels[0][x] = 0.299F * r[x] + 0.587F * g[x] + 0.114F * b[x];
}

static void row_gray(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	blend_rows(&pre->luma, image, 0, i);
	for (int c = 0; c < pre->n_channels; c++)
		take(&pre->luma, n_columns(pre), 0, pre->pixels[c]);
}

void pk_preprocess_choose_row(struct pk_preprocess *pre)
{
	typedef void row_fn(struct pk_preprocess *, const struct pk_image *, int);
	static row_fn *const color[] = {
		[PK_PIXEL_NV12] = row_nv12,
		[PK_PIXEL_I420] = row_i420,
		[PK_PIXEL_RGB] = row_packed,
		[PK_PIXEL_BGR] = row_packed,
		[PK_PIXEL_GRAY8] = row_gray,
	};
	static row_fn *const gray[] = {
		[PK_PIXEL_NV12] = row_yuv_to_gray,
		[PK_PIXEL_I420] = row_yuv_to_gray,
		[PK_PIXEL_RGB] = row_packed_to_gray,
		[PK_PIXEL_BGR] = row_packed_to_gray,
		[PK_PIXEL_GRAY8] = row_gray,
	};
	pre->row = pre->n_channels == 1 ? gray[pre->format] : color[pre->format];
}

void pk_preprocess_pad_run(const struct pk_preprocess *pre, float *out, int y, int from, int to)
{
	const struct pk_image_spec *spec = &pre->spec;
	size_t plane = (size_t)spec->width * (size_t)spec->height;
	size_t at = (size_t)y * (size_t)spec->width + (size_t)from,
	       n_channels = (size_t)pre->n_channels;
	int n = to - from, step = spec->nhwc ? pre->n_channels : 1;
	for (size_t c = 0; c < n_channels; c++) {
		float *dst = spec->nhwc ? out + at * n_channels + c : out + c * plane + at;
		float pad = pre->pad[c];
		if (step == 1) {
			for (int x = 0; x < n; x++)
				dst[x] = pad;
		} else {
			for (int x = 0; x < n; x++)
				dst[3 * x] = pad;
		}
	}
}

void pk_preprocess_emit_row(const struct pk_preprocess *pre, float *out, int y)
{
	const struct pk_image_spec *spec = &pre->spec;
	int n = pre->map.x1 - pre->map.x0, n_channels = pre->n_channels;
	size_t plane = (size_t)spec->width * (size_t)spec->height;
	size_t at = (size_t)y * (size_t)spec->width + (size_t)pre->map.x0;
	for (int c = 0; c < n_channels; c++) {
		const float *src = pre->pixels[c];
		float scale = pre->scale[c], offset = pre->offset[c];
		float *dst = spec->nhwc ? out + at * (size_t)n_channels + c
					: out + (size_t)c * plane + at;
		if (!spec->nhwc || n_channels == 1) {
			for (int x = 0; x < n; x++)
				dst[x] = src[x] * scale + offset;
		} else {
			for (int x = 0; x < n; x++)
				dst[3 * x] = src[x] * scale + offset;
		}
	}
}
