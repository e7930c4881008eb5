// SPDX-License-Identifier: Apache-2.0
// Where model-input pixels lie in the source picture.
#include <math.h>

#include "base/checked.h"
#include "engine/image/image.h"

// Size of a side scaled by ratio; at least one pixel.
static int scaled(int size, double ratio, int most)
{
	double v = nearbyint((double)size * ratio);
	return v < 1 ? 1 : v > most ? most : (int)v;
}

// Border on the near side; an odd pixel goes to the far side.
static int near_border(int free_pixels, bool top_left)
{
	return top_left ? 0 : (int)nearbyint((double)free_pixels / 2 - 0.1);
}

static void letterbox(const struct pk_image_spec *spec, struct pk_image_map *out)
{
	double ratio = PK_MIN((double)spec->height / (double)out->src_height,
		(double)spec->width / (double)out->src_width);
	if (!spec->upscale && ratio > 1)
		ratio = 1;
	int width = scaled(out->src_width, ratio, spec->width);
	int height = scaled(out->src_height, ratio, spec->height);
	out->x0 = near_border(spec->width - width, spec->anchor_top_left);
	out->y0 = near_border(spec->height - height, spec->anchor_top_left);
	out->x1 = out->x0 + width;
	out->y1 = out->y0 + height;
	out->scale_x = (double)out->src_width / (double)width;
	out->scale_y = (double)out->src_height / (double)height;
	out->offset_x = -(double)out->x0 * out->scale_x;
	out->offset_y = -(double)out->y0 * out->scale_y;
}

static void center_crop(const struct pk_image_spec *spec, struct pk_image_map *out)
{
	double scale = PK_MIN((double)out->src_height / (double)spec->height,
		(double)out->src_width / (double)spec->width);
	out->scale_x = out->scale_y = scale;
	out->offset_x = ((double)out->src_width - (double)spec->width * scale) / 2;
	out->offset_y = ((double)out->src_height - (double)spec->height * scale) / 2;
}

void pk_image_map_make(
	const struct pk_image_spec *spec, int src_width, int src_height, struct pk_image_map *out)
{
	*out = (struct pk_image_map){
		.scale_x = (double)src_width / (double)spec->width,
		.scale_y = (double)src_height / (double)spec->height,
		.src_width = src_width,
		.src_height = src_height,
		.x1 = spec->width,
		.y1 = spec->height,
	};
	if (spec->resize == PK_RESIZE_LETTERBOX)
		letterbox(spec, out);
	else if (spec->resize == PK_RESIZE_CENTER_CROP)
		center_crop(spec, out);
}
