// SPDX-License-Identifier: Apache-2.0
// Letterbox, stretch and crop geometry: known sizes, and boxes that map back to within a pixel.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/image/image.h"

static struct pk_image_spec spec_of(int width, int height, enum pk_image_resize resize)
{
	return (struct pk_image_spec){.width = width,
		.height = height,
		.resize = resize,
		.upscale = true,
		.scale = 1,
		.std = {1, 1, 1}};
}

static void letterbox_of_full_hd(void **state)
{
	(void)state;
	struct pk_image_spec spec = spec_of(640, 640, PK_RESIZE_LETTERBOX);
	struct pk_image_map m;
	pk_image_map_make(&spec, 1920, 1080, &m);
	assert_int_equal(m.x0, 0);
	assert_int_equal(m.x1, 640);
	assert_int_equal(m.y0, 140);
	assert_int_equal(m.y1, 500);
	assert_true(fabs(m.scale_x - 3) < 1e-12 && fabs(m.scale_y - 3) < 1e-12);
	assert_true(fabs(m.offset_y + 420) < 1e-9);
}

static void odd_border_goes_to_the_far_side(void **state)
{
	(void)state;
	struct pk_image_spec spec = spec_of(64, 64, PK_RESIZE_LETTERBOX);
	struct pk_image_map m;
	pk_image_map_make(&spec, 64, 33, &m);
	assert_int_equal(m.y0, 15);
	assert_int_equal(m.y1, 48);
	spec.anchor_top_left = true;
	pk_image_map_make(&spec, 64, 33, &m);
	assert_int_equal(m.y0, 0);
	assert_int_equal(m.y1, 33);
}

static void small_pictures_grow_only_when_allowed(void **state)
{
	(void)state;
	struct pk_image_spec spec = spec_of(100, 100, PK_RESIZE_LETTERBOX);
	struct pk_image_map m;
	pk_image_map_make(&spec, 50, 20, &m);
	assert_int_equal(m.x1 - m.x0, 100);
	assert_int_equal(m.y1 - m.y0, 40);
	spec.upscale = false;
	pk_image_map_make(&spec, 50, 20, &m);
	assert_int_equal(m.x1 - m.x0, 50);
	assert_int_equal(m.x0, 25);
	assert_int_equal(m.y0, 40);
}

static void crop_keeps_the_middle(void **state)
{
	(void)state;
	struct pk_image_spec spec = spec_of(224, 224, PK_RESIZE_CENTER_CROP);
	struct pk_image_map m;
	pk_image_map_make(&spec, 640, 480, &m);
	assert_true(fabs(m.offset_x - 80) < 1e-9 && fabs(m.offset_y) < 1e-9);
	assert_true(fabs(224 * m.scale_x + m.offset_x - 560) < 1e-9);
}

static void assert_in_span(double v, double low, double high)
{
	if (!(v >= low && v <= high))
		fail_msg("%g is not in %g..%g", v, low, high);
}

static const int sizes[][2] = {{1920, 1080}, {1280, 720}, {640, 480}, {1080, 1920}, {512, 512},
	{641, 479}, {1, 1}, {3, 1000}, {1333, 7}, {16384, 9}};
static const int inputs[][2] = {{640, 640}, {320, 192}, {192, 320}, {33, 57}, {1, 1}, {224, 224}};

// Covered corners are the picture's corners (of the kept part when cropped).
static void check_corners(const struct pk_image_spec *spec, const struct pk_image_map *m)
{
	double left = m->x0 * m->scale_x + m->offset_x, right = m->x1 * m->scale_x + m->offset_x;
	double top = m->y0 * m->scale_y + m->offset_y, bottom = m->y1 * m->scale_y + m->offset_y;
	double most = spec->resize == PK_RESIZE_CENTER_CROP ? 1e9 : 1e-6; // inside by how much
	assert_true(m->x0 >= 0 && m->x0 < m->x1 && m->x1 <= spec->width);
	assert_true(m->y0 >= 0 && m->y0 < m->y1 && m->y1 <= spec->height);
	assert_in_span(left, -1e-6, most);
	assert_in_span(top, -1e-6, most);
	assert_in_span(m->src_width - right, -1e-6, most);
	assert_in_span(m->src_height - bottom, -1e-6, most);
}

// Source points go to the model by the ideal ratio of a letterbox and come back within a pixel (or
// the half model pixel by which the resized side was rounded).
static void check_round_trip(const struct pk_image_spec *spec, const struct pk_image_map *m)
{
	double ratio =
		fmin((double)spec->width / m->src_width, (double)spec->height / m->src_height);
	if (!spec->upscale)
		ratio = fmin(ratio, 1);
	for (int i = 0; i <= 8; i++) {
		double x = m->src_width * i / 8.0, y = m->src_height * i / 8.0;
		double off_x = (x * ratio + m->x0) * m->scale_x + m->offset_x - x;
		double off_y = (y * ratio + m->y0) * m->scale_y + m->offset_y - y;
		assert_in_span(fabs(off_x), 0, fmax(1, 0.5 * m->scale_x) + 1e-6);
		assert_in_span(fabs(off_y), 0, fmax(1, 0.5 * m->scale_y) + 1e-6);
	}
}

static void check_map(const struct pk_image_spec *spec, int width, int height)
{
	struct pk_image_map m;
	pk_image_map_make(spec, width, height, &m);
	check_corners(spec, &m);
	if (spec->resize == PK_RESIZE_LETTERBOX && m.x1 - m.x0 > 1 && m.y1 - m.y0 > 1)
		check_round_trip(spec, &m);
}

static void any_size_maps_onto_itself(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
			for (int mode = 0; mode < 12; mode++) {
				struct pk_image_spec spec = spec_of(inputs[i][0], inputs[i][1],
					(enum pk_image_resize)(mode % 3));
				spec.upscale = mode & 4;
				spec.anchor_top_left = mode & 8;
				check_map(&spec, sizes[s][0], sizes[s][1]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letterbox_of_full_hd),
		cmocka_unit_test(odd_border_goes_to_the_far_side),
		cmocka_unit_test(small_pictures_grow_only_when_allowed),
		cmocka_unit_test(crop_keeps_the_middle),
		cmocka_unit_test(any_size_maps_onto_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
