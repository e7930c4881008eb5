// SPDX-License-Identifier: Apache-2.0
// What all sources share; one builder per kind is in sources/. All end in videoconvert ! capsfilter
// ! appsink.
#include "pipeline/source_graph.h"

#include <errno.h>
#include <gst/gst.h>

#include "pipeline/elements.h"
#include "pipeline/frame_memory.h"
#include "pipeline/sources/build.h"

// What engine/image reads. videoconvert passes these through untouched.
#define PK_SOURCE_CAPS "video/x-raw,format=(string){NV12,I420,RGB,BGR,GRAY8}"

GstElement *pk_graph_add(GstElement *pipeline, const char *factory, struct pk_err *err)
{
	GstElement *element = gst_element_factory_make(factory, NULL);
	if (!element) {
		pk_fail(err, -ENOENT, "GStreamer element \"%s\" is not installed", factory);
		return NULL;
	}
	gst_bin_add(GST_BIN(pipeline), element);
	return element;
}

// Out of an accelerator's memory, which only its own converter reads.
static GstElement *pk_graph_add_download(GstElement *pipeline)
{
	const char *text = pk_elements_download(&pk_elements_here);
	GstElement *bin =
		text ? pk_graph_add_filter(pipeline, text, "the way out of the accelerator", NULL)
		     : NULL;
	if (bin)
		gst_element_sync_state_with_parent(bin);
	return bin;
}

static bool pk_graph_is_video(const GstCaps *caps)
{
	if (gst_caps_is_empty(caps) || gst_caps_is_any(caps))
		return false;
	return g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(caps, 0)), "video/");
}

static bool pk_graph_is_nvmm(const GstCaps *caps)
{
	GstCapsFeatures *features = gst_caps_get_features(caps, 0);
	return features && gst_caps_features_contains(features, "memory:NVMM");
}

// Links a pad that appeared later to the tail, if that one still waits and the pad carries video.
static void pk_graph_link_late(GstElement *from, GstPad *pad, gpointer user_data)
{
	GstElement *tail = user_data;
	GstCaps *caps = gst_pad_get_current_caps(pad);
	if (!caps)
		caps = gst_pad_query_caps(pad, NULL);
	GstPad *sink = gst_element_get_static_pad(tail, "sink");
	if (pk_graph_is_video(caps) && !gst_pad_is_linked(sink)) {
		GstElement *pipeline = GST_ELEMENT(gst_element_get_parent(tail));
		GstElement *download =
			pk_graph_is_nvmm(caps) ? pk_graph_add_download(pipeline) : NULL;
		if (download && gst_element_link(download, tail)) {
			gst_object_unref(sink);
			sink = gst_element_get_static_pad(download, "sink");
		}
		gst_pad_link(pad, sink);
		gst_object_unref(pipeline);
	}
	gst_caps_unref(caps);
	gst_object_unref(sink);
}

// A decoder that works on several pictures at once hands each out later by as many: nothing for
// pictures that are shown as they come.
static void pk_graph_on_decoder(GstBin *bin, GstBin *sub_bin, GstElement *element, gpointer unused)
{
	GObjectClass *class = G_OBJECT_GET_CLASS(element);
	if (!g_object_class_find_property(class, "max-threads"))
		return;
	bool slices = g_object_class_find_property(class, "thread-type") != NULL;
	if (slices)
		gst_util_set_object_arg(G_OBJECT(element), "thread-type", "slice");
	g_object_set(element, "max-threads", slices ? 2 : 1, NULL);
}

GstElement *pk_graph_add_decodebin(const struct pk_graph_build *build, struct pk_err *err)
{
	GstElement *decode = pk_graph_add(build->pipeline, "decodebin", err);
	if (decode)
		g_signal_connect(decode, "pad-added", G_CALLBACK(pk_graph_link_late), build->tail);
	if (decode && !build->at_leisure)
		g_signal_connect(
			decode, "deep-element-added", G_CALLBACK(pk_graph_on_decoder), NULL);
	return decode;
}

// The identity gives pads that appear late (decodebin) something to be linked to, and us a last
// element whose name is known.
static GstElement *pk_graph_parse(const char *text, const char *what, struct pk_err *err)
{
	gchar *whole = g_strdup_printf("%s ! identity silent=true name=picket-last", text);
	GError *error = NULL;
	GstElement *bin = gst_parse_bin_from_description_full(
		whole, FALSE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
	g_free(whole);
	if (!bin)
		pk_fail(err, -EINVAL, "%s: %s", what, error ? error->message : "not valid");
	g_clear_error(&error);
	return bin;
}

static bool pk_graph_ghost(GstElement *bin, GstPad *pad, const char *name)
{
	bool ok = pad && gst_element_add_pad(bin, gst_ghost_pad_new(name, pad));
	if (pad)
		gst_object_unref(pad);
	return ok;
}

GstElement *pk_graph_add_text(
	GstElement *pipeline, const char *text, const char *what, struct pk_err *err)
{
	GstElement *bin = pk_graph_parse(text, what, err);
	if (!bin)
		return NULL;
	GstElement *last = gst_bin_get_by_name(GST_BIN(bin), "picket-last");
	bool ok = pk_graph_ghost(bin, gst_element_get_static_pad(last, "src"), "src");
	gst_object_unref(last);
	gst_bin_add(GST_BIN(pipeline), bin);
	if (!ok)
		pk_fail(err, -EINVAL, "%s: has no end", what);
	return ok ? bin : NULL;
}

GstElement *pk_graph_add_filter(
	GstElement *pipeline, const char *text, const char *what, struct pk_err *err)
{
	GstElement *bin = pk_graph_add_text(pipeline, text, what, err);
	GstPad *first = bin ? gst_bin_find_unlinked_pad(GST_BIN(bin), GST_PAD_SINK) : NULL;
	if (!bin || pk_graph_ghost(bin, first, "sink"))
		return bin;
	pk_fail(err, -EINVAL, "%s: has no beginning", what);
	return NULL;
}

static int (*const pk_graph_builders[PK_N_SOURCE_KINDS])(
	const struct pk_graph_build *build, struct pk_err *err) = {
	[PK_SOURCE_FILE] = pk_graph_file,
	[PK_SOURCE_TEST] = pk_graph_test,
	[PK_SOURCE_RTSP] = pk_graph_rtsp,
	[PK_SOURCE_GST] = pk_graph_gst,
	[PK_SOURCE_V4L2] = pk_graph_planned,
	[PK_SOURCE_CSI] = pk_graph_planned,
	[PK_SOURCE_HTTP] = pk_graph_planned,
	[PK_SOURCE_IMAGES] = pk_graph_images,
};

static GstElement *pk_graph_tail(GstElement *pipeline, struct pk_frame_memory *memory,
	GstElement **appsink, struct pk_err *err)
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
	pk_frame_memory_offer(memory, pad);
	gst_object_unref(pad);
	*appsink = sink;
	return convert;
}

int pk_source_graph_build(const struct pk_source_config *config,
	const struct pk_source_receiver *receiver, struct pk_frame_memory *memory,
	struct pk_source_graph *out, struct pk_err *err)
{
	GstElement *pipeline = gst_object_ref_sink(gst_pipeline_new(NULL)), *appsink = NULL;
	// Its time is CLOCK_MONOTONIC, the same as ours.
	GstClock *clock = gst_system_clock_obtain();
	gst_pipeline_use_clock(GST_PIPELINE(pipeline), clock);
	gst_object_unref(clock);

	GstElement *tail = pk_graph_tail(pipeline, memory, &appsink, err);
	const struct pk_graph_build build = {.config = config,
		.elements = &pk_elements_here,
		.receiver = *receiver,
		.pipeline = pipeline,
		.at_leisure = config->kind == PK_SOURCE_FILE && !config->paced,
		.tail = tail};
	int r = tail ? pk_graph_builders[config->kind](&build, err) : -ENOENT;
	if (r < 0) {
		gst_object_unref(pipeline);
		return r;
	}
	*out = (struct pk_source_graph){.pipeline = pipeline, .appsink = appsink};
	return 0;
}
