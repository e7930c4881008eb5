// SPDX-License-Identifier: Apache-2.0
// Resize: known pictures per coordinate mode, rounding modes, filters, and rows against each other.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node_case.h"

struct resize_case {
	int64_t mode, coord, nearest;
	double scale_h, scale_w, cubic, value;
	bool exclude, antialias;
	int64_t in_h, in_w, out_h, out_w;
	double roi[4]; // of the last two axes: starts, ends
};

static float *build(struct node_case *c, const struct resize_case *v)
{
	node_case_begin(c);
	float *x = node_case_operand(c, PK_F32, SHAPE(1, 2, v->in_h, v->in_w), false);
	struct pk_node *node = node_case_node(c, PK_OP_RESIZE);
	double scales[4] = {1, 1, v->scale_h, v->scale_w};
	double roi[8] = {0, 0, v->roi[0], v->roi[1], 1, 1, v->roi[2], v->roi[3]};
	pk_node_set_int(node, PK_ATTR_MODE, v->mode);
	pk_node_set_int(node, PK_ATTR_COORD, v->coord);
	pk_node_set_int(node, PK_ATTR_NEAREST, v->nearest ? v->nearest : PK_NEAREST_FLOOR);
	pk_node_set_floats(node, PK_ATTR_SCALES, scales, 4);
	pk_node_set_floats(node, PK_ATTR_ROI, roi, 8);
	pk_node_set_float(node, PK_ATTR_CUBIC, v->cubic);
	pk_node_set_int(node, PK_ATTR_EXCLUDE_OUTSIDE, v->exclude);
	pk_node_set_int(node, PK_ATTR_ANTIALIAS, v->antialias);
	pk_node_set_float(node, PK_ATTR_VALUE, v->value);
	struct pk_shape y = SHAPE(1, 2, v->out_h, v->out_w);
	node_case_finish(c, &y);
	return x;
}

// One row of numbers resized along the width only.
static void check_row(struct resize_case v, const float *x, const float *expected)
{
	struct node_case c;
	v.in_h = v.out_h = 1;
	v.scale_h = 1;
	float *data = build(&c, &v);
	for (int64_t i = 0; i < 2 * v.in_w; i++)
		data[i] = x[i % v.in_w];
	float *got = node_case_reference(&c);
	assert_close(got, expected, v.out_w, 1e-6, "first channel");
	assert_close(got + v.out_w, expected, v.out_w, 1e-6, "second channel");
	free(got);
	node_case_check_rows(&c, 1e-6);
	node_case_end(&c);
}

static void linear_coordinates(void **state)
{
	(void)state;
	const float ramp[] = {0, 1};
	struct resize_case v = {.mode = PK_MODE_LINEAR, .in_w = 2, .out_w = 4, .scale_w = 2};
	v.coord = PK_COORD_HALF_PIXEL;
	check_row(v, ramp, (float[]){0, 0.25F, 0.75F, 1});
	v.coord = PK_COORD_PYTORCH_HALF_PIXEL;
	check_row(v, ramp, (float[]){0, 0.25F, 0.75F, 1});
	v.coord = PK_COORD_ASYMMETRIC;
	check_row(v, ramp, (float[]){0, 0.5F, 1, 1});
	v.coord = PK_COORD_ALIGN_CORNERS;
	check_row(v, ramp, (float[]){0, 1 / 3.0F, 2 / 3.0F, 1});
	v.coord = PK_COORD_HALF_PIXEL_SYMMETRIC;
	check_row(v, ramp, (float[]){0, 0.25F, 0.75F, 1});
}

// 3 * 0.6 = 1.8 gives one pixel: the symmetric form looks at the middle.
static void symmetric_keeps_the_middle(void **state)
{
	(void)state;
	struct resize_case v = {.mode = PK_MODE_LINEAR,
		.coord = PK_COORD_HALF_PIXEL_SYMMETRIC,
		.in_w = 3,
		.out_w = 1,
		.scale_w = 0.6};
	check_row(v, (float[]){10, 20, 30}, (float[]){20});
	v.coord = PK_COORD_PYTORCH_HALF_PIXEL; // one pixel: the first
	check_row(v, (float[]){10, 20, 30}, (float[]){10});
}

static void nearest_rounding(void **state)
{
	(void)state;
	const float x[] = {1, 2, 3, 4};
	struct resize_case v = {.mode = PK_MODE_NEAREST,
		.coord = PK_COORD_ASYMMETRIC,
		.in_w = 4,
		.out_w = 8,
		.scale_w = 2};
	v.nearest = PK_NEAREST_FLOOR;
	check_row(v, x, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
	v.nearest = PK_NEAREST_CEIL;
	check_row(v, x, (float[]){1, 2, 2, 3, 3, 4, 4, 4});
	v.nearest = PK_NEAREST_ROUND_PREFER_FLOOR;
	check_row(v, x, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
	v.nearest = PK_NEAREST_ROUND_PREFER_CEIL;
	check_row(v, x, (float[]){1, 2, 2, 3, 3, 4, 4, 4});
	v.coord = PK_COORD_HALF_PIXEL;
	v.scale_w = 0.5;
	v.out_w = 2; // x = 0.5 and 2.5
	check_row(v, x, (float[]){2, 4});
	v.nearest = PK_NEAREST_ROUND_PREFER_FLOOR;
	check_row(v, x, (float[]){1, 3});
	v.coord = PK_COORD_TF_HALF_PIXEL_FOR_NN; // x = 1 and 3
	check_row(v, x, (float[]){2, 4});
}

static void crop_extrapolates(void **state)
{
	(void)state;
	struct resize_case v = {.mode = PK_MODE_LINEAR,
		.coord = PK_COORD_TF_CROP_AND_RESIZE,
		.in_w = 4,
		.out_w = 3,
		.scale_w = 0.75,
		.value = -9,
		.roi = {0, 0.5, 1, 1.5}};
	// 1.5, 3, 4.5: the last is outside
	check_row(v, (float[]){0, 1, 2, 3}, (float[]){1.5F, 3, -9});
	v.mode = PK_MODE_NEAREST;
	check_row(v, (float[]){0, 1, 2, 3}, (float[]){1, 3, -9});
}

// Weights of the half-way point with a = -0.75: -0.09375, 0.59375, 0.59375, -0.09375.
static void cubic_weights(void **state)
{
	(void)state;
	struct resize_case v = {.mode = PK_MODE_CUBIC,
		.coord = PK_COORD_ASYMMETRIC,
		.cubic = -0.75,
		.in_w = 4,
		.out_w = 8,
		.scale_w = 2};
	const float x[] = {1, 2, 4, 8};
	float between = -0.09375F * (1 + 8) + 0.59375F * (2 + 4);
	float first = -0.09375F * (1 + 4) + 0.59375F * (1 + 2);
	float last = -0.09375F * (2 + 8) + 0.59375F * (4 + 8);
	float end = -0.09375F * (4 + 8) + 0.59375F * (8 + 8);
	check_row(v, x, (float[]){1, first, 2, between, 4, last, 8, end});
	v.exclude = true; // the outer taps of `first` are left out and the rest scaled up
	first = (-0.09375F * 4 + 0.59375F * (1 + 2)) / (2 * 0.59375F - 0.09375F);
	last = (-0.09375F * 2 + 0.59375F * (4 + 8)) / (2 * 0.59375F - 0.09375F);
	end = (-0.09375F * 4 + 0.59375F * 8) / (0.59375F - 0.09375F);
	check_row(v, x, (float[]){1, first, 2, between, 4, last, 8, end});
}

static void antialias_averages(void **state)
{
	(void)state;
	struct resize_case v = {.mode = PK_MODE_LINEAR,
		.coord = PK_COORD_HALF_PIXEL,
		.antialias = true,
		.in_w = 4,
		.out_w = 2,
		.scale_w = 0.5};
	// centre 0.5: weights at -1, 0, 1, 2 are 1/4 3/4 3/4 1/4 (of 2), the edge repeats
	check_row(v, (float[]){1, 2, 3, 4},
		(float[]){(0.25F * 1 + 0.75F * 1 + 0.75F * 2 + 0.25F * 3) / 2,
			(0.25F * 2 + 0.75F * 3 + 0.75F * 4 + 0.25F * 4) / 2});
}

static void corners_stay_with_align_corners(void **state)
{
	(void)state;
	struct resize_case v = {.mode = PK_MODE_LINEAR,
		.coord = PK_COORD_ALIGN_CORNERS,
		.in_h = 5,
		.in_w = 7,
		.out_h = 12,
		.out_w = 3,
		.scale_h = 12.0 / 5,
		.scale_w = 3.0 / 7};
	struct node_case c;
	float *x = build(&c, &v);
	float *got = node_case_reference(&c);
	assert_true(got[0] == x[0] && got[2] == x[6] && got[33] == x[28] && got[35] == x[34]);
	free(got);
	node_case_end(&c);
}

static void rows_agree(void **state)
{
	(void)state;
	static const int64_t coords[] = {PK_COORD_HALF_PIXEL, PK_COORD_PYTORCH_HALF_PIXEL,
		PK_COORD_ALIGN_CORNERS, PK_COORD_ASYMMETRIC, PK_COORD_HALF_PIXEL_SYMMETRIC};
	int n = 0;
	random_seed(31);
	for (int round = 0; round < 200; round++) {
		struct resize_case v = {.mode = round & 1 ? PK_MODE_LINEAR : PK_MODE_CUBIC,
			.coord = coords[round % 5],
			.cubic = -0.5,
			.exclude = round & 2,
			.antialias = round & 4,
			.in_h = random_range(1, 20),
			.in_w = random_range(1, 20),
			.out_h = random_range(1, 40),
			.out_w = random_range(1, 40)};
		struct node_case c;
		v.scale_h = (double)v.out_h / (double)v.in_h;
		v.scale_w = (double)v.out_w / (double)v.in_w;
		build(&c, &v);
		n += node_case_check_rows(&c, 1e-5);
		node_case_end(&c);
	}
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_coordinates),
		cmocka_unit_test(symmetric_keeps_the_middle),
		cmocka_unit_test(nearest_rounding),
		cmocka_unit_test(crop_extrapolates),
		cmocka_unit_test(cubic_weights),
		cmocka_unit_test(antialias_averages),
		cmocka_unit_test(corners_stay_with_align_corners),
		cmocka_unit_test(rows_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
