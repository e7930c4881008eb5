// SPDX-License-Identifier: Apache-2.0
// Where decoded pictures lie: a GStreamer allocator over a kind of memory, offered to whatever
// makes the pictures, and the copy for those who made theirs elsewhere.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "engine/memory.h"

struct _GstBuffer;
struct _GstBufferPool;
struct _GstPad;
struct pk_frame_memory;

// kind is borrowed, for as long as any picture lives. NULL: no memory. After gst_init.
struct pk_frame_memory *pk_frame_memory_create(const struct pk_memory_kind *kind) pk_must_check;
// Pictures that still live keep what they need.
void pk_frame_memory_destroy(struct pk_frame_memory *memory); // NULL is fine

// Answers the ALLOCATION queries that reach this sink pad with a pool of such memory. The pool has
// no bound of its own, because a full one would stop the camera: PK_FRAME_POOL_SIZE bounds what is
// out. Strides of any size are taken (GstVideoMeta).
void pk_frame_memory_offer(struct pk_frame_memory *memory, struct _GstPad *pad);

// The picture where the kind wants it, a new reference: buffer itself when it lies there (or the
// kind takes any), else a copy, and *copied. NULL: no memory. One thread at a time.
struct _GstBuffer *pk_frame_memory_take(
	struct pk_frame_memory *memory, struct _GstBuffer *buffer, bool *copied) pk_must_check;
