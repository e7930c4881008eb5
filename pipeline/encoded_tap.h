// SPDX-License-Identifier: Apache-2.0
// Watches what enters the video decoders of a GStreamer pipeline, however and whenever they get
// there. The pictures pass by untouched or not at all: no element, no queue, no copy is added.
#pragma once

#include <stdbool.h>

#include "pipeline/relay.h"

struct _GstElement;

// unit is called on streaming threads for each encoded picture, from now until the pipeline is
// gone; it must not block. False: the picture is not decoded. To be called before the pipeline
// runs.
void pk_encoded_tap_attach(struct _GstElement *pipeline,
	bool (*unit)(void *ctx, const struct pk_relay_unit *unit), void *ctx);
