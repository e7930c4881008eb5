// SPDX-License-Identifier: Apache-2.0
// One score per class for the whole picture; the best top_k above the threshold are reported.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "pipeline/decode/decoder.h"

static const struct pk_decode_output *pk_classify_output(
	const struct pk_decoder *decoder, struct pk_err *err)
{
	const struct pk_decode_output *logits = pk_decoder_output(decoder, PK_ROLE_LOGITS, 0, NULL);
	if (!logits)
		logits = pk_decoder_output(decoder, PK_ROLE_SCORES, 0, NULL);
	return logits ? logits : pk_decoder_output(decoder, PK_ROLE_LOGITS, 0, err);
}

static int pk_classify_check(struct pk_decoder *decoder, size_t *max_candidates,
	size_t *scratch_bytes, struct pk_err *err)
{
	const struct pk_decode_output *logits = pk_classify_output(decoder, err);
	if (!logits)
		return -EINVAL;
	int classes = decoder->card->decode.classes;
	// [1,nc] by rule; exporters leave [1,nc,1,1] after a pooling, which reads the same.
	if (classes < 1 || logits->shape.rank < 1 || logits->n != (size_t)classes)
		return pk_decoder_bad_shape(decoder, logits, err, "[1,%d]", classes);
	*max_candidates = logits->n;
	*scratch_bytes = logits->n * sizeof(float);
	return 0;
}

static void pk_classify_softmax(const float *in, float *out, size_t n)
{
	float max = -INFINITY, sum = 0;
	for (size_t i = 0; i < n; i++)
		max = in[i] > max ? in[i] : max;
	for (size_t i = 0; i < n; i++)
		sum += out[i] = expf(in[i] - max);
	for (size_t i = 0; i < n; i++)
		out[i] /= sum;
}

static void pk_classify_run(struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const struct pk_decode_output *logits = pk_classify_output(decoder, NULL);
	const float *in = pk_decoder_data(decoder, logits);
	float *p = decoder->scratch;
	if (card->decode.activation == PK_SCORE_SOFTMAX)
		pk_classify_softmax(in, p, logits->n);
	else
		for (size_t i = 0; i < logits->n; i++)
			p[i] = pk_decoder_activate(decoder, in[i]);
	for (size_t i = 0; i < logits->n; i++) {
		if (!(p[i] >= decoder->conf))
			continue;
		pk_decoder_add(
			decoder, &(struct pk_candidate){
					 .score = p[i], .class_idx = (int)i, .idx = (uint32_t)i});
	}
	pk_nms_sort(decoder->candidates, decoder->n_candidates);
	if (card->decode.top_k > 0)
		decoder->n_candidates = PK_MIN(decoder->n_candidates, (size_t)card->decode.top_k);
}

const struct pk_decoder_ops pk_decoder_classify = {
	.family = PK_DECODE_CLASSIFY,
	.name = "classify",
	.check = pk_classify_check,
	.run = pk_classify_run,
	.whole_picture = true,
};
