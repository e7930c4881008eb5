// SPDX-License-Identifier: Apache-2.0
// H.264 from pictures that went through inference, while somebody watches: for cameras without an
// encoded stream, and for pictures with boxes.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "pipeline/relay.h"
#include "pipeline/result.h"

struct pk_restream_encoder;

// The GStreamer element that would encode here, or NULL: none is installed.
const char *pk_restream_encoder_element(void);

// boxes: draw what was found. Starts a thread that sleeps while nobody watches.
int pk_restream_encoder_create(bool boxes, struct pk_restream_encoder **out, struct pk_err *err)
	pk_must_check;
void pk_restream_encoder_destroy(struct pk_restream_encoder *encoder); // NULL is fine
// What it encodes appears there. Borrowed.
struct pk_relay *pk_restream_encoder_relay(struct pk_restream_encoder *encoder);
// Never waits, never allocates; a picture that is still waiting is replaced. Inference thread.
void pk_restream_encoder_offer(struct pk_restream_encoder *encoder, const struct pk_result *result);
