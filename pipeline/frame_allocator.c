// SPDX-License-Identifier: Apache-2.0
// Blocks with a count of the memories that see them; a pool that never reuses a block that is seen.
#include "pipeline/frame_allocator.h"

#include <gst/gst.h>
#include <gst/video/gstvideopool.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/checked.h"

// Blocks that wait for the next picture: what a swap of blocks needs, not a second pool.
#define PK_FRAME_ALLOCATOR_SPARE 4

struct pk_gst_block {
	_Atomic int refs; // memories that see it
	uint8_t *at;
	size_t n;
	struct pk_gst_block *next_spare;
};

struct pk_gst_memory;

struct pk_gst_allocator {
	GstAllocator parent;
	const struct pk_memory_kind *kind;
	GstMemory *(*copy_fully)(GstMemory *memory, gssize offset, gssize size);
	pthread_mutex_t lock; // guards what is spare
	struct pk_gst_block *spare;
	int n_spare;
	struct pk_gst_memory *views[PK_FRAME_ALLOCATOR_SPARE]; // not in use
	int n_views;
};

struct pk_gst_memory {
	GstMemory parent;
	struct pk_gst_block *block;
	bool pooled; // of our pool, which knows when others see its block
};

static uint8_t *pk_gst_memory_at(const struct pk_gst_memory *memory)
{
	uint8_t *at = memory->block->at;
	return at + (-(uintptr_t)at & memory->parent.align);
}

static void pk_gst_block_destroy(struct pk_gst_allocator *allocator, struct pk_gst_block *block)
{
	allocator->kind->free(allocator->kind->ctx, block->at, block->n);
	free(block);
}

static struct pk_gst_block *pk_gst_block_make(struct pk_gst_allocator *allocator, size_t n)
{
	struct pk_gst_block *block = calloc(1, sizeof(*block));
	uint8_t *at = block ? allocator->kind->alloc(allocator->kind->ctx, n) : NULL;
	if (!at) {
		free(block);
		return NULL;
	}
	*block = (struct pk_gst_block){.refs = 1, .at = at, .n = n};
	return block;
}

static struct pk_gst_block *pk_gst_block_get(struct pk_gst_allocator *allocator, size_t n)
{
	pthread_mutex_lock(&allocator->lock);
	struct pk_gst_block **link = &allocator->spare;
	while (*link && (*link)->n != n)
		link = &(*link)->next_spare;
	struct pk_gst_block *block = *link;
	if (block) {
		*link = block->next_spare;
		allocator->n_spare--;
	}
	pthread_mutex_unlock(&allocator->lock);
	if (!block)
		return pk_gst_block_make(allocator, n);
	block->next_spare = NULL;
	atomic_store_explicit(&block->refs, 1, memory_order_relaxed);
	return block;
}

static void pk_gst_block_unref(struct pk_gst_allocator *allocator, struct pk_gst_block *block)
{
	if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) != 1)
		return;
	// The newest stays, so that blocks of a size that no longer comes are let go.
	struct pk_gst_block *old = NULL;
	pthread_mutex_lock(&allocator->lock);
	block->next_spare = allocator->spare;
	allocator->spare = block;
	if (++allocator->n_spare > PK_FRAME_ALLOCATOR_SPARE) {
		struct pk_gst_block **link = &allocator->spare;
		while ((*link)->next_spare)
			link = &(*link)->next_spare;
		old = pk_steal(*link);
		allocator->n_spare--;
	}
	pthread_mutex_unlock(&allocator->lock);
	if (old)
		pk_gst_block_destroy(allocator, old);
}

// What GStreamer sees of a block; zeroed. Kept for the next picture, as blocks are.
static struct pk_gst_memory *pk_gst_view_get(struct pk_gst_allocator *allocator)
{
	struct pk_gst_memory *view = NULL;
	pthread_mutex_lock(&allocator->lock);
	if (allocator->n_views > 0)
		view = allocator->views[--allocator->n_views];
	pthread_mutex_unlock(&allocator->lock);
	if (!view)
		return calloc(1, sizeof(*view));
	*view = (struct pk_gst_memory){0};
	return view;
}

static void pk_gst_view_put(struct pk_gst_allocator *allocator, struct pk_gst_memory *view)
{
	pthread_mutex_lock(&allocator->lock);
	if (allocator->n_views < PK_FRAME_ALLOCATOR_SPARE)
		allocator->views[allocator->n_views++] = pk_steal(view);
	pthread_mutex_unlock(&allocator->lock);
	free(view);
}

static GstMemory *pk_gst_allocator_alloc(
	GstAllocator *parent, gsize size, GstAllocationParams *params)
{
	struct pk_gst_allocator *allocator = (struct pk_gst_allocator *)parent;
	size_t room, n;
	if (pk_add_overflow(size, params->prefix, &room) ||
		pk_add_overflow(room, params->padding, &room) ||
		pk_add_overflow(room, params->align + 1, &n))
		return NULL;
	struct pk_gst_memory *memory = pk_gst_view_get(allocator);
	struct pk_gst_block *block = memory ? pk_gst_block_get(allocator, n) : NULL;
	if (!block) {
		if (memory)
			pk_gst_view_put(allocator, memory);
		return NULL;
	}
	memory->block = block;
	gst_memory_init(GST_MEMORY_CAST(memory), params->flags | GST_MEMORY_FLAG_NO_SHARE, parent,
		NULL, room, params->align, params->prefix, size);
	return GST_MEMORY_CAST(memory);
}

static void pk_gst_allocator_free(GstAllocator *parent, GstMemory *memory)
{
	struct pk_gst_allocator *allocator = (struct pk_gst_allocator *)parent;
	struct pk_gst_memory *view = (struct pk_gst_memory *)memory;
	pk_gst_block_unref(allocator, view->block);
	pk_gst_view_put(allocator, view);
}

static gpointer pk_gst_memory_map(GstMemory *memory, gsize size, GstMapFlags flags)
{
	return pk_gst_memory_at((struct pk_gst_memory *)memory);
}

static void pk_gst_memory_unmap(GstMemory *memory)
{
}

static bool pk_gst_memory_is_mapped_for_writing(const GstMemory *memory)
{
	const gint *state = &memory->mini_object.lockstate;
	return (g_atomic_int_get(state) & GST_LOCK_FLAG_WRITE) != 0;
}

// See pk_frame_allocator_pool.
static GstMemory *pk_gst_memory_copy(GstMemory *parent, gssize offset, gssize size)
{
	struct pk_gst_memory *memory = (struct pk_gst_memory *)parent;
	struct pk_gst_allocator *allocator = (struct pk_gst_allocator *)parent->allocator;
	struct pk_gst_memory *view = NULL;
	if (memory->pooled && offset == 0 && size < 0 &&
		pk_gst_memory_is_mapped_for_writing(parent))
		view = pk_gst_view_get(allocator);
	if (!view)
		return allocator->copy_fully(parent, offset, size);
	atomic_fetch_add_explicit(&memory->block->refs, 1, memory_order_relaxed);
	view->block = memory->block;
	gst_memory_init(GST_MEMORY_CAST(view), GST_MEMORY_FLAG_READONLY | GST_MEMORY_FLAG_NO_SHARE,
		parent->allocator, NULL, parent->maxsize, parent->align, parent->offset,
		parent->size);
	return GST_MEMORY_CAST(view);
}

static void pk_gst_allocator_finalize(GObject *object)
{
	struct pk_gst_allocator *allocator = (struct pk_gst_allocator *)object;
	while (allocator->spare) {
		struct pk_gst_block *next = allocator->spare->next_spare;
		pk_gst_block_destroy(allocator, allocator->spare);
		allocator->spare = next;
	}
	while (allocator->n_views > 0)
		free(allocator->views[--allocator->n_views]);
	pthread_mutex_destroy(&allocator->lock);
	G_OBJECT_CLASS(g_type_class_peek_static(GST_TYPE_ALLOCATOR))->finalize(object);
}

static void pk_gst_allocator_class_init(gpointer class, gpointer unused)
{
	GstAllocatorClass *allocator_class = class;
	allocator_class->alloc = pk_gst_allocator_alloc;
	allocator_class->free = pk_gst_allocator_free;
	G_OBJECT_CLASS(class)->finalize = pk_gst_allocator_finalize;
}

static void pk_gst_allocator_init(GTypeInstance *instance, gpointer unused)
{
	GstAllocator *allocator = (GstAllocator *)instance;
	struct pk_gst_allocator *own = (struct pk_gst_allocator *)instance;
	own->copy_fully = allocator->mem_copy;
	pthread_mutex_init(&own->lock, NULL);
	allocator->mem_type = "picket-frame";
	allocator->mem_map = pk_gst_memory_map;
	allocator->mem_unmap = pk_gst_memory_unmap;
	allocator->mem_copy = pk_gst_memory_copy;
	GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static GType pk_gst_allocator_type(void)
{
	static gsize type;
	if (g_once_init_enter(&type)) {
		GType made = g_type_register_static_simple(GST_TYPE_ALLOCATOR,
			"PicketFrameAllocator", sizeof(GstAllocatorClass),
			pk_gst_allocator_class_init, sizeof(struct pk_gst_allocator),
			pk_gst_allocator_init, (GTypeFlags)0);
		g_once_init_leave(&type, made);
	}
	return type;
}

GstAllocator *pk_frame_allocator_create(const struct pk_memory_kind *kind)
{
	GstAllocator *allocator = gst_object_ref_sink(g_object_new(pk_gst_allocator_type(), NULL));
	((struct pk_gst_allocator *)allocator)->kind = kind;
	return allocator;
}

const struct pk_memory_kind *pk_frame_allocator_kind(const GstAllocator *allocator)
{
	return ((const struct pk_gst_allocator *)allocator)->kind;
}

static GstBufferPoolClass *pk_frame_pool_parent(void)
{
	return GST_BUFFER_POOL_CLASS(g_type_class_peek_static(GST_TYPE_VIDEO_BUFFER_POOL));
}

static struct pk_gst_memory *pk_gst_memory_of(GstBuffer *buffer, guint i)
{
	GstMemory *memory = gst_buffer_peek_memory(buffer, i);
	bool ours = g_type_is_a(G_OBJECT_TYPE(memory->allocator), pk_gst_allocator_type());
	return ours ? (struct pk_gst_memory *)memory : NULL;
}

static GstFlowReturn pk_frame_pool_alloc(
	GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
	GstFlowReturn r = pk_frame_pool_parent()->alloc_buffer(pool, buffer, params);
	for (guint i = 0; r == GST_FLOW_OK && i < gst_buffer_n_memory(*buffer); i++) {
		struct pk_gst_memory *memory = pk_gst_memory_of(*buffer, i);
		if (memory)
			memory->pooled = true;
	}
	return r;
}

// Nobody has the buffer any more, but others may see its block: it gets another one. Without one
// it is not pooled any more, and so is not handed out again.
static bool pk_gst_memory_renew(struct pk_gst_memory *memory)
{
	struct pk_gst_allocator *allocator = (struct pk_gst_allocator *)memory->parent.allocator;
	if (atomic_load_explicit(&memory->block->refs, memory_order_acquire) == 1)
		return true;
	struct pk_gst_block *block = pk_gst_block_get(allocator, memory->block->n);
	if (!block)
		return false;
	pk_gst_block_unref(allocator, memory->block);
	memory->block = block;
	return true;
}

static void pk_frame_pool_release(GstBufferPool *pool, GstBuffer *buffer)
{
	bool ok = true;
	for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
		struct pk_gst_memory *memory = pk_gst_memory_of(buffer, i);
		ok = ok && (!memory || !memory->pooled || pk_gst_memory_renew(memory));
	}
	if (!ok) // the pool gives up buffers whose memory was exchanged
		GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
	pk_frame_pool_parent()->release_buffer(pool, buffer);
}

static void pk_frame_pool_class_init(gpointer class, gpointer unused)
{
	GstBufferPoolClass *pool_class = class;
	pool_class->alloc_buffer = pk_frame_pool_alloc;
	pool_class->release_buffer = pk_frame_pool_release;
}

static GType pk_frame_pool_type(void)
{
	static gsize type;
	if (g_once_init_enter(&type)) {
		g_type_class_unref(g_type_class_ref(GST_TYPE_VIDEO_BUFFER_POOL));
		GType made = g_type_register_static_simple(GST_TYPE_VIDEO_BUFFER_POOL,
			"PicketFramePool", sizeof(GstVideoBufferPoolClass),
			pk_frame_pool_class_init, sizeof(GstVideoBufferPool), NULL, (GTypeFlags)0);
		g_once_init_leave(&type, made);
	}
	return type;
}

GstBufferPool *pk_frame_allocator_pool(void)
{
	return gst_object_ref_sink(g_object_new(pk_frame_pool_type(), NULL));
}
