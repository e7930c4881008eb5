// SPDX-License-Identifier: Apache-2.0
// Clips for source tests, made when they run.
#include "tests/unit/pipeline/clip.h"

#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

bool test_clip(const char *path, int n_frames)
{
	gst_init(NULL, NULL);
	gchar *text = g_strdup_printf(
		"videotestsrc num-buffers=%d pattern=ball ! "
		"video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! "
		"x264enc speed-preset=veryfast key-int-max=10 ! h264parse ! mp4mux ! "
		"filesink location=\"%s\"",
		n_frames, path);
	GstElement *pipeline = gst_parse_launch(text, NULL);
	g_free(text);
	if (!pipeline)
		return false;
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	GstBus *bus = gst_element_get_bus(pipeline);
	GstMessage *message = gst_bus_timed_pop_filtered(
		bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
	bool ok = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
	if (message)
		gst_message_unref(message);
	gst_object_unref(bus);
	gst_element_set_state(pipeline, GST_STATE_NULL);
	gst_object_unref(pipeline);
	return ok;
}

void test_need_clip(const char *path, int n_frames)
{
	if (test_clip(path, n_frames))
		return;
	printf("skipped: no H.264 encoder (x264enc, mp4mux) on this machine\n");
	exit(77);
}
