// SPDX-License-Identifier: Apache-2.0
// One builder per source kind; all end in videoconvert ! capsfilter ! appsink.
#include "pipeline/source_graph.h"

#include <errno.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

// What engine/image reads. videoconvert passes these through untouched.
#define PK_SOURCE_CAPS "video/x-raw,format=(string){NV12,I420,RGB,BGR,GRAY8}"

static GstElement *pk_graph_add(GstElement *pipeline, const char *factory, struct pk_err *err)
{
	GstElement *element = gst_element_factory_make(factory, NULL);
	if (!element) {
		pk_fail(err, -ENOENT, "GStreamer element \"%s\" is not installed", factory);
		return NULL;
	}
	gst_bin_add(GST_BIN(pipeline), element);
	return element;
}

// Links a pad that appeared later to the element it was meant for, if that one still waits and the
// pad carries video.
static void pk_graph_link_late(GstElement *from, GstPad *pad, gpointer to)
{
	GstPad *sink = gst_element_get_static_pad(GST_ELEMENT(to), "sink");
	GstCaps *caps = gst_pad_get_current_caps(pad);
	if (!caps)
		caps = gst_pad_query_caps(pad, NULL);
	const GstStructure *s = gst_caps_is_empty(caps) || gst_caps_is_any(caps)
					? NULL
					: gst_caps_get_structure(caps, 0);
	const char *media = s ? gst_structure_get_string(s, "media") : NULL; // RTP
	bool video = s && (media ? strcmp(media, "video") == 0
				 : g_str_has_prefix(gst_structure_get_name(s), "video/"));
	if (video && !gst_pad_is_linked(sink))
		gst_pad_link(pad, sink);
	gst_caps_unref(caps);
	gst_object_unref(sink);
}

static int pk_graph_decode(
	GstElement *pipeline, GstElement *tail, GstElement **out, struct pk_err *err)
{
	GstElement *decode = pk_graph_add(pipeline, "decodebin", err);
	if (!decode)
		return -ENOENT;
	g_signal_connect(decode, "pad-added", G_CALLBACK(pk_graph_link_late), tail);
	*out = decode;
	return 0;
}

static int pk_graph_file(const struct pk_source_config *config, GstElement *pipeline,
	GstElement *tail, struct pk_err *err)
{
	if (access(config->uri, R_OK) < 0)
		return pk_fail(err, -errno, "%s", strerror(errno));
	GstElement *file = pk_graph_add(pipeline, "filesrc", err), *decode;
	if (!file || pk_graph_decode(pipeline, tail, &decode, err) < 0)
		return -ENOENT;
	g_object_set(file, "location", config->uri, NULL);
	if (!gst_element_link(file, decode))
		return pk_fail(err, -EINVAL, "cannot connect the file to the decoder");
	return 0;
}

static int pk_graph_set_pattern(GstElement *test, const char *nick, struct pk_err *err)
{
	GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(test), "pattern");
	GEnumClass *patterns = G_ENUM_CLASS(g_type_class_ref(spec->value_type));
	GEnumValue *value = g_enum_get_value_by_nick(patterns, nick);
	if (value)
		g_object_set(test, "pattern", value->value, NULL);
	g_type_class_unref(patterns);
	return value ? 0 : pk_fail(err, -EINVAL, "there is no test pattern \"%s\"", nick);
}

static int pk_graph_test(const struct pk_source_config *config, GstElement *pipeline,
	GstElement *tail, struct pk_err *err)
{
	GstElement *test = pk_graph_add(pipeline, "videotestsrc", err);
	if (!test)
		return -ENOENT;
	int r = pk_graph_set_pattern(test, config->pattern, err);
	if (r < 0)
		return r;
	g_object_set(test, "is-live", TRUE, NULL);
	gint num = 15, den = 1;
	gst_util_double_to_fraction(config->rate_hz, &num, &den);
	GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width",
		G_TYPE_INT, config->width, "height", G_TYPE_INT, config->height, "framerate",
		GST_TYPE_FRACTION, num, den, NULL);
	gboolean linked = gst_element_link_filtered(test, tail, caps);
	gst_caps_unref(caps);
	if (!linked)
		return pk_fail(err, -EINVAL, "cannot make %dx%d pictures at %g/s", config->width,
			config->height, config->rate_hz);
	return 0;
}

static gboolean pk_graph_select_video(
	GstElement *rtsp, guint stream_idx, GstCaps *caps, gpointer unused)
{
	const GstStructure *s = gst_caps_get_structure(caps, 0);
	return g_strcmp0(gst_structure_get_string(s, "media"), "video") == 0;
}

static int pk_graph_rtsp(const struct pk_source_config *config, GstElement *pipeline,
	GstElement *tail, struct pk_err *err)
{
	GstElement *rtsp = pk_graph_add(pipeline, "rtspsrc", err), *decode;
	if (!rtsp || pk_graph_decode(pipeline, tail, &decode, err) < 0)
		return -ENOENT;
	g_object_set(rtsp, "location", config->uri, "latency",
		(guint)(config->latency_ns / PK_NS_PER_MS), "drop-on-latency", TRUE, NULL);
	gst_util_set_object_arg(G_OBJECT(rtsp), "protocols", config->tcp ? "tcp" : "udp");
	g_signal_connect(rtsp, "select-stream", G_CALLBACK(pk_graph_select_video), NULL);
	g_signal_connect(rtsp, "pad-added", G_CALLBACK(pk_graph_link_late), decode);
	return 0;
}

// The identity gives pads that appear late (decodebin) something to be linked to, and us a last
// element whose name is known.
static GstElement *pk_graph_parse(const char *launch, struct pk_err *err)
{
	gchar *text = g_strdup_printf("%s ! identity silent=true name=picket-last", launch);
	GError *error = NULL;
	GstElement *bin = gst_parse_bin_from_description_full(
		text, FALSE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
	g_free(text);
	if (!bin)
		pk_fail(err, -EINVAL, "launch: %s", error ? error->message : "not valid");
	g_clear_error(&error);
	return bin;
}

static int pk_graph_gst(const struct pk_source_config *config, GstElement *pipeline,
	GstElement *tail, struct pk_err *err)
{
	GstElement *bin = pk_graph_parse(config->launch, err);
	if (!bin)
		return -EINVAL;
	gst_bin_add(GST_BIN(pipeline), bin);
	GstElement *last = gst_bin_get_by_name(GST_BIN(bin), "picket-last");
	GstPad *pad = gst_element_get_static_pad(last, "src");
	gboolean ok = gst_element_add_pad(bin, gst_ghost_pad_new("src", pad)) &&
		      gst_element_link(bin, tail);
	gst_object_unref(pad);
	gst_object_unref(last);
	return ok ? 0 : pk_fail(err, -EINVAL, "launch: does not end in raw video");
}

static int (*const pk_graph_builders[])(const struct pk_source_config *config, GstElement *pipeline,
	GstElement *tail, struct pk_err *err) = {
	[PK_SOURCE_FILE] = pk_graph_file,
	[PK_SOURCE_TEST] = pk_graph_test,
	[PK_SOURCE_RTSP] = pk_graph_rtsp,
	[PK_SOURCE_GST] = pk_graph_gst,
};

// Decoders hand over their own padded buffers only to one who understands GstVideoMeta; without
// this answer they copy every picture. This is also where a pool of ours will be offered.
static GstPadProbeReturn pk_graph_answer_allocation(
	GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
	GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
	if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
		return GST_PAD_PROBE_OK;
	gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
	return GST_PAD_PROBE_HANDLED;
}

static GstElement *pk_graph_tail(GstElement *pipeline, GstElement **appsink, struct pk_err *err)
{
	GstElement *convert = pk_graph_add(pipeline, "videoconvert", err);
	GstElement *filter = convert ? pk_graph_add(pipeline, "capsfilter", err) : NULL;
	GstElement *sink = filter ? pk_graph_add(pipeline, "appsink", err) : NULL;
	if (!sink)
		return NULL;
	GstCaps *caps = gst_caps_from_string(PK_SOURCE_CAPS);
	g_object_set(filter, "caps", caps, NULL);
	gst_caps_unref(caps);
	g_object_set(sink, "max-buffers", 2, "drop", TRUE, "enable-last-sample", FALSE, "qos",
		FALSE, NULL);
	if (!gst_element_link_many(convert, filter, sink, NULL)) {
		pk_fail(err, -EINVAL, "cannot connect videoconvert to appsink");
		return NULL;
	}
	GstPad *pad = gst_element_get_static_pad(sink, "sink");
	gst_pad_add_probe(
		pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, pk_graph_answer_allocation, NULL, NULL);
	gst_object_unref(pad);
	*appsink = sink;
	return convert;
}

int pk_source_graph_build(
	const struct pk_source_config *config, struct pk_source_graph *out, struct pk_err *err)
{
	GstElement *pipeline = gst_object_ref_sink(gst_pipeline_new(NULL)), *appsink = NULL;
	// Its time is CLOCK_MONOTONIC, the same as ours.
	GstClock *clock = gst_system_clock_obtain();
	gst_pipeline_use_clock(GST_PIPELINE(pipeline), clock);
	gst_object_unref(clock);

	GstElement *tail = pk_graph_tail(pipeline, &appsink, err);
	int r = tail ? pk_graph_builders[config->kind](config, pipeline, tail, err) : -ENOENT;
	if (r < 0) {
		gst_object_unref(pipeline);
		return r;
	}
	*out = (struct pk_source_graph){.pipeline = pipeline, .appsink = appsink};
	return 0;
}
