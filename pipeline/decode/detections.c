// SPDX-License-Identifier: Apache-2.0
// What graphs with suppression inside give: boxes [1,N,4], scores [1,N], class numbers [1,N] and
// perhaps how many of them count (TensorFlow detection models, EfficientNMS).
#include <errno.h>

#include "base/checked.h"
#include "pipeline/decode/decoder.h"

static int pk_detections_check(struct pk_decoder *decoder, size_t *max_candidates,
	size_t *scratch_bytes, struct pk_err *err)
{
	const struct pk_decode_output *boxes = pk_decoder_output(decoder, PK_ROLE_BOXES, 0, err);
	const struct pk_decode_output *scores =
		boxes ? pk_decoder_output(decoder, PK_ROLE_SCORES, 0, err) : NULL;
	const struct pk_decode_output *classes =
		scores ? pk_decoder_output(decoder, PK_ROLE_CLASSES, 0, err) : NULL;
	const struct pk_decode_output *count = pk_decoder_output(decoder, PK_ROLE_COUNT, 0, NULL);
	if (!classes)
		return -EINVAL;
	const struct pk_shape *b = &boxes->shape;
	if (b->rank < 2 || b->dims[b->rank - 1] != 4)
		return pk_decoder_bad_shape(decoder, boxes, err, "[1,N,4]");
	size_t n = boxes->n / 4;
	if (scores->n != n)
		return pk_decoder_bad_shape(decoder, scores, err, "[1,%zu]", n);
	if (classes->n != n)
		return pk_decoder_bad_shape(decoder, classes, err, "[1,%zu]", n);
	if (count && count->n != 1)
		return pk_decoder_bad_shape(decoder, count, err, "[1]");
	*max_candidates = n;
	*scratch_bytes = 0;
	return 0;
}

// So many of the boxes count; what is no number counts as none.
static size_t pk_detections_count(const struct pk_decoder *decoder)
{
	const struct pk_decode_output *count = pk_decoder_output(decoder, PK_ROLE_COUNT, 0, NULL);
	if (!count)
		return decoder->max_candidates;
	double n = pk_decoder_number(decoder, count, 0);
	if (!(n >= 0))
		return 0;
	return n < (double)decoder->max_candidates ? (size_t)n : decoder->max_candidates;
}

static void pk_detections_run(struct pk_decoder *decoder)
{
	const struct pk_decode_output *classes =
		pk_decoder_output(decoder, PK_ROLE_CLASSES, 0, NULL);
	const float *boxes =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_BOXES, 0, NULL));
	const float *scores =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_SCORES, 0, NULL));
	const double first = decoder->card->decode.background == PK_BACKGROUND_FIRST ? 1 : 0;
	const size_t n = pk_detections_count(decoder);
	for (size_t i = 0; i < n; i++) {
		float score = pk_decoder_activate(decoder, scores[i]);
		double at = pk_decoder_number(decoder, classes, i) - first;
		if (!(score >= decoder->conf && at >= 0 && at < decoder->card->decode.classes))
			continue;
		struct pk_candidate c = {.score = score, .class_idx = (int)at, .idx = (uint32_t)i};
		pk_decoder_read_box(decoder, boxes + i * 4, &c);
		pk_decoder_add(decoder, &c);
	}
}

const struct pk_decoder_ops pk_decoder_detections = {
	.family = PK_DECODE_DETECTIONS,
	.name = "detections",
	.check = pk_detections_check,
	.run = pk_detections_run,
	.no_nms = true,
};
