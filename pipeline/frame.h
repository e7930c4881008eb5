// SPDX-License-Identifier: Apache-2.0
// One picture of a camera on its way through the pipeline, with the time of each stage.
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "engine/image/image.h"

enum pk_frame_stage {
	PK_STAGE_CAPTURED,       // capture time of the sensor or of arrival, monotonic
	PK_STAGE_DECODED,        // reached the appsink
	PK_STAGE_TAKEN,          // taken from the mailbox by the inference thread
	PK_STAGE_INFERRED,       // outputs are there
	PK_STAGE_DECODED_RESULT, // boxes are there
	PK_N_STAGES,
};

// Reference counted; the last unref gives the picture back to its pool.
struct pk_frame {
	_Atomic int refs;
	struct pk_image image;
	struct pk_image_region roi; // what models see of it; set when it is taken
	uint64_t index;      // pictures captured by this camera since its source started, from 0
	uint32_t source_run; // how often the source was (re)started, from 0
	int64_t pts_ns;      // stream time, or -1
	int64_t at_ns[PK_N_STAGES];              // monotonic; 0: not reached
	int64_t realtime_ns;                     // wall clock of capture
	void (*release)(struct pk_frame *frame); // frees or returns the frame
	void *owner;
};

struct pk_frame *pk_frame_ref(struct pk_frame *frame);
void pk_frame_unref(struct pk_frame *frame); // NULL is fine
