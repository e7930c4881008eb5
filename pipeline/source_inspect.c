// SPDX-License-Identifier: Apache-2.0
// What a running source has become: its decoder and formats.
#include <gst/gst.h>
#include <gst/video/video.h>
#include <string.h>

#include "pipeline/source_graph.h"

static bool pk_inspect_is_decoder(GstElement *element)
{
	GstElementFactory *factory = gst_element_get_factory(element);
	return factory &&
	       gst_element_factory_list_is_type(factory,
		       GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO |
			       GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE) &&
	       !GST_IS_BIN(element);
}

static void pk_inspect_caps(GstElement *element, const char *pad_name, char *out, size_t n)
{
	GstPad *pad = gst_element_get_static_pad(element, pad_name);
	GstCaps *caps = pad ? gst_pad_get_current_caps(pad) : NULL;
	gchar *text = caps ? gst_caps_to_string(caps) : NULL;
	g_strlcpy(out, text ? text : "", n);
	g_free(text);
	if (caps)
		gst_caps_unref(caps);
	if (pad)
		gst_object_unref(pad);
}

static void pk_inspect_decoder(GstElement *element, struct pk_source_facts *out)
{
	char caps[sizeof(out->encoded)];
	pk_inspect_caps(element, "sink", caps, sizeof(caps));
	if (caps[0] == '\0')
		return;
	g_strlcpy(out->encoded, caps, sizeof(out->encoded));
	g_strlcpy(out->decoder, GST_OBJECT_NAME(gst_element_get_factory(element)),
		sizeof(out->decoder));
	g_snprintf(out->codec, sizeof(out->codec), "%.*s", (int)strcspn(caps, ",("), caps);
}

static void pk_inspect_raw(const struct pk_source_graph *graph, struct pk_source_facts *out)
{
	GstPad *pad = gst_element_get_static_pad(graph->appsink, "sink");
	GstCaps *caps = gst_pad_get_current_caps(pad);
	GstVideoInfo info;
	if (caps && gst_video_info_from_caps(&info, caps)) {
		out->width = info.width;
		out->height = info.height;
		out->rate_hz = info.fps_d ? (double)info.fps_n / info.fps_d : 0;
		g_strlcpy(out->format, gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)),
			sizeof(out->format));
	}
	if (caps)
		gst_caps_unref(caps);
	gst_object_unref(pad);
	pk_inspect_caps(graph->appsink, "sink", out->raw, sizeof(out->raw));
}

void pk_source_graph_inspect(const struct pk_source_graph *graph, struct pk_source_facts *out)
{
	*out = (struct pk_source_facts){0};
	GstIterator *it = gst_bin_iterate_recurse(GST_BIN(graph->pipeline));
	GValue value = G_VALUE_INIT;
	while (gst_iterator_next(it, &value) == GST_ITERATOR_OK) {
		GstElement *element = g_value_get_object(&value);
		if (pk_inspect_is_decoder(element))
			pk_inspect_decoder(element, out);
		g_value_reset(&value);
	}
	g_value_unset(&value);
	gst_iterator_free(it);
	pk_inspect_raw(graph, out);
}
