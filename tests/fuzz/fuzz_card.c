// SPDX-License-Identifier: Apache-2.0
// card.yaml from hostile bytes: refused with a place, or a card whose parts agree.
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "config/card.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct pk_card *card)
{
	const struct pk_card_input *in = &card->input;
	int64_t channels = in->shape[in->layout == PK_CARD_NHWC ? 3 : 1];

	assert(in->rank == 4 && in->shape[0] == 1);
	assert(channels == (in->color == PK_CARD_GRAY ? 1 : 3));
	assert(in->std[0] > 0 && in->std[1] > 0 && in->std[2] > 0);
	assert(card->n_outputs > 0 && card->decode.classes > 0);
	assert(card->n_labels == 0 || card->n_labels == (size_t)card->decode.classes);
	assert(card->decode.n_strides <= 8 && card->decode.n_anchors_per_cell <= 8);
	assert(card->decode.top_k >= 1 && card->decode.top_k <= card->decode.classes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_problems problems = {0};
	struct pk_card *card = NULL;
	int rc = pk_card_parse((const char *)data, size, "fuzz", &card, &problems);

	assert(rc == 0 || rc == -EINVAL);
	assert((rc == 0) == (problems.n == 0));
	assert((rc == 0) == (card != NULL));
	if (rc == 0)
		check_accepted(card);
	pk_card_destroy(card);
	pk_problems_finish(&problems);
	return 0;
}
