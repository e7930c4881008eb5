// SPDX-License-Identifier: Apache-2.0
// Two tensors: boxes [1,N,4] and scores [1,N,nc], where a background class may stand first or last.
#include <errno.h>
#include <math.h>

#include "pipeline/decode/decoder.h"

static int pk_boxes_columns(const struct pk_card *card)
{
	return card->decode.classes + (card->decode.background != PK_BACKGROUND_NONE ? 1 : 0);
}

static int pk_boxes_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_decode_output *boxes = pk_decoder_output(decoder, PK_ROLE_BOXES, 0, err);
	const struct pk_decode_output *scores =
		boxes ? pk_decoder_output(decoder, PK_ROLE_SCORES, 0, err) : NULL;
	if (!scores)
		return -EINVAL;
	const struct pk_shape *b = &boxes->shape, *s = &scores->shape;
	if (b->rank != 3 || b->dims[0] != 1 || b->dims[2] != 4)
		return pk_decoder_bad_shape(decoder, boxes, err, "[1,N,4]");
	int columns = pk_boxes_columns(decoder->card);
	if (decoder->card->decode.classes < 1 || s->rank != 3 || s->dims[0] != 1 ||
		s->dims[1] != b->dims[1] || s->dims[2] != columns)
		return pk_decoder_bad_shape(
			decoder, scores, err, "[1,%d,%d]", (int)b->dims[1], columns);
	*max_candidates = (size_t)b->dims[1];
	*scratch_bytes = 0;
	return 0;
}

// Probability of column `at` among all; cheap enough for the few that are not clearly background.
static float pk_boxes_softmax(const float *row, int n, int at)
{
	float max = row[0], sum = 0;
	for (int k = 1; k < n; k++)
		max = row[k] > max ? row[k] : max;
	for (int k = 0; k < n; k++)
		sum += expf(row[k] - max);
	return expf(row[at] - max) / sum;
}

bool pk_decoder_classify_row(
	const struct pk_decoder *decoder, const float *row, int columns, struct pk_candidate *out)
{
	const struct pk_card *card = decoder->card;
	const int first = card->decode.background == PK_BACKGROUND_FIRST ? 1 : 0;
	const int at = first + pk_decoder_best(row + first, card->decode.classes, 1);
	const bool softmax = card->decode.activation == PK_SCORE_SOFTMAX;
	const float v = softmax ? pk_boxes_softmax(row, columns, at) : row[at];
	if (!(v >= pk_decoder_threshold(decoder)))
		return false;
	out->score = softmax ? v : pk_decoder_activate(decoder, v);
	out->class_idx = at - first;
	return true;
}

static void pk_boxes_run(struct pk_decoder *decoder)
{
	const float *boxes =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_BOXES, 0, NULL));
	const float *row =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_SCORES, 0, NULL));
	const int columns = pk_boxes_columns(decoder->card);
	for (size_t i = 0; i < decoder->max_candidates; i++, row += columns) {
		struct pk_candidate c = {.idx = (uint32_t)i};
		if (!pk_decoder_classify_row(decoder, row, columns, &c))
			continue;
		pk_decoder_read_box(decoder, boxes + i * 4, &c);
		pk_decoder_add(decoder, &c);
	}
}

const struct pk_decoder_ops pk_decoder_boxes_scores = {
	.family = PK_DECODE_BOXES_SCORES,
	.name = "boxes-scores",
	.check = pk_boxes_check,
	.run = pk_boxes_run,
};

// Every pair of query and class by itself, so that a query may stand for two classes; sets are
// matched in training, so nothing is suppressed (Zhao et al. 2023, arXiv:2304.08069).
static int pk_detr_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	int r = pk_boxes_check(decoder, max_candidates, scratch_bytes, err);
	if (r < 0)
		return r;
	if (decoder->card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family detr; boxes-scores "
			"takes the best class of each query",
			decoder->card->name);
	*max_candidates *= (size_t)decoder->card->decode.classes;
	return 0;
}

static void pk_detr_run(struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const float *box =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_BOXES, 0, NULL));
	const float *row =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_SCORES, 0, NULL));
	const int columns = pk_boxes_columns(card);
	const int first = card->decode.background == PK_BACKGROUND_FIRST ? 1 : 0;
	const float threshold = pk_decoder_threshold(decoder);
	const size_t n = decoder->max_candidates / (size_t)card->decode.classes;
	for (size_t i = 0; i < n; i++, row += columns, box += 4) {
		for (int k = 0; k < card->decode.classes; k++) {
			if (!(row[first + k] >= threshold))
				continue;
			struct pk_candidate c = {
				.score = pk_decoder_activate(decoder, row[first + k]),
				.class_idx = k,
				.idx = (uint32_t)(i * (size_t)card->decode.classes + (size_t)k)};
			pk_decoder_read_box(decoder, box, &c);
			pk_decoder_add(decoder, &c);
		}
	}
}

const struct pk_decoder_ops pk_decoder_detr = {
	.family = PK_DECODE_DETR,
	.name = "detr",
	.check = pk_detr_check,
	.run = pk_detr_run,
	.no_nms = true,
};
