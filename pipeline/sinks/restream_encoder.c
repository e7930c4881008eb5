// SPDX-License-Identifier: Apache-2.0
// One picture in waiting, a thread that draws, and a small GStreamer pipeline that encodes.
#include "pipeline/sinks/restream_encoder.h"

#include <errno.h>
#include <gst/app/app.h>
#include <gst/gst.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "pipeline/canvas.h"
#include "pipeline/sinks/marked.h"

#define PK_ENCODER_IDLE_NS (5 * PK_NS_PER_S) // unwatched for so long, the encoder is let go
#define PK_ENCODER_TURN_NS PK_NS_PER_S
#define PK_ENCODER_JOIN_NS PK_NS_PER_S
#define PK_ENCODER_WAITING 3 // pictures before the encoder; a slow one gets fewer

// Best first. Key frames come often, so that a client soon has a picture.
static const struct pk_encoder_row {
	const char *element, *launch;
} rows[] = {
	{"nvv4l2h264enc", "nvvidconv ! video/x-raw(memory:NVMM),format=NV12 ! nvv4l2h264enc "
			  "insert-sps-pps=true iframeinterval=30 bitrate=4000000"},
	{"x264enc", "video/x-raw,format=I420 ! x264enc tune=zerolatency speed-preset=ultrafast "
		    "key-int-max=30 bitrate=4000 "
		    "threads=1"},
	{"openh264enc", "video/x-raw,format=I420 ! openh264enc gop-size=30 bitrate=4000000"},
};

struct pk_restream_encoder {
	bool boxes;
	struct pk_relay *relay;
	pthread_t thread;
	_Atomic bool stop;
	pthread_mutex_t lock; // waiting
	pthread_cond_t offered;
	struct pk_marked waiting; // its frame is NULL: none
	// Own thread only
	struct pk_marked current;
	struct pk_canvas canvas;
	GstElement *pipeline, *appsrc;
	int width, height; // of the pipeline
	int64_t watched_ns;
	_Atomic int64_t base_ns; // of the pipeline; also for its streaming thread
};

static const struct pk_encoder_row *pk_encoder_row(void)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		GstElementFactory *factory = gst_element_factory_find(rows[i].element);
		if (!factory)
			continue;
		gst_object_unref(factory);
		return &rows[i];
	}
	return NULL;
}

const char *pk_restream_encoder_element(void)
{
	const struct pk_encoder_row *row = pk_encoder_row();
	return row ? row->element : NULL;
}

// Clock time of an encoded picture; encoders shift their time stamps and say so in the segment.
static int64_t pk_encoder_due(const struct pk_restream_encoder *encoder, GstSample *sample)
{
	GstClockTime running = gst_segment_to_running_time(gst_sample_get_segment(sample),
		GST_FORMAT_TIME, GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
	return GST_CLOCK_TIME_IS_VALID(running) ? encoder->base_ns + (int64_t)running : -1;
}

// Streaming thread of the encoder.
static GstFlowReturn pk_encoder_on_sample(GstAppSink *appsink, gpointer user_data)
{
	struct pk_restream_encoder *encoder = user_data;
	GstSample *sample = gst_app_sink_try_pull_sample(appsink, 0);
	GstBuffer *buffer = sample ? gst_sample_get_buffer(sample) : NULL;
	if (buffer) {
		const struct pk_relay_unit unit = {.buffer = buffer,
			.caps = gst_sample_get_caps(sample),
			.pts_ns = pk_encoder_due(encoder, sample),
			.dts_ns = -1,
			.key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT)};
		pk_relay_publish(encoder->relay, &unit);
	}
	if (sample)
		gst_sample_unref(sample);
	return GST_FLOW_OK;
}

static void pk_encoder_close(struct pk_restream_encoder *encoder)
{
	if (!encoder->pipeline)
		return;
	gst_element_set_state(encoder->pipeline, GST_STATE_NULL);
	gst_object_unref(encoder->appsrc);
	gst_object_unref(encoder->pipeline);
	encoder->pipeline = encoder->appsrc = NULL;
}

static void pk_encoder_set_caps(struct pk_restream_encoder *encoder)
{
	GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "RGB", "width",
		G_TYPE_INT, encoder->width, "height", G_TYPE_INT, encoder->height, "framerate",
		GST_TYPE_FRACTION, 30, 1, NULL);
	gst_app_src_set_caps(GST_APP_SRC(encoder->appsrc), caps);
	gst_caps_unref(caps);
}

static bool pk_encoder_open(struct pk_restream_encoder *encoder)
{
	const struct pk_encoder_row *row = pk_encoder_row();
	if (!row)
		return false;
	gchar *launch = g_strdup_printf("appsrc name=in is-live=true format=time max-bytes=0 ! "
					"videoconvert ! %s ! h264parse ! "
					"video/x-h264,stream-format=byte-stream,alignment=au ! "
					"appsink name=out sync=false max-buffers=8 drop=true",
		row->launch);
	encoder->pipeline = gst_parse_launch_full(launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL);
	g_free(launch);
	if (!encoder->pipeline)
		return false;
	gst_object_ref_sink(encoder->pipeline);
	GstClock *clock = gst_system_clock_obtain(); // CLOCK_MONOTONIC, as ours
	gst_pipeline_use_clock(GST_PIPELINE(encoder->pipeline), clock);
	gst_object_unref(clock);
	encoder->appsrc = gst_bin_get_by_name(GST_BIN(encoder->pipeline), "in");
	GstElement *appsink = gst_bin_get_by_name(GST_BIN(encoder->pipeline), "out");
	GstAppSinkCallbacks callbacks = {.new_sample = pk_encoder_on_sample};
	gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, encoder, NULL);
	gst_object_unref(appsink);
	pk_encoder_set_caps(encoder);
	if (gst_element_set_state(encoder->pipeline, GST_STATE_PLAYING) ==
		GST_STATE_CHANGE_FAILURE) {
		pk_encoder_close(encoder);
		return false;
	}
	encoder->base_ns = (int64_t)gst_element_get_base_time(encoder->pipeline);
	return true;
}

// The canvas' rows, an even number of pixels and rows of it.
static GstBuffer *pk_encoder_wrap(const struct pk_restream_encoder *encoder)
{
	const struct pk_canvas *canvas = &encoder->canvas;
	size_t row = (size_t)encoder->width * 3, stride = (row + 3) & ~(size_t)3;
	GstBuffer *buffer = gst_buffer_new_allocate(NULL, stride * (size_t)encoder->height, NULL);
	GstMapInfo map;
	if (!buffer || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
		gst_clear_buffer(&buffer);
		return NULL;
	}
	for (size_t y = 0; y < (size_t)encoder->height; y++)
		memcpy(map.data + y * stride, canvas->rgb + y * (size_t)canvas->width * 3, row);
	gst_buffer_unmap(buffer, &map);
	return buffer;
}

static void pk_encoder_push(struct pk_restream_encoder *encoder, int64_t captured_ns)
{
	GstAppSrc *appsrc = GST_APP_SRC(encoder->appsrc);
	size_t picture = (size_t)encoder->width * (size_t)encoder->height * 3;
	if (gst_app_src_get_current_level_bytes(appsrc) > PK_ENCODER_WAITING * picture)
		return;
	GstBuffer *buffer = pk_encoder_wrap(encoder);
	if (!buffer)
		return;
	// The very first may be older than the pipeline.
	int64_t at_ns = captured_ns - encoder->base_ns;
	GST_BUFFER_PTS(buffer) = (GstClockTime)(at_ns > 0 ? at_ns : 0);
	(void)gst_app_src_push_buffer(appsrc, buffer);
}

static void pk_encoder_encode(struct pk_restream_encoder *encoder)
{
	const struct pk_marked *current = &encoder->current;
	const struct pk_image *image = &current->frame->image;
	int width = image->width & ~1, height = image->height & ~1;
	if (encoder->pipeline && (width != encoder->width || height != encoder->height))
		pk_encoder_close(encoder);
	encoder->width = width;
	encoder->height = height;
	if (width < 2 || height < 2 || (!encoder->pipeline && !pk_encoder_open(encoder)))
		return;
	if (pk_canvas_load(&encoder->canvas, image) < 0)
		return;
	if (encoder->boxes)
		pk_marked_draw(current, &encoder->canvas);
	pk_encoder_push(encoder, current->frame->at_ns[PK_STAGE_CAPTURED]);
}

// The waiting picture into current; false: none came for a while.
static bool pk_encoder_wait(struct pk_restream_encoder *encoder)
{
	int64_t until_ns = pk_now_ns() + PK_ENCODER_TURN_NS;
	struct timespec until = {.tv_sec = (time_t)(until_ns / PK_NS_PER_S),
		.tv_nsec = (long)(until_ns % PK_NS_PER_S)};
	int r = 0;
	pthread_mutex_lock(&encoder->lock);
	while (!encoder->waiting.frame && !atomic_load(&encoder->stop) && r == 0)
		r = pthread_cond_timedwait(&encoder->offered, &encoder->lock, &until);
	bool any = encoder->waiting.frame;
	if (any) {
		encoder->current = encoder->waiting;
		encoder->waiting.frame = NULL;
	}
	pthread_mutex_unlock(&encoder->lock);
	return any;
}

static void *pk_encoder_run(void *arg)
{
	struct pk_restream_encoder *encoder = arg;
	while (!atomic_load(&encoder->stop)) {
		bool any = pk_encoder_wait(encoder);
		if (any) {
			pk_encoder_encode(encoder);
			pk_frame_unref(pk_steal(encoder->current.frame));
		}
		if (pk_relay_is_read(encoder->relay))
			encoder->watched_ns = pk_now_ns();
		else if (pk_now_ns() - encoder->watched_ns > PK_ENCODER_IDLE_NS)
			pk_encoder_close(encoder);
	}
	pk_encoder_close(encoder);
	return NULL;
}

static void pk_encoder_free(struct pk_restream_encoder *encoder)
{
	pk_frame_unref(encoder->waiting.frame);
	pk_canvas_finish(&encoder->canvas);
	pk_relay_unref(encoder->relay);
	pthread_cond_destroy(&encoder->offered);
	pthread_mutex_destroy(&encoder->lock);
	free(encoder);
}

int pk_restream_encoder_create(bool boxes, struct pk_restream_encoder **out, struct pk_err *err)
{
	struct pk_restream_encoder *encoder = calloc(1, sizeof(*encoder));
	pthread_condattr_t attr;
	if (!encoder)
		return pk_fail(err, -ENOMEM, "out of memory");
	encoder->boxes = boxes;
	encoder->relay = pk_relay_create();
	pthread_mutex_init(&encoder->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&encoder->offered, &attr);
	pthread_condattr_destroy(&attr);
	if (encoder->relay)
		pk_relay_keep(encoder->relay);
	int r = encoder->relay
			? pk_thread_start(&encoder->thread, "pk-encode", pk_encoder_run, encoder)
			: -ENOMEM;
	if (r < 0) {
		pk_encoder_free(encoder);
		return pk_fail(err, r, "cannot start an encoder's thread");
	}
	*out = encoder;
	return 0;
}

void pk_restream_encoder_destroy(struct pk_restream_encoder *encoder)
{
	if (!encoder)
		return;
	pthread_mutex_lock(&encoder->lock);
	atomic_store(&encoder->stop, true);
	pthread_cond_broadcast(&encoder->offered);
	pthread_mutex_unlock(&encoder->lock);
	if (pk_thread_join(encoder->thread, PK_ENCODER_JOIN_NS))
		pk_encoder_free(encoder);
}

struct pk_relay *pk_restream_encoder_relay(struct pk_restream_encoder *encoder)
{
	return encoder->relay;
}

void pk_restream_encoder_offer(struct pk_restream_encoder *encoder, const struct pk_result *result)
{
	if (!pk_relay_is_read(encoder->relay))
		return;
	pthread_mutex_lock(&encoder->lock);
	pk_frame_unref(encoder->waiting.frame);
	pk_marked_fill(&encoder->waiting, result);
	pthread_cond_signal(&encoder->offered);
	pthread_mutex_unlock(&encoder->lock);
}
