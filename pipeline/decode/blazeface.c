// SPDX-License-Identifier: Apache-2.0
// Score and box-offset tensors per layer on a fixed anchor grid (Bazarevsky et al. 2019,
// arXiv:1907.05047): anchors at cell centres, several to a cell, sizes predicted directly.
#include <errno.h>

#include "base/checked.h"
#include "pipeline/decode/decoder.h"

struct pk_blaze_layer {
	const struct pk_decode_output *scores, *boxes;
	int stride, per_cell, columns, rows;
	size_t width; // numbers of one box row: 4 and perhaps key points
};

static int pk_blaze_layer_of(
	const struct pk_decoder *decoder, size_t i, struct pk_blaze_layer *out, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	out->scores = pk_decoder_output(decoder, PK_ROLE_SCORES, i, err);
	out->boxes = out->scores ? pk_decoder_output(decoder, PK_ROLE_BOXES, i, err) : NULL;
	if (!out->boxes)
		return -EINVAL;
	out->stride = card->decode.strides[i];
	out->per_cell = card->decode.anchors_per_cell[i];
	out->columns = decoder->input_width / out->stride;
	out->rows = decoder->input_height / out->stride;
	out->width = (size_t)out->boxes->shape.dims[2];
	return 0;
}

static int pk_blaze_check_layer(
	const struct pk_decoder *decoder, size_t i, size_t *n, struct pk_err *err)
{
	struct pk_blaze_layer layer;
	if (pk_blaze_layer_of(decoder, i, &layer, err) < 0)
		return -EINVAL;
	*n = (size_t)layer.columns * (size_t)layer.rows * (size_t)layer.per_cell;
	const struct pk_shape *s = &layer.scores->shape, *b = &layer.boxes->shape;
	if (s->rank != 3 || s->dims[0] != 1 || s->dims[1] != (int64_t)*n || s->dims[2] != 1)
		return pk_decoder_bad_shape(decoder, layer.scores, err,
			"[1,%zu,1] (stride %d, %d anchors a cell)", *n, layer.stride,
			layer.per_cell);
	if (b->rank != 3 || b->dims[0] != 1 || b->dims[1] != (int64_t)*n || b->dims[2] < 4)
		return pk_decoder_bad_shape(decoder, layer.boxes, err, "[1,%zu,4 or more]", *n);
	return 0;
}

static int pk_blaze_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	size_t n_layers = card->decode.n_strides;
	if (n_layers < 1 || n_layers > PK_ARRAY_LEN(card->decode.strides) ||
		n_layers != card->decode.n_anchors_per_cell)
		return pk_fail(err, -EINVAL,
			"card `%s`: family blazeface needs strides and anchors_per_cell of equal "
			"length",
			card->name);
	*max_candidates = *scratch_bytes = 0;
	for (size_t i = 0; i < n_layers; i++) {
		if (card->decode.strides[i] < 1 || card->decode.anchors_per_cell[i] < 1)
			return pk_fail(err, -EINVAL,
				"card `%s`: strides and anchors_per_cell must be 1 or more",
				card->name);
		size_t n = 0;
		int r = pk_blaze_check_layer(decoder, i, &n, err);
		if (r < 0)
			return r;
		*max_candidates += n;
	}
	return 0;
}

static void pk_blaze_take(struct pk_decoder *decoder, const struct pk_blaze_layer *layer,
	size_t anchor, struct pk_candidate *c)
{
	const struct pk_card *card = decoder->card;
	const float *v = pk_decoder_data(decoder, layer->boxes) + anchor * layer->width;
	size_t cell = anchor / (size_t)layer->per_cell;
	float ax = ((float)(cell % (size_t)layer->columns) + 0.5f) / (float)layer->columns;
	float ay = ((float)(cell / (size_t)layer->columns) + 0.5f) / (float)layer->rows;
	// Offsets from the anchor; added in the units that the card names.
	bool norm = card->decode.box_units == PK_BOX_NORM;
	bool yx = card->decode.box_order == PK_BOX_YX;
	float cx = ax * (norm ? 1 : (float)decoder->input_width);
	float cy = ay * (norm ? 1 : (float)decoder->input_height);
	const float box[4] = {v[0] + (yx ? cy : cx), v[1] + (yx ? cx : cy), v[2], v[3]};
	pk_decoder_read_box(decoder, box, c);
}

static void pk_blaze_run_layer(
	struct pk_decoder *decoder, const struct pk_blaze_layer *layer, size_t first_idx)
{
	const float *scores = pk_decoder_data(decoder, layer->scores);
	float threshold = pk_decoder_threshold(decoder);
	for (size_t i = 0; i < layer->scores->n; i++) {
		if (!(scores[i] >= threshold))
			continue;
		struct pk_candidate c = {.score = pk_decoder_activate(decoder, scores[i]),
			.idx = (uint32_t)(first_idx + i)};
		pk_blaze_take(decoder, layer, i, &c);
		pk_decoder_add(decoder, &c);
	}
}

static void pk_blaze_run(struct pk_decoder *decoder)
{
	size_t first_idx = 0;
	for (size_t i = 0; i < decoder->card->decode.n_strides; i++) {
		struct pk_blaze_layer layer;
		if (pk_blaze_layer_of(decoder, i, &layer, NULL) < 0)
			return;
		pk_blaze_run_layer(decoder, &layer, first_idx);
		first_idx += layer.scores->n;
	}
}

const struct pk_decoder_ops pk_decoder_blazeface = {
	.family = PK_DECODE_BLAZEFACE,
	.name = "blazeface",
	.check = pk_blaze_check,
	.run = pk_blaze_run,
};
