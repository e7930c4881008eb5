// SPDX-License-Identifier: Apache-2.0
// A part of a picture, without a copy.
#include <math.h>

#include "base/checked.h"
#include "engine/image/image.h"

// First pixel and number of pixels along one axis; the start is rounded down to a multiple of step.
static int span(double from, double length, int size, int step, int *n)
{
	int first = (int)floor(fmin(fmax(from, 0), 1) * size);
	int end = (int)ceil(fmin(fmax(from + length, 0), 1) * size - 1e-6);
	first = PK_MIN(first, size - 1);
	first -= first % step;
	*n = PK_MAX(PK_MIN(end, size) - first, 1);
	return first;
}

void pk_image_crop(const struct pk_image *image, const struct pk_image_region *region,
	struct pk_image *out, int *left, int *top)
{
	*out = *image;
	*left = *top = 0;
	if (region->width <= 0 || region->height <= 0)
		return;
	bool yuv = image->format == PK_PIXEL_NV12 || image->format == PK_PIXEL_I420;
	bool packed = image->format == PK_PIXEL_RGB || image->format == PK_PIXEL_BGR;
	int x = span(region->x, region->width, image->width, yuv ? 2 : 1, &out->width);
	int y = span(region->y, region->height, image->height, yuv ? 2 : 1, &out->height);
	out->planes[0] += (ptrdiff_t)y * image->strides[0] + (ptrdiff_t)x * (packed ? 3 : 1);
	int chroma_step = image->format == PK_PIXEL_NV12 ? x : x / 2;
	for (int i = 1; yuv && i < 3 && out->planes[i]; i++)
		out->planes[i] += (ptrdiff_t)(y / 2) * image->strides[i] + chroma_step;
	*left = x;
	*top = y;
}
