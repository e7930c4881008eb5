// SPDX-License-Identifier: Apache-2.0
// One tensor [1,N,5+nc] of offsets from the cells of all grids, stride by stride (Ge et al. 2021,
// arXiv:2107.08430): centre = (t + cell) stride, size = exp(t) stride, score = objectness * class.
#include <errno.h>
#include <math.h>

#include "pipeline/decode/decoder.h"

static int pk_yolox_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	const struct pk_decode_output *pred = pk_decoder_output(decoder, PK_ROLE_PRED, 0, err);
	struct pk_decode_grid grid = {0};
	if (!pred)
		return -EINVAL;
	if (card->decode.n_strides < 1)
		return pk_fail(err, -EINVAL, "card `%s`: family yolox needs strides", card->name);
	if (card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family yolox", card->name);
	if (pk_decoder_grid(decoder, card->decode.n_strides - 1, &grid, err) < 0)
		return -EINVAL;
	size_t n = grid.first_idx + (size_t)grid.columns * (size_t)grid.rows;
	const struct pk_shape *s = &pred->shape;
	if (s->rank != 3 || s->dims[0] != 1 || s->dims[1] != (int64_t)n ||
		s->dims[2] != card->decode.classes + 5)
		return pk_decoder_bad_shape(
			decoder, pred, err, "[1,%zu,%d]", n, card->decode.classes + 5);
	*max_candidates = n;
	*scratch_bytes = 0;
	return 0;
}

static void pk_yolox_take(struct pk_decoder *decoder, const struct pk_decode_grid *grid,
	size_t cell, const float *row)
{
	int best = pk_decoder_best(row + 5, decoder->card->decode.classes, 1);
	float score =
		pk_decoder_activate(decoder, row[4]) * pk_decoder_activate(decoder, row[5 + best]);
	if (!(score >= decoder->conf))
		return;
	const float stride = (float)grid->stride;
	const float cx = (row[0] + (float)(cell % (size_t)grid->columns)) * stride;
	const float cy = (row[1] + (float)(cell / (size_t)grid->columns)) * stride;
	const float w = expf(row[2]) * stride, h = expf(row[3]) * stride;
	pk_decoder_add(decoder, &(struct pk_candidate){.x1 = cx - w / 2,
					.y1 = cy - h / 2,
					.x2 = cx + w / 2,
					.y2 = cy + h / 2,
					.score = score,
					.class_idx = best,
					.idx = (uint32_t)(grid->first_idx + cell)});
}

static void pk_yolox_run(struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const size_t width = (size_t)card->decode.classes + 5;
	const float *data =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_PRED, 0, NULL));
	const float threshold = pk_decoder_threshold(decoder);
	for (size_t i = 0; i < card->decode.n_strides; i++) {
		struct pk_decode_grid grid;
		if (pk_decoder_grid(decoder, i, &grid, NULL) < 0)
			return;
		size_t cells = (size_t)grid.columns * (size_t)grid.rows;
		for (size_t cell = 0; cell < cells; cell++) {
			const float *row = data + (grid.first_idx + cell) * width;
			// A class score is at most 1: the objectness bounds the product.
			if (row[4] >= threshold)
				pk_yolox_take(decoder, &grid, cell, row);
		}
	}
}

const struct pk_decoder_ops pk_decoder_yolox = {
	.family = PK_DECODE_YOLOX,
	.name = "yolox",
	.check = pk_yolox_check,
	.run = pk_yolox_run,
};
