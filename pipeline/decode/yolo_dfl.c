// SPDX-License-Identifier: Apache-2.0
// Raw anchor-free heads, one tensor a stride: [1,4*reg_max+nc,h,w], four distances as distributions
// over reg_max bins, then class scores (Li et al. 2020, arXiv:2006.04388; YOLOv8, v9 and 11).
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/decode/decoder.h"

struct pk_dfl_layer {
	struct pk_decode_grid grid;
	const struct pk_decode_output *pred;
	size_t cells;
};

static int pk_dfl_layer_of(
	const struct pk_decoder *decoder, size_t i, struct pk_dfl_layer *out, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	out->pred = pk_decoder_output(decoder, PK_ROLE_PRED, i, err);
	if (!out->pred || pk_decoder_grid(decoder, i, &out->grid, err) < 0)
		return -EINVAL;
	const struct pk_shape *s = &out->pred->shape;
	int channels = 4 * card->decode.reg_max + card->decode.classes;
	out->cells = (size_t)out->grid.columns * (size_t)out->grid.rows;
	if (s->rank != 4 || s->dims[0] != 1 || s->dims[1] != channels ||
		s->dims[2] != out->grid.rows || s->dims[3] != out->grid.columns)
		return pk_decoder_bad_shape(decoder, out->pred, err, "[1,%d,%d,%d]", channels,
			out->grid.rows, out->grid.columns);
	return 0;
}

static int pk_dfl_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	if (card->decode.n_strides < 1 || card->decode.reg_max < 1)
		return pk_fail(err, -EINVAL, "card `%s`: family yolo-dfl needs strides and reg_max",
			card->name);
	if (card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family yolo-dfl", card->name);
	size_t largest = 0;
	*max_candidates = 0;
	for (size_t i = 0; i < card->decode.n_strides; i++) {
		struct pk_dfl_layer layer;
		if (pk_dfl_layer_of(decoder, i, &layer, err) < 0)
			return -EINVAL;
		*max_candidates += layer.cells;
		largest = layer.cells > largest ? layer.cells : largest;
	}
	*scratch_bytes = largest * sizeof(float);
	return 0;
}

// The mean of the distribution whose logits stand step apart, in bins.
static float pk_dfl_mean(const float *logits, int n, size_t step)
{
	float max = logits[(size_t)pk_decoder_best(logits, n, step) * step];
	float sum = 0, weighted = 0;
	for (int k = 0; k < n; k++) {
		float e = expf(logits[(size_t)k * step] - max);
		sum += e;
		weighted += e * (float)k;
	}
	return weighted / sum;
}

static void pk_dfl_take(
	struct pk_decoder *decoder, const struct pk_dfl_layer *layer, size_t cell, float score)
{
	const int bins = decoder->card->decode.reg_max;
	const float *data = pk_decoder_data(decoder, layer->pred) + cell;
	const float *scores = data + 4 * (size_t)bins * layer->cells;
	float distance[4];
	for (int side = 0; side < 4; side++)
		distance[side] = pk_dfl_mean(
			data + (size_t)side * (size_t)bins * layer->cells, bins, layer->cells);
	const float x = (float)(cell % (size_t)layer->grid.columns) + 0.5f;
	const float y = (float)(cell / (size_t)layer->grid.columns) + 0.5f;
	const float stride = (float)layer->grid.stride;
	pk_decoder_add(decoder, &(struct pk_candidate){.x1 = (x - distance[0]) * stride,
					.y1 = (y - distance[1]) * stride,
					.x2 = (x + distance[2]) * stride,
					.y2 = (y + distance[3]) * stride,
					.score = pk_decoder_activate(decoder, score),
					.class_idx = pk_decoder_best(scores,
						decoder->card->decode.classes, layer->cells),
					.idx = (uint32_t)(layer->grid.first_idx + cell)});
}

// The best class score of every cell first: planes are neighbours in memory, and few cells pass.
static void pk_dfl_run_layer(struct pk_decoder *decoder, const struct pk_dfl_layer *layer)
{
	const struct pk_card *card = decoder->card;
	const float *scores = pk_decoder_data(decoder, layer->pred) +
			      4 * (size_t)card->decode.reg_max * layer->cells;
	float *best = decoder->scratch;
	memcpy(best, scores, layer->cells * sizeof(*best));
	for (int k = 1; k < card->decode.classes; k++) {
		const float *plane = scores + (size_t)k * layer->cells;
		for (size_t i = 0; i < layer->cells; i++)
			best[i] = plane[i] > best[i] ? plane[i] : best[i];
	}
	const float threshold = pk_decoder_threshold(decoder);
	for (size_t i = 0; i < layer->cells; i++)
		if (best[i] >= threshold)
			pk_dfl_take(decoder, layer, i, best[i]);
}

static void pk_dfl_run(struct pk_decoder *decoder)
{
	for (size_t i = 0; i < decoder->card->decode.n_strides; i++) {
		struct pk_dfl_layer layer;
		if (pk_dfl_layer_of(decoder, i, &layer, NULL) < 0)
			return;
		pk_dfl_run_layer(decoder, &layer);
	}
}

const struct pk_decoder_ops pk_decoder_yolo_dfl = {
	.family = PK_DECODE_YOLO_DFL,
	.name = "yolo-dfl",
	.check = pk_dfl_check,
	.run = pk_dfl_run,
};
