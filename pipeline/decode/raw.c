// SPDX-License-Identifier: Apache-2.0
// No decoding: the outputs that the card names are passed on as numbers.
#include <errno.h>

#include "pipeline/decode/decoder.h"

static int pk_raw_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	if (decoder->n_outputs == 0)
		return pk_fail(err, -EINVAL, "card `%s`: family raw needs at least one output",
			decoder->card->name);
	*max_candidates = *scratch_bytes = 0;
	for (size_t i = 0; i < decoder->n_outputs; i++)
		decoder->tensors[i] = (struct pk_result_tensor){.name = decoder->outputs[i].name,
			.shape = decoder->outputs[i].shape,
			.n = decoder->outputs[i].n};
	decoder->n_tensors = decoder->n_outputs;
	return 0;
}

const struct pk_decoder_ops pk_decoder_raw = {
	.family = PK_DECODE_RAW,
	.name = "raw",
	.check = pk_raw_check,
};
