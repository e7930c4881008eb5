// SPDX-License-Identifier: Apache-2.0
// A real RTSP camera on loopback for tests: serves a moving test picture as H.264 on /cam until it
// is killed. Usage: rtsp_server PORT [WIDTH HEIGHT FPS]
#include <gst/gst.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 5) {
		fprintf(stderr, "usage: rtsp_server PORT [WIDTH HEIGHT FPS]\n");
		return 2;
	}
	gst_init(NULL, NULL);
	char launch[512];
	snprintf(launch, sizeof(launch),
		"( videotestsrc is-live=true pattern=ball ! video/x-raw,width=%s,height=%s,"
		"framerate=%s/1 ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 "
		"! rtph264pay name=pay0 pt=96 )",
		argc == 5 ? argv[2] : "320", argc == 5 ? argv[3] : "240",
		argc == 5 ? argv[4] : "15");
	GstRTSPServer *server = gst_rtsp_server_new();
	gst_rtsp_server_set_address(server, "127.0.0.1");
	gst_rtsp_server_set_service(server, argv[1]);
	GstRTSPMediaFactory *factory = gst_rtsp_media_factory_new();
	gst_rtsp_media_factory_set_launch(factory, launch);
	gst_rtsp_media_factory_set_shared(factory, TRUE);
	GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points(server);
	gst_rtsp_mount_points_add_factory(mounts, "/cam", factory);
	g_object_unref(mounts);
	if (gst_rtsp_server_attach(server, NULL) == 0) {
		fprintf(stderr, "rtsp_server: cannot listen on port %s\n", argv[1]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
	return 0;
}
