// SPDX-License-Identifier: Apache-2.0
// Camera pictures and how they become a model's input, and the way back for coordinates.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum pk_pixel_format {
	PK_PIXEL_NV12, // plane 0 Y, plane 1 interleaved UV, both subsampled by 2
	PK_PIXEL_I420, // planes Y, U, V
	PK_PIXEL_RGB,  // packed, 3 bytes
	PK_PIXEL_BGR,
	PK_PIXEL_GRAY8,
};
enum pk_color_matrix { PK_MATRIX_BT601, PK_MATRIX_BT709 };

// A picture in host memory; not owned. Any width and height of 1..16384, odd ones too (chroma
// planes then have (w+1)/2 x (h+1)/2 samples).
struct pk_image {
	enum pk_pixel_format format;
	int width, height; // pixels
	const uint8_t *planes[3];
	int strides[3];              // bytes a row
	enum pk_color_matrix matrix; // YUV formats
	bool full_range;             // YUV formats: 0..255 instead of 16..235
};

enum pk_image_resize { PK_RESIZE_STRETCH, PK_RESIZE_LETTERBOX, PK_RESIZE_CENTER_CROP };
enum pk_image_color { PK_COLOR_RGB, PK_COLOR_BGR, PK_COLOR_GRAY };

// What the model's input tensor wants. y = (x * scale - mean[c]) / std[c], x in 0..255.
struct pk_image_spec {
	int width, height;         // of the input tensor
	bool nhwc;                 // f32[1,h,w,c] instead of f32[1,c,h,w]
	enum pk_image_color color; // gray: c = 1, else c = 3
	enum pk_image_resize resize;
	bool anchor_top_left; // letterbox: picture at the top left instead of the centre
	bool upscale;         // letterbox may enlarge
	float pad[3];         // letterbox border, 0..255, in `color` order, before normalisation
	float scale, mean[3], std[3];
};

// Affine map between model-input pixels and source pixels: source = model * scale + offset. Pixel
// centres are at +0.5 in both.
struct pk_image_map {
	double scale_x, scale_y, offset_x, offset_y;
	int src_width, src_height;
	int left, top;      // where the source lies in a larger picture; 0: it is all of it
	int x0, y0, x1, y1; // model pixels covered by the picture (the rest is padding)
};

// Letterbox geometry: r = min(H/h, W/w) (at most 1 without upscale), size = round(w*r), round(h*r),
// centred with the odd pixel at the right/bottom (round(d/2 - 0.1)). Pure.
void pk_image_map_make(
	const struct pk_image_spec *spec, int src_width, int src_height, struct pk_image_map *out);

// A part of a picture in parts of its sides, 0..1. All zero: the whole.
struct pk_image_region {
	double x, y, width, height;
};
// The part as a picture of its own over the same memory; *left and *top: where it begins. Its edges
// lie on pixels, for YUV formats on even ones at the left and top, at least region's outside, and
// it has at least one pixel.
void pk_image_crop(const struct pk_image *image, const struct pk_image_region *region,
	struct pk_image *out, int *left, int *top);

// Per-source-size tables; one per (spec, picture format and size). May allocate; run may not.
struct pk_preprocess;
int pk_preprocess_create(const struct pk_image_spec *spec, const struct pk_image *like,
	struct pk_preprocess **out, struct pk_err *err) pk_must_check;
void pk_preprocess_destroy(struct pk_preprocess *pre);
PK_DEFINE_AUTO(pk_preprocess, pk_preprocess_destroy);
// True when pre fits this picture (format, size, matrix, range).
bool pk_preprocess_fits(const struct pk_preprocess *pre, const struct pk_image *image);
const struct pk_image_map *pk_preprocess_map(const struct pk_preprocess *pre);
// One pass, bilinear with half-pixel centres and edge clamp: colour conversion, resize, padding,
// normalisation, layout. out: f32[1,c,h,w] or f32[1,h,w,c]. Any one thread at a time.
void pk_preprocess_run(struct pk_preprocess *pre, const struct pk_image *image, float *out);
