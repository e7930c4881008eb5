// SPDX-License-Identifier: Apache-2.0
// Decoders against any card, any shapes and any numbers: what comes out lies in the picture.
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/decode/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct input {
	const uint8_t *at;
	size_t left;
};

static unsigned take(struct input *in, unsigned range)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++ % range;
}

static void fill_card(struct input *in, struct pk_card *card)
{
	card->name = (char *)"fuzz";
	card->input.rank = 4;
	card->input.layout = (enum pk_card_layout)take(in, 2);
	for (int i = 1; i < 4; i++)
		card->input.shape[i] = 1 + take(in, 64);
	card->decode.family = (enum pk_decode_family)take(in, PK_DECODE_RAW + 2); // one too
										  // many
	card->decode.classes = (int)take(in, 6);
	card->decode.candidates_last = take(in, 2);
	card->decode.box_format = (enum pk_box_format)take(in, 3);
	card->decode.box_units = (enum pk_box_units)take(in, 2);
	card->decode.box_order = (enum pk_box_order)take(in, 2);
	card->decode.activation = (enum pk_score_activation)take(in, 3);
	card->decode.objectness = take(in, 2);
	card->decode.background = (enum pk_background)take(in, 3);
	card->decode.n_strides = take(in, 9);
	card->decode.n_anchors_per_cell = take(in, 9);
	for (int i = 0; i < 8; i++) {
		card->decode.strides[i] = (int)take(in, 40);
		card->decode.anchors_per_cell[i] = (int)take(in, 5);
	}
	card->decode.n_anchors = take(in, PK_CARD_MAX_ANCHORS + 1);
	for (size_t i = 0; i < card->decode.n_anchors; i++)
		card->decode.anchors[i] = take(in, 64);
	card->decode.formula = (enum pk_anchor_formula)take(in, 2);
	card->decode.reg_max = (int)take(in, 5);
	card->decode.variances[0] = card->decode.variances[1] = take(in, 11) / 10.0;
	card->decode.anchor_grid.min_scale = take(in, 11) / 10.0;
	card->decode.anchor_grid.max_scale = take(in, 11) / 10.0;
	card->decode.anchor_grid.n_aspect_ratios = take(in, 4);
	for (size_t i = 0; i < card->decode.anchor_grid.n_aspect_ratios; i++)
		card->decode.anchor_grid.aspect_ratios[i] = take(in, 4);
	card->decode.anchor_grid.reduce_first = take(in, 2);
	card->decode.top_k = (int)take(in, 5);
	card->post.conf = take(in, 101) / 100.0;
	card->post.iou = take(in, 120) / 100.0;
	card->post.class_agnostic = take(in, 2);
	card->post.max_det = (int)take(in, 200);
	card->post.min_area = take(in, 10);
}

static const char *const names[] = {"a", "b", "c", "d"};

static size_t fill_outputs(
	struct input *in, struct pk_card_output *roles, struct pk_binding *outputs)
{
	size_t n = take(in, 5);
	for (size_t i = 0; i < n; i++) {
		roles[i].name = (char *)names[take(in, 4)];
		roles[i].role = (enum pk_output_role)take(in, PK_ROLE_RAW + 1);
		outputs[i] = (struct pk_binding){.name = names[i], .dtype = PK_F32};
		if (take(in, 4) == 0)
			outputs[i].dtype = (enum pk_dtype[]){PK_I64, PK_I32, PK_U8}[take(in, 3)];
		outputs[i].shape.rank = (int)take(in, 6);
		for (int k = 0; k < outputs[i].shape.rank; k++)
			outputs[i].shape.dims[k] = take(in, 32);
		if (outputs[i].shape.rank > 0 && take(in, 4))
			outputs[i].shape.dims[0] = 1;
	}
	return n;
}

// Numbers of the tensor: the input's bytes over and over, wild ones among them. Large enough for
// any type.
static float *make_tensor(const struct input *in, const struct pk_shape *shape)
{
	static const float wild[] = {0, 1, -1, NAN, INFINITY, -INFINITY, 1e30f, -1e-30f};
	int64_t n = pk_shape_elements(shape);
	float *tensor = calloc((size_t)(n > 0 ? n : 1), sizeof(int64_t));
	for (int64_t i = 0; tensor && i < n && in->left; i++) {
		uint8_t b = in->at[(size_t)i % in->left];
		tensor[i] = b < 8 ? wild[b] : ((float)b - 100) / 8;
	}
	return tensor;
}

static void check(const struct pk_detection *d, size_t n, const struct pk_image_map *map)
{
	assert(n <= PK_RESULT_MAX_DETECTIONS);
	for (size_t i = 0; i < n; i++) {
		assert(d[i].x1 >= 0 && d[i].x1 <= d[i].x2 && d[i].x2 <= (float)map->src_width);
		assert(d[i].y1 >= 0 && d[i].y1 <= d[i].y2 && d[i].y2 <= (float)map->src_height);
		assert(!(d[i].score > 1) && !isnan(d[i].score));
		assert(i == 0 || d[i].score <= d[i - 1].score);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static struct pk_detection found[PK_RESULT_MAX_DETECTIONS];
	struct input in = {.at = bytes, .left = n};
	struct pk_card card = {0};
	struct pk_card_output roles[4] = {0};
	struct pk_binding outputs[4] = {0};
	fill_card(&in, &card);
	size_t n_outputs = fill_outputs(&in, roles, outputs);
	card.outputs = roles;
	card.n_outputs = n_outputs;
	struct pk_err err = {0};
	struct pk_decoder *decoder = NULL;
	if (pk_decoder_create(&card, -1, outputs, n_outputs, &decoder, &err) < 0) {
		assert(err.text[0]);
		return 0;
	}
	float *tensors[4] = {0};
	for (size_t i = 0; i < n_outputs; i++)
		tensors[i] = make_tensor(&in, &outputs[i].shape);
	const struct pk_image_map map = {
		.scale_x = 1.5, .scale_y = 2, .offset_x = -3, .src_width = 80, .src_height = 60};
	size_t n_found = pk_decoder_run(decoder, (const void *const *)tensors, &map, found);
	check(found, n_found, &map);
	pk_decoder_destroy(decoder);
	for (size_t i = 0; i < n_outputs; i++)
		free(tensors[i]);
	return 0;
}
