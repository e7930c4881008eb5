// SPDX-License-Identifier: Apache-2.0
// Times pk_preprocess_run: 1080p camera pictures to a 640 x 640 letterboxed tensor. Prints JSON:
// milliseconds per source format, best of many short runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "engine/image/image.h"

#define WIDTH  1920
#define HEIGHT 1080
#define SIDE   640
#define RUNS   200

static const struct {
	const char *name;
	enum pk_pixel_format format;
} formats[] = {
	{"nv12", PK_PIXEL_NV12},
	{"i420", PK_PIXEL_I420},
	{"rgb", PK_PIXEL_RGB},
	{"bgr", PK_PIXEL_BGR},
	{"gray", PK_PIXEL_GRAY8},
};

static struct pk_image picture(enum pk_pixel_format format, const uint8_t *bytes)
{
	bool packed = format == PK_PIXEL_RGB || format == PK_PIXEL_BGR;
	struct pk_image image = {.format = format, .width = WIDTH, .height = HEIGHT};
	image.matrix = PK_MATRIX_BT709;
	image.strides[0] = packed ? 3 * WIDTH : WIDTH;
	image.strides[1] = format == PK_PIXEL_NV12 ? WIDTH : WIDTH / 2;
	image.strides[2] = WIDTH / 2;
	for (int i = 0; i < 3; i++)
		image.planes[i] = bytes + (ptrdiff_t)i * 3 * WIDTH * HEIGHT;
	return image;
}

static double best_ms(enum pk_pixel_format format, const uint8_t *bytes, float *out)
{
	struct pk_image_spec spec = {.width = SIDE,
		.height = SIDE,
		.resize = PK_RESIZE_LETTERBOX,
		.scale = 1.0F / 255,
		.std = {1, 1, 1},
		.pad = {114, 114, 114}};
	struct pk_image image = picture(format, bytes);
	pk_auto(pk_preprocess) pre = NULL;
	int64_t best = INT64_MAX;
	if (pk_preprocess_create(&spec, &image, &pre, NULL) < 0)
		exit(1);
	for (int i = 0; i < RUNS; i++) {
		int64_t start = pk_now_ns();
		pk_preprocess_run(pre, &image, out);
		best = PK_MIN(best, pk_now_ns() - start);
	}
	return (double)best / (double)PK_NS_PER_MS;
}

int main(void)
{
	size_t size = (size_t)9 * WIDTH * HEIGHT;
	uint8_t *bytes = malloc(size);
	float *out = malloc((size_t)3 * SIDE * SIDE * sizeof(*out));
	if (!bytes || !out)
		return 1;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t i = 0; i < PK_ARRAY_LEN(formats); i++)
		printf("%s\"%s\": %.4f", i ? ", " : "{", formats[i].name,
			best_ms(formats[i].format, bytes, out));
	puts("}");
	free(bytes);
	free(out);
	return 0;
}
