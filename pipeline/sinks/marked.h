// SPDX-License-Identifier: Apache-2.0
// A result with its picture, copied so that it can be drawn later on another thread.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "pipeline/canvas.h"
#include "pipeline/frame.h"
#include "pipeline/result.h"

#define PK_MARKED_BOXES 100 // drawn at most

// All that is drawn: labels may be gone by the time it is.
struct pk_marked {
	char camera[64];
	char caption[128];
	struct pk_frame *frame; // referenced
	struct {
		struct pk_detection detection;
		char label[48];
	} boxes[PK_MARKED_BOXES];
	size_t n_boxes;
};

// Takes a reference of the frame; whoever is done with it gives it back. Allocates nothing.
void pk_marked_fill(struct pk_marked *marked, const struct pk_result *result);
// Boxes, labels and caption onto the picture, which canvas holds already.
void pk_marked_draw(const struct pk_marked *marked, struct pk_canvas *canvas);
