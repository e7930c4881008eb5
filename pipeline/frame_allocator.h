// SPDX-License-Identifier: Apache-2.0
// A GStreamer allocator over a kind of memory, and the pool of pictures that goes with it: pictures
// that a decoder still leans on are handed out without a copy.
#pragma once

#include "engine/memory.h"

struct _GstAllocator;
struct _GstBufferPool;

// A new reference; never NULL. kind is borrowed, for as long as any memory of it lives. Blocks that
// came back are kept for the next picture of their size.
struct _GstAllocator *pk_frame_allocator_create(const struct pk_memory_kind *kind);
const struct pk_memory_kind *pk_frame_allocator_kind(const struct _GstAllocator *allocator);

// A pool of video buffers, not configured. Its buffers of this allocator's memory may be "copied"
// while they are mapped for writing: the copy sees the same bytes, which then stay as they are,
// because the buffer gets others before the pool hands it out again. Decoders (libav) keep their
// pictures mapped for as long as later ones lean on them; without this GStreamer copies every one.
struct _GstBufferPool *pk_frame_allocator_pool(void);
