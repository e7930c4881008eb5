// SPDX-License-Identifier: Apache-2.0
// Shapes and metadata → a model card, or questions.
#include "cli/card_infer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cli/py_names.h"

// Grids that heads are known to have, as rows of strides.
#define MAX_STRIDES 4
static const struct strides {
	int n, of[MAX_STRIDES];
	const char *text;
} stride_sets[] = {
	{3, {8, 16, 32}, "[8, 16, 32]"},
	{2, {8, 16}, "[8, 16]"},
	{2, {16, 32}, "[16, 32]"},
	{4, {8, 16, 32, 64}, "[8, 16, 32, 64]"},
	{4, {4, 8, 16, 32}, "[4, 8, 16, 32]"},
};

struct infer {
	const struct pk_card_facts *facts;
	const struct pk_card_choices *choices;
	struct pk_buf *questions;
	bool ultralytics; // its exporter fixes colour, size and normalisation
	bool nhwc;
	int64_t channels, height, width;
	struct pk_py_names names;
	int64_t classes; // 0: not known
};

// How outputs are read. Text is what stands in the card.
struct head {
	const char *task, *family;
	const char *keys;              // lines of `decode`
	const char *nms;               // of `postprocess`
	const struct strides *strides; // NULL: the family takes none
	const char *roles[PK_CARD_INFER_MAX_OUTPUTS];
};

static void ask(struct infer *in, const char *question)
{
	pk_buf_printf(in->questions, "%s\n", question);
}

static bool shaped(const struct pk_card_tensor *t, int rank)
{
	return t->rank == rank && t->dims[0] <= 1;
}

static int64_t cells_of(const struct infer *in, const struct strides *set)
{
	int64_t n = 0;
	for (int i = 0; i < set->n; i++)
		n += (in->height / set->of[i]) * (in->width / set->of[i]);
	return n;
}

// The grids that give n candidates, per_cell to a cell; NULL: none that is known.
static const struct strides *grids_of(const struct infer *in, int64_t n, int per_cell)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(stride_sets); i++)
		if (cells_of(in, &stride_sets[i]) * per_cell == n)
			return &stride_sets[i];
	return NULL;
}

static int read_input(struct infer *in, struct pk_err *err)
{
	const struct pk_card_tensor *t = &in->facts->input;
	if (t->rank != 4)
		return pk_fail(err, -ENOTSUP, "input `%s` has %d axes; a picture has four", t->name,
			t->rank);
	const bool first = t->dims[1] == 1 || t->dims[1] == 3;
	const bool last = t->dims[3] == 1 || t->dims[3] == 3;
	if (first == last)
		return pk_fail(err, -ENOTSUP,
			"input `%s`: which axis holds 1 or 3 channels cannot be told", t->name);
	in->nhwc = last;
	in->channels = t->dims[last ? 3 : 1];
	in->height = t->dims[last ? 1 : 2];
	in->width = t->dims[last ? 2 : 3];
	return 0;
}

static int read_names(struct infer *in, struct pk_err *err)
{
	if (in->facts->names) {
		int r = pk_py_names_parse(in->facts->names, &in->names, err);
		if (r < 0) {
			pk_err_prefix(err, "metadata `names`");
			return r;
		}
	}
	in->classes = in->choices->classes > 0 ? in->choices->classes : (int64_t)in->names.n;
	return 0;
}

static bool output_named(const struct infer *in, const char *const *names, size_t *idx)
{
	for (*idx = 0; *idx < in->facts->n_outputs; (*idx)++)
		for (size_t k = 0; names[k]; k++)
			if (strcmp(in->facts->outputs[*idx].name, names[k]) == 0)
				return true;
	return false;
}

// Graphs with suppression inside name their outputs after what they hold.
static bool is_detections(const struct infer *in, struct head *head)
{
	static const struct {
		const char *role;
		const char *names[4];
		bool required;
	} rows[] = {
		{"boxes", {"detection_boxes", "det_boxes", "num_boxes"}, true},
		{"scores", {"detection_scores", "det_scores"}, true},
		{"classes", {"detection_classes", "det_classes"}, true},
		{"count", {"num_detections", "num_dets"}, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		size_t at;
		if (output_named(in, rows[i].names, &at))
			head->roles[at] = rows[i].role;
		else if (rows[i].required)
			return false;
	}
	head->task = "detect";
	head->family = "detections";
	// TensorFlow's order and numbering, EfficientNMS's.
	head->keys = strcmp(in->facts->outputs[0].name, "num_dets") == 0
			     ? "  box: {format: xyxy, units: pixel}\n"
			     : "  box: {format: xyxy, units: norm, order: yx}\n"
			       "  score: {background: first}\n";
	head->nms = "{type: none}";
	return true;
}

static void set_head(
	struct head *head, const char *task, const char *family, const char *role, const char *keys)
{
	head->task = task;
	head->family = family;
	head->keys = keys;
	head->roles[0] = role;
}

// One tensor whose sizes say which family it is. False: they do not.
static bool from_one_tensor(struct infer *in, struct head *head)
{
	const struct pk_card_tensor *t = &in->facts->outputs[0];
	if (!shaped(t, 3))
		return false;
	const int64_t a = t->dims[1], b = t->dims[2];
	if (b == 6 && (in->ultralytics || a == 300) &&
		(!in->facts->end2end || strcmp(in->facts->end2end, "True") == 0)) {
		set_head(head, "detect", "end-to-end", "pred", "  box: {format: xyxy}\n");
		head->nms = "{type: none}";
		return true;
	}
	if (grids_of(in, b, 1) && a > 4 && (in->classes == 0 || in->classes == a - 4)) {
		in->classes = a - 4;
		set_head(head, "detect", "yolo-v8", "pred", "  pred_axis: last\n");
		return true;
	}
	if (grids_of(in, a, 3) && b > 5 && (in->classes == 0 || in->classes == b - 5)) {
		in->classes = b - 5;
		set_head(head, "detect", "yolo-v8", "pred",
			"  pred_axis: middle\n  score: {objectness: true}\n");
		return true;
	}
	return false;
}

static bool fits_grids(struct infer *in, const struct strides *set)
{
	for (size_t i = 0; i < (size_t)set->n; i++) {
		const struct pk_card_tensor *t = &in->facts->outputs[i];
		if (!shaped(t, 4) || t->dims[1] != 64 + in->classes ||
			t->dims[2] != in->height / set->of[i] ||
			t->dims[3] != in->width / set->of[i])
			return false;
	}
	return true;
}

// A tensor of 64 + classes channels for each of the known grids.
static bool from_grids(struct infer *in, struct head *head)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(stride_sets) && in->classes > 0; i++) {
		const struct strides *set = &stride_sets[i];
		if ((size_t)set->n != in->facts->n_outputs || !fits_grids(in, set))
			continue;
		for (int k = 0; k < set->n; k++)
			head->roles[k] = "pred";
		set_head(head, "detect", "yolo-dfl", "pred",
			"  reg_max: 16\n  score: {activation: sigmoid}\n");
		head->strides = set;
		return true;
	}
	return false;
}

static bool is_classifier(struct infer *in, struct head *head)
{
	const struct pk_card_tensor *t = &in->facts->outputs[0];
	if (in->facts->n_outputs != 1 || !shaped(t, 2) || t->dims[1] < 2 ||
		(in->classes && in->classes != t->dims[1]))
		return false;
	in->classes = t->dims[1];
	const char *activation = in->choices->activation;
	if (in->ultralytics && !activation)
		activation = "none"; // its graphs end in a softmax
	if (!activation)
		ask(in, "score.activation: are the outputs probabilities already (none), or is it "
			"softmax or sigmoid? choose with --activation");
	set_head(head, "classify", "classify", "logits",
		activation && strcmp(activation, "softmax") == 0
			? "  score: {activation: softmax}\n"
		: activation && strcmp(activation, "sigmoid") == 0
			? "  score: {activation: sigmoid}\n"
			: "  score: {activation: none}\n");
	return true;
}

// What a person chose without more to say.
static bool from_choice(struct infer *in, struct head *head)
{
	const char *family = in->choices->family;
	const struct pk_card_tensor *t = &in->facts->outputs[0];
	if (!family)
		return false;
	if (strcmp(family, "raw") == 0) {
		set_head(head, "raw", "raw", "raw", "");
		for (size_t i = 0; i < in->facts->n_outputs; i++)
			head->roles[i] = "raw";
		return true;
	}
	if (strcmp(family, "yolox") == 0 && shaped(t, 3) && t->dims[2] > 5 &&
		grids_of(in, t->dims[1], 1)) {
		in->classes = t->dims[2] - 5;
		set_head(head, "detect", "yolox", "pred", "");
		head->strides = grids_of(in, t->dims[1], 1);
		return true;
	}
	return false;
}

static void explain_ambiguity(struct infer *in)
{
	const struct pk_card_tensor *t = &in->facts->outputs[0];
	if (in->choices->family)
		ask(in, "family: the outputs do not fit the chosen one; docs/CARD.md lists what "
			"each "
			"takes");
	else if (in->facts->n_outputs == 1 && shaped(t, 3) && grids_of(in, t->dims[1], 1))
		ask(in, "family: one tensor [1, N, 5 + classes] may be YOLOX (--family yolox) or a "
			"decoded head: write the card by hand");
	else if (in->facts->n_outputs == 2)
		ask(in, "family: two outputs may be boxes-scores, detr or ssd; write the card by "
			"hand (docs/CARD.md), or --family raw passes numbers on");
	else
		ask(in, "family: the outputs say nothing; write the card by hand (docs/CARD.md), "
			"or --family raw passes numbers on");
}

static void find_head(struct infer *in, struct head *head)
{
	const bool known = in->facts->task && strcmp(in->facts->task, "detect") != 0 &&
			   strcmp(in->facts->task, "classify") != 0;
	if (known && !in->choices->family) {
		pk_buf_printf(in->questions,
			"family: task `%s` has no decode family yet; --family raw passes numbers "
			"on\n",
			in->facts->task);
		return;
	}
	if (from_choice(in, head) || is_detections(in, head))
		return;
	memset(head->roles, 0, sizeof(head->roles));
	if (in->facts->n_outputs == 1 && from_one_tensor(in, head))
		return;
	if (from_grids(in, head) || is_classifier(in, head))
		return;
	explain_ambiguity(in);
}

static void ask_picture(struct infer *in)
{
	if (in->ultralytics)
		return;
	if (in->channels == 3 && !in->choices->color)
		ask(in, "color: rgb or bgr? choose with --color");
	if (!in->choices->resize)
		ask(in, "resize: stretch, letterbox or center-crop? choose with --resize");
	if (!in->choices->scale)
		ask(in, "normalize: input = (x * scale - mean) / std, x in 0..255; choose with "
			"--scale, and --mean, --std where they are not 0 and 1");
}

// mean and std: a gray card wants one value where the default has three.
static void write_per_channel(
	const struct infer *in, const char *key, const char *value, struct pk_buf *out)
{
	const bool mean = strcmp(key, "mean") == 0;
	if (value || in->channels == 1)
		pk_buf_printf(out, ", %s: [%s]", key, value ? value : mean ? "0" : "1");
}

static const char *resize_of(const struct infer *in)
{
	const char *task = in->facts->task;
	if (in->choices->resize)
		return in->choices->resize;
	return task && strcmp(task, "classify") == 0 ? "center-crop" : "letterbox";
}

static const char *color_of(const struct infer *in)
{
	if (in->channels == 1)
		return "gray";
	return in->choices->color ? in->choices->color : "rgb";
}

static void write_picture(const struct infer *in, struct pk_buf *out)
{
	const struct pk_card_choices *c = in->choices;
	const char *resize = resize_of(in);
	const int64_t shape[4] = {1, in->nhwc ? in->height : in->channels,
		in->nhwc ? in->width : in->height, in->nhwc ? in->channels : in->width};
	pk_buf_str(out, "inputs:\n  - name: ");
	pk_buf_json_string(out, in->facts->input.name);
	pk_buf_printf(out,
		"\n    shape: [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]\n"
		"    layout: %s\n    color: %s\n    resize: {mode: %s",
		shape[0], shape[1], shape[2], shape[3], in->nhwc ? "nhwc" : "nchw", color_of(in),
		resize);
	if (strcmp(resize, "letterbox") == 0)
		pk_buf_str(out, in->channels == 1 ? ", pad: [114]" : ", pad: [114, 114, 114]");
	pk_buf_printf(
		out, "}\n    normalize: {scale: %s", c->scale ? c->scale : "0.00392156862745098");
	write_per_channel(in, "mean", c->mean, out);
	write_per_channel(in, "std", c->std, out);
	pk_buf_str(out, "}\n");
}

static void write_card(const struct infer *in, const struct head *head, struct pk_buf *out)
{
	pk_buf_str(out, "card: 1\nname: ");
	pk_buf_json_string(out, in->choices->name ? in->choices->name : "model");
	pk_buf_printf(out, "\ntask: %s\n", head->task);
	write_picture(in, out);
	pk_buf_str(out, "outputs:\n");
	for (size_t i = 0; i < in->facts->n_outputs; i++) {
		if (!head->roles[i])
			continue;
		pk_buf_str(out, "  - {name: ");
		pk_buf_json_string(out, in->facts->outputs[i].name);
		pk_buf_printf(out, ", role: %s}\n", head->roles[i]);
	}
	pk_buf_printf(out, "decode:\n  family: %s\n", head->family);
	if (strcmp(head->family, "raw") != 0)
		pk_buf_printf(out, "  classes: %" PRId64 "\n", in->classes);
	if (head->strides)
		pk_buf_printf(out, "  strides: %s\n", head->strides->text);
	pk_buf_str(out, head->keys);
	if (head->nms)
		pk_buf_printf(out, "postprocess: {nms: %s}\n", head->nms);
	for (size_t i = 0; i < in->names.n; i++) {
		pk_buf_str(out, i ? ", " : "labels: [");
		pk_buf_json_string(out, in->names.items[i]);
	}
	if (in->names.n)
		pk_buf_str(out, "]\n");
	pk_buf_printf(out, "provenance: {inferred: true%s}\n",
		in->ultralytics ? ", exporter: Ultralytics" : "");
}

static int infer(struct infer *in, struct pk_buf *out, struct pk_err *err)
{
	struct head head = {0};
	int r = read_input(in, err);
	if (r == 0)
		r = read_names(in, err);
	if (r < 0)
		return r;
	if (in->facts->n_outputs == 0)
		return pk_fail(err, -EINVAL, "the graph has no outputs");
	find_head(in, &head);
	if (head.family && in->classes < 1 && strcmp(head.family, "raw") != 0)
		ask(in, "classes: how many are there? choose with --classes");
	if (head.family && in->names.n && (int64_t)in->names.n != in->classes)
		ask(in, "labels: the metadata names another number of classes than the outputs "
			"have");
	ask_picture(in);
	if (in->questions->len)
		return pk_fail(err, -EDOM, "the file leaves questions open");
	write_card(in, &head, out);
	return pk_buf_error(out);
}

int pk_card_infer(const struct pk_card_facts *facts, const struct pk_card_choices *choices,
	struct pk_buf *out, struct pk_buf *questions, struct pk_err *err)
{
	struct infer in = {.facts = facts, .choices = choices, .questions = questions};
	in.ultralytics = facts->author && strcmp(facts->author, "Ultralytics") == 0;
	int r = infer(&in, out, err);
	pk_py_names_finish(&in.names);
	return r;
}
