// SPDX-License-Identifier: Apache-2.0
// Frames around mapped GStreamer buffers: no copy, and no allocation per frame.
#pragma once

#include "base/attr.h"
#include "pipeline/frame.h"

struct _GstBuffer;
struct _GstVideoInfo;
struct pk_frame_pool;

// Frames of one camera that may be alive at once: mailbox, inference, snapshot and some spare.
#define PK_FRAME_POOL_SIZE 16

// The pool outlives its creator's unref until the last frame has come back. NULL: no memory.
struct pk_frame_pool *pk_frame_pool_create(void) pk_must_check;
void pk_frame_pool_unref(struct pk_frame_pool *pool);
PK_DEFINE_AUTO(pk_frame_pool, pk_frame_pool_unref);

// Maps buffer (system memory, a format of pk_pixel_format) for reading and holds it until the frame
// is released. Fills image; the rest is zero. NULL when all frames are out or it cannot be mapped.
// Any thread.
struct pk_frame *pk_frame_pool_wrap(struct pk_frame_pool *pool, struct _GstBuffer *buffer,
	struct _GstVideoInfo *info) pk_must_check;
