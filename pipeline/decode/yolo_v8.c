// SPDX-License-Identifier: Apache-2.0
// One tensor of candidates, each a box, perhaps an objectness, and one score per class.
#include <errno.h>
#include <math.h>

#include "pipeline/decode/decoder.h"

// How the tensor is walked: element (candidate i, channel k) is at i * step + k * stride.
struct pk_yolo_view {
	const float *data;
	size_t n, step, stride;
	int first_class; // channel of class 0
	int n_classes;
};

static int pk_yolo_channels(const struct pk_card *card)
{
	return 4 + (card->decode.objectness ? 1 : 0) + card->decode.classes;
}

static int pk_yolo_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	const struct pk_decode_output *pred = pk_decoder_output(decoder, PK_ROLE_PRED, 0, err);
	if (!pred)
		return -EINVAL;
	if (card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family yolo-v8", card->name);
	const struct pk_shape *s = &pred->shape;
	int c = pk_yolo_channels(card);
	bool last = card->decode.candidates_last;
	if (card->decode.classes < 1 || s->rank != 3 || s->dims[0] != 1 ||
		s->dims[last ? 1 : 2] != c)
		return pk_decoder_bad_shape(decoder, pred, err, last ? "[1,%d,N]" : "[1,N,%d]", c);
	*max_candidates = (size_t)s->dims[last ? 2 : 1];
	*scratch_bytes = *max_candidates * (sizeof(float) + sizeof(int32_t));
	return 0;
}

static struct pk_yolo_view pk_yolo_view_of(const struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const struct pk_decode_output *pred = pk_decoder_output(decoder, PK_ROLE_PRED, 0, NULL);
	bool last = card->decode.candidates_last;
	size_t n = decoder->max_candidates, c = (size_t)pk_yolo_channels(card);
	return (struct pk_yolo_view){.data = pk_decoder_data(decoder, pred),
		.n = n,
		.step = last ? 1 : c,
		.stride = last ? n : 1,
		.first_class = card->decode.objectness ? 5 : 4,
		.n_classes = card->decode.classes};
}

// Best class of every candidate. Both loops are written so that the inner one runs over
// neighbouring memory.
static void pk_yolo_best_planar(const struct pk_yolo_view *v, float *best, int32_t *class_idx)
{
	const float *first = v->data + (size_t)v->first_class * v->stride;
	for (size_t i = 0; i < v->n; i++) {
		best[i] = first[i];
		class_idx[i] = 0;
	}
	for (int32_t k = 1; k < v->n_classes; k++) {
		const float *row = first + (size_t)k * v->stride;
		for (size_t i = 0; i < v->n; i++) {
			bool better = row[i] > best[i];
			best[i] = better ? row[i] : best[i];
			class_idx[i] = better ? k : class_idx[i];
		}
	}
}

static void pk_yolo_best_packed(const struct pk_yolo_view *v, float *best, int32_t *class_idx)
{
	for (size_t i = 0; i < v->n; i++) {
		const float *row = v->data + i * v->step + v->first_class;
		int32_t at = 0;
		for (int32_t k = 1; k < v->n_classes; k++)
			if (row[k] > row[at])
				at = k;
		best[i] = row[at];
		class_idx[i] = at;
	}
}

static void pk_yolo_take(struct pk_decoder *decoder, const struct pk_yolo_view *v, size_t i,
	float best, int class_idx)
{
	const float *at = v->data + i * v->step;
	float score = pk_decoder_activate(decoder, best);
	if (decoder->card->decode.objectness)
		score *= pk_decoder_activate(decoder, at[4 * v->stride]);
	if (!(score >= decoder->conf))
		return;
	const float box[4] = {at[0], at[v->stride], at[2 * v->stride], at[3 * v->stride]};
	struct pk_candidate c = {.score = score, .class_idx = class_idx, .idx = (uint32_t)i};
	pk_decoder_read_box(decoder, box, &c);
	pk_decoder_add(decoder, &c);
}

static void pk_yolo_run(struct pk_decoder *decoder)
{
	struct pk_yolo_view v = pk_yolo_view_of(decoder);
	float *best = decoder->scratch;
	int32_t *class_idx = (int32_t *)(best + v.n);
	if (v.step == 1)
		pk_yolo_best_planar(&v, best, class_idx);
	else
		pk_yolo_best_packed(&v, best, class_idx);
	// An objectness is at most 1, so the class score alone already bounds the product.
	float threshold = pk_decoder_threshold(decoder);
	for (size_t i = 0; i < v.n; i++)
		if (best[i] >= threshold)
			pk_yolo_take(decoder, &v, i, best[i], class_idx[i]);
}

const struct pk_decoder_ops pk_decoder_yolo_v8 = {
	.family = PK_DECODE_YOLO_V8,
	.name = "yolo-v8",
	.check = pk_yolo_check,
	.run = pk_yolo_run,
};
