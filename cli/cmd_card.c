// SPDX-License-Identifier: Apache-2.0
// picketctl card: proposes a model card for an ONNX file.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cli/card_infer.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "config/card.h"
#include "engine/compile/compile.h"
#include "engine/onnx/model.h"

#define MAX_SHAPES     8
#define CARD_MAX_BYTES (1u << 20)
#define TEXT_MAX       65536 // of one metadata value

static void usage(FILE *out)
{
	fputs("usage: picketctl card infer [OPTIONS] MODEL.onnx\n\n"
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
	      "open.\n",
		out);
}

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

static bool add_shape(struct arguments *a, const char *text)
{
	const char *equals = strchr(text, '=');
	if (!equals || a->n_shapes == MAX_SHAPES)
		return false;
	struct pk_input_shape *shape = &a->shapes[a->n_shapes];
	if (!pk_engine_args_dims(equals + 1, &shape->shape))
		return false;
	shape->name = a->shape_names[a->n_shapes] = strndup(text, (size_t)(equals - text));
	a->n_shapes += shape->name != NULL;
	return shape->name != NULL;
}

static bool parse_classes(const char *text, struct pk_card_choices *choices)
{
	char rest;
	return sscanf(text, "%6d%c", &choices->classes, &rest) == 1 && choices->classes > 0;
}

// Where the text of an option goes; NULL: it is a number.
static const char **text_of(struct arguments *a, int c)
{
	switch (c) {
	case 'o':
		return &a->out;
	case 'n':
		return &a->choices.name;
	case 'f':
		return &a->choices.family;
	case 'c':
		return &a->choices.color;
	case 'r':
		return &a->choices.resize;
	case 's':
		return &a->choices.scale;
	case 'm':
		return &a->choices.mean;
	case 'd':
		return &a->choices.std;
	case 'a':
		return &a->choices.activation;
	default:
		return NULL;
	}
}

static int parse_arguments(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {{"out", required_argument, NULL, 'o'},
		{"name", required_argument, NULL, 'n'}, {"family", required_argument, NULL, 'f'},
		{"color", required_argument, NULL, 'c'}, {"resize", required_argument, NULL, 'r'},
		{"scale", required_argument, NULL, 's'}, {"mean", required_argument, NULL, 'm'},
		{"std", required_argument, NULL, 'd'}, {"activation", required_argument, NULL, 'a'},
		{"classes", required_argument, NULL, 'k'}, {"shape", required_argument, NULL, 'z'},
		{"help", no_argument, NULL, 'h'}, {0}};
	*a = (struct arguments){0};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		const char **text = text_of(a, c);
		bool right = true;
		if (text)
			*text = optarg;
		else if (c == 'k')
			right = parse_classes(optarg, &a->choices);
		else if (c == 'z')
			right = add_shape(a, optarg);
		if (c == 'h' || c == '?' || !right) {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? PK_EXIT_OK : PK_EXIT_USAGE;
		}
	}
	a->path = argv[optind];
	if (optind + 1 != argc) {
		usage(stderr);
		return PK_EXIT_USAGE;
	}
	return -1;
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
	int code = parse_arguments(argc, argv, &a);
	if (code >= 0)
		return code;
	pk_buf_init(&card, CARD_MAX_BYTES);
	pk_buf_init(&questions, CARD_MAX_BYTES);
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
	if (argc >= 2 && strcmp(argv[1], "infer") == 0)
		return infer(argc - 1, argv + 1);
	bool asked = argc >= 2 && strcmp(argv[1], "--help") == 0;
	usage(asked ? stdout : stderr);
	return asked ? PK_EXIT_OK : PK_EXIT_USAGE;
}
