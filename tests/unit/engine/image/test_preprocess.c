// SPDX-License-Identifier: Apache-2.0
// Frame to tensor: against a plain double-precision model of it, for all formats and modes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/image/preprocess.h"

static uint32_t random_state = 11;

static uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static int random_int(int low, int high)
{
	return low + (int)(random_u32() % (uint32_t)(high - low + 1));
}

// Planes of exactly the bytes that the picture has: the last row ends without its stride.
static uint8_t *plane(int width_bytes, int height, int stride)
{
	size_t n = (size_t)stride * (size_t)(height - 1) + (size_t)width_bytes;
	uint8_t *p = malloc(n);
	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random_u32();
	return p;
}

static void make_image(struct pk_image *image, enum pk_pixel_format format, int width, int height)
{
	int half_w = (width + 1) / 2, half_h = (height + 1) / 2;
	*image = (struct pk_image){.format = format, .width = width, .height = height};
	int bytes = format == PK_PIXEL_RGB || format == PK_PIXEL_BGR ? 3 * width : width;
	image->strides[0] = bytes + random_int(0, 5);
	image->planes[0] = plane(bytes, height, image->strides[0]);
	if (format == PK_PIXEL_NV12) {
		image->strides[1] = 2 * half_w + random_int(0, 3);
		image->planes[1] = plane(2 * half_w, half_h, image->strides[1]);
	}
	for (int i = 1; i < 3 && format == PK_PIXEL_I420; i++) {
		image->strides[i] = half_w + random_int(0, 3);
		image->planes[i] = plane(half_w, half_h, image->strides[i]);
	}
}

static void free_image(struct pk_image *image)
{
	for (int i = 0; i < 3; i++)
		free((void *)(uintptr_t)image->planes[i]);
}

// Bilinear sample of one component; x, y with pixel centres at whole numbers.
static double sample(
	const uint8_t *p, int stride, int step, int width, int height, double x, double y)
{
	x = fmin(fmax(x, 0), width - 1);
	y = fmin(fmax(y, 0), height - 1);
	int x0 = (int)x, y0 = (int)y, x1 = x0 + 1 < width ? x0 + 1 : x0;
	int y1 = y0 + 1 < height ? y0 + 1 : y0;
	double fx = x - x0, fy = y - y0;
	double top = p[y0 * stride + x0 * step] * (1 - fx) + p[y0 * stride + x1 * step] * fx;
	double low = p[y1 * stride + x0 * step] * (1 - fx) + p[y1 * stride + x1 * step] * fx;
	return top * (1 - fy) + low * fy;
}

static double clamp255(double v)
{
	return fmin(fmax(v, 0), 255);
}

// Textbook YCbCr to RGB.
static void to_rgb(const struct pk_image *image, double y, double u, double v, double rgb[3])
{
	bool bt709 = image->matrix == PK_MATRIX_BT709;
	double kr = bt709 ? 0.2126 : 0.299, kb = bt709 ? 0.0722 : 0.114;
	if (!image->full_range) {
		y = (y - 16) * 255 / 219;
		u = (u - 128) * 255 / 224;
		v = (v - 128) * 255 / 224;
	} else {
		u -= 128;
		v -= 128;
	}
	double r = y + 2 * (1 - kr) * v, b = y + 2 * (1 - kb) * u;
	rgb[0] = clamp255(r);
	rgb[1] = clamp255((y - kr * r - kb * b) / (1 - kr - kb));
	rgb[2] = clamp255(b);
}

// Colour of the source at picture coordinates (pixel centres at .5).
static void source_rgb(const struct pk_image *image, double sx, double sy, double rgb[3])
{
	int w = image->width, h = image->height, cw = (w + 1) / 2, ch = (h + 1) / 2;
	double x = sx - 0.5, y = sy - 0.5, cx = sx / 2 - 0.5, cy = sy / 2 - 0.5;
	const uint8_t *const *p = image->planes;
	const int *s = image->strides;
	switch (image->format) {
	case PK_PIXEL_NV12:
		to_rgb(image, sample(p[0], s[0], 1, w, h, x, y),
			sample(p[1], s[1], 2, cw, ch, cx, cy),
			sample(p[1] + 1, s[1], 2, cw, ch, cx, cy), rgb);
		break;
	case PK_PIXEL_I420:
		to_rgb(image, sample(p[0], s[0], 1, w, h, x, y),
			sample(p[1], s[1], 1, cw, ch, cx, cy),
			sample(p[2], s[2], 1, cw, ch, cx, cy), rgb);
		break;
	default:
		for (int c = 0; c < 3; c++) {
			int at = image->format == PK_PIXEL_GRAY8 ? 0 : c;
			int to = image->format == PK_PIXEL_BGR ? 2 - c : c;
			rgb[to] = sample(p[0] + at, s[0], image->format == PK_PIXEL_GRAY8 ? 1 : 3,
				w, h, x, y);
		}
	}
}

// Gray of YUV pictures is their luma, not a mix of clamped colours.
static double source_gray(const struct pk_image *image, double sx, double sy)
{
	double rgb[3];
	if (image->format == PK_PIXEL_NV12 || image->format == PK_PIXEL_I420) {
		double y = sample(image->planes[0], image->strides[0], 1, image->width,
			image->height, sx - 0.5, sy - 0.5);
		return clamp255(image->full_range ? y : (y - 16) * 255 / 219);
	}
	source_rgb(image, sx, sy, rgb);
	return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

static void expected_pixel(const struct pk_image_spec *spec, const struct pk_image *image,
	const struct pk_image_map *m, int x, int y, double out[3])
{
	double rgb[3];
	int n = spec->color == PK_COLOR_GRAY ? 1 : 3;
	bool inside = x >= m->x0 && x < m->x1 && y >= m->y0 && y < m->y1;
	double sx = (x + 0.5) * m->scale_x + m->offset_x, sy = (y + 0.5) * m->scale_y + m->offset_y;
	source_rgb(image, sx, sy, rgb);
	for (int c = 0; c < n; c++) {
		double v = n == 1 ? source_gray(image, sx, sy)
				  : rgb[spec->color == PK_COLOR_BGR ? 2 - c : c];
		v = inside ? v : (double)spec->pad[c];
		out[c] = (v * (double)spec->scale - (double)spec->mean[c]) / (double)spec->std[c];
	}
}

static void check(const struct pk_image_spec *spec, const struct pk_image *image)
{
	struct pk_preprocess *pre = NULL;
	struct pk_err err = {0};
	int n = spec->color == PK_COLOR_GRAY ? 1 : 3, w = spec->width, h = spec->height;
	float *out = malloc((size_t)(n * w * h) * sizeof(*out));
	assert_non_null(out);
	assert_int_equal(pk_preprocess_create(spec, image, &pre, &err), 0);
	assert_true(pk_preprocess_fits(pre, image));
	memset(out, 0xff, (size_t)(n * w * h) * sizeof(*out)); // NaN: every element must be written
	pk_preprocess_run(pre, image, out);
	for (int y = 0; y < h; y++) {
		for (int x = 0; x < w; x++) {
			double expected[3];
			expected_pixel(spec, image, pk_preprocess_map(pre), x, y, expected);
			for (int c = 0; c < n; c++) {
				int at = spec->nhwc ? (y * w + x) * n + c : (c * h + y) * w + x;
				double off = fabs((double)out[at] - expected[c]);
				if (!(off <= 2e-3 * (double)(spec->scale / spec->std[c])))
					fail_msg("x %d y %d c %d: %g, expected %g", x, y, c,
						(double)out[at], expected[c]);
			}
		}
	}
	pk_preprocess_destroy(pre);
	free(out);
}

// Rows by vectors, where the processor has them, against the plain ones: to the bit.
static void check_vectors(const struct pk_image_spec *spec, const struct pk_image *image)
{
	struct pk_preprocess *pre = NULL;
	assert_int_equal(pk_preprocess_create(spec, image, &pre, NULL), 0);
	size_t n = (size_t)spec->width * (size_t)spec->height * (size_t)pre->n_channels;
	float *chosen = malloc(n * sizeof(float)), *plain = malloc(n * sizeof(float));
	pk_preprocess_run(pre, image, chosen);
	pk_preprocess_choose_row(pre);
	pk_preprocess_run(pre, image, plain);
	assert_memory_equal(chosen, plain, n * sizeof(float));
	pk_preprocess_destroy(pre);
	free(chosen);
	free(plain);
}

static void all_formats_and_modes(void **state)
{
	(void)state;
	for (int round = 0; round < 5 * 3 * 3 * 8; round++) {
		struct pk_image_spec spec = {.width = random_int(1, 70),
			.height = random_int(1, 50),
			.nhwc = random_int(0, 1),
			.upscale = random_int(0, 1),
			.anchor_top_left = random_int(0, 1),
			.pad = {114, 7, 0},
			.scale = 1 / 255.0F,
			.mean = {0.485F, 0.456F, 0.406F},
			.std = {0.229F, 0.224F, 0.225F}};
		struct pk_image image;
		spec.resize = (enum pk_image_resize)(round / 5 % 3);
		spec.color = (enum pk_image_color)(round / 15 % 3);
		make_image(&image, (enum pk_pixel_format)(round % 5), random_int(1, 90),
			random_int(1, 90));
		image.matrix = random_int(0, 1) ? PK_MATRIX_BT709 : PK_MATRIX_BT601;
		image.full_range = random_int(0, 1);
		check(&spec, &image);
		check_vectors(&spec, &image);
		free_image(&image);
	}
}

static void same_size_copies(void **state)
{
	(void)state;
	struct pk_image_spec spec = {.width = 5, .height = 4, .scale = 1, .std = {1, 1, 1}};
	struct pk_image image;
	struct pk_preprocess *pre = NULL;
	float out[3 * 20];
	make_image(&image, PK_PIXEL_BGR, 5, 4);
	assert_int_equal(pk_preprocess_create(&spec, &image, &pre, NULL), 0);
	pk_preprocess_run(pre, &image, out);
	for (int i = 0; i < 20; i++) {
		const uint8_t *p = image.planes[0] + i / 5 * image.strides[0] + i % 5 * 3;
		for (int c = 0; c < 3; c++)
			assert_true(out[c * 20 + i] == (float)p[2 - c]);
	}
	pk_preprocess_destroy(pre);
	free_image(&image);
}

// Nominal white, black and red of studio-range video.
static void video_levels(void **state)
{
	(void)state;
	static const struct {
		enum pk_color_matrix matrix;
		uint8_t y, u, v;
		float rgb[3];
	} cases[] = {
		{PK_MATRIX_BT601, 235, 128, 128, {255, 255, 255}},
		{PK_MATRIX_BT709, 16, 128, 128, {0, 0, 0}},
		{PK_MATRIX_BT601, 81, 90, 240, {254, 0, 0}},
		{PK_MATRIX_BT709, 63, 102, 240, {255, 0, 0}},
	};
	struct pk_image_spec spec = {.width = 2, .height = 2, .scale = 1, .std = {1, 1, 1}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t luma[4], chroma[2] = {cases[i].u, cases[i].v};
		memset(luma, cases[i].y, sizeof(luma));
		struct pk_image image = {.format = PK_PIXEL_NV12,
			.width = 2,
			.height = 2,
			.planes = {luma, chroma},
			.strides = {2, 2},
			.matrix = cases[i].matrix};
		struct pk_preprocess *pre = NULL;
		float out[12];
		assert_int_equal(pk_preprocess_create(&spec, &image, &pre, NULL), 0);
		pk_preprocess_run(pre, &image, out);
		for (int c = 0; c < 3; c++)
			assert_true(fabsf(out[c * 4] - cases[i].rgb[c]) < 2);
		pk_preprocess_destroy(pre);
	}
}

static void bad_input_is_refused(void **state)
{
	(void)state;
	uint8_t byte = 0;
	struct pk_image_spec spec = {.width = 4, .height = 4, .scale = 1, .std = {1, 1, 1}};
	struct pk_image image = {.format = PK_PIXEL_GRAY8,
		.width = 1,
		.height = 1,
		.planes = {&byte},
		.strides = {1}};
	struct pk_preprocess *pre = NULL;
	struct pk_err err = {0};
	struct pk_image bad = image;
	bad.width = 0;
	assert_true(pk_preprocess_create(&spec, &bad, &pre, &err) < 0);
	bad = image;
	bad.strides[0] = 0;
	assert_true(pk_preprocess_create(&spec, &bad, &pre, &err) < 0);
	assert_non_null(strstr(err.text, "plane 0"));
	spec.std[1] = 0;
	assert_true(pk_preprocess_create(&spec, &image, &pre, &err) < 0);
	assert_non_null(strstr(err.text, "channel 1"));
	spec.std[1] = 1;
	spec.width = 1 << 20;
	assert_true(pk_preprocess_create(&spec, &image, &pre, &err) < 0);
	assert_null(pre);
}

static void fits_only_its_kind(void **state)
{
	(void)state;
	struct pk_image_spec spec = {.width = 4, .height = 4, .scale = 1, .std = {1, 1, 1}};
	struct pk_image image;
	struct pk_preprocess *pre = NULL;
	make_image(&image, PK_PIXEL_I420, 6, 5);
	assert_int_equal(pk_preprocess_create(&spec, &image, &pre, NULL), 0);
	struct pk_image other = image;
	other.full_range = true;
	assert_false(pk_preprocess_fits(pre, &other));
	other = image;
	other.height = 4;
	assert_false(pk_preprocess_fits(pre, &other));
	other = image;
	other.format = PK_PIXEL_NV12;
	assert_false(pk_preprocess_fits(pre, &other));
	assert_true(pk_preprocess_fits(pre, &image));
	pk_preprocess_destroy(pre);
	free_image(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_formats_and_modes),
		cmocka_unit_test(same_size_copies),
		cmocka_unit_test(video_levels),
		cmocka_unit_test(bad_input_is_refused),
		cmocka_unit_test(fits_only_its_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
