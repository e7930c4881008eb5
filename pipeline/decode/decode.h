// SPDX-License-Identifier: Apache-2.0
// Output tensors to detections: one family of heads per file, chosen by the model card.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/engine.h"
#include "engine/image/image.h"
#include "pipeline/result.h"

struct pk_decoder;

// Checks the engine's outputs against the card before anything is served and makes all memory that
// runs will need. -EINVAL with the place: "card `parts`: output `output0` is [1,9,1008], expected
// [1,8,N]". conf < 0: the card's threshold. The card must outlive the decoder; outputs are copied
// from, except for their names.
int pk_decoder_create(const struct pk_card *card, double conf, const struct pk_binding *outputs,
	size_t n_outputs, struct pk_decoder **out, struct pk_err *err) pk_must_check;
void pk_decoder_destroy(struct pk_decoder *decoder);
PK_DEFINE_AUTO(pk_decoder, pk_decoder_destroy);

// tensors[i]: the engine's output i, dense. Writes at most PK_RESULT_MAX_DETECTIONS detections in
// source pixels, best first, clipped to the picture, none empty or NaN. Never allocates. One thread
// at a time.
size_t pk_decoder_run(struct pk_decoder *decoder, const void *const *tensors,
	const struct pk_image_map *map, struct pk_detection *out);

// Family raw: the tensors of the last run as the result carries them; 0 for the others.
size_t pk_decoder_tensors(const struct pk_decoder *decoder, const struct pk_result_tensor **out);
// Family semantic: the class of every pixel in the last run; NULL for the others. Valid until the
// next run.
const struct pk_result_map *pk_decoder_class_map(const struct pk_decoder *decoder);
