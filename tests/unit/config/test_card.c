// SPDX-License-Identifier: Apache-2.0
#include "config/card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "config/card_table.h"
#include "tests/unit/config/cm.h"

#define HEAD "card: 1\nname: m\ntask: detect\n"
#define INPUT                                                                                      \
	"inputs:\n"                                                                                \
	"  - name: images\n"                                                                       \
	"    shape: [1, 3, 192, 256]\n"                                                            \
	"    layout: nchw\n"                                                                       \
	"    dtype: f32\n"                                                                         \
	"    color: rgb\n"                                                                         \
	"    range: full\n"                                                                        \
	"    resize: {mode: letterbox, anchor: topleft, pad: [1, 2, 3], interp: bilinear, "        \
	"upscale: false}\n"                                                                        \
	"    normalize: {scale: 0.00392156862745098, mean: [0.5, 0.25, 0], std: [1, 2, 3]}\n"
#define OUTPUT "outputs:\n  - {name: output0, role: pred}\n"
#define DECODE "decode: {family: yolo-v8, classes: 2, box: {format: cxcywh}}\n"

static const char full[] = HEAD INPUT OUTPUT
	"decode:\n"
	"  family: yolo-v8\n"
	"  classes: 2\n"
	"  pred_axis: middle\n"
	"  box: {format: xyxy, units: norm, order: yx}\n"
	"  score: {activation: sigmoid, objectness: true, background: last}\n"
	"  strides: [8, 16]\n"
	"postprocess: {conf: 0.5, nms: {type: hard, iou: 0.6, class_agnostic: true}, max_det: 9}\n"
	"labels: [bolt, no]\n"
	"gate: {max_abs_err: 0.01, min_cosine: 0.99, match_iou: 0.8, match_score: 0.1}\n"
	"provenance: {source: here, deep: [{x: 1}]}\n"
	"x-remark: any\n";

static int parse(const char *text, struct pk_card **card, struct pk_problems *problems)
{
	*card = NULL;
	return pk_card_parse(text, strlen(text), "card.yaml", card, problems);
}

static struct pk_card *parse_ok(const char *text)
{
	struct pk_problems problems = {0};
	struct pk_card *card;
	int rc = parse(text, &card, &problems);

	pk_problems_print(&problems, stderr);
	assert_int_equal(rc, 0);
	pk_problems_finish(&problems);
	return card;
}

static void test_every_value(void **state)
{
	struct pk_card *c = parse_ok(full);

	assert_string_equal(c->name, "m");
	assert_int_equal(c->task, PK_TASK_DETECT);
	assert_string_equal(c->input.name, "images");
	assert_int_equal(c->input.rank, 4);
	assert_int_equal(c->input.shape[0], 1);
	assert_int_equal(c->input.shape[3], 256);
	assert_int_equal(c->input.layout, PK_CARD_NCHW);
	assert_int_equal(c->input.color, PK_CARD_RGB);
	assert_int_equal(c->input.resize, PK_CARD_LETTERBOX);
	assert_int_equal(c->input.anchor, PK_CARD_TOP_LEFT);
	assert_true(c->input.pad[0] == 1 && c->input.pad[2] == 3);
	assert_false(c->input.upscale);
	assert_true(c->input.scale == 0.00392156862745098);
	assert_true(c->input.mean[1] == 0.25 && c->input.std[2] == 3);
	assert_int_equal(c->n_outputs, 1);
	assert_string_equal(c->outputs[0].name, "output0");
	assert_int_equal(c->outputs[0].role, PK_ROLE_PRED);
	assert_int_equal(c->decode.family, PK_DECODE_YOLO_V8);
	assert_int_equal(c->decode.classes, 2);
	assert_false(c->decode.candidates_last);
	assert_int_equal(c->decode.box_format, PK_BOX_XYXY);
	assert_int_equal(c->decode.box_units, PK_BOX_NORM);
	assert_int_equal(c->decode.box_order, PK_BOX_YX);
	assert_int_equal(c->decode.activation, PK_SCORE_SIGMOID);
	assert_true(c->decode.objectness);
	assert_int_equal(c->decode.background, PK_BACKGROUND_LAST);
	assert_int_equal(c->decode.n_strides, 2);
	assert_int_equal(c->decode.strides[1], 16);
	assert_true(c->post.conf == 0.5 && c->post.iou == 0.6 && c->post.class_agnostic);
	assert_int_equal(c->post.max_det, 9);
	assert_string_equal(pk_card_label(c, 1), "no"); // text, not false
	assert_null(pk_card_label(c, 2));
	assert_null(pk_card_label(c, -1));
	assert_true(c->gate.max_abs_err == 0.01 && c->gate.min_cosine == 0.99);
	assert_true(c->gate.match_iou == 0.8 && c->gate.match_score == 0.1);
	pk_card_destroy(c);
	pk_card_destroy(NULL);
}

static void test_defaults(void **state)
{
	struct pk_card *c = parse_ok(HEAD
		"inputs: [{shape: [1, 3, 8, 8], color: bgr, resize: {mode: stretch}, normalize: "
		"{scale: 1}}]\n" OUTPUT "decode: {family: yolo-v8, classes: 3}\n");

	assert_string_equal(c->input.name, "");
	assert_true(c->input.pad[1] == 114 && c->input.upscale);
	assert_true(c->input.mean[0] == 0 && c->input.std[0] == 1);
	assert_true(c->decode.candidates_last);
	assert_int_equal(c->decode.box_format, PK_BOX_CXCYWH);
	assert_int_equal(c->decode.box_units, PK_BOX_PIXEL);
	assert_int_equal(c->n_labels, 0);
	assert_null(pk_card_label(c, 0));
	assert_true(c->post.conf == 0.25 && c->post.iou == 0.45 && c->post.max_det == 300);
	assert_true(c->gate.max_abs_err == 0.001 && c->gate.min_cosine == 0.9999);
	pk_card_destroy(c);
}

static void test_nms_none(void **state)
{
	struct pk_card *c = parse_ok(HEAD INPUT OUTPUT DECODE "postprocess: {nms: {type: none}}\n");
	assert_true(c->post.iou >= 1);
	pk_card_destroy(c);
}

#define GRAY_INPUT                                                                                 \
	"inputs: [{shape: [1, 8, 8, 1], layout: nhwc, color: gray, resize: {mode: letterbox, "     \
	"pad: [0]}, normalize: {scale: 1, mean: [127.5], std: [127.5]}}]\n"

static void test_families(void **state)
{
	static const char *const cards[] = {
		HEAD GRAY_INPUT
		"outputs: [{name: b, role: boxes}, {name: s, role: scores}]\n"
		"decode: {family: boxes-scores, classes: 90, box: {format: xyxy}}\n",
		HEAD INPUT
		"outputs: [{name: s1, role: scores}, {name: s2, role: scores}, {name: b1, "
		"role: boxes}, {name: b2, role: boxes}]\n"
		"decode: {family: blazeface, strides: [8, 16], anchors_per_cell: [2, 6], "
		"score: {activation: sigmoid}}\nlabels: [face]\n",
		HEAD INPUT "outputs: [{name: p, role: map}]\ndecode: {family: map}\n"
			   "postprocess: {min_area: 10}\nlabels: [text]\n",
		"card: 1\nname: m\ntask: raw\n" INPUT
		"outputs: [{name: a, role: raw}, {name: b, role: raw}]\ndecode: {family: raw}\n",
		HEAD INPUT "outputs: [{name: p, role: pred}, {name: q, role: pred}]\n"
			   "decode: {family: yolo-anchors, classes: 2, strides: [8, 16], "
			   "anchors: [10, 13, 16, 30, 33, 23, 30, 61], formula: v3}\n",
		HEAD INPUT "outputs: [{name: p, role: pred}]\n"
			   "decode: {family: yolo-dfl, classes: 2, strides: [8], reg_max: 8}\n",
		HEAD INPUT OUTPUT "decode: {family: yolox, classes: 2, strides: [8, 16, 32]}\n",
		HEAD INPUT OUTPUT "decode: {family: end-to-end, classes: 2, box: {format: xyxy}}\n",
		HEAD INPUT "outputs: [{name: b, role: boxes}, {name: s, role: scores}]\n"
			   "decode: {family: detr, classes: 2, box: {format: cxcywh}, "
			   "score: {activation: sigmoid}}\n",
		HEAD INPUT
		"outputs: [{name: b, role: boxes}, {name: s, role: scores}]\n"
		"decode: {family: ssd, classes: 2, box: {format: cxcywh}, strides: [16], "
		"variances: [0.1, 0.2], anchor_grid: {aspect_ratios: [1, 2]}}\n",
		HEAD INPUT "outputs: [{name: b, role: boxes}, {name: s, role: scores}, {name: c, "
			   "role: classes}, {name: n, role: count}]\n"
			   "decode: {family: detections, classes: 2, box: {format: xyxy}}\n",
		"card: 1\nname: m\ntask: segment\n" INPUT "outputs: [{name: m, role: map}]\n"
		"decode: {family: semantic, classes: 2, score: {background: first}}\n",
		// Outputs that nobody reads may be named.
		HEAD INPUT "outputs: [{name: a, role: pred}, {name: b, role: raw}]\n" DECODE,
	};

	for (size_t i = 0; i < sizeof(cards) / sizeof(*cards); i++)
		pk_card_destroy(parse_ok(cards[i]));
}

static void test_top_k(void **state)
{
#define CLASSIFY(more)                                                                             \
	"card: 1\nname: m\ntask: classify\n" INPUT                                                 \
	"outputs: [{name: l, role: logits}]\ndecode: {family: classify, " more "}\n"
	struct pk_card *c = parse_ok(CLASSIFY("classes: 1000"));
	assert_int_equal(c->decode.top_k, 5);
	pk_card_destroy(c);
	c = parse_ok(CLASSIFY("classes: 2"));
	assert_int_equal(c->decode.top_k, 2);
	pk_card_destroy(c);
	c = parse_ok(CLASSIFY("classes: 10, top_k: 10"));
	assert_int_equal(c->decode.top_k, 10);
	pk_card_destroy(c);
}

static void test_dump_round_trip(void **state)
{
	struct pk_card *a = parse_ok(full);
	pk_auto_buf struct pk_buf out;

	pk_buf_init(&out, 65536);
	pk_schema_dump(&pk_card_schema, a, &out);
	assert_int_equal(pk_buf_error(&out), 0);
	struct pk_card *b = parse_ok(pk_buf_cstr(&out));
	assert_true(pk_schema_equal(&pk_card_schema, a, b));
	pk_card_destroy(a);
	pk_card_destroy(b);
}

static const struct {
	const char *text;
	const char *expected;
} mistakes[] = {
	{"", "1:1: missing required key `card`\n"
	     "1:1: missing required key `name`\n"
	     "1:1: missing required key `task`\n"
	     "1:1: missing required key `inputs`\n"
	     "1:1: missing required key `outputs`\n"
	     "1:1: missing required key `decode`\n"},
	{"card: 2\nname: m\ntask: detect\n" INPUT OUTPUT DECODE, "1:7: `card`: cannot be `2`; "
								 "allowed: 1\n"},
	{"card: 1\nname: m\ntask: pose\n" INPUT OUTPUT DECODE,
		"3:7: `task`: cannot be `pose`; allowed: detect, classify, segment, raw\n"},
	{"card: 1\nname: m\ntask: detect\n" INPUT "outputs: [{name: m, role: map}]\n"
	 "decode: {family: semantic, classes: 2}\n",
		"3:7: `task`: family semantic does segment, not detect\n"},
	{"card: 1\nname: m\ntask: classify\n" INPUT OUTPUT DECODE,
		"3:7: `task`: family yolo-v8 does detect, not classify\n"},
	{HEAD INPUT OUTPUT DECODE "precision: {prefer: [int8]}\n",
		"16:1: unknown key `precision`; known here: card, name, task, inputs, outputs, "
		"decode, postprocess, labels, gate, provenance\n"},
	{HEAD INPUT "  - {}\n" OUTPUT DECODE,
		"5:3: `inputs`: expected exactly 1 entries, found 2\n"},
	{HEAD "inputs: []\n" OUTPUT DECODE, "4:9: `inputs`: expected exactly 1 entries, found 0\n"},
	{HEAD "inputs: [{shape: [2, 3, 8, 8], color: rgb, resize: {mode: stretch}, normalize: "
	      "{scale: 1}}]\n" OUTPUT DECODE,
		"4:18: `shape`: the batch (first) must be 1; found 2\n"},
	{HEAD "inputs: [{shape: [1, 8, 8, 3], color: rgb, resize: {mode: stretch}, normalize: "
	      "{scale: 1}}]\n" OUTPUT DECODE,
		"4:18: `shape`: layout nchw and color rgb or bgr want 3 channels at place 2; found "
		"8\n"},
	{HEAD "inputs: [{shape: [1, 3, 8], color: rgb, resize: {mode: stretch}, normalize: "
	      "{scale: 1}}]\n" OUTPUT DECODE,
		"4:18: `shape`: expected exactly 4 entries, found 3\n"},
	{HEAD "inputs: [{shape: [1, 3, 0, 8], color: rgb, resize: {mode: stretch}, normalize: "
	      "{scale: 1}}]\n" OUTPUT DECODE,
		"4:25: `shape`: must be from 1 to 8192; found `0`\n"},
	{HEAD "inputs: [{shape: [1, 1, 8, 8], color: gray, resize: {mode: letterbox, pad: [1, 2, "
	      "3]}, "
	      "normalize: {scale: 1, mean: [1, 2], std: [1]}}]\n" OUTPUT DECODE,
		"4:76: `pad`: expected one value a channel (1), found 3\n"
		"4:116: `mean`: expected one value a channel (1), found 2\n"},
	{HEAD "inputs: [{shape: [1, 3, 8, 8], color: rgb, dtype: u8, resize: {mode: stretch, "
	      "upscale: true}, normalize: {scale: 0, std: [1, 0, 1]}}]\n" OUTPUT DECODE,
		"4:51: `dtype`: cannot be `u8`; allowed: f32\n"
		"4:79: `upscale` does not apply to mode `stretch` (only to: letterbox)\n"
		"4:114: `scale`: must be from 1e-9 to 1e9; found `0`\n"
		"4:126: `std`: must be from 1e-9 to 1e9; found `0`\n"},
	{HEAD INPUT "outputs: [{name: a, role: boxes}]\n" DECODE,
		"13:10: `outputs`: family yolo-v8 needs an output of role `pred`\n"
		"13:27: `role`: family yolo-v8 reads no `boxes`\n"},
	{HEAD INPUT "outputs: [{name: a, role: pred}, {name: a, role: pred}]\n" DECODE,
		"13:10: `outputs`: family yolo-v8 takes one output of role `pred`, found 2\n"
		"13:41: `name`: this output is listed twice\n"},
	{HEAD INPUT "outputs: [{role: pred}]\n" DECODE,
		"13:11: missing required key `name` in `outputs`\n"},
	{HEAD INPUT OUTPUT "decode: {family: yolo-v9, classes: 2}\n",
		"15:18: `family`: cannot be `yolo-v9`; did you mean `yolo-v8`? Allowed: yolo-v8, "
		"yolo-anchors, yolo-dfl, yolox, end-to-end, boxes-scores, detr, ssd, detections, "
		"blazeface, classify, map, semantic, raw\n"},
	{HEAD INPUT "outputs: [{name: p, role: pred}, {name: q, role: pred}]\n"
		    "decode: {family: yolo-dfl, classes: 2, strides: [8, 16, 32]}\n",
		"14:49: `strides`: expected one a `pred` output (2), found 3\n"},
	{HEAD INPUT "outputs: [{name: p, role: pred}, {name: q, role: pred}]\n"
		    "decode: {family: yolo-anchors, classes: 2, strides: [8, 16], "
		    "anchors: [1, 2, 3, 4, 5, 6]}\n",
		"14:71: `anchors`: expected pairs of width and height, as many a stride; found 6 "
		"numbers for 2 strides\n"},
	{HEAD INPUT "outputs: [{name: b, role: boxes}, {name: s, role: scores}]\n"
		    "decode: {family: detections, classes: 2, box: {format: xyxy}}\n",
		"13:10: `outputs`: family detections needs an output of role `classes`\n"},
	{HEAD INPUT OUTPUT "decode: {family: yolo-v8}\nlabels: [a, b]\n",
		"15:1: missing required key `classes` in `decode`\n"},
	{HEAD INPUT OUTPUT "decode: {family: yolo-v8, classes: 2, top_k: 3}\n",
		"15:39: `top_k` does not apply to family `yolo-v8` (only to: classify)\n"},
	{HEAD INPUT OUTPUT DECODE "labels: [a]\n",
		"16:9: `labels`: expected as many as decode.classes (2), found 1\n"},
	{HEAD INPUT OUTPUT DECODE "labels: [a, '']\n", "16:13: `labels`: must not be empty\n"},
	{HEAD INPUT OUTPUT DECODE "postprocess: {conf: 2, nms: {type: none, iou: 0.5}}\n",
		"16:21: `conf`: must be from 0 to 1; found `2`\n"
		"16:42: `iou` does not apply to type `none` (only to: hard)\n"},
	{HEAD INPUT OUTPUT DECODE "postprocess: {nms: {type: soft}}\n",
		"16:27: `type`: cannot be `soft`; allowed: hard, none\n"},
	{HEAD INPUT "outputs: [{name: s, role: scores}, {name: b, role: boxes}]\n"
		    "decode: {family: blazeface, strides: [8, 16], anchors_per_cell: [2]}\n",
		"14:65: `anchors_per_cell`: expected one number a stride (2), found 1\n"},
	{HEAD INPUT "outputs: [{name: s, role: scores}, {name: b, role: boxes}, {name: c, role: "
		    "boxes}]\ndecode: {family: blazeface, strides: [8], anchors_per_cell: [2]}\n",
		"13:10: `outputs`: family blazeface wants as many `boxes` (2) as `scores` (1)\n"},
	{HEAD INPUT "outputs: [{name: s, role: scores}, {name: b, role: boxes}]\n"
		    "decode: {family: boxes-scores, classes: 1}\n",
		"14:1: missing required key `box` in `decode`\n"},
	{"card: 1\nname: m\ntask: classify\n" INPUT "outputs: [{name: l, role: logits}]\n"
	 "decode: {family: classify, classes: 3, top_k: 4}\n",
		"14:47: `top_k`: there are only 3 classes; found `4`\n"},
	{HEAD INPUT OUTPUT DECODE "gate: {frames: 4}\n",
		"16:8: unknown key `frames`; known here: max_abs_err, min_cosine, match_iou, "
		"match_score\n"},
	{HEAD INPUT OUTPUT DECODE "provenance: {a: &x 1, b: *x}\n",
		"16:17: anchors (`&x`) are not supported; write the value out\n"
		"16:26: aliases (`*x`) are not supported; write the value out\n"},
};

static void test_mistakes(void **state)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		struct pk_problems problems = {0};
		struct pk_card *card = NULL;
		struct pk_buf out;
		int rc = parse(mistakes[i].text, &card, &problems);

		assert_int_equal(rc, -EINVAL);
		assert_null(card);
		pk_buf_init(&out, 65536);
		pk_auto_free char *printed = NULL;
		size_t n = 0;
		FILE *memory = open_memstream(&printed, &n);
		pk_problems_print(&problems, memory);
		fclose(memory);
		for (char *line = printed, *next; *line; line = next) {
			next = strchr(line, '\n') + 1;
			assert_int_equal(strncmp(line, "card.yaml:", 10), 0);
			pk_buf_append(&out, line + 10, (size_t)(next - line) - 10);
		}
		assert_string_equal(pk_buf_cstr(&out), mistakes[i].expected);
		pk_buf_finish(&out);
		pk_problems_finish(&problems);
	}
}

static void test_load(void **state)
{
	struct pk_problems problems = {0};
	struct pk_card *card = NULL;

	assert_int_equal(pk_card_load("/nonexistent/card.yaml", &card, &problems), -ENOENT);
	assert_int_equal(problems.n, 1);
	assert_string_equal(problems.items[0].file, "/nonexistent/card.yaml");
	pk_problems_finish(&problems);
}

// Every prefix, and every single byte damaged: refused or accepted, never worse.
static void test_damage(void **state)
{
	char text[sizeof(full)];

	for (size_t i = 0; i < 2 * (sizeof(full) - 1); i++) {
		struct pk_problems problems = {0};
		struct pk_card *card = NULL;
		size_t at = i / 2, n = i % 2 ? at : sizeof(full) - 1;
		memcpy(text, full, sizeof(full));
		text[at] = (char)(text[at] ^ (1 << (i % 7)));
		int rc = pk_card_parse(text, n, "c", &card, &problems);
		assert_true(rc == 0 ? card && problems.n == 0 : !card && problems.n > 0);
		pk_card_destroy(card);
		pk_problems_finish(&problems);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_nms_none),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_top_k),
		cmocka_unit_test(test_dump_round_trip),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
