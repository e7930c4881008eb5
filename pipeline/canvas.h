// SPDX-License-Identifier: Apache-2.0
// An RGB copy of a picture that may be drawn on.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/image/image.h"

// Zero-initialise; memory is kept between pictures.
struct pk_canvas {
	int width, height;
	uint8_t *rgb; // packed, width * 3 bytes a row
	size_t capacity;
};

struct pk_canvas_color {
	uint8_t r, g, b;
};

// Converts image (any format) to full-range RGB. 0 or -ENOMEM.
int pk_canvas_load(struct pk_canvas *canvas, const struct pk_image *image) pk_must_check;
void pk_canvas_finish(struct pk_canvas *canvas);

// Everything is clipped to the canvas; coordinates may lie anywhere.
void pk_canvas_fill(struct pk_canvas *canvas, int x0, int y0, int x1, int y1,
	struct pk_canvas_color color); // x1, y1 exclusive
// The outline of a box, `thick` pixels inwards.
void pk_canvas_frame(
	struct pk_canvas *canvas, const int box[4], int thick, struct pk_canvas_color color);
// text in dark or light letters, whichever can be read, on a bar of `color`; (x, y): top left.
void pk_canvas_label(
	struct pk_canvas *canvas, int x, int y, const char *text, struct pk_canvas_color color);
// Pixels that a letter of pk_canvas_label takes here, and its bar's height.
int pk_canvas_letter_width(const struct pk_canvas *canvas);
int pk_canvas_label_height(const struct pk_canvas *canvas);
// A colour for a class, the same every time.
struct pk_canvas_color pk_canvas_class_color(int class_idx);
