// SPDX-License-Identifier: Apache-2.0
// Reference counts of pictures.
#include "pipeline/frame.h"

#include <stdatomic.h>

struct pk_frame *pk_frame_ref(struct pk_frame *frame)
{
	atomic_fetch_add_explicit(&frame->refs, 1, memory_order_relaxed);
	return frame;
}

void pk_frame_unref(struct pk_frame *frame)
{
	if (frame && atomic_fetch_sub_explicit(&frame->refs, 1, memory_order_acq_rel) == 1)
		frame->release(frame);
}
