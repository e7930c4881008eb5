// SPDX-License-Identifier: Apache-2.0
// Cards that files say by themselves, and questions where they do not.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/card_infer.h"
#include "cli/py_names.h"
#include "config/card.h"

static struct pk_buf card, questions;

static int infer(const struct pk_card_facts *facts, const struct pk_card_choices *choices)
{
	struct pk_err err = {0};
	pk_buf_finish(&card);
	pk_buf_finish(&questions);
	pk_buf_init(&card, 1 << 20);
	pk_buf_init(&questions, 1 << 20);
	return pk_card_infer(facts, choices, &card, &questions, &err);
}

// The proposed text is a card.
static struct pk_card *parsed(void)
{
	struct pk_problems problems = {0};
	struct pk_card *out = NULL;
	int r = pk_card_parse(pk_buf_cstr(&card), card.len, "card", &out, &problems);
	pk_problems_print(&problems, stderr);
	pk_problems_finish(&problems);
	assert_int_equal(r, 0);
	return out;
}

static struct pk_card_tensor tensor(const char *name, int rank, const int64_t *dims)
{
	struct pk_card_tensor t = {.name = name, .rank = rank};
	for (int i = 0; i < rank; i++)
		t.dims[i] = dims[i];
	return t;
}
#define TENSOR(name, ...)                                                                          \
	tensor(name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                    \
		(int64_t[]){__VA_ARGS__})

static struct pk_card_facts ultralytics(const char *task)
{
	return (struct pk_card_facts){.input = TENSOR("images", 1, 3, 640, 640),
		.n_outputs = 1,
		.task = task,
		.names = "{0: 'person', 1: \"driver's cab\"}",
		.author = "Ultralytics"};
}

static void test_the_usual_exports(void **state)
{
	static const struct {
		const char *task, *end2end;
		int64_t dims[3];
		int rank;
		enum pk_decode_family family;
		bool objectness;
	} rows[] = {
		{"detect", NULL, {1, 6, 8400}, 3, PK_DECODE_YOLO_V8, false},
		{"detect", NULL, {1, 25200, 7}, 3, PK_DECODE_YOLO_V8, true},
		{"detect", "True", {1, 300, 6}, 3, PK_DECODE_END_TO_END, false},
		{"classify", NULL, {1, 2}, 2, PK_DECODE_CLASSIFY, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_card_facts facts = ultralytics(rows[i].task);
		facts.end2end = rows[i].end2end;
		facts.outputs[0] = tensor("output0", rows[i].rank, rows[i].dims);
		assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), 0);
		struct pk_card *c = parsed();
		assert_int_equal(c->decode.family, rows[i].family);
		assert_int_equal(c->decode.objectness, rows[i].objectness);
		assert_int_equal(c->decode.classes, 2);
		assert_string_equal(c->labels[1], "driver's cab");
		assert_int_equal(c->input.color, PK_CARD_RGB);
		assert_int_equal(c->input.resize, rows[i].family == PK_DECODE_CLASSIFY
							  ? PK_CARD_CENTER_CROP
							  : PK_CARD_LETTERBOX);
		pk_card_destroy(c);
	}
}

static void test_raw_grids(void **state)
{
	struct pk_card_facts facts = ultralytics("detect");
	facts.n_outputs = 3;
	facts.outputs[0] = TENSOR("p3", 1, 66, 80, 80);
	facts.outputs[1] = TENSOR("p4", 1, 66, 40, 40);
	facts.outputs[2] = TENSOR("p5", 1, 66, 20, 20);
	assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), 0);
	struct pk_card *c = parsed();
	assert_int_equal(c->decode.family, PK_DECODE_YOLO_DFL);
	assert_int_equal(c->n_outputs, 3);
	assert_int_equal(c->decode.strides[2], 32);
	pk_card_destroy(c);
}

static void test_graphs_with_suppression(void **state)
{
	struct pk_card_facts facts = {.input = TENSOR("x", 1, 300, 300, 3), .n_outputs = 4};
	facts.outputs[0] = TENSOR("detection_boxes", 1, 100, 4);
	facts.outputs[1] = TENSOR("detection_classes", 1, 100);
	facts.outputs[2] = TENSOR("detection_scores", 1, 100);
	facts.outputs[3] = TENSOR("num_detections", 1);
	const struct pk_card_choices choices = {
		.color = "rgb", .resize = "stretch", .scale = "1", .classes = 90};
	assert_int_equal(infer(&facts, &choices), 0);
	struct pk_card *c = parsed();
	assert_int_equal(c->decode.family, PK_DECODE_DETECTIONS);
	assert_int_equal(c->decode.box_order, PK_BOX_YX);
	assert_int_equal(c->decode.background, PK_BACKGROUND_FIRST);
	assert_int_equal(c->input.layout, PK_CARD_NHWC);
	assert_int_equal(c->n_outputs, 4);
	pk_card_destroy(c);
}

// Nothing is guessed: each open question is asked, and answering them all gives a card.
static void test_questions(void **state)
{
	struct pk_card_facts facts = {.input = TENSOR("x", 1, 3, 320, 320), .n_outputs = 1};
	facts.outputs[0] = TENSOR("out", 1, 2100, 85);
	assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), -EDOM);
	assert_string_equal(pk_buf_cstr(&questions),
		"family: one tensor [1, N, 5 + classes] may be YOLOX (--family yolox) or a decoded "
		"head: write the card by hand\n"
		"color: rgb or bgr? choose with --color\n"
		"resize: stretch, letterbox or center-crop? choose with --resize\n"
		"normalize: input = (x * scale - mean) / std, x in 0..255; choose with --scale, "
		"and "
		"--mean, --std where they are not 0 and 1\n");
	assert_int_equal(card.len, 0);
	const struct pk_card_choices choices = {.family = "yolox",
		.color = "bgr",
		.resize = "letterbox",
		.scale = "1",
		.mean = "1, 2, 3"};
	assert_int_equal(infer(&facts, &choices), 0);
	struct pk_card *c = parsed();
	assert_int_equal(c->decode.family, PK_DECODE_YOLOX);
	assert_int_equal(c->decode.classes, 80);
	assert_int_equal(c->input.color, PK_CARD_BGR);
	assert_true(c->input.mean[2] == 3);
	pk_card_destroy(c);
}

static void test_other_tasks_are_not_taken_for_detection(void **state)
{
	struct pk_card_facts facts = ultralytics("pose");
	facts.outputs[0] = TENSOR("output0", 1, 56, 8400);
	assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), -EDOM);
	assert_string_equal(pk_buf_cstr(&questions),
		"family: task `pose` has no decode family yet; --family raw passes numbers on\n");
}

static void test_not_a_picture(void **state)
{
	struct pk_card_facts facts = {.input = TENSOR("x", 1, 128), .n_outputs = 1};
	facts.outputs[0] = TENSOR("out", 1, 10);
	assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), -ENOTSUP);
	facts.input = TENSOR("x", 1, 3, 3, 3);
	assert_int_equal(infer(&facts, &(struct pk_card_choices){0}), -ENOTSUP);
}

static void test_names(void **state)
{
	static const struct {
		const char *text;
		int rc;
		size_t n;
	} rows[] = {
		{"{}", 0, 0},
		{"[]", 0, 0},
		{"['a', 'b',]", 0, 2},
		{" { 0 : 'a' , 1:\"b\"} ", 0, 2},
		{"{0: 'a', 2: 'b'}", -EINVAL, 0},
		{"{0: a}", -EINVAL, 0},
		{"{0: ''}", -EINVAL, 0},
		{"{0: 'a", -EINVAL, 0},
		{"{0: 'a\\", -EINVAL, 0},
		{"{0: 'a'} x", -EINVAL, 0},
		{"{0 'a'}", -EINVAL, 0},
		{"{-0: 'a'}", -EINVAL, 0},
		{"['a' 'b']", -EINVAL, 0},
		{"", -EINVAL, 0},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_py_names names;
		struct pk_err err = {0};
		assert_int_equal(pk_py_names_parse(rows[i].text, &names, &err), rows[i].rc);
		if (rows[i].rc == 0)
			assert_int_equal(names.n, rows[i].n);
		else
			assert_true(err.text[0]);
		pk_py_names_finish(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_usual_exports),
		cmocka_unit_test(test_raw_grids),
		cmocka_unit_test(test_graphs_with_suppression),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_other_tasks_are_not_taken_for_detection),
		cmocka_unit_test(test_not_a_picture),
		cmocka_unit_test(test_names),
	};
	int failed = cmocka_run_group_tests_name("card_infer", tests, NULL, NULL);
	pk_buf_finish(&card);
	pk_buf_finish(&questions);
	return failed;
}
