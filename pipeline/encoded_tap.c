// SPDX-License-Identifier: Apache-2.0
// A pad probe before each decoder, and a listener for decoders that come later.
#include "pipeline/encoded_tap.h"

#include <gst/gst.h>

// Of one decoder.
struct pk_encoded_tap {
	GstElement *pipeline; // borrowed: the probe goes with it
	bool (*unit)(void *ctx, const struct pk_relay_unit *unit);
	void *ctx;
};

static bool pk_tap_is_decoder(GstElement *element)
{
	GstElementFactory *factory = gst_element_get_factory(element);
	if (!factory || GST_IS_BIN(element))
		return false;
	return gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DECODER) &&
	       gst_element_factory_list_is_type(factory,
		       GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO | GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE);
}

// A time stamp as clock time; -1: none.
static int64_t pk_tap_due(GstElement *pipeline, const GstSegment *segment, GstClockTime t)
{
	if (!segment || segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID(t))
		return -1;
	guint64 running = 0;
	int sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, t, &running);
	int64_t base_ns = (int64_t)gst_element_get_base_time(pipeline);
	return sign == 0 ? -1 : base_ns + sign * (int64_t)running;
}

static GstPadProbeReturn pk_tap_on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
	const struct pk_encoded_tap *tap = user_data;
	GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
	GstCaps *caps = gst_pad_get_current_caps(pad);
	GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
	const GstSegment *segment = NULL;
	bool decode = true;
	if (event)
		gst_event_parse_segment(event, &segment);
	if (caps) {
		const struct pk_relay_unit unit = {.buffer = buffer,
			.caps = caps,
			.pts_ns = pk_tap_due(tap->pipeline, segment, GST_BUFFER_PTS(buffer)),
			.dts_ns = pk_tap_due(tap->pipeline, segment, GST_BUFFER_DTS(buffer)),
			.key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT),
			.gap = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)};
		decode = tap->unit(tap->ctx, &unit);
		gst_caps_unref(caps);
	}
	if (event)
		gst_event_unref(event);
	return decode ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

static void pk_tap_add(const struct pk_encoded_tap *tap, GstElement *element)
{
	GstPad *pad =
		pk_tap_is_decoder(element) ? gst_element_get_static_pad(element, "sink") : NULL;
	struct pk_encoded_tap *own = pad ? g_memdup2(tap, sizeof(*tap)) : NULL;
	if (own)
		gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, pk_tap_on_buffer, own, g_free);
	if (pad)
		gst_object_unref(pad);
}

static void pk_tap_on_element(GstBin *bin, GstBin *sub_bin, GstElement *element, gpointer user_data)
{
	pk_tap_add(user_data, element);
}

static void pk_tap_free(gpointer data, GClosure *closure)
{
	g_free(data);
}

static void pk_tap_each(const GValue *item, gpointer user_data)
{
	pk_tap_add(user_data, g_value_get_object(item));
}

void pk_encoded_tap_attach(
	GstElement *pipeline, bool (*unit)(void *ctx, const struct pk_relay_unit *unit), void *ctx)
{
	struct pk_encoded_tap tap = {.pipeline = pipeline, .unit = unit, .ctx = ctx};
	GstIterator *there = gst_bin_iterate_recurse(GST_BIN(pipeline));
	gst_iterator_foreach(there, pk_tap_each, &tap);
	gst_iterator_free(there);
	g_signal_connect_data(pipeline, "deep-element-added", G_CALLBACK(pk_tap_on_element),
		g_memdup2(&tap, sizeof(tap)), pk_tap_free, 0);
}
