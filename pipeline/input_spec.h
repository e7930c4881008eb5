// SPDX-License-Identifier: Apache-2.0
// From a model card to what engine/image needs: the picture's way into the input tensor.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/engine.h"
#include "engine/image/image.h"

// 0, or -EINVAL when the card's input is no picture ([1,c,h,w] or [1,h,w,c] with 1 or 3 channels
// as `color` says).
int pk_input_spec_from_card(
	const struct pk_card *card, struct pk_image_spec *out, struct pk_err *err) pk_must_check;

// Checks that an engine's only input is the card's: name (unless the card leaves it out), f32,
// shape. -EINVAL with both sides in err.
int pk_input_spec_check(const struct pk_card *card, const struct pk_binding *inputs,
	size_t n_inputs, struct pk_err *err) pk_must_check;
