// SPDX-License-Identifier: Apache-2.0
// Media of the restream sink: appsrc ! parser ! payloader, filled by a reader of the relay.
#include "pipeline/sinks/restream_feed.h"

#include <gst/app/app.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

// What waits for a client: about a second of a large stream. Beyond it the next picture that it
// gets is a key frame.
#define PK_RESTREAM_QUEUE_BYTES (2u * 1024u * 1024u)
// A stream whose last picture is older does not take new clients.
#define PK_RESTREAM_STALE_NS (5 * PK_NS_PER_S)

// Each key frame carries its parameter sets, so that a client may begin at any of them.
static const struct pk_restream_codec {
	const char *media, *launch;
} codecs[] = {
	{"video/x-h264", "( appsrc name=in ! h264parse config-interval=-1 ! rtph264pay name=pay0 "
			 "pt=96 config-interval=-1 aggregate-mode=zero-latency )"},
	{"video/x-h265", "( appsrc name=in ! h265parse config-interval=-1 ! rtph265pay name=pay0 "
			 "pt=96 config-interval=-1 aggregate-mode=zero-latency )"},
	{"image/jpeg", "( appsrc name=in ! jpegparse ! rtpjpegpay name=pay0 pt=26 )"},
};

struct pk_restream_feed {
	struct pk_relay_reader reader;
	struct pk_relay *relay;
	struct pk_restream_stream *stream;
	GstElement *appsrc; // a reference
	// Under the relay's lock
	bool started; // it has got a picture
	bool waiting; // for a key frame
	GstCaps *caps;
};

struct pk_restream_stream *pk_restream_stream_create(
	struct pk_relay *relay, struct pk_relay *fallback)
{
	struct pk_restream_stream *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->refs = 1;
	stream->relay = relay ? pk_relay_ref(relay) : NULL;
	stream->fallback = fallback ? pk_relay_ref(fallback) : NULL;
	return stream;
}

struct pk_restream_stream *pk_restream_stream_ref(struct pk_restream_stream *stream)
{
	atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
	return stream;
}

void pk_restream_stream_unref(struct pk_restream_stream *stream)
{
	if (!stream || atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) != 1)
		return;
	pk_relay_unref(stream->relay);
	pk_relay_unref(stream->fallback);
	free(stream);
}

static const struct pk_restream_codec *pk_restream_find_codec(const char *media)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(codecs); i++)
		if (strcmp(codecs[i].media, media) == 0)
			return &codecs[i];
	return NULL;
}

// What a client is fed from now, and how; NULL: nothing.
static struct pk_relay *pk_restream_choose(
	struct pk_restream_stream *stream, const struct pk_restream_codec **codec)
{
	char media[32] = "";
	int64_t last_ns = 0;
	if (stream->relay)
		pk_relay_look(stream->relay, media, &last_ns);
	*codec = pk_restream_find_codec(media);
	if (*codec)
		return pk_now_ns() - last_ns < PK_RESTREAM_STALE_NS ? stream->relay : NULL;
	*codec = &codecs[0];
	return stream->fallback;
}

bool pk_restream_stream_is_there(struct pk_restream_stream *stream)
{
	const struct pk_restream_codec *codec;
	return pk_restream_choose(stream, &codec) != NULL;
}

static GstClockTime pk_feed_time(const struct pk_restream_feed *feed, int64_t due_ns)
{
	int64_t base_ns = (int64_t)gst_element_get_base_time(feed->appsrc);
	return due_ns < base_ns ? GST_CLOCK_TIME_NONE : (GstClockTime)(due_ns - base_ns);
}

// The same bytes under time stamps of this media's pipeline; both run on the monotonic clock.
static GstBuffer *pk_feed_stamp(
	const struct pk_restream_feed *feed, const struct pk_relay_unit *unit)
{
	int64_t now_ns = pk_now_ns();
	GstBuffer *buffer = gst_buffer_copy(unit->buffer); // shares the memory
	GST_BUFFER_PTS(buffer) = pk_feed_time(feed, unit->pts_ns < 0 ? now_ns : unit->pts_ns);
	if (!GST_BUFFER_PTS_IS_VALID(buffer)) // taken before this client came
		GST_BUFFER_PTS(buffer) = pk_feed_time(feed, now_ns);
	GST_BUFFER_DTS(buffer) =
		unit->dts_ns < 0 ? GST_CLOCK_TIME_NONE : pk_feed_time(feed, unit->dts_ns);
	GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_DISCONT);
	return buffer;
}

// Under the relay's lock, on the camera's thread: nothing here waits for the client.
static void pk_feed_on_unit(void *ctx, const struct pk_relay_unit *unit)
{
	struct pk_restream_feed *feed = ctx;
	GstAppSrc *appsrc = GST_APP_SRC(feed->appsrc);
	GstState state = GST_STATE_NULL;
	bool catch_up = !feed->started && !unit->key && unit->n_before > 0;
	if (feed->waiting && !unit->key && !catch_up)
		return;
	// Its base time, by which pictures are stamped, is there when it plays.
	(void)gst_element_get_state(feed->appsrc, &state, NULL, 0);
	if (state != GST_STATE_PLAYING)
		return;
	if (gst_app_src_get_current_level_bytes(appsrc) > PK_RESTREAM_QUEUE_BYTES) {
		feed->waiting = true;
		atomic_fetch_add_explicit(&feed->stream->n_dropped, 1, memory_order_relaxed);
		return;
	}
	if (feed->caps != unit->caps) {
		gst_caps_replace(&feed->caps, unit->caps);
		gst_app_src_set_caps(appsrc, unit->caps);
	}
	for (size_t i = 0; catch_up && i < unit->n_before; i++)
		(void)gst_app_src_push_buffer(appsrc, pk_feed_stamp(feed, &unit->before[i]));
	feed->started = true;
	feed->waiting = gst_app_src_push_buffer(appsrc, pk_feed_stamp(feed, unit)) != GST_FLOW_OK;
}

static void pk_feed_free(gpointer data, GObject *bin)
{
	struct pk_restream_feed *feed = data;
	pk_relay_unsubscribe(feed->relay, &feed->reader);
	gst_object_unref(feed->appsrc);
	gst_caps_replace(&feed->caps, NULL);
	pk_relay_unref(feed->relay);
	pk_restream_stream_unref(feed->stream);
	free(feed);
}

static int pk_feed_start(struct pk_restream_stream *stream, struct pk_relay *relay, GstElement *bin)
{
	struct pk_restream_feed *feed = calloc(1, sizeof(*feed));
	if (!feed)
		return -1;
	feed->appsrc = gst_bin_get_by_name(GST_BIN(bin), "in");
	feed->relay = pk_relay_ref(relay);
	feed->stream = pk_restream_stream_ref(stream);
	feed->waiting = true;
	feed->reader = (struct pk_relay_reader){.unit = pk_feed_on_unit, .ctx = feed};
	g_object_set(feed->appsrc, "is-live", TRUE, "format", GST_FORMAT_TIME, "block", FALSE,
		"max-bytes", (guint64)0, "emit-signals", FALSE, NULL);
	g_object_weak_ref(G_OBJECT(bin), pk_feed_free, feed);
	pk_relay_subscribe(relay, &feed->reader);
	return 0;
}

// The factory: a GObject type without the usual macros, which want names of another style.

struct pk_restream_factory {
	GstRTSPMediaFactory parent;
	struct pk_restream_stream *stream;
};

static GstRTSPMediaFactoryClass *parent_class;

static GstElement *pk_factory_create_element(GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
	struct pk_restream_stream *stream = ((struct pk_restream_factory *)factory)->stream;
	const struct pk_restream_codec *codec;
	struct pk_relay *relay = pk_restream_choose(stream, &codec);
	GstElement *bin = relay ? gst_parse_launch_full(
					  codec->launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL)
				: NULL;
	if (!bin)
		return NULL;
	if (pk_feed_start(stream, relay, bin) < 0) {
		gst_object_unref(gst_object_ref_sink(bin));
		return NULL;
	}
	return bin;
}

// One media for each client.
static gchar *pk_factory_no_key(GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
	return NULL;
}

static void pk_factory_finalize(GObject *object)
{
	pk_restream_stream_unref(((struct pk_restream_factory *)object)->stream);
	G_OBJECT_CLASS(parent_class)->finalize(object);
}

static void pk_factory_class_init(gpointer class, gpointer data)
{
	parent_class = g_type_class_peek_parent(class);
	G_OBJECT_CLASS(class)->finalize = pk_factory_finalize;
	GST_RTSP_MEDIA_FACTORY_CLASS(class)->create_element = pk_factory_create_element;
	GST_RTSP_MEDIA_FACTORY_CLASS(class)->gen_key = pk_factory_no_key;
}

static GType pk_factory_type(void)
{
	static gsize type;
	if (g_once_init_enter(&type)) {
		GType made = g_type_register_static_simple(GST_TYPE_RTSP_MEDIA_FACTORY,
			"PkRestreamFactory", sizeof(GstRTSPMediaFactoryClass),
			(GClassInitFunc)pk_factory_class_init, sizeof(struct pk_restream_factory),
			NULL, 0);
		g_once_init_leave(&type, made);
	}
	return type;
}

GstRTSPMediaFactory *pk_restream_factory_create(struct pk_restream_stream *stream)
{
	struct pk_restream_factory *factory = g_object_new(pk_factory_type(), NULL);
	factory->stream = pk_restream_stream_ref(stream);
	gst_rtsp_media_factory_set_shared(&factory->parent, FALSE);
	gst_rtsp_media_factory_set_protocols(
		&factory->parent, GST_RTSP_LOWER_TRANS_UDP | GST_RTSP_LOWER_TRANS_TCP);
	return &factory->parent;
}

struct pk_restream_stream *pk_restream_factory_stream(GstRTSPMediaFactory *factory)
{
	if (!G_TYPE_CHECK_INSTANCE_TYPE(factory, pk_factory_type()))
		return NULL;
	return ((struct pk_restream_factory *)factory)->stream;
}
