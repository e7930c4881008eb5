// SPDX-License-Identifier: Apache-2.0
// card.yaml → struct pk_card, with the checks that no single key can make.
#include "config/card.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/fs.h"
#include "config/card_table.h"
#include "config/yaml.h"

#define ARENA_MAX (64u * 1024u * 1024u)

struct check {
	struct pk_card *card;
	const struct pk_yaml_node *root;
	struct pk_problems *problems;
	size_t n_found;
};

#define FOUND(c, node, ...)                                                                        \
	do {                                                                                       \
		(c)->n_found++;                                                                    \
		pk_yaml_problem((c)->problems, node, __VA_ARGS__);                                 \
	} while (0)

static const char *const family_names[] = {
	[PK_DECODE_YOLO_V8] = "yolo-v8",
	[PK_DECODE_YOLO_ANCHORS] = "yolo-anchors",
	[PK_DECODE_YOLO_DFL] = "yolo-dfl",
	[PK_DECODE_YOLOX] = "yolox",
	[PK_DECODE_END_TO_END] = "end-to-end",
	[PK_DECODE_BOXES_SCORES] = "boxes-scores",
	[PK_DECODE_DETR] = "detr",
	[PK_DECODE_SSD] = "ssd",
	[PK_DECODE_DETECTIONS] = "detections",
	[PK_DECODE_BLAZEFACE] = "blazeface",
	[PK_DECODE_CLASSIFY] = "classify",
	[PK_DECODE_MAP] = "map",
	[PK_DECODE_SEMANTIC] = "semantic",
	[PK_DECODE_RAW] = "raw",
};

static const char *const role_names[] = {
	[PK_ROLE_PRED] = "pred",
	[PK_ROLE_BOXES] = "boxes",
	[PK_ROLE_SCORES] = "scores",
	[PK_ROLE_LOGITS] = "logits",
	[PK_ROLE_MAP] = "map",
	[PK_ROLE_CLASSES] = "classes",
	[PK_ROLE_COUNT] = "count",
	[PK_ROLE_RAW] = "raw",
};

// What a family wants of the outputs. max 0: any number.
static const struct need {
	enum pk_decode_family family;
	enum pk_output_role role;
	size_t max;
	bool optional;
} needs[] = {
	{PK_DECODE_YOLO_V8, PK_ROLE_PRED, 1},
	{PK_DECODE_YOLO_ANCHORS, PK_ROLE_PRED, 0},
	{PK_DECODE_YOLO_DFL, PK_ROLE_PRED, 0},
	{PK_DECODE_YOLOX, PK_ROLE_PRED, 1},
	{PK_DECODE_END_TO_END, PK_ROLE_PRED, 1},
	{PK_DECODE_DETR, PK_ROLE_BOXES, 1},
	{PK_DECODE_DETR, PK_ROLE_SCORES, 1},
	{PK_DECODE_SSD, PK_ROLE_BOXES, 1},
	{PK_DECODE_SSD, PK_ROLE_SCORES, 1},
	{PK_DECODE_DETECTIONS, PK_ROLE_BOXES, 1},
	{PK_DECODE_DETECTIONS, PK_ROLE_SCORES, 1},
	{PK_DECODE_DETECTIONS, PK_ROLE_CLASSES, 1},
	{PK_DECODE_DETECTIONS, PK_ROLE_COUNT, 1, true},
	{PK_DECODE_SEMANTIC, PK_ROLE_MAP, 1},
	{PK_DECODE_BOXES_SCORES, PK_ROLE_BOXES, 1},
	{PK_DECODE_BOXES_SCORES, PK_ROLE_SCORES, 1},
	{PK_DECODE_BLAZEFACE, PK_ROLE_BOXES, 0},
	{PK_DECODE_BLAZEFACE, PK_ROLE_SCORES, 0},
	{PK_DECODE_CLASSIFY, PK_ROLE_LOGITS, 1},
	{PK_DECODE_MAP, PK_ROLE_MAP, 1},
	{PK_DECODE_RAW, PK_ROLE_RAW, 0},
};

static const enum pk_task family_tasks[] = {
	[PK_DECODE_YOLO_V8] = PK_TASK_DETECT,
	[PK_DECODE_YOLO_ANCHORS] = PK_TASK_DETECT,
	[PK_DECODE_YOLO_DFL] = PK_TASK_DETECT,
	[PK_DECODE_YOLOX] = PK_TASK_DETECT,
	[PK_DECODE_END_TO_END] = PK_TASK_DETECT,
	[PK_DECODE_BOXES_SCORES] = PK_TASK_DETECT,
	[PK_DECODE_DETR] = PK_TASK_DETECT,
	[PK_DECODE_SSD] = PK_TASK_DETECT,
	[PK_DECODE_DETECTIONS] = PK_TASK_DETECT,
	[PK_DECODE_BLAZEFACE] = PK_TASK_DETECT,
	[PK_DECODE_CLASSIFY] = PK_TASK_CLASSIFY,
	[PK_DECODE_MAP] = PK_TASK_DETECT,
	[PK_DECODE_SEMANTIC] = PK_TASK_SEGMENT,
	[PK_DECODE_RAW] = PK_TASK_RAW,
};

static const char *const task_names[] = {
	[PK_TASK_DETECT] = "detect",
	[PK_TASK_CLASSIFY] = "classify",
	[PK_TASK_SEGMENT] = "segment",
	[PK_TASK_RAW] = "raw",
};

// Without mistakes, as far as it was given at all.
static bool sound(const struct pk_yaml_node *node)
{
	if (!node)
		return true;
	if (node->kind == PK_YAML_BAD)
		return false;
	for (const struct pk_yaml_node *child = node->first; child; child = child->next)
		if (!sound(child))
			return false;
	return true;
}

static bool given(const struct pk_yaml_node *map, const char *key)
{
	const struct pk_yaml_node *node = pk_yaml_get(map, key);
	return node && sound(node);
}

static void check_shape(struct check *c, const struct pk_yaml_node *input)
{
	const struct pk_card_input *in = &c->card->input;
	const struct pk_yaml_node *shape = pk_yaml_get(input, "shape");
	size_t at = in->layout == PK_CARD_NHWC ? 3 : 1;
	int64_t channels = in->color == PK_CARD_GRAY ? 1 : 3;

	if (in->shape[0] != 1)
		FOUND(c, shape, "`shape`: the batch (first) must be 1; found %lld",
			(long long)in->shape[0]);
	if (in->shape[at] != channels)
		FOUND(c, shape,
			"`shape`: layout %s and color %s want %lld channels at place %zu; found "
			"%lld",
			at == 3 ? "nhwc" : "nchw", channels == 1 ? "gray" : "rgb or bgr",
			(long long)channels, at + 1, (long long)in->shape[at]);
}

static void check_per_channel(struct check *c, const struct pk_yaml_node *map, const char *key)
{
	const struct pk_yaml_node *list = pk_yaml_get(map, key);
	size_t want = c->card->input.color == PK_CARD_GRAY ? 1 : 3;

	if (list && sound(list) && list->n != want)
		FOUND(c, list, "`%s`: expected one value a channel (%zu), found %zu", key, want,
			list->n);
}

static void check_input(struct check *c)
{
	const struct pk_yaml_node *inputs = pk_yaml_get(c->root, "inputs");
	const struct pk_yaml_node *input =
		inputs && inputs->kind == PK_YAML_LIST ? inputs->first : NULL;

	if (!given(input, "color"))
		return;
	if (given(input, "shape") && sound(pk_yaml_get(input, "layout")))
		check_shape(c, input);
	check_per_channel(c, pk_yaml_get(input, "resize"), "pad");
	check_per_channel(c, pk_yaml_get(input, "normalize"), "mean");
	check_per_channel(c, pk_yaml_get(input, "normalize"), "std");
}

static size_t count_role(const struct pk_card *card, enum pk_output_role role)
{
	size_t n = 0;

	for (size_t i = 0; i < card->n_outputs; i++)
		n += card->outputs[i].role == role;
	return n;
}

static void check_needs(struct check *c, const struct pk_yaml_node *outputs)
{
	const struct pk_card *card = c->card;
	enum pk_decode_family family = card->decode.family;

	for (size_t i = 0; i < PK_ARRAY_LEN(needs); i++) {
		size_t n = count_role(card, needs[i].role);
		if (needs[i].family != family)
			continue;
		if (n == 0 && !needs[i].optional)
			FOUND(c, outputs, "`outputs`: family %s needs an output of role `%s`",
				family_names[family], role_names[needs[i].role]);
		else if (needs[i].max > 0 && n > needs[i].max)
			FOUND(c, outputs,
				"`outputs`: family %s takes one output of role `%s`, "
				"found %zu",
				family_names[family], role_names[needs[i].role], n);
	}
}

static bool takes(enum pk_decode_family family, enum pk_output_role role)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(needs); i++)
		if (needs[i].family == family && needs[i].role == role)
			return true;
	return role == PK_ROLE_RAW; // an output that nobody reads
}

static bool family_given(const struct check *c)
{
	return given(pk_yaml_get(c->root, "decode"), "family");
}

static bool outputs_given(const struct check *c)
{
	const struct pk_yaml_node *outputs = pk_yaml_get(c->root, "outputs");

	if (!outputs || outputs->kind != PK_YAML_LIST)
		return false;
	for (const struct pk_yaml_node *node = outputs->first; node; node = node->next)
		if (!given(node, "name") || !given(node, "role"))
			return false;
	return true;
}

static bool name_repeats(const struct pk_card *card, size_t idx)
{
	for (size_t i = 0; i < idx; i++)
		if (strcmp(card->outputs[i].name, card->outputs[idx].name) == 0)
			return true;
	return false;
}

static void check_outputs(struct check *c)
{
	const struct pk_card *card = c->card;
	const struct pk_yaml_node *outputs = pk_yaml_get(c->root, "outputs");

	if (!outputs_given(c) || !family_given(c))
		return;
	const struct pk_yaml_node *node = outputs->first;
	for (size_t i = 0; i < card->n_outputs; i++, node = node->next) {
		if (!takes(card->decode.family, card->outputs[i].role))
			FOUND(c, pk_yaml_get(node, "role"), "`role`: family %s reads no `%s`",
				family_names[card->decode.family],
				role_names[card->outputs[i].role]);
		if (name_repeats(card, i))
			FOUND(c, pk_yaml_get(node, "name"), "`name`: this output is listed twice");
	}
	check_needs(c, outputs);
	size_t n_boxes = count_role(card, PK_ROLE_BOXES);
	size_t n_scores = count_role(card, PK_ROLE_SCORES);
	if (card->decode.family == PK_DECODE_BLAZEFACE && n_boxes != n_scores && n_boxes &&
		n_scores)
		FOUND(c, outputs,
			"`outputs`: family blazeface wants as many `boxes` (%zu) as "
			"`scores` (%zu)",
			n_boxes, n_scores);
}

static void check_task(struct check *c)
{
	const struct pk_card *card = c->card;
	enum pk_task task = family_tasks[card->decode.family];

	if (family_given(c) && given(c->root, "task") && card->task != task)
		FOUND(c, pk_yaml_get(c->root, "task"), "`task`: family %s does %s, not %s",
			family_names[card->decode.family], task_names[task],
			task_names[card->task]);
}

static void check_anchors(struct check *c)
{
	const struct pk_card *card = c->card;
	const struct pk_yaml_node *decode = pk_yaml_get(c->root, "decode");

	if (!given(decode, "strides") || !given(decode, "anchors_per_cell"))
		return;
	if (card->decode.n_anchors_per_cell != card->decode.n_strides)
		FOUND(c, pk_yaml_get(decode, "anchors_per_cell"),
			"`anchors_per_cell`: expected one number a stride (%zu), found %zu",
			card->decode.n_strides, card->decode.n_anchors_per_cell);
}

// yolo-anchors: as many pairs for each stride, and one output a stride.
static void check_layers(struct check *c)
{
	const struct pk_card *card = c->card;
	const struct pk_yaml_node *decode = pk_yaml_get(c->root, "decode");
	enum pk_decode_family family = card->decode.family;

	if (!family_given(c) || !given(decode, "strides"))
		return;
	if ((family == PK_DECODE_YOLO_ANCHORS || family == PK_DECODE_YOLO_DFL) &&
		outputs_given(c) && count_role(card, PK_ROLE_PRED) != card->decode.n_strides)
		FOUND(c, pk_yaml_get(decode, "strides"),
			"`strides`: expected one a `pred` output (%zu), found %zu",
			count_role(card, PK_ROLE_PRED), card->decode.n_strides);
	if (family == PK_DECODE_YOLO_ANCHORS && given(decode, "anchors") &&
		card->decode.n_strides > 0 &&
		card->decode.n_anchors % (2 * card->decode.n_strides) != 0)
		FOUND(c, pk_yaml_get(decode, "anchors"),
			"`anchors`: expected pairs of width and height, as many a stride; found "
			"%zu numbers for %zu strides",
			card->decode.n_anchors, card->decode.n_strides);
}

// The number of classes that the card states, or 0 when a mistake hides it.
static int classes(const struct check *c)
{
	const struct pk_yaml_node *decode = pk_yaml_get(c->root, "decode");
	enum pk_decode_family family = c->card->decode.family;
	bool one_by_default =
		family == PK_DECODE_BLAZEFACE || family == PK_DECODE_MAP || family == PK_DECODE_RAW;

	if (given(decode, "classes") ||
		(family_given(c) && one_by_default && !pk_yaml_get(decode, "classes")))
		return c->card->decode.classes;
	return 0;
}

static void check_classes(struct check *c)
{
	struct pk_card *card = c->card;
	const struct pk_yaml_node *decode = pk_yaml_get(c->root, "decode");
	const struct pk_yaml_node *top_k = pk_yaml_get(decode, "top_k");
	int n = classes(c);

	if (n == 0)
		return;
	if (given(c->root, "labels") && card->n_labels > 0 && card->n_labels != (size_t)n)
		FOUND(c, pk_yaml_get(c->root, "labels"),
			"`labels`: expected as many as decode.classes (%d), found %zu", n,
			card->n_labels);
	if (card->decode.family == PK_DECODE_CLASSIFY && given(decode, "top_k") &&
		card->decode.top_k > n)
		FOUND(c, top_k, "`top_k`: there are only %d classes; found `%d`", n,
			card->decode.top_k);
	card->decode.top_k = PK_MIN(card->decode.top_k, n);
}

static void fill(struct check *c)
{
	const struct pk_yaml_node *type =
		pk_yaml_get(pk_yaml_get(pk_yaml_get(c->root, "postprocess"), "nms"), "type");

	if (type && strcmp(type->text, "none") == 0)
		c->card->post.iou = 1;
}

static int check(
	struct pk_card *card, const struct pk_yaml_node *root, struct pk_problems *problems)
{
	struct check c = {.card = card, .root = root, .problems = problems};

	check_input(&c);
	check_outputs(&c);
	check_task(&c);
	check_anchors(&c);
	check_layers(&c);
	check_classes(&c);
	fill(&c);
	return c.n_found > 0 ? -EINVAL : 0;
}

int pk_card_parse(const char *text, size_t n, const char *name, struct pk_card **out,
	struct pk_problems *problems)
{
	struct pk_yaml_source source = {.name = name, .dir = "/"};
	pk_auto(pk_arena) arena = pk_arena_create(ARENA_MAX);
	pk_auto(pk_card) card = calloc(1, sizeof(*card));
	struct pk_yaml_node *root;

	if (!arena || !card)
		return -ENOMEM;
	int syntax = pk_yaml_parse(arena, text, n, &source, &root, problems);
	if (!root)
		return syntax;
	int rc = pk_schema_decode(&pk_card_schema, root, card, problems);
	if (rc == -ENOMEM)
		return rc;
	int whole = check(card, root, problems);
	if (syntax < 0 || rc < 0 || whole < 0)
		return -EINVAL;
	*out = pk_steal(card);
	return 0;
}

int pk_card_load(const char *path, struct pk_card **out, struct pk_problems *problems)
{
	pk_auto_buf struct pk_buf text;

	pk_buf_init(&text, PK_YAML_MAX_BYTES + 1);
	int rc = pk_fs_read(path, PK_YAML_MAX_BYTES, &text, NULL);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		pk_problems_add(problems, path, 0, 0, "cannot be read: %s",
			rc == -EFBIG ? "larger than 1 MiB" : pk_err_text(NULL, rc));
		return rc;
	}
	return pk_card_parse(pk_buf_cstr(&text), text.len, path, out, problems);
}

void pk_card_destroy(struct pk_card *card)
{
	if (!card)
		return;
	pk_schema_free(&pk_card_schema, card);
	free(card);
}

const char *pk_card_label(const struct pk_card *card, int class_idx)
{
	if (class_idx < 0 || (size_t)class_idx >= card->n_labels)
		return NULL;
	return card->labels[class_idx];
}
