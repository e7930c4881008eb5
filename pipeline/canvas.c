// SPDX-License-Identifier: Apache-2.0
// An RGB copy of a picture, with boxes and labels drawn on it.
#include "pipeline/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "pipeline/font.h"

// Y'CbCr to R'G'B' (ITU-R BT.601-7, BT.709-6), 16 fractional bits: r = y + v_r v, g = y + u_g u +
// v_g v, b = y + u_b u, with y scaled and shifted by the range.
struct pk_yuv_weights {
	int y_offset, y, v_r, u_g, v_g, u_b;
};

static const struct pk_yuv_weights pk_yuv_table[2][2] = {
	[PK_MATRIX_BT601] = {{16, 76309, 104597, -25675, -53279, 132201},
		{0, 65536, 91881, -22554, -46802, 116130}},
	[PK_MATRIX_BT709] = {{16, 76309, 117489, -13975, -34925, 138438},
		{0, 65536, 103206, -12276, -30679, 121609}},
};

static uint8_t pk_to_byte(int v)
{
	v = (v + (1 << 15)) >> 16;
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void pk_yuv_pixel(const struct pk_yuv_weights *w, int y, int u, int v, uint8_t *rgb)
{
	y = (y - w->y_offset) * w->y;
	u -= 128;
	v -= 128;
	rgb[0] = pk_to_byte(y + w->v_r * v);
	rgb[1] = pk_to_byte(y + w->u_g * u + w->v_g * v);
	rgb[2] = pk_to_byte(y + w->u_b * u);
}

static void pk_canvas_row_yuv(const struct pk_image *image, int y, uint8_t *rgb)
{
	const struct pk_yuv_weights *w = &pk_yuv_table[image->matrix][image->full_range];
	bool nv12 = image->format == PK_PIXEL_NV12;
	const uint8_t *luma = image->planes[0] + (ptrdiff_t)y * image->strides[0];
	const uint8_t *u = image->planes[1] + (ptrdiff_t)(y / 2) * image->strides[1];
	const uint8_t *v = nv12 ? u + 1 : image->planes[2] + (ptrdiff_t)(y / 2) * image->strides[2];
	int step = nv12 ? 2 : 1;
	for (int x = 0; x < image->width; x++)
		pk_yuv_pixel(w, luma[x], u[(x / 2) * step], v[(x / 2) * step], rgb + 3 * x);
}

static void pk_canvas_row_rgb(const struct pk_image *image, int y, uint8_t *rgb)
{
	const uint8_t *in = image->planes[0] + (ptrdiff_t)y * image->strides[0];
	switch (image->format) {
	case PK_PIXEL_RGB:
		memcpy(rgb, in, (size_t)image->width * 3);
		break;
	case PK_PIXEL_BGR:
		for (int x = 0; x < image->width; x++, in += 3, rgb += 3) {
			rgb[0] = in[2];
			rgb[1] = in[1];
			rgb[2] = in[0];
		}
		break;
	default: // gray
		for (int x = 0; x < image->width; x++, rgb += 3)
			memset(rgb, in[x], 3);
		break;
	}
}

int pk_canvas_load(struct pk_canvas *canvas, const struct pk_image *image)
{
	size_t need = (size_t)image->width * (size_t)image->height * 3;
	if (need > canvas->capacity) {
		uint8_t *rgb = realloc(canvas->rgb, need);
		if (!rgb)
			return -ENOMEM;
		canvas->rgb = rgb;
		canvas->capacity = need;
	}
	canvas->width = image->width;
	canvas->height = image->height;
	bool yuv = image->format == PK_PIXEL_NV12 || image->format == PK_PIXEL_I420;
	for (int y = 0; y < image->height; y++) {
		uint8_t *rgb = canvas->rgb + (size_t)y * (size_t)image->width * 3;
		if (yuv)
			pk_canvas_row_yuv(image, y, rgb);
		else
			pk_canvas_row_rgb(image, y, rgb);
	}
	return 0;
}

void pk_canvas_finish(struct pk_canvas *canvas)
{
	free(canvas->rgb);
	*canvas = (struct pk_canvas){0};
}

void pk_canvas_fill(
	struct pk_canvas *canvas, int x0, int y0, int x1, int y1, struct pk_canvas_color color)
{
	x0 = PK_MAX(x0, 0);
	y0 = PK_MAX(y0, 0);
	x1 = PK_MIN(x1, canvas->width);
	y1 = PK_MIN(y1, canvas->height);
	for (int y = y0; y < y1; y++) {
		uint8_t *rgb = canvas->rgb + ((size_t)y * (size_t)canvas->width) * 3;
		for (int x = x0; x < x1; x++) {
			rgb[3 * x] = color.r;
			rgb[3 * x + 1] = color.g;
			rgb[3 * x + 2] = color.b;
		}
	}
}

void pk_canvas_frame(
	struct pk_canvas *canvas, const int box[4], int thick, struct pk_canvas_color color)
{
	int x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
	pk_canvas_fill(canvas, x0, y0, x1, PK_MIN(y0 + thick, y1), color);
	pk_canvas_fill(canvas, x0, PK_MAX(y1 - thick, y0), x1, y1, color);
	pk_canvas_fill(canvas, x0, y0, PK_MIN(x0 + thick, x1), y1, color);
	pk_canvas_fill(canvas, PK_MAX(x1 - thick, x0), y0, x1, y1, color);
}

static int pk_canvas_scale(const struct pk_canvas *canvas)
{
	return PK_MAX(1, PK_MIN(canvas->width, canvas->height) / 360);
}

int pk_canvas_letter_width(const struct pk_canvas *canvas)
{
	return (PK_FONT_COLUMNS + 1) * pk_canvas_scale(canvas);
}

int pk_canvas_label_height(const struct pk_canvas *canvas)
{
	return (PK_FONT_ROWS + 2) * pk_canvas_scale(canvas);
}

static void pk_canvas_letter(
	struct pk_canvas *canvas, int x, int y, char c, struct pk_canvas_color color)
{
	int scale = pk_canvas_scale(canvas);
	const uint8_t *rows = pk_font_glyph(c);
	for (int r = 0; r < PK_FONT_ROWS; r++) {
		for (int k = 0; k < PK_FONT_COLUMNS; k++) {
			if (!(rows[r] >> (PK_FONT_COLUMNS - 1 - k) & 1))
				continue;
			int px = x + k * scale, py = y + r * scale;
			pk_canvas_fill(canvas, px, py, px + scale, py + scale, color);
		}
	}
}

void pk_canvas_label(
	struct pk_canvas *canvas, int x, int y, const char *text, struct pk_canvas_color color)
{
	int scale = pk_canvas_scale(canvas), letter = pk_canvas_letter_width(canvas);
	int n = (int)PK_MIN(strlen(text), (size_t)256);
	pk_canvas_fill(
		canvas, x, y, x + n * letter + scale, y + pk_canvas_label_height(canvas), color);
	int luma = (299 * color.r + 587 * color.g + 114 * color.b) / 1000;
	struct pk_canvas_color ink = {0, 0, 0};
	if (luma < 128)
		ink = (struct pk_canvas_color){255, 255, 255};
	for (int i = 0; i < n; i++)
		pk_canvas_letter(canvas, x + scale + i * letter, y + scale, text[i], ink);
}

struct pk_canvas_color pk_canvas_class_color(int class_idx)
{
	static const struct pk_canvas_color colors[] = {
		{230, 60, 50},
		{60, 180, 75},
		{255, 200, 25},
		{40, 110, 230},
		{245, 130, 48},
		{150, 60, 190},
		{70, 220, 230},
		{240, 90, 200},
	};
	return colors[(unsigned)class_idx % PK_ARRAY_LEN(colors)];
}
