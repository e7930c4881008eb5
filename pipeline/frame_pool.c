// SPDX-License-Identifier: Apache-2.0
// Frames around mapped GStreamer buffers, recycled through a free list.
#include "pipeline/frame_pool.h"

#include <gst/video/video.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pk_pool_frame {
	struct pk_frame frame;
	GstVideoFrame video;
	struct pk_pool_frame *next_free;
};

struct pk_frame_pool {
	_Atomic int refs; // creator + frames out
	pthread_mutex_t lock;
	struct pk_pool_frame *free;
	struct pk_pool_frame frames[PK_FRAME_POOL_SIZE];
};

struct pk_frame_pool *pk_frame_pool_create(void)
{
	struct pk_frame_pool *pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->refs = 1;
	pthread_mutex_init(&pool->lock, NULL);
	for (size_t i = 0; i < PK_FRAME_POOL_SIZE; i++) {
		pool->frames[i].next_free = pool->free;
		pool->free = &pool->frames[i];
	}
	return pool;
}

void pk_frame_pool_unref(struct pk_frame_pool *pool)
{
	if (!pool || atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static struct pk_pool_frame *pk_frame_pool_pop(struct pk_frame_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	struct pk_pool_frame *item = pool->free;
	if (item)
		pool->free = item->next_free;
	pthread_mutex_unlock(&pool->lock);
	return item;
}

static void pk_frame_pool_push(struct pk_frame_pool *pool, struct pk_pool_frame *item)
{
	pthread_mutex_lock(&pool->lock);
	item->next_free = pool->free;
	pool->free = item;
	pthread_mutex_unlock(&pool->lock);
}

static void pk_pool_frame_release(struct pk_frame *frame)
{
	struct pk_pool_frame *item = pk_container_of(frame, struct pk_pool_frame, frame);
	struct pk_frame_pool *pool = frame->owner;
	gst_video_frame_unmap(&item->video);
	pk_frame_pool_push(pool, item);
	pk_frame_pool_unref(pool);
}

static int pk_pixel_format_from_gst(GstVideoFormat format, enum pk_pixel_format *out)
{
	static const struct {
		GstVideoFormat gst;
		enum pk_pixel_format ours;
	} rows[] = {
		{GST_VIDEO_FORMAT_NV12, PK_PIXEL_NV12},
		{GST_VIDEO_FORMAT_I420, PK_PIXEL_I420},
		{GST_VIDEO_FORMAT_RGB, PK_PIXEL_RGB},
		{GST_VIDEO_FORMAT_BGR, PK_PIXEL_BGR},
		{GST_VIDEO_FORMAT_GRAY8, PK_PIXEL_GRAY8},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (rows[i].gst != format)
			continue;
		*out = rows[i].ours;
		return 0;
	}
	return -1;
}

static enum pk_color_matrix pk_matrix_from_gst(const GstVideoInfo *info)
{
	switch (info->colorimetry.matrix) {
	case GST_VIDEO_COLOR_MATRIX_BT601:
	case GST_VIDEO_COLOR_MATRIX_FCC:
		return PK_MATRIX_BT601;
	case GST_VIDEO_COLOR_MATRIX_BT709:
	case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
	case GST_VIDEO_COLOR_MATRIX_BT2020:
		return PK_MATRIX_BT709;
	default: // untagged: by size, as broadcast practice has it
		return info->height > 576 ? PK_MATRIX_BT709 : PK_MATRIX_BT601;
	}
}

static int pk_image_from_gst(const GstVideoFrame *video, struct pk_image *image)
{
	const GstVideoInfo *info = &video->info;
	if (pk_pixel_format_from_gst(GST_VIDEO_INFO_FORMAT(info), &image->format) < 0)
		return -1;
	image->width = info->width;
	image->height = info->height;
	for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(video) && i < 3; i++) {
		image->planes[i] = GST_VIDEO_FRAME_PLANE_DATA(video, i);
		image->strides[i] = GST_VIDEO_FRAME_PLANE_STRIDE(video, i);
	}
	image->matrix = pk_matrix_from_gst(info);
	image->full_range = info->colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
	return 0;
}

struct pk_frame *pk_frame_pool_wrap(
	struct pk_frame_pool *pool, struct _GstBuffer *buffer, struct _GstVideoInfo *info)
{
	struct pk_pool_frame *item = pk_frame_pool_pop(pool);
	if (!item)
		return NULL;
	if (!gst_video_frame_map(&item->video, info, buffer, GST_MAP_READ))
		goto unused;
	item->frame = (struct pk_frame){
		.refs = 1, .pts_ns = -1, .release = pk_pool_frame_release, .owner = pool};
	if (pk_image_from_gst(&item->video, &item->frame.image) < 0) {
		gst_video_frame_unmap(&item->video);
		goto unused;
	}
	atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
	return &item->frame;

unused:
	pk_frame_pool_push(pool, item);
	return NULL;
}
