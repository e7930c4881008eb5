// SPDX-License-Identifier: Apache-2.0
// Golden vectors of every decode family: tensors made by hand, detections known.
#include <errno.h>
#include <math.h>

#include "pipeline/decode/decode.h"
#include "tests/unit/pipeline/cm.h"

// Input 64 x 48 of a picture of 128 x 96: source = model * 2.
static const struct pk_image_map by_two = {
	.scale_x = 2, .scale_y = 2, .src_width = 128, .src_height = 96, .x1 = 64, .y1 = 48};

static struct pk_card base_card(enum pk_decode_family family)
{
	struct pk_card card = {.name = (char *)"parts"};
	card.input.rank = 4;
	card.input.shape[0] = 1;
	card.input.shape[1] = 3;
	card.input.shape[2] = 48;
	card.input.shape[3] = 64;
	card.decode.family = family;
	card.decode.classes = 2;
	card.decode.candidates_last = true;
	card.decode.box_format = PK_BOX_CXCYWH;
	card.post.conf = 0.5;
	card.post.iou = 0.45;
	card.post.max_det = 100;
	return card;
}

static struct pk_binding output(const char *name, int rank, const int64_t *dims)
{
	struct pk_binding b = {.name = name, .dtype = PK_F32, .shape = {.rank = rank}};
	memcpy(b.shape.dims, dims, (size_t)rank * sizeof(*dims));
	return b;
}
#define OUTPUT(name, ...)                                                                          \
	output(name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                    \
		(int64_t[]){__VA_ARGS__})

static struct pk_card_output roles[4];

static void set_outputs(struct pk_card *card, size_t n)
{
	card->outputs = roles;
	card->n_outputs = n;
}

static struct pk_detection found[PK_RESULT_MAX_DETECTIONS];

static size_t decode(const struct pk_card *card, const struct pk_binding *outputs, size_t n_outputs,
	const void *const *tensors)
{
	struct pk_decoder *decoder = NULL;
	struct pk_err err = {0};
	if (pk_decoder_create(card, -1, outputs, n_outputs, &decoder, &err) < 0)
		fail_msg("%s", err.text);
	size_t n = pk_decoder_run(decoder, tensors, &by_two, found);
	// The same twice: nothing is left over from a run.
	assert_int_equal(pk_decoder_run(decoder, tensors, &by_two, found), n);
	pk_decoder_destroy(decoder);
	return n;
}

static void assert_box(const struct pk_detection *d, double x1, double y1, double x2, double y2)
{
	assert_near(d->x1, x1, 1e-3);
	assert_near(d->y1, y1, 1e-3);
	assert_near(d->x2, x2, 1e-3);
	assert_near(d->y2, y2, 1e-3);
}

static void assert_error(
	const struct pk_card *card, const struct pk_binding *outputs, size_t n, const char *text)
{
	struct pk_decoder *decoder = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_decoder_create(card, -1, outputs, n, &decoder, &err), -EINVAL);
	assert_string_equal(err.text, text);
	assert_null(decoder);
}

// [1,4+2,4], one candidate a column: two of one thing, one of another class, one too faint.
static const float yolo_planar[6 * 4] = {
	10, 11, 40, 50,         // cx
	20, 20, 30, 10,         // cy
	8, 8, 20, 4,            // w
	6, 6, 10, 4,            // h
	0.9f, 0.8f, 0.1f, 0.4f, // class 0
	0.2f, 0.1f, 0.7f, 0.3f, // class 1
};

static void test_yolo_v8(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_V8);
	roles[0] = (struct pk_card_output){(char *)"output0", PK_ROLE_PRED};
	set_outputs(&card, 1);
	struct pk_binding out = OUTPUT("output0", 1, 6, 4);
	const void *tensors[] = {yolo_planar};
	assert_int_equal(decode(&card, &out, 1, tensors), 2);
	assert_int_equal(found[0].class_idx, 0);
	assert_near(found[0].score, 0.9, 1e-6);
	assert_box(&found[0], 12, 34, 28, 46);
	assert_int_equal(found[1].class_idx, 1);
	assert_near(found[1].score, 0.7, 1e-6);
	assert_box(&found[1], 60, 50, 100, 70);
}

static void test_yolo_v8_packed_with_objectness_and_logits(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_V8);
	card.decode.candidates_last = false;
	card.decode.objectness = true;
	card.decode.activation = PK_SCORE_SIGMOID;
	card.post.conf = 0.25;
	roles[0] = (struct pk_card_output){(char *)"", PK_ROLE_PRED};
	set_outputs(&card, 1);
	const float packed[2 * 7] = {10, 20, 8, 6, 0, 1.0986123f, -3, // sigmoid: 0.5 * 0.75 = 0.375
		40, 30, 8, 6, -3, 1.0986123f, -3};                    // 0.047 * 0.75: below
	struct pk_binding out = OUTPUT("whatever", 1, 2, 7);
	const void *tensors[] = {packed};
	assert_int_equal(decode(&card, &out, 1, tensors), 1);
	assert_near(found[0].score, 0.375, 1e-5);
	assert_box(&found[0], 12, 34, 28, 46);
}

static void test_yolo_v8_extremes(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_V8);
	roles[0] = (struct pk_card_output){(char *)"output0", PK_ROLE_PRED};
	set_outputs(&card, 1);
	struct pk_binding out = OUTPUT("output0", 1, 6, 4);
	const float wild[6 * 4] = {
		NAN,
		1e30f,
		-1000,
		32, // cx
		20,
		20,
		20,
		24, // cy
		8,
		8,
		8,
		1000, // w: the last one is larger than the picture
		6,
		6,
		6,
		1000, // h
		0.9f,
		0.9f,
		0.9f,
		5, // class 0; a score above 1
		NAN,
		0,
		0,
		0,
	};
	const void *tensors[] = {wild};
	assert_int_equal(decode(&card, &out, 1, tensors), 1); // the others lie nowhere
	assert_box(&found[0], 0, 0, 128, 96);
	assert_near(found[0].score, 1, 0);
}

static void test_yolo_v8_errors(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_V8);
	roles[0] = (struct pk_card_output){(char *)"output0", PK_ROLE_PRED};
	set_outputs(&card, 1);
	struct pk_binding out = OUTPUT("output0", 1, 9, 1008);
	assert_error(
		&card, &out, 1, "card `parts`: output `output0` is [1,9,1008], expected [1,6,N]");
	card.decode.candidates_last = false;
	assert_error(
		&card, &out, 1, "card `parts`: output `output0` is [1,9,1008], expected [1,N,6]");
	out.name = "other";
	assert_error(&card, &out, 1, "card `parts`: the engine has no output `output0`");
	out.name = "output0";
	out.dtype = PK_U8;
	assert_error(&card, &out, 1, "card `parts`: output `output0` is u8, expected f32");
	out = OUTPUT("output0", 1, 6, 4);
	roles[0].role = PK_ROLE_BOXES;
	assert_error(&card, &out, 1,
		"card `parts`: family yolo-v8 needs 1 output with role pred, found 0");
}

static void test_boxes_scores(void **state)
{
	struct pk_card card = base_card(PK_DECODE_BOXES_SCORES);
	card.decode.box_format = PK_BOX_XYXY;
	card.decode.box_units = PK_BOX_NORM;
	card.decode.box_order = PK_BOX_YX;
	card.decode.background = PK_BACKGROUND_FIRST;
	roles[0] = (struct pk_card_output){(char *)"s", PK_ROLE_SCORES};
	roles[1] = (struct pk_card_output){(char *)"b", PK_ROLE_BOXES};
	set_outputs(&card, 2);
	const float boxes[2 * 4] = {0.25f, 0.125f, 0.5f, 0.375f, 0, 0, 1, 1};
	const float scores[2 * 3] = {0.05f, 0.1f, 0.85f, 0.9f, 0.06f, 0.04f};
	struct pk_binding out[] = {OUTPUT("b", 1, 2, 4), OUTPUT("s", 1, 2, 3)};
	const void *tensors[] = {boxes, scores};
	assert_int_equal(decode(&card, out, 2, tensors), 1);
	assert_int_equal(found[0].class_idx, 1); // background does not count
	assert_near(found[0].score, 0.85, 1e-6);
	assert_box(&found[0], 16, 24, 48, 48);

	out[1] = OUTPUT("s", 1, 2, 2);
	assert_error(&card, out, 2, "card `parts`: output `s` is [1,2,2], expected [1,2,3]");
}

static void test_boxes_scores_softmax(void **state)
{
	struct pk_card card = base_card(PK_DECODE_BOXES_SCORES);
	card.decode.box_format = PK_BOX_XYWH;
	card.decode.activation = PK_SCORE_SOFTMAX;
	card.decode.background = PK_BACKGROUND_LAST;
	roles[0] = (struct pk_card_output){(char *)"s", PK_ROLE_SCORES};
	roles[1] = (struct pk_card_output){(char *)"b", PK_ROLE_BOXES};
	set_outputs(&card, 2);
	const float boxes[2 * 4] = {4, 6, 10, 12, 0, 0, 5, 5};
	const float scores[2 * 3] = {1002, 1000, 1001, 0, 0, 3}; // large: must not overflow
	struct pk_binding out[] = {OUTPUT("b", 1, 2, 4), OUTPUT("s", 1, 2, 3)};
	const void *tensors[] = {boxes, scores};
	assert_int_equal(decode(&card, out, 2, tensors), 1);
	assert_int_equal(found[0].class_idx, 0);
	assert_near(found[0].score, 1 / (1 + exp(-2) + exp(-1)), 1e-5);
	assert_box(&found[0], 8, 12, 28, 36);
}

static void test_classify(void **state)
{
	struct pk_card card = base_card(PK_DECODE_CLASSIFY);
	card.decode.classes = 4;
	card.decode.activation = PK_SCORE_SOFTMAX;
	card.decode.top_k = 2;
	card.post.conf = 0.01;
	roles[0] = (struct pk_card_output){(char *)"", PK_ROLE_LOGITS};
	set_outputs(&card, 1);
	const float logits[] = {1, 3, 0, 2};
	struct pk_binding out = OUTPUT("logits", 1, 4);
	const void *tensors[] = {logits};
	assert_int_equal(decode(&card, &out, 1, tensors), 2);
	double sum = exp(1) + exp(3) + 1 + exp(2);
	assert_int_equal(found[0].class_idx, 1);
	assert_near(found[0].score, exp(3) / sum, 1e-5);
	assert_int_equal(found[1].class_idx, 3);
	assert_near(found[1].score, exp(2) / sum, 1e-5);
	assert_box(&found[0], 0, 0, 128, 96);

	out = OUTPUT("logits", 1, 5);
	assert_error(&card, &out, 1, "card `parts`: output `logits` is [1,5], expected [1,4]");
}

static void test_blazeface(void **state)
{
	// Input 64 x 48: stride 16 gives 4 x 3 cells of 1 anchor, stride 32 gives 2 x 1 of 2.
	struct pk_card card = base_card(PK_DECODE_BLAZEFACE);
	card.decode.classes = 1;
	card.decode.activation = PK_SCORE_SIGMOID;
	card.decode.strides[0] = 16;
	card.decode.strides[1] = 32;
	card.decode.anchors_per_cell[0] = 1;
	card.decode.anchors_per_cell[1] = 2;
	card.decode.n_strides = card.decode.n_anchors_per_cell = 2;
	roles[0] = (struct pk_card_output){(char *)"s16", PK_ROLE_SCORES};
	roles[1] = (struct pk_card_output){(char *)"b16", PK_ROLE_BOXES};
	roles[2] = (struct pk_card_output){(char *)"s32", PK_ROLE_SCORES};
	roles[3] = (struct pk_card_output){(char *)"b32", PK_ROLE_BOXES};
	set_outputs(&card, 4);
	float s16[12], s32[4], b16[12 * 6] = {0}, b32[4 * 6] = {0};
	for (int i = 0; i < 12; i++)
		s16[i] = -100;
	for (int i = 0; i < 4; i++)
		s32[i] = -100;
	s16[6] = 2; // cell (2, 1): anchor at (40, 24)
	memcpy(b16 + 6 * 6, (float[]){1, -2, 10, 8}, 4 * sizeof(float));
	s32[3] = 1; // second anchor of cell (1, 0): at (48, 24)
	memcpy(b32 + 3 * 6, (float[]){0, 0, 4, 4}, 4 * sizeof(float));
	struct pk_binding out[] = {OUTPUT("s16", 1, 12, 1), OUTPUT("b16", 1, 12, 6),
		OUTPUT("s32", 1, 4, 1), OUTPUT("b32", 1, 4, 6)};
	const void *tensors[] = {s16, b16, s32, b32};
	assert_int_equal(decode(&card, out, 4, tensors), 2);
	assert_near(found[0].score, 1 / (1 + exp(-2)), 1e-5);
	assert_box(&found[0], 72, 36, 92, 52);
	assert_box(&found[1], 92, 44, 100, 52);

	out[2] = OUTPUT("s32", 1, 8, 1);
	assert_error(&card, out, 4,
		"card `parts`: output `s32` is [1,8,1], expected [1,4,1] (stride 32, 2 anchors a "
		"cell)");
}

// Maps: a plain region, a ring with a hole, a diagonal chain, and a speck below min_area.
static void test_map(void **state)
{
	struct pk_card card = base_card(PK_DECODE_MAP);
	card.decode.classes = 1;
	card.post.conf = 0.3;
	card.post.min_area = 3;
	roles[0] = (struct pk_card_output){(char *)"", PK_ROLE_MAP};
	set_outputs(&card, 1);
	static const char *const art[12] = {
		"................",
		".99.....6666....",
		".99.....6..6....",
		"........6666....",
		"................",
		"5.............2.",
		".5..............",
		"..5.......7.....",
		"...5............",
		"................",
		"................",
		"................",
	};
	float map[12 * 16];
	for (int y = 0; y < 12; y++)
		for (int x = 0; x < 16; x++)
			map[y * 16 + x] = art[y][x] == '.' ? 0 : (float)(art[y][x] - '0') / 10;
	struct pk_binding out = OUTPUT("prob", 1, 1, 12, 16); // a quarter of the input each way
	const void *tensors[] = {map};
	assert_int_equal(decode(&card, &out, 1, tensors), 3);
	assert_near(found[0].score, 0.9, 1e-5);
	assert_box(&found[0], 8, 8, 24, 24);
	assert_near(found[1].score, 0.6, 1e-5);
	assert_box(&found[1], 64, 8, 96, 32);
	assert_near(found[2].score, 0.5, 1e-5);
	assert_box(&found[2], 0, 40, 32, 72);
}

static void test_map_worst_cases(void **state)
{
	enum { H = 200, W = 300 };
	struct pk_card card = base_card(PK_DECODE_MAP);
	card.post.max_det = 0;
	roles[0] = (struct pk_card_output){(char *)"", PK_ROLE_MAP};
	set_outputs(&card, 1);
	float *map = calloc(H * W, sizeof(float));
	struct pk_binding out = OUTPUT("prob", 1, 1, H, W);
	const void *tensors[] = {map};
	for (int i = 0; i < H * W; i++)
		map[i] = 1;
	assert_int_equal(decode(&card, &out, 1, tensors), 1); // everything is one region
	assert_box(&found[0], 0, 0, 128, 96);
	for (int y = 0; y < H; y++) // isolated dots, far more than are kept
		for (int x = 0; x < W; x++)
			map[y * W + x] = x % 2 == 0 && y % 2 == 0 ? 1 : 0;
	assert_int_equal(decode(&card, &out, 1, tensors), PK_RESULT_MAX_DETECTIONS);
	free(map);
}

static void test_raw(void **state)
{
	struct pk_card card = base_card(PK_DECODE_RAW);
	roles[0] = (struct pk_card_output){(char *)"a", PK_ROLE_RAW};
	set_outputs(&card, 1);
	struct pk_binding out[] = {OUTPUT("z", 1, 9), OUTPUT("a", 1, 2)};
	const float a[] = {1.5f, -2}, z[9] = {0};
	const void *tensors[] = {z, a};
	struct pk_decoder *decoder = NULL;
	assert_int_equal(pk_decoder_create(&card, -1, out, 2, &decoder, NULL), 0);
	assert_int_equal(pk_decoder_run(decoder, tensors, &by_two, found), 0);
	const struct pk_result_tensor *passed;
	assert_int_equal(pk_decoder_tensors(decoder, &passed), 1);
	assert_string_equal(passed[0].name, "a");
	assert_int_equal(passed[0].n, 2);
	assert_ptr_equal(passed[0].data, a);
	pk_decoder_destroy(decoder);
}

// What the card promises and the engine does not keep.
static void test_shapes_are_checked(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_ANCHORS);
	card.decode.n_strides = 1;
	card.decode.strides[0] = 8;
	card.decode.n_anchors = 6;
	roles[0] = (struct pk_card_output){(char *)"p", PK_ROLE_PRED};
	set_outputs(&card, 1);
	struct pk_binding out[3] = {OUTPUT("p", 1, 21, 8, 6)}; // h and w swapped
	assert_error(&card, out, 1,
		"card `parts`: output `p` is [1,21,8,6], expected [1,21,6,8] or [1,3,6,8,7]");
	card.decode.strides[0] = 100;
	assert_error(
		&card, out, 1, "card `parts`: stride 100 leaves no cell of an input of 64 x 48");
	card.decode.strides[0] = 8;
	card.decode.family = PK_DECODE_YOLO_DFL;
	card.decode.reg_max = 4;
	assert_error(&card, out, 1, "card `parts`: output `p` is [1,21,8,6], expected [1,18,6,8]");
	card.decode.family = PK_DECODE_YOLOX;
	assert_error(&card, out, 1, "card `parts`: output `p` is [1,21,8,6], expected [1,48,7]");
	card.decode.family = PK_DECODE_END_TO_END;
	assert_error(&card, out, 1, "card `parts`: output `p` is [1,21,8,6], expected [1,N,6]");
	out[0].dtype = PK_I64;
	assert_error(&card, out, 1, "card `parts`: output `p` is i64, expected f32");
	card.decode.family = PK_DECODE_SEMANTIC;
	roles[0].role = PK_ROLE_MAP;
	assert_error(&card, out, 1,
		"card `parts`: output `p` is [1,21,8,6], expected scores [1,2,h,w] (f32) or class "
		"numbers [1,h,w]");
	card.decode.family = PK_DECODE_SSD;
	roles[0].role = PK_ROLE_BOXES;
	roles[1] = (struct pk_card_output){(char *)"s", PK_ROLE_SCORES};
	set_outputs(&card, 2);
	card.decode.anchor_grid.n_aspect_ratios = 2;
	out[0] = OUTPUT("p", 1, 48, 4);
	out[1] = OUTPUT("s", 1, 48, 2);
	assert_error(&card, out, 2,
		"card `parts`: output `p` is [1,48,4], expected [1,144,4] (as strides and "
		"anchor_grid say)");
	card.decode.family = PK_DECODE_DETECTIONS;
	assert_error(&card, out, 2,
		"card `parts`: family detections needs 1 output with role classes, found 0");
	card.decode.classes = 0;
	assert_error(&card, out, 2, "card `parts`: decode.classes must be 1 or more");
}

static void test_threshold_of_the_config_wins(void **state)
{
	struct pk_card card = base_card(PK_DECODE_YOLO_V8);
	roles[0] = (struct pk_card_output){(char *)"output0", PK_ROLE_PRED};
	set_outputs(&card, 1);
	struct pk_binding out = OUTPUT("output0", 1, 6, 4);
	const void *tensors[] = {yolo_planar};
	const double confs[] = {0.85, 0.35, 0, 1};
	const size_t counts[] = {1, 3, 3, 0};
	for (size_t i = 0; i < 4; i++) {
		struct pk_decoder *decoder = NULL;
		assert_int_equal(pk_decoder_create(&card, confs[i], &out, 1, &decoder, NULL), 0);
		assert_int_equal(pk_decoder_run(decoder, tensors, &by_two, found), counts[i]);
		pk_decoder_destroy(decoder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yolo_v8),
		cmocka_unit_test(test_yolo_v8_packed_with_objectness_and_logits),
		cmocka_unit_test(test_yolo_v8_extremes),
		cmocka_unit_test(test_yolo_v8_errors),
		cmocka_unit_test(test_boxes_scores),
		cmocka_unit_test(test_boxes_scores_softmax),
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_blazeface),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_worst_cases),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_shapes_are_checked),
		cmocka_unit_test(test_threshold_of_the_config_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
