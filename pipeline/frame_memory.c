// SPDX-License-Identifier: Apache-2.0
// The offer of our memory to those who make pictures, and the copy of what missed it.
#include "pipeline/frame_memory.h"

#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdint.h>
#include <stdlib.h>

#include "pipeline/frame_allocator.h"

#define PK_FRAME_MEMORY_MIN_BUFFERS 2

struct pk_frame_memory {
	GstAllocator *allocator;
	GstBufferPool *copies; // made for the size below when first needed
	gsize copy_bytes;
};

struct pk_frame_memory *pk_frame_memory_create(const struct pk_memory_kind *kind)
{
	struct pk_frame_memory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return NULL;
	memory->allocator = pk_frame_allocator_create(kind);
	return memory;
}

static void pk_frame_memory_drop_copies(struct pk_frame_memory *memory)
{
	if (!memory->copies)
		return;
	gst_buffer_pool_set_active(memory->copies, FALSE);
	gst_clear_object(&memory->copies);
}

void pk_frame_memory_destroy(struct pk_frame_memory *memory)
{
	if (!memory)
		return;
	pk_frame_memory_drop_copies(memory);
	gst_object_unref(memory->allocator);
	free(memory);
}

// A configured pool, not active yet. caps may be NULL.
static GstBufferPool *pk_frame_memory_pool(
	GstAllocator *allocator, GstBufferPool *pool, GstCaps *caps, gsize bytes)
{
	GstAllocationParams params;
	gst_allocation_params_init(&params);
	params.align = PK_MEMORY_ALIGN - 1;
	GstStructure *config = gst_buffer_pool_get_config(pool);
	gst_buffer_pool_config_set_params(
		config, caps, (guint)bytes, PK_FRAME_MEMORY_MIN_BUFFERS, 0);
	gst_buffer_pool_config_set_allocator(config, allocator, &params);
	if (caps)
		gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
	if (!gst_buffer_pool_set_config(pool, config))
		gst_clear_object(&pool);
	return pool;
}

static GstPadProbeReturn pk_frame_memory_answer(
	GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
	GstAllocator *allocator = user_data;
	GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
	if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
		return GST_PAD_PROBE_OK;
	GstCaps *caps = NULL;
	GstVideoInfo video;
	gst_query_parse_allocation(query, &caps, NULL);
	// Decoders hand over their own padded buffers only to one who understands GstVideoMeta;
	// without this they copy every picture.
	gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
	GstAllocationParams params;
	gst_allocation_params_init(&params);
	params.align = PK_MEMORY_ALIGN - 1;
	gst_query_add_allocation_param(query, allocator, &params);
	if (!caps || !gst_video_info_from_caps(&video, caps))
		return GST_PAD_PROBE_HANDLED;
	GstBufferPool *pool =
		pk_frame_memory_pool(allocator, pk_frame_allocator_pool(), caps, video.size);
	if (pool) {
		gst_query_add_allocation_pool(
			query, pool, (guint)video.size, PK_FRAME_MEMORY_MIN_BUFFERS, 0);
		gst_object_unref(pool);
	}
	return GST_PAD_PROBE_HANDLED;
}

void pk_frame_memory_offer(struct pk_frame_memory *memory, struct _GstPad *pad)
{
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, pk_frame_memory_answer,
		gst_object_ref(memory->allocator), gst_object_unref);
}

static bool pk_frame_memory_holds(const struct pk_frame_memory *memory, GstBuffer *buffer)
{
	guint n = gst_buffer_n_memory(buffer);
	for (guint i = 0; i < n; i++)
		if (gst_buffer_peek_memory(buffer, i)->allocator != memory->allocator)
			return false;
	return n > 0;
}

static bool pk_frame_memory_need_copies(struct pk_frame_memory *memory, gsize bytes)
{
	if (memory->copies && memory->copy_bytes == bytes)
		return true;
	pk_frame_memory_drop_copies(memory);
	memory->copies =
		pk_frame_memory_pool(memory->allocator, gst_buffer_pool_new(), NULL, bytes);
	memory->copy_bytes = bytes;
	return memory->copies && gst_buffer_pool_set_active(memory->copies, TRUE);
}

static GstBuffer *pk_frame_memory_copy(struct pk_frame_memory *memory, GstBuffer *buffer)
{
	gsize bytes = gst_buffer_get_size(buffer);
	GstBuffer *copy = NULL;
	GstMapInfo map;
	if (!pk_frame_memory_need_copies(memory, bytes) ||
		gst_buffer_pool_acquire_buffer(memory->copies, &copy, NULL) != GST_FLOW_OK)
		return NULL;
	if (!gst_buffer_map(copy, &map, GST_MAP_WRITE)) {
		gst_buffer_unref(copy);
		return NULL;
	}
	gst_buffer_extract(buffer, 0, map.data, bytes);
	gst_buffer_unmap(copy, &map);
	gst_buffer_copy_into(copy, buffer, GST_BUFFER_COPY_METADATA, 0, (gsize)-1);
	return copy;
}

GstBuffer *pk_frame_memory_take(struct pk_frame_memory *memory, GstBuffer *buffer, bool *copied)
{
	*copied = false;
	if (pk_frame_allocator_kind(memory->allocator)->any_host ||
		pk_frame_memory_holds(memory, buffer))
		return gst_buffer_ref(buffer);
	GstBuffer *copy = pk_frame_memory_copy(memory, buffer);
	*copied = copy != NULL;
	return copy;
}
