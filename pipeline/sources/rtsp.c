// SPDX-License-Identifier: Apache-2.0
// Network cameras: the way from RTP packets to pictures, made when the camera has said what it
// sends.
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pipeline/entry_point.h"
#include "pipeline/resync.h"
#include "pipeline/sources/build.h"

// Lives as long as rtspsrc: it is the user data of its signals.
struct pk_rtsp {
	struct pk_graph_build build; // without config and elements, which do not live so long
	struct pk_resync resync;
	enum pk_codec codec;
	bool resync_wanted;
};

static int64_t pk_rtsp_time(GstBuffer *buffer)
{
	return GST_BUFFER_PTS_IS_VALID(buffer) ? (int64_t)GST_BUFFER_PTS(buffer) : -1;
}

static gboolean pk_rtsp_take_packet(GstBuffer **buffer, guint unused, gpointer user_data)
{
	struct pk_rtsp *rtsp = user_data;
	uint8_t number[2]; // big endian, at byte 2 of the header
	if (gst_buffer_extract(*buffer, 2, number, sizeof(number)) == sizeof(number))
		pk_resync_packet(&rtsp->resync, (uint16_t)(number[0] << 8 | number[1]),
			pk_rtsp_time(*buffer));
	return TRUE;
}

// The depayloader's own mark will not do: it knows only some kinds of key frames, and takes what is
// left of a cut one, its parameter sets, for a key frame together with the next picture.
static bool pk_rtsp_leans(const struct pk_rtsp *rtsp, GstBuffer *buffer)
{
	GstMapInfo map;
	if (rtsp->resync.synced || !gst_buffer_map(buffer, &map, GST_MAP_READ))
		return true;
	bool entry = pk_entry_point(rtsp->codec, map.data, map.size);
	gst_buffer_unmap(buffer, &map);
	return !entry;
}

// Removes what must not be decoded.
static gboolean pk_rtsp_take_picture(GstBuffer **buffer, guint unused, gpointer user_data)
{
	struct pk_rtsp *rtsp = user_data;
	bool leans = pk_rtsp_leans(rtsp, *buffer);
	if (pk_resync_pass(&rtsp->resync, pk_rtsp_time(*buffer), leans))
		return TRUE;
	if (rtsp->build.receiver.skipped)
		rtsp->build.receiver.skipped(rtsp->build.receiver.ctx);
	gst_clear_buffer(buffer);
	return TRUE;
}

static GstPadProbeReturn pk_rtsp_probe(
	GstPadProbeInfo *info, GstBufferListFunc take, struct pk_rtsp *rtsp)
{
	if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
		GstBufferList *list =
			gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
		GST_PAD_PROBE_INFO_DATA(info) = list;
		gst_buffer_list_foreach(list, take, rtsp);
		return GST_PAD_PROBE_OK;
	}
	GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
	take(&buffer, 0, rtsp);
	if (buffer)
		return GST_PAD_PROBE_OK;
	GST_PAD_PROBE_INFO_DATA(info) = NULL; // it is gone already
	return GST_PAD_PROBE_HANDLED;
}

static GstPadProbeReturn pk_rtsp_on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
	return pk_rtsp_probe(info, pk_rtsp_take_packet, user_data);
}

static GstPadProbeReturn pk_rtsp_on_picture(GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
	return pk_rtsp_probe(info, pk_rtsp_take_picture, user_data);
}

static void pk_rtsp_watch_pad(
	GstElement *depay, const char *name, GstPadProbeCallback on_buffer, struct pk_rtsp *rtsp)
{
	const GstPadProbeType types = GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST;
	GstPad *pad = gst_element_get_static_pad(depay, name);
	gst_pad_add_probe(pad, types, on_buffer, rtsp, NULL);
	gst_object_unref(pad);
}

// Packets are counted where they come out of the jitter buffer, in order: the depayloader's own
// mark of a loss can get lost with the picture that it stands on.
static void pk_rtsp_watch_pictures(struct pk_rtsp *rtsp, GstElement *chain)
{
	rtsp->resync = (struct pk_resync){0};
	if (!rtsp->resync_wanted)
		return;
	GstElement *depay = gst_bin_get_by_name(GST_BIN(chain), "picket-depay");
	pk_rtsp_watch_pad(depay, "sink", pk_rtsp_on_packet, rtsp);
	pk_rtsp_watch_pad(depay, "src", pk_rtsp_on_picture, rtsp);
	gst_object_unref(depay);
}

static GstElement *pk_rtsp_make_chain(struct pk_rtsp *rtsp, enum pk_codec codec, struct pk_err *err)
{
	const char *depay = pk_elements_depay(&pk_elements_here, codec);
	const char *decoder = pk_elements_decoder(&pk_elements_here, codec);
	if (!depay || !decoder) {
		pk_fail(err, -ENOENT, "no decoder for %s is installed", pk_codec_name(codec));
		return NULL;
	}
	gchar *text = g_strdup_printf("%s ! %s", depay, decoder);
	GstElement *chain = pk_graph_add_filter(rtsp->build.pipeline, text, "its decoder", err);
	g_free(text);
	if (!chain)
		return NULL;
	rtsp->codec = codec;
	pk_rtsp_watch_pictures(rtsp, chain);
	if (gst_element_link(chain, rtsp->build.tail))
		return chain;
	pk_fail(err, -EINVAL, "its decoder cannot be connected");
	return NULL;
}

static GstElement *pk_rtsp_make_decoder(struct pk_rtsp *rtsp, GstPad *pad, struct pk_err *err)
{
	GstCaps *caps = gst_pad_get_current_caps(pad);
	const GstStructure *s =
		caps && !gst_caps_is_empty(caps) ? gst_caps_get_structure(caps, 0) : NULL;
	enum pk_codec codec =
		pk_codec_of_rtp(s ? gst_structure_get_string(s, "encoding-name") : NULL);
	if (caps)
		gst_caps_unref(caps);
	return codec == PK_N_CODECS ? pk_graph_add_decodebin(&rtsp->build, err)
				    : pk_rtsp_make_chain(rtsp, codec, err);
}

// Streaming thread of rtspsrc: what fails here is told as its error.
static void pk_rtsp_on_pad(GstElement *element, GstPad *pad, gpointer user_data)
{
	struct pk_rtsp *rtsp = user_data;
	struct pk_err err = {0};
	GstPad *taken = gst_element_get_static_pad(rtsp->build.tail, "sink");
	bool busy = gst_pad_is_linked(taken);
	gst_object_unref(taken);
	if (busy) // one video is enough
		return;
	GstElement *decoder = pk_rtsp_make_decoder(rtsp, pad, &err);
	GstPad *sink = decoder ? gst_element_get_static_pad(decoder, "sink") : NULL;
	bool ok = sink && gst_element_sync_state_with_parent(decoder) &&
		  gst_pad_link(pad, sink) == GST_PAD_LINK_OK;
	if (sink)
		gst_object_unref(sink);
	if (!ok)
		GST_ELEMENT_ERROR(element, STREAM, CODEC_NOT_FOUND,
			("%s", err.text[0] ? err.text : "the stream cannot be decoded"), (NULL));
}

static gboolean pk_rtsp_select_video(
	GstElement *element, guint stream_idx, GstCaps *caps, gpointer unused)
{
	const GstStructure *s = gst_caps_get_structure(caps, 0);
	return g_strcmp0(gst_structure_get_string(s, "media"), "video") == 0;
}

static void pk_rtsp_free(gpointer user_data, GClosure *unused)
{
	free(user_data);
}

int pk_graph_rtsp(const struct pk_graph_build *build, struct pk_err *err)
{
	const struct pk_source_config *config = build->config;
	GstElement *element = pk_graph_add(build->pipeline, "rtspsrc", err);
	if (!element)
		return -ENOENT;
	struct pk_rtsp *rtsp = calloc(1, sizeof(*rtsp));
	if (!rtsp)
		return pk_fail(err, -ENOMEM, "out of memory");
	rtsp->build = *build;
	rtsp->build.config = NULL;
	rtsp->build.elements = &pk_elements_here;
	rtsp->resync_wanted = config->resync;
	g_signal_connect_data(element, "pad-added", G_CALLBACK(pk_rtsp_on_pad), rtsp, pk_rtsp_free,
		(GConnectFlags)0);
	g_signal_connect(element, "select-stream", G_CALLBACK(pk_rtsp_select_video), NULL);
	g_object_set(element, "location", config->uri, "latency",
		(guint)(config->latency_ns / PK_NS_PER_MS), "drop-on-latency", TRUE, NULL);
	gst_util_set_object_arg(G_OBJECT(element), "protocols", config->tcp ? "tcp" : "udp");
	return pk_graph_set_access(element, config, err);
}
