// SPDX-License-Identifier: Apache-2.0
// decode_run CARD.yaml NAME=TENSOR.npy …: decodes tensors as the worker would, on a picture of the
// model's own size, and prints the result's line of JSON.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/npy.h"
#include "config/card.h"
#include "pipeline/decode/decode.h"
#include "pipeline/input_spec.h"

#define MAX_TENSORS 16

struct inputs {
	struct pk_binding bindings[MAX_TENSORS];
	const void *data[MAX_TENSORS];
	size_t n;
};

static int fail(const char *what, const struct pk_err *err)
{
	fprintf(stderr, "decode_run: %s%s%s\n", what, err && err->text[0] ? ": " : "",
		err ? err->text : "");
	return 1;
}

static int add(struct inputs *in, const char *argument, struct pk_err *err)
{
	const char *equals = strchr(argument, '=');
	struct pk_tensor tensor = {0};
	if (!equals || in->n == MAX_TENSORS)
		return pk_fail(err, -22, "%s: expected NAME=FILE.npy", argument);
	int r = pk_npy_read(equals + 1, &tensor, err);
	if (r < 0)
		return r;
	in->bindings[in->n] =
		(struct pk_binding){.name = strndup(argument, (size_t)(equals - argument)),
			.dtype = tensor.dtype,
			.shape = tensor.shape};
	in->data[in->n++] = tensor.data;
	return 0;
}

static int print(const struct pk_card *card, struct pk_decoder *decoder, const struct inputs *in)
{
	static struct pk_detection found[PK_RESULT_MAX_DETECTIONS];
	struct pk_image_spec spec;
	struct pk_frame frame = {0};
	struct pk_image_map map;
	struct pk_buf line;
	struct pk_err err = {0};
	if (pk_input_spec_from_card(card, &spec, &err) < 0)
		return fail("card", &err);
	frame.image.width = spec.width;
	frame.image.height = spec.height;
	pk_image_map_make(&spec, spec.width, spec.height, &map);
	struct pk_result result = {.camera = "golden",
		.frame = &frame,
		.model = card->name,
		.model_digest = "",
		.rung = "engine",
		.runtime = "cpu",
		.card = card,
		.detections = found,
		.n_detections = pk_decoder_run(decoder, in->data, &map, found),
		.class_map = pk_decoder_class_map(decoder)};
	pk_buf_init(&line, 1 << 24);
	if (pk_result_write_json(&result, &line) < 0)
		return fail("result", NULL);
	fputs(pk_buf_cstr(&line), stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct inputs in = {0};
	struct pk_err err = {0};
	struct pk_problems problems = {0};
	struct pk_card *card = NULL;
	struct pk_decoder *decoder = NULL;
	if (argc < 3)
		return fail("usage: decode_run CARD.yaml NAME=TENSOR.npy …", NULL);
	if (pk_card_load(argv[1], &card, &problems) < 0)
		return fail(problems.n ? problems.items[0].text : argv[1], NULL);
	for (int i = 2; i < argc; i++)
		if (add(&in, argv[i], &err) < 0)
			return fail("tensor", &err);
	if (pk_decoder_create(card, -1, in.bindings, in.n, &decoder, &err) < 0)
		return fail("decoder", &err);
	return print(card, decoder, &in);
}
