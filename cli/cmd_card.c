// SPDX-License-Identifier: Apache-2.0
// picketctl card: proposes a model card for an ONNX file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cli/card_infer.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/options.h"
#include "config/card.h"
#include "engine/compile/compile.h"
#include "engine/onnx/model.h"

#define MAX_SHAPES     8
#define CARD_MAX_BYTES (1u << 20)
#define TEXT_MAX       65536 // of one metadata value

static const char usage[] =
	"usage: picketctl card infer [OPTIONS] MODEL.onnx\n\n"
	"Prints a model card that fits the file, from its shapes and metadata. What could "
	"mean "
	"two\n"
	"things is asked, never guessed; answer with options. Look the card over before you "
	"use it.\n\n"
	"  --out FILE           write it there\n"
	"  --name NAME          of the model (default: the file's)\n"
	"  --family NAME        yolox or raw, where the outputs do not say\n"
	"  --classes N          where the file does not say\n"
	"  --shape NAME=DIMS    binds an open input or dimension, as for `engine build`\n"
	"  --color rgb|bgr\n"
	"  --resize stretch|letterbox|center-crop\n"
	"  --scale S  --mean A,B,C  --std A,B,C\n"
	"  --activation none|sigmoid|softmax   of a classifier\n\n"
	"Exit code 0: a card; 1: not a picture model, or unreadable; 2: questions are "
	"open.\n";

struct arguments {
	struct pk_card_choices choices;
	const char *path, *out;
	struct pk_input_shape shapes[MAX_SHAPES];
	char *shape_names[MAX_SHAPES];
	size_t n_shapes;
};

static void arguments_finish(struct arguments *a)
{
	for (size_t i = 0; i < a->n_shapes; i++)
		free(a->shape_names[i]);
}

static const char *add_shape(void *to, const char *text)
{
	struct arguments *a = to;
	const char *equals = strchr(text, '=');
	if (!equals || a->n_shapes == MAX_SHAPES)
		return "NAME=1x3x320x320 is wanted";
	struct pk_input_shape *shape = &a->shapes[a->n_shapes];
	if (!pk_engine_args_dims(equals + 1, &shape->shape))
		return "dimensions are numbers joined by x";
	shape->name = a->shape_names[a->n_shapes] = strndup(text, (size_t)(equals - text));
	a->n_shapes += shape->name != NULL;
	return shape->name ? NULL : "out of memory";
}

static const char *take_classes(void *to, const char *text)
{
	struct pk_card_choices *choices = to;
	char rest;
	bool right = sscanf(text, "%6d%c", &choices->classes, &rest) == 1 && choices->classes > 0;
	return right ? NULL : "a number of classes is wanted";
}

// PK_GO_ON, or the exit code.
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
	*a = (struct arguments){0};
	const struct pk_option rows[] = {
		PK_TEXT("out", &a->out),
		PK_TEXT("name", &a->choices.name),
		PK_TEXT("family", &a->choices.family),
		PK_TEXT("color", &a->choices.color),
		PK_TEXT("resize", &a->choices.resize),
		PK_TEXT("scale", &a->choices.scale),
		PK_TEXT("mean", &a->choices.mean),
		PK_TEXT("std", &a->choices.std),
		PK_TEXT("activation", &a->choices.activation),
		PK_CALL("classes", take_classes, &a->choices),
		PK_CALL("shape", add_shape, a),
	};
	const struct pk_verb_line line = {
		"card infer", usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one ONNX file"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code == PK_GO_ON)
		a->path = words.at[0];
	return code;
}

// Text of the file as a string of the arena; NULL when it is too long.
static const char *copy(struct pk_arena *arena, struct pk_onnx_str text)
{
	char *out = text.n < TEXT_MAX ? pk_arena_alloc(arena, text.n + 1) : NULL;
	if (!out)
		return NULL;
	memcpy(out, text.data, text.n);
	out[text.n] = '\0';
	return out;
}

static void fill_tensor(const struct pk_value *value, struct pk_card_tensor *out)
{
	*out = (struct pk_card_tensor){.name = value->name, .rank = value->shape.rank};
	for (int i = 0; i < value->shape.rank && i < PK_CARD_INFER_MAX_RANK; i++)
		out->dims[i] = value->shape.dims[i];
}

static void fill_metadata(
	struct pk_arena *arena, const struct pk_onnx_model *model, struct pk_card_facts *facts)
{
	const struct {
		const char *key;
		const char **value;
	} rows[] = {{"task", &facts->task}, {"names", &facts->names}, {"end2end", &facts->end2end},
		{"author", &facts->author}};
	for (size_t i = 0; i < model->n_metadata; i++)
		for (size_t k = 0; k < PK_ARRAY_LEN(rows); k++)
			if (model->metadata[i].key.n == strlen(rows[k].key) &&
				memcmp(model->metadata[i].key.data, rows[k].key,
					strlen(rows[k].key)) == 0)
				*rows[k].value = copy(arena, model->metadata[i].value);
}

static int fill_facts(
	struct pk_source_model *model, struct pk_card_facts *facts, struct pk_err *err)
{
	const struct pk_graph *graph = model->graph;
	if (graph->n_inputs != 1)
		return pk_fail(
			err, -ENOTSUP, "%d inputs; a card takes one picture", graph->n_inputs);
	if (graph->n_outputs > PK_CARD_INFER_MAX_OUTPUTS)
		return pk_fail(err, -ENOTSUP, "more than %d outputs", PK_CARD_INFER_MAX_OUTPUTS);
	fill_tensor(graph->inputs[0], &facts->input);
	for (int i = 0; i < graph->n_outputs; i++)
		fill_tensor(graph->outputs[i], &facts->outputs[i]);
	facts->n_outputs = (size_t)graph->n_outputs;
	fill_metadata(model->arena, model->onnx, facts);
	return 0;
}

// The card that is proposed must be one.
static int check(const struct pk_buf *card, struct pk_err *err)
{
	struct pk_problems problems = {0};
	pk_auto(pk_card) parsed = NULL;
	int r = pk_card_parse(
		pk_buf_cstr(card), card->len, "the proposed card", &parsed, &problems);
	if (r < 0 && problems.n)
		pk_fail(err, r, "%s:%d:%d: %s (an option says what the card cannot take)",
			problems.items[0].file, problems.items[0].line, problems.items[0].column,
			problems.items[0].text);
	pk_problems_finish(&problems);
	return r;
}

static int infer_file(const struct arguments *a, struct pk_buf *card, struct pk_buf *questions,
	struct pk_err *err)
{
	pk_cleanup(pk_source_model_close) struct pk_source_model model = {0};
	struct pk_card_facts facts = {0};
	int r = pk_source_model_open(&model, a->path, a->shapes, a->n_shapes, NULL, err);
	if (r == 0)
		r = fill_facts(&model, &facts, err);
	if (r == 0)
		r = pk_card_infer(&facts, &a->choices, card, questions, err);
	return r == 0 ? check(card, err) : r;
}

// "yard.onnx" of a path → "yard".
static char *model_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);
	if (n > 5 && strcmp(base + n - 5, ".onnx") == 0)
		n -= 5;
	return strndup(base, n < 64 ? n : 64);
}

static int infer(int argc, char **argv)
{
	pk_cleanup(arguments_finish) struct arguments a;
	struct pk_err err = {0};
	pk_auto_buf struct pk_buf card;
	pk_auto_buf struct pk_buf questions;
	pk_buf_init(&card, CARD_MAX_BYTES);
	pk_buf_init(&questions, CARD_MAX_BYTES);
	int code = parse_arguments(argc, argv, &a);
	if (code != PK_GO_ON)
		return code;
	pk_auto_free char *name = model_name(a.path);
	if (!a.choices.name)
		a.choices.name = name;
	int r = infer_file(&a, &card, &questions, &err);
	if (r == 0 && a.out)
		r = pk_fs_write_atomic(a.out, pk_buf_cstr(&card), card.len, 0644, &err);
	if (r < 0) {
		fprintf(stderr, "picketctl: %s: %s\n%s", a.path, pk_err_text(&err, r),
			pk_buf_cstr(&questions));
		return questions.len ? PK_EXIT_USAGE : PK_EXIT_FAIL;
	}
	if (!a.out)
		fputs(pk_buf_cstr(&card), stdout);
	return PK_EXIT_OK;
}

int pk_cmd_card(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {{"infer", infer}};
	return PK_RUN_VERB("card", usage, verbs, argc, argv);
}
