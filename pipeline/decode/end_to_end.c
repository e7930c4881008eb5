// SPDX-License-Identifier: Apache-2.0
// One tensor [1,N,6]: box, score, class number; the graph has suppressed already (YOLOv10, YOLO26).
#include <errno.h>

#include "pipeline/decode/decoder.h"

static int pk_end_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_decode_output *pred = pk_decoder_output(decoder, PK_ROLE_PRED, 0, err);
	if (!pred)
		return -EINVAL;
	const struct pk_shape *s = &pred->shape;
	if (s->rank != 3 || s->dims[0] != 1 || s->dims[2] != 6)
		return pk_decoder_bad_shape(decoder, pred, err, "[1,N,6]");
	*max_candidates = (size_t)s->dims[1];
	*scratch_bytes = 0;
	return 0;
}

static void pk_end_run(struct pk_decoder *decoder)
{
	const float *row =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_PRED, 0, NULL));
	for (size_t i = 0; i < decoder->max_candidates; i++, row += 6) {
		float score = pk_decoder_activate(decoder, row[4]);
		// Written so that NaN fails.
		if (!(score >= decoder->conf && row[5] >= 0 &&
			    row[5] < (float)decoder->card->decode.classes))
			continue;
		struct pk_candidate c = {
			.score = score, .class_idx = (int)row[5], .idx = (uint32_t)i};
		pk_decoder_read_box(decoder, row, &c);
		pk_decoder_add(decoder, &c);
	}
}

const struct pk_decoder_ops pk_decoder_end_to_end = {
	.family = PK_DECODE_END_TO_END,
	.name = "end-to-end",
	.check = pk_end_check,
	.run = pk_end_run,
	.no_nms = true,
};
