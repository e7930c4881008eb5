// SPDX-License-Identifier: Apache-2.0
// A running source: the life of its GStreamer pipeline, its bus, and frames out of its appsink.
#include "pipeline/source.h"

#include <errno.h>
#include <gst/app/app.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/encoded_tap.h"
#include "pipeline/frame_memory.h"
#include "pipeline/frame_pool.h"
#include "pipeline/lateness.h"
#include "pipeline/reach.h"
#include "pipeline/source_graph.h"

// A capture time further back than this is a broken time stamp, not a late frame.
#define PK_SOURCE_MAX_LATE_NS (10 * PK_NS_PER_S)
// Further errors of one failure come within this time.
#define PK_SOURCE_ERROR_WAIT_NS (50 * PK_NS_PER_MS)
#define PK_SOURCE_REACH_MS      500

enum pk_source_pace { PK_PACE_LIVE, PK_PACE_CLOCK, PK_PACE_FREE, PK_PACE_UNKNOWN };

struct pk_source {
	struct pk_source_graph graph;
	struct pk_source_receiver receiver;
	struct pk_frame_pool *pool;
	struct pk_frame_memory *memory;
	char text[256];
	char *address; // of a network camera; NULL: none
	char last_warning[256];
	uint32_t run;
	bool loop;
	_Atomic int pace;
	// Streaming thread only; the counter also hands the struct over to it and back, in terms
	// that a race detector understands.
	_Atomic uint64_t n_frames;
	GstCaps *caps; // that info was made from
	GstVideoInfo info;
	struct pk_lateness lateness; // the decoder's streaming thread
};

static void pk_source_init_gst(void)
{
	gst_init(NULL, NULL);
}

void pk_source_redact(char *text)
{
	for (char *p = strstr(text, "://"); p; p = strstr(p, "://")) {
		p += 3;
		size_t host = strcspn(p, "/ \t\"'"), n = host;
		while (n > 0 && p[n - 1] != '@')
			n--;
		if (n < 4) // "a:@" and shorter cannot hold "***@"; nothing secret fits either
			continue;
		memcpy(p, "***@", 4);
		memmove(p + 4, p + n, strlen(p + n) + 1);
	}
}

static void pk_source_describe(struct pk_source *source, const struct pk_source_config *config)
{
	char sensor[16];
	g_snprintf(sensor, sizeof(sensor), "%d", config->sensor_id);
	const char *const texts[PK_N_SOURCE_KINDS][2] = {
		[PK_SOURCE_FILE] = {"file", config->uri},
		[PK_SOURCE_TEST] = {"test", config->pattern},
		[PK_SOURCE_RTSP] = {"rtsp", config->uri},
		[PK_SOURCE_GST] = {"gst", config->launch},
		[PK_SOURCE_V4L2] = {"v4l2", config->device},
		[PK_SOURCE_CSI] = {"csi", sensor},
		[PK_SOURCE_HTTP] = {"http", config->uri},
		[PK_SOURCE_IMAGES] = {"images", config->uri},
	};
	g_snprintf(source->text, sizeof(source->text), "%s %s", texts[config->kind][0],
		texts[config->kind][1]);
	pk_source_redact(source->text);
}

// When the picture was taken, as far as its time stamp and the source's pace tell.
static int64_t pk_source_capture_ns(struct pk_source *source, GstSample *sample, int64_t now_ns)
{
	GstBuffer *buffer = gst_sample_get_buffer(sample);
	GstSegment *segment = gst_sample_get_segment(sample);
	if (source->pace == PK_PACE_FREE || !GST_BUFFER_PTS_IS_VALID(buffer) ||
		segment->format != GST_FORMAT_TIME)
		return now_ns;
	guint64 running =
		gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
	if (!GST_CLOCK_TIME_IS_VALID(running))
		return now_ns;
	int64_t at_ns = (int64_t)(gst_element_get_base_time(source->graph.pipeline) + running);
	return at_ns <= now_ns && now_ns - at_ns < PK_SOURCE_MAX_LATE_NS ? at_ns : now_ns;
}

static int64_t pk_source_stream_ns(GstSample *sample)
{
	GstBuffer *buffer = gst_sample_get_buffer(sample);
	GstSegment *segment = gst_sample_get_segment(sample);
	if (!GST_BUFFER_PTS_IS_VALID(buffer) || segment->format != GST_FORMAT_TIME)
		return -1;
	guint64 t = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
	return GST_CLOCK_TIME_IS_VALID(t) ? (int64_t)t : -1;
}

static void pk_source_format_text(const GstVideoInfo *info, char *out, size_t n)
{
	g_snprintf(out, n, "%dx%d %s", info->width, info->height,
		gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)));
}

// False when the new caps are nothing that we read.
static bool pk_source_take_caps(struct pk_source *source, GstCaps *caps)
{
	char before[48] = "", now[48];
	if (source->caps)
		pk_source_format_text(&source->info, before, sizeof(before));
	if (!gst_video_info_from_caps(&source->info, caps))
		return false;
	gst_caps_replace(&source->caps, caps);
	pk_source_format_text(&source->info, now, sizeof(now));
	if (before[0] && strcmp(before, now) != 0 && source->receiver.format)
		source->receiver.format(source->receiver.ctx, before, now);
	return true;
}

static struct pk_frame *pk_source_wrap(struct pk_source *source, GstSample *sample)
{
	GstCaps *caps = gst_sample_get_caps(sample);
	GstBuffer *buffer = gst_sample_get_buffer(sample);
	if (!caps || !buffer)
		return NULL;
	if (caps != source->caps && !pk_source_take_caps(source, caps))
		return NULL;
	bool copied;
	GstBuffer *own = pk_frame_memory_take(source->memory, buffer, &copied);
	if (!own)
		return NULL;
	if (copied && source->receiver.copied)
		source->receiver.copied(source->receiver.ctx);
	struct pk_frame *frame = pk_frame_pool_wrap(source->pool, own, &source->info);
	gst_buffer_unref(own);
	return frame;
}

static bool pk_source_is_damaged(GstSample *sample)
{
	GstBuffer *buffer = gst_sample_get_buffer(sample);
	return buffer && GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
}

static GstFlowReturn pk_source_new_sample(GstAppSink *appsink, gpointer user_data)
{
	struct pk_source *source = user_data;
	GstSample *sample = gst_app_sink_try_pull_sample(appsink, 0);
	if (!sample)
		return GST_FLOW_OK;
	if (pk_source_is_damaged(sample)) {
		gst_sample_unref(sample);
		if (source->receiver.skipped)
			source->receiver.skipped(source->receiver.ctx);
		return GST_FLOW_OK;
	}
	int64_t now_ns = pk_now_ns();
	uint64_t index = atomic_load_explicit(&source->n_frames, memory_order_acquire);
	struct pk_frame *frame = pk_source_wrap(source, sample);
	if (frame) {
		int64_t captured_ns = pk_source_capture_ns(source, sample, now_ns);
		frame->index = index;
		frame->source_run = source->run;
		frame->pts_ns = pk_source_stream_ns(sample);
		frame->at_ns[PK_STAGE_CAPTURED] = captured_ns;
		frame->at_ns[PK_STAGE_DECODED] = now_ns;
		frame->realtime_ns = pk_realtime_ns() - (now_ns - captured_ns);
	}
	gst_sample_unref(sample); // before the frame goes on, so that the appsink can reuse it
	if (frame)
		source->receiver.frame(source->receiver.ctx, frame);
	else if (source->receiver.lost)
		source->receiver.lost(source->receiver.ctx);
	atomic_store_explicit(&source->n_frames, index + 1, memory_order_release);
	return GST_FLOW_OK;
}

// While a pipeline starts, and after it has gone back to the beginning, its times are not those of
// the clock yet.
static bool pk_source_keeps_time(const struct pk_source *source)
{
	const GstElement *pipeline = source->graph.pipeline;
	bool paced = source->pace == PK_PACE_LIVE || source->pace == PK_PACE_CLOCK;
	return paced && GST_STATE(pipeline) == GST_STATE_PLAYING &&
	       GST_STATE_PENDING(pipeline) == GST_STATE_VOID_PENDING;
}

// Streaming thread of the decoder. False: the picture is not to be decoded.
static bool pk_source_on_encoded(void *ctx, const struct pk_relay_unit *unit)
{
	struct pk_source *source = ctx;
	const struct pk_source_receiver *receiver = &source->receiver;
	if (receiver->encoded)
		receiver->encoded(receiver->ctx, unit);
	if (unit->pts_ns < 0 || !pk_source_keeps_time(source)) {
		pk_lateness_reset(&source->lateness);
		return true;
	}
	int64_t now_ns = pk_now_ns();
	enum pk_lateness_word word =
		pk_lateness_judge(&source->lateness, now_ns, now_ns - unit->pts_ns, unit->key);
	if (word != PK_LATENESS_DECODE && receiver->late)
		receiver->late(receiver->ctx, word == PK_LATENESS_LEAVE_OUT_FROM_HERE);
	return word == PK_LATENESS_DECODE;
}

static void pk_source_set_pace(struct pk_source *source, enum pk_source_pace pace)
{
	source->pace = pace;
	bool sync = pace == PK_PACE_CLOCK || pace == PK_PACE_UNKNOWN;
	g_object_set(source->graph.appsink, "sync", (gboolean)sync, NULL);
}

// A launch string tells only once it runs whether it is live. What is asked is the stream before
// the appsink: a sink that waits for the clock calls itself live.
static void pk_source_learn_pace(struct pk_source *source)
{
	if (source->pace != PK_PACE_UNKNOWN)
		return;
	GstQuery *query = gst_query_new_latency();
	GstPad *pad = gst_element_get_static_pad(source->graph.appsink, "sink");
	gboolean live = FALSE;
	if (gst_pad_peer_query(pad, query)) {
		gst_query_parse_latency(query, &live, NULL, NULL);
		pk_source_set_pace(source, live ? PK_PACE_LIVE : PK_PACE_CLOCK);
	}
	gst_object_unref(pad);
	gst_query_unref(query);
}

static enum pk_source_pace pk_source_first_pace(const struct pk_source_config *config)
{
	switch (config->kind) {
	case PK_SOURCE_FILE:
	case PK_SOURCE_IMAGES:
		return config->paced ? PK_PACE_CLOCK : PK_PACE_FREE;
	case PK_SOURCE_GST:
		return PK_PACE_UNKNOWN;
	default:
		return PK_PACE_LIVE;
	}
}

// Our code for a GStreamer error: what matters is whether another try may help soon.
static int pk_source_error_code(const GError *error)
{
	static const struct {
		int gst, ours;
	} rows[] = {
		{GST_RESOURCE_ERROR_NOT_AUTHORIZED, -EACCES},
		{GST_RESOURCE_ERROR_NOT_FOUND, -ENOENT},
		{GST_RESOURCE_ERROR_OPEN_READ, -ECONNREFUSED},
		{GST_RESOURCE_ERROR_OPEN_READ_WRITE, -ECONNREFUSED},
		{GST_RESOURCE_ERROR_BUSY, -EBUSY},
	};
	if (error->domain != GST_RESOURCE_ERROR)
		return -EIO;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		if (rows[i].gst == error->code)
			return rows[i].ours;
	return -EIO;
}

// The debug text often has the reason that the message lacks: after "reason", or in a last line of
// its own behind where in the code it was.
static const char *pk_source_reason(int code, const char *debug)
{
	if (code == -EACCES)
		return "the camera wants another user or password";
	const char *reason = debug ? strstr(debug, "reason ") : NULL;
	const char *line = debug ? strrchr(debug, '\n') : NULL;
	return reason ? reason : line && line[1] ? line + 1 : "";
}

// How much an error message tells. Elements complain one after the other about the same failure;
// the network client that knows why may come last.
static int pk_source_error_weight(const GError *error)
{
	if (error->domain == GST_RESOURCE_ERROR)
		return error->code == GST_RESOURCE_ERROR_FAILED ? 1 : 2;
	return error->domain == GST_STREAM_ERROR && error->code != GST_STREAM_ERROR_FAILED ? 1 : 0;
}

static int pk_source_message_weight(GstMessage *message)
{
	GError *error = NULL;
	gst_message_parse_error(message, &error, NULL);
	int weight = pk_source_error_weight(error);
	g_clear_error(&error);
	return weight;
}

// first, or another one that comes within a moment and tells more. The caller's, like first was.
static GstMessage *pk_source_best_error(struct pk_source *source, GstMessage *first)
{
	GstBus *bus = gst_element_get_bus(source->graph.pipeline);
	GstMessage *best = first, *next;
	while (pk_source_message_weight(best) < 2 &&
		(next = gst_bus_timed_pop_filtered(
			 bus, PK_SOURCE_ERROR_WAIT_NS, GST_MESSAGE_ERROR))) {
		bool better = pk_source_message_weight(next) > pk_source_message_weight(best);
		gst_message_unref(better ? best : next);
		best = better ? next : best;
	}
	gst_object_unref(bus);
	return best;
}

// Clients often do not say why they have no connection: the network does. NULL: there is one.
static const char *pk_source_reach(const struct pk_source *source, int *code)
{
	bool unclear = *code == -EIO || *code == -ECONNREFUSED;
	bool began = atomic_load_explicit(&source->n_frames, memory_order_acquire) > 0;
	int r = source->address && unclear && !began ? pk_reach(source->address, PK_SOURCE_REACH_MS)
						     : 0;
	if (r == 0 || r == -EINVAL)
		return NULL;
	*code = r;
	return r == -EHOSTUNREACH ? "no such host, or no way to it" : strerror(-r);
}

static int pk_source_fail(struct pk_source *source, GstMessage *first, struct pk_err *err)
{
	GstMessage *message = pk_source_best_error(source, gst_message_ref(first));
	GError *error = NULL;
	gchar *debug = NULL;
	gst_message_parse_error(message, &error, &debug);
	int code = pk_source_error_code(error);
	const char *unreached = pk_source_reach(source, &code);
	const char *reason = unreached ? unreached : pk_source_reason(code, debug);
	char text[PK_ERR_TEXT_MAX];
	g_snprintf(text, sizeof(text), "%s%s%s%s", unreached ? "cannot be reached" : error->message,
		*reason ? " (" : "", reason, *reason ? ")" : "");
	pk_source_redact(text);
	pk_fail(err, code, "%s: %s", source->text, text);
	g_clear_error(&error);
	g_free(debug);
	gst_message_unref(message);
	return code;
}

static void pk_source_keep_warning(struct pk_source *source, GstMessage *message)
{
	GError *error = NULL;
	gst_message_parse_warning(message, &error, NULL);
	g_strlcpy(source->last_warning, error->message, sizeof(source->last_warning));
	pk_source_redact(source->last_warning);
	g_clear_error(&error);
}

static int pk_source_restart(struct pk_source *source, struct pk_err *err)
{
	GstElement *pipeline = source->graph.pipeline;
	if (gst_element_seek_simple(
		    pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT, 0))
		return 0;
	// Streams without an index (raw H.264) start again from the file.
	if (gst_element_set_state(pipeline, GST_STATE_READY) == GST_STATE_CHANGE_FAILURE ||
		gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
		return pk_fail(err, -EIO, "%s: cannot start again at its end", source->text);
	return 0;
}

static int pk_source_at_end(struct pk_source *source, struct pk_err *err)
{
	pk_source_learn_pace(source);
	if (source->loop)
		return pk_source_restart(source, err);
	if (source->pace != PK_PACE_LIVE)
		return 1;
	const char *why = source->last_warning;
	return pk_fail(
		err, -EPIPE, "%s: the stream has ended%s%s", source->text, *why ? ": " : "", why);
}

static int pk_source_handle(struct pk_source *source, GstMessage *message, struct pk_err *err)
{
	switch (GST_MESSAGE_TYPE(message)) {
	case GST_MESSAGE_ERROR:
		return pk_source_fail(source, message, err);
	case GST_MESSAGE_EOS:
		return pk_source_at_end(source, err);
	case GST_MESSAGE_WARNING:
		pk_source_keep_warning(source, message);
		return 0;
	case GST_MESSAGE_LATENCY:
		gst_bin_recalculate_latency(GST_BIN(source->graph.pipeline));
		return 0;
	case GST_MESSAGE_ASYNC_DONE:
		pk_source_learn_pace(source);
		return 0;
	default: // our own wake-up
		return 0;
	}
}

int pk_source_poll(struct pk_source *source, int64_t timeout_ns, struct pk_err *err)
{
	const GstMessageType types = GST_MESSAGE_ERROR | GST_MESSAGE_EOS | GST_MESSAGE_WARNING |
				     GST_MESSAGE_LATENCY | GST_MESSAGE_ASYNC_DONE |
				     GST_MESSAGE_APPLICATION;
	GstBus *bus = gst_element_get_bus(source->graph.pipeline);
	GstMessage *message = gst_bus_timed_pop_filtered(
		bus, timeout_ns > 0 ? (GstClockTime)timeout_ns : 0, types);
	gst_object_unref(bus);
	if (!message)
		return 0;
	int r = pk_source_handle(source, message, err);
	gst_message_unref(message);
	return r;
}

void pk_source_wake(struct pk_source *source)
{
	GstBus *bus = gst_element_get_bus(source->graph.pipeline);
	gst_bus_post(
		bus, gst_message_new_application(NULL, gst_structure_new_empty("picket-wake")));
	gst_object_unref(bus);
}

static int pk_source_start(struct pk_source *source, struct pk_err *err)
{
	GstElement *pipeline = source->graph.pipeline;
	atomic_store_explicit(&source->n_frames, 0, memory_order_release);
	GstStateChangeReturn r = gst_element_set_state(pipeline, GST_STATE_PAUSED);
	if (r == GST_STATE_CHANGE_NO_PREROLL && source->pace == PK_PACE_UNKNOWN)
		pk_source_set_pace(source, PK_PACE_LIVE);
	if (r != GST_STATE_CHANGE_FAILURE)
		r = gst_element_set_state(pipeline, GST_STATE_PLAYING);
	if (r != GST_STATE_CHANGE_FAILURE)
		return 0;
	GstBus *bus = gst_element_get_bus(pipeline);
	GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
	gst_object_unref(bus);
	if (!message)
		return pk_fail(err, -EIO, "%s: cannot be started", source->text);
	int code = pk_source_fail(source, message, err);
	gst_message_unref(message);
	return code;
}

int pk_source_create(const struct pk_source_config *config,
	const struct pk_source_receiver *receiver, uint32_t run, struct pk_source **out,
	struct pk_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, pk_source_init_gst);
	pk_auto(pk_source) source = calloc(1, sizeof(*source));
	const struct pk_memory_kind *kind = receiver->memory ? receiver->memory : &pk_memory_heap;
	if (!source || !(source->pool = pk_frame_pool_create()) ||
		!(source->memory = pk_frame_memory_create(kind)))
		return pk_fail(err, -ENOMEM, "out of memory");
	source->receiver = *receiver;
	source->run = run;
	source->loop = config->kind == PK_SOURCE_FILE && config->loop;
	if (config->kind == PK_SOURCE_RTSP || config->kind == PK_SOURCE_HTTP)
		source->address = strdup(config->uri);
	pk_source_describe(source, config);
	int r = pk_source_graph_build(config, receiver, source->memory, &source->graph, err);
	if (r < 0) {
		if (err)
			pk_source_redact(err->text); // a launch string may hold a password
		pk_err_prefix(err, "%s", source->text);
		return r;
	}
	source->lateness.limit_ns = receiver->max_late_ns;
	pk_encoded_tap_attach(source->graph.pipeline, pk_source_on_encoded, source);
	GstAppSinkCallbacks callbacks = {.new_sample = pk_source_new_sample};
	gst_app_sink_set_callbacks(GST_APP_SINK(source->graph.appsink), &callbacks, source, NULL);
	pk_source_set_pace(source, pk_source_first_pace(config));
	r = pk_source_start(source, err);
	if (r < 0)
		return r;
	*out = pk_steal(source);
	return 0;
}

void pk_source_destroy(struct pk_source *source)
{
	if (!source)
		return;
	if (source->graph.pipeline) {
		gst_element_set_state(source->graph.pipeline, GST_STATE_NULL);
		gst_object_unref(source->graph.pipeline);
	}
	(void)atomic_load_explicit(&source->n_frames, memory_order_acquire);
	gst_caps_replace(&source->caps, NULL);
	pk_frame_pool_unref(source->pool);
	pk_frame_memory_destroy(source->memory);
	free(source->address);
	free(source);
}

const char *pk_source_text(const struct pk_source *source)
{
	return source->text;
}

void pk_source_inspect(const struct pk_source *source, struct pk_source_facts *out)
{
	pk_source_graph_inspect(&source->graph, out);
}
