// SPDX-License-Identifier: Apache-2.0
// The way there and back: what a model sees where preprocessing put it, decode maps to within one
// pixel of the source, for every aspect ratio and resize mode.
#include <math.h>

#include "engine/image/image.h"
#include "pipeline/decode/decode.h"
#include "pipeline/input_spec.h"
#include "tests/unit/pipeline/cm.h"

static const int sizes[][2] = {{640, 480}, {1920, 1080}, {1080, 1920}, {97, 61}, {61, 97},
	{333, 1001}, {320, 320}, {1280, 719}, {2, 2}, {16, 300}};
static const int inputs[][2] = {{64, 64}, {128, 96}, {96, 128}, {320, 192}};

static struct pk_card card_of(int width, int height, int resize, int anchor, bool upscale)
{
	static struct pk_card_output pred = {(char *)"", PK_ROLE_PRED};
	struct pk_card card = {.name = (char *)"g", .outputs = &pred, .n_outputs = 1};
	card.input.rank = 4;
	card.input.shape[0] = 1;
	card.input.shape[1] = 1;
	card.input.shape[2] = height;
	card.input.shape[3] = width;
	card.input.color = PK_CARD_GRAY;
	card.input.resize = (enum pk_card_resize)resize;
	card.input.anchor = (enum pk_card_anchor)anchor;
	card.input.upscale = upscale;
	card.input.scale = 1;
	card.input.std[0] = card.input.std[1] = card.input.std[2] = 1;
	card.decode.family = PK_DECODE_YOLO_V8;
	card.decode.classes = 1;
	card.decode.candidates_last = true;
	card.decode.box_format = PK_BOX_XYXY;
	card.post.conf = 0.5;
	card.post.iou = 1;
	return card;
}

static struct pk_detection detect(
	const struct pk_card *card, const struct pk_image_map *map, const float box[4])
{
	static struct pk_detection found[PK_RESULT_MAX_DETECTIONS];
	struct pk_binding out = {.name = "o", .dtype = PK_F32, .shape = {3, {1, 5, 1}}};
	const float tensor[5] = {box[0], box[1], box[2], box[3], 1};
	const void *tensors[] = {tensor};
	struct pk_decoder *decoder = NULL;
	assert_int_equal(pk_decoder_create(card, -1, &out, 1, &decoder, NULL), 0);
	assert_int_equal(pk_decoder_run(decoder, tensors, map, found), 1);
	pk_decoder_destroy(decoder);
	return found[0];
}

// Boxes at known places of the source, put into model pixels as an ideal model would see them.
static void check_boxes(const struct pk_card *card, const struct pk_image_map *map)
{
	int w = map->src_width, h = map->src_height;
	// The part of the source that the model sees (a crop leaves some out).
	double left = fmax(0, map->x0 * map->scale_x + map->offset_x);
	double top = fmax(0, map->y0 * map->scale_y + map->offset_y);
	double right = fmin(w, map->x1 * map->scale_x + map->offset_x);
	double bottom = fmin(h, map->y1 * map->scale_y + map->offset_y);
	assert_true(right > left && bottom > top);
	for (int i = 0; i < 16; i++) {
		double fx = (i % 4) * 0.25, fy = (i / 4) * 0.25;
		double x1 = left + fx * (right - left), x2 = x1 + 0.25 * (right - left);
		double y1 = top + fy * (bottom - top), y2 = y1 + 0.25 * (bottom - top);
		const float box[4] = {(float)((x1 - map->offset_x) / map->scale_x),
			(float)((y1 - map->offset_y) / map->scale_y),
			(float)((x2 - map->offset_x) / map->scale_x),
			(float)((y2 - map->offset_y) / map->scale_y)};
		struct pk_detection d = detect(card, map, box);
		assert_near(d.x1, x1, 0.1);
		assert_near(d.y1, y1, 0.1);
		assert_near(d.x2, x2, 0.1);
		assert_near(d.y2, y2, 0.1);
	}
}

// The whole picture as the model sees it comes back as the whole picture (or the cropped part).
static void check_edges(const struct pk_card *card, const struct pk_image_map *map)
{
	const float box[4] = {(float)map->x0, (float)map->y0, (float)map->x1, (float)map->y1};
	struct pk_detection d = detect(card, map, box);
	double w = map->src_width, h = map->src_height;
	if (card->input.resize == PK_CARD_CENTER_CROP) {
		assert_true(d.x2 - d.x1 >= w - 1 || d.y2 - d.y1 >= h - 1);
		assert_near(d.x1 + d.x2, w, 2.01); // in the middle
		assert_near(d.y1 + d.y2, h, 2.01);
		return;
	}
	assert_near(d.x1, 0, 1);
	assert_near(d.y1, 0, 1);
	assert_near(d.x2, w, 1);
	assert_near(d.y2, h, 1);
}

static void each_case(void (*check)(const struct pk_card *card, const struct pk_image_map *map))
{
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
			for (int k = 0; k < 12; k++) {
				struct pk_card card = card_of(
					inputs[i][0], inputs[i][1], k % 3, k / 3 % 2, k / 6);
				struct pk_image_spec spec;
				struct pk_image_map map;
				assert_int_equal(pk_input_spec_from_card(&card, &spec, NULL), 0);
				pk_image_map_make(&spec, sizes[s][0], sizes[s][1], &map);
				check(&card, &map);
			}
}

static void test_boxes(void **state)
{
	each_case(check_boxes);
}

static void test_edges(void **state)
{
	each_case(check_edges);
}

// Extent of the bright pixels in the model's input: the box of an ideal model.
static void bright_box(const float *tensor, int w, int h, float box[4])
{
	double sum = 0, x_sum = 0, y_sum = 0, xx = 0, yy = 0;
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			double v = tensor[y * w + x];
			sum += v;
			x_sum += v * (x + 0.5);
			y_sum += v * (y + 0.5);
			xx += v * ((x + 0.5) * (x + 0.5) + 1.0 / 12);
			yy += v * ((y + 0.5) * (y + 0.5) + 1.0 / 12);
		}
	double cx = x_sum / sum, cy = y_sum / sum;
	// A uniform rectangle of width a has variance a^2 / 12.
	double half_w = sqrt(3 * fmax(0, xx / sum - cx * cx));
	double half_h = sqrt(3 * fmax(0, yy / sum - cy * cy));
	box[0] = (float)(cx - half_w);
	box[1] = (float)(cy - half_h);
	box[2] = (float)(cx + half_w);
	box[3] = (float)(cy + half_h);
}

// Where every source pixel is seen, nothing may be off (half a pixel would be the classic mistake).
// Where the model's pixels are larger, edges fall between samples: up to one source pixel, or a
// third of a model pixel when that is more.
static double edge_tolerance(double scale)
{
	return scale <= 1.2 ? 0.05 : fmax(1, 0.35 * scale);
}

// A real rectangle through the real pixels: drawn, preprocessed, found, mapped back.
static void check_pixels(const struct pk_card *card, int width, int height)
{
	struct pk_image_spec spec;
	assert_int_equal(pk_input_spec_from_card(card, &spec, NULL), 0);
	uint8_t *gray = calloc((size_t)width * (size_t)height, 1);
	const int box[4] = {width * 3 / 8, height * 3 / 8, width * 5 / 8, height * 5 / 8};
	for (int y = box[1]; y < box[3]; y++)
		memset(gray + y * width + box[0], 255, (size_t)(box[2] - box[0]));
	struct pk_image image = {.format = PK_PIXEL_GRAY8,
		.width = width,
		.height = height,
		.planes = {gray},
		.strides = {width}};
	struct pk_preprocess *pre = NULL;
	assert_int_equal(pk_preprocess_create(&spec, &image, &pre, NULL), 0);
	float *tensor = calloc((size_t)spec.width * (size_t)spec.height, sizeof(float));
	pk_preprocess_run(pre, &image, tensor);
	float seen[4];
	bright_box(tensor, spec.width, spec.height, seen);
	struct pk_detection d = detect(card, pk_preprocess_map(pre), seen);
	const struct pk_image_map *map = pk_preprocess_map(pre);
	double tx = edge_tolerance(map->scale_x), ty = edge_tolerance(map->scale_y);
	assert_near(d.x1, box[0], tx);
	assert_near(d.x2, box[2], tx);
	assert_near(d.y1, box[1], ty);
	assert_near(d.y2, box[3], ty);
	free(tensor);
	free(gray);
	pk_preprocess_destroy(pre);
}

static void test_pixels(void **state)
{
	static const int shapes[][2] = {
		{640, 480}, {480, 640}, {200, 200}, {641, 361}, {361, 641}, {96, 64}};
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		for (int k = 0; k < 12; k++) {
			struct pk_card card = card_of(320, 192, k % 3, k / 3 % 2, k / 6);
			check_pixels(&card, shapes[s][0], shapes[s][1]);
		}
}

// A bright box in a dark part of a bright picture: what is outside must not be looked at.
static void draw(uint8_t *luma, const struct pk_image *image, const struct pk_image *part,
	const int at[2], const int box[4])
{
	bool yuv = image->format == PK_PIXEL_NV12 || image->format == PK_PIXEL_I420;
	int dark = yuv ? 16 : 0, bright = yuv ? 235 : 255; // what is beyond would be cut off
	int step = image->format == PK_PIXEL_RGB ? 3 : 1, stride = image->strides[0];
	memset(luma, bright, (size_t)(stride * image->height));
	for (int y = at[1]; y < at[1] + part->height; y++)
		memset(luma + y * stride + at[0] * step, dark, (size_t)(part->width * step));
	for (int y = box[1]; y < box[3]; y++)
		memset(luma + y * stride + box[0] * step, bright,
			(size_t)((box[2] - box[0]) * step));
}

// A part of the picture, down to odd edges: its boxes come back in pixels of the whole.
static void check_part(const struct pk_card *card, enum pk_pixel_format format,
	const struct pk_image_region *region)
{
	enum { W = 641, H = 361 };
	static uint8_t luma[W * H * 3], chroma[W * H];
	bool packed = format == PK_PIXEL_RGB;
	int step = packed ? 3 : 1;
	struct pk_image image = {.format = format,
		.width = W,
		.height = H,
		.planes = {luma, packed ? NULL : chroma, format == PK_PIXEL_I420 ? chroma : NULL},
		.strides = {W * step, W + 1, W + 1}};
	struct pk_image part;
	struct pk_image_map map;
	int left, top;
	pk_image_crop(&image, region, &part, &left, &top);
	assert_true(left <= region->x * W && left > region->x * W - 2);
	assert_true(top <= region->y * H && top > region->y * H - 2);
	assert_near(left + part.width, (region->x + region->width) * W, 1);
	assert_near(top + part.height, (region->y + region->height) * H, 1);
	const int box[4] = {left + part.width * 3 / 8, top + part.height * 3 / 8,
		left + part.width * 5 / 8, top + part.height * 5 / 8};
	draw(luma, &image, &part, (const int[]){left, top}, box);
	memset(chroma, 128, sizeof(chroma));
	struct pk_image_spec spec;
	struct pk_preprocess *pre = NULL;
	assert_int_equal(pk_input_spec_from_card(card, &spec, NULL), 0);
	assert_int_equal(pk_preprocess_create(&spec, &part, &pre, NULL), 0);
	float *tensor = calloc((size_t)spec.width * (size_t)spec.height, sizeof(float));
	pk_preprocess_run(pre, &part, tensor);
	float seen[4];
	bright_box(tensor, spec.width, spec.height, seen);
	map = *pk_preprocess_map(pre);
	map.left = left;
	map.top = top;
	struct pk_detection d = detect(card, &map, seen);
	// Smaller boxes: the estimate by moments is coarser.
	double tx = fmax(edge_tolerance(map.scale_x), 0.25);
	double ty = fmax(edge_tolerance(map.scale_y), 0.25);
	assert_near(d.x1, box[0], tx);
	assert_near(d.x2, box[2], tx);
	assert_near(d.y1, box[1], ty);
	assert_near(d.y2, box[3], ty);
	free(tensor);
	pk_preprocess_destroy(pre);
}

static void test_parts(void **state)
{
	static const struct pk_image_region regions[] = {{0, 0, 1, 1}, {0.25, 0.5, 0.5, 0.5},
		{0.1, 0.1, 0.37, 0.61}, {0.503, 0.003, 0.497, 0.4}, {0.7, 0.7, 0.3, 0.3}};
	static const enum pk_pixel_format formats[] = {
		PK_PIXEL_NV12, PK_PIXEL_I420, PK_PIXEL_RGB, PK_PIXEL_GRAY8};
	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
		for (int k = 0; k < 12 * 4; k++) {
			struct pk_card card = card_of(320, 192, k % 3, k / 3 % 2, k / 6 % 2);
			check_part(&card, formats[k / 12], &regions[i]);
		}
}

// Chroma stays under its luma, and the least part has one pixel.
static void test_crop_planes(void **state)
{
	uint8_t y[16], uv[8], v[4];
	struct pk_image image = {.format = PK_PIXEL_NV12,
		.width = 4,
		.height = 4,
		.planes = {y, uv},
		.strides = {4, 4}};
	const struct pk_image_region last = {0.75, 0.75, 0.25, 0.25};
	struct pk_image out;
	int left, top;
	pk_image_crop(&image, &last, &out, &left, &top);
	assert_ptr_equal(out.planes[0], y + 10);
	assert_ptr_equal(out.planes[1], uv + 6);
	assert_null(out.planes[2]);
	assert_int_equal(out.width, 2);
	image.format = PK_PIXEL_I420;
	image.planes[2] = v;
	image.strides[1] = image.strides[2] = 2;
	pk_image_crop(&image, &last, &out, &left, &top);
	assert_ptr_equal(out.planes[1], uv + 3);
	assert_ptr_equal(out.planes[2], v + 3);
	image.format = PK_PIXEL_GRAY8;
	pk_image_crop(&image, &(struct pk_image_region){1, 1, 1e-9, 1e-9}, &out, &left, &top);
	assert_int_equal(left * 1000 + top * 100 + out.width * 10 + out.height, 3311);
	pk_image_crop(&image, &(struct pk_image_region){0}, &out, &left, &top);
	assert_int_equal(left * 1000 + top * 100 + out.width * 10 + out.height, 44);
}

static void test_spec_errors(void **state)
{
	struct pk_card card = card_of(64, 48, 0, 0, false);
	struct pk_image_spec spec;
	struct pk_err err = {0};
	card.input.shape[1] = 3;
	assert_int_equal(pk_input_spec_from_card(&card, &spec, &err), -22);
	assert_string_equal(err.text, "card `g`: input shape [1,3,48,64] is no picture, expected "
				      "[1,c,h,w] with 1 channel");
	card.input.shape[1] = 1;
	card.input.name = (char *)"images";
	struct pk_binding in = {.name = "images", .dtype = PK_F32, .shape = {4, {1, 1, 48, 64}}};
	assert_int_equal(pk_input_spec_check(&card, &in, 1, &err), 0);
	in.shape.dims[3] = 65;
	assert_int_equal(pk_input_spec_check(&card, &in, 1, &err), -22);
	assert_string_equal(err.text,
		"card `g`: input `images` is [1,1,48,64], but the engine's is "
		"[1,1,48,65]");
	in.name = "x";
	assert_int_equal(pk_input_spec_check(&card, &in, 1, &err), -22);
	assert_string_equal(err.text, "card `g`: input `images`, but the engine's is `x`");
	assert_int_equal(pk_input_spec_check(&card, &in, 0, &err), -22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_pixels),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_crop_planes),
		cmocka_unit_test(test_spec_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
