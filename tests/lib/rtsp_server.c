// SPDX-License-Identifier: Apache-2.0
// A real RTSP camera on loopback for tests: moving test pictures, until it is killed.
// Usage: rtsp_server PORT [WIDTH HEIGHT FPS]
//
// Mounts: /cam (H.264), /h265 (when there is an encoder), /jpeg, /auth (H.264, user "picket",
// password "geheim"), /lossy (H.264, 1 % of the packets lost), /fast (H.264, a clock that runs
// 0.1 % fast), /faster (2 % fast). Each has pictures of its own. Commands on stdin, one a line,
// answered by "ok" or "no": "size WIDTH HEIGHT" of /cam from now on; "freeze", "thaw" (/cam repeats
// its last picture); "black", "ball" (what /cam shows).
#include <gst/gst.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One slice a picture: rtph264pay puts the headers before each slice of a key frame.
#define H264                                                                                       \
	"x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 sliced-threads=false "     \
	"threads=1 ! rtph264pay config-interval=-1 pt=96 "
#define USER     "picket"
#define PASSWORD "geheim"
#define ROLE     "viewer"

struct camera {
	int width, height, fps;
	GstElement *caps, *test; // of /cam's running media; borrowed under lock
	GMutex lock;
	gboolean frozen;
	GstBuffer *last; // what is repeated while frozen
};

static struct camera camera = {.width = 320, .height = 240, .fps = 15};

static const struct mount {
	const char *path, *encoder; // element that must exist
	const char *chain;
	double rate; // of its clock
	gboolean auth;
} mounts[] = {
	{"/cam", "x264enc", H264 "name=pay0", 1, FALSE},
	{"/h265", "x265enc",
		"x265enc tune=zerolatency speed-preset=ultrafast key-int-max=15 "
		"option-string=open-gop=0 ! "
		"rtph265pay config-interval=-1 name=pay0 pt=96",
		1, FALSE},
	{"/jpeg", "jpegenc", "jpegenc ! rtpjpegpay name=pay0 pt=26", 1, FALSE},
	{"/auth", "x264enc", H264 "name=pay0", 1, TRUE},
	{"/lossy", "x264enc", H264 "mtu=300 ! netsim drop-probability=0.01 name=pay0", 1, FALSE},
	{"/fast", "x264enc", H264 "name=pay0", 1.001, FALSE},
	{"/faster", "x264enc", H264 "name=pay0", 1.02, FALSE},
};

static GstCaps *size_caps(int width, int height, int fps)
{
	return gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width",
		G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION,
		fps, 1, NULL);
}

// While frozen every picture gets the pixels of the last one before.
static GstPadProbeReturn on_picture(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
	GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
	g_mutex_lock(&camera.lock);
	if (!camera.frozen || !camera.last) {
		gst_buffer_replace(&camera.last, buffer);
	} else {
		GstBuffer *again = gst_buffer_copy(camera.last);
		gst_buffer_copy_into(again, buffer, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
		gst_buffer_unref(buffer);
		GST_PAD_PROBE_INFO_DATA(info) = again;
	}
	g_mutex_unlock(&camera.lock);
	return GST_PAD_PROBE_OK;
}

static void on_media_gone(GstRTSPMedia *media, gpointer unused)
{
	g_mutex_lock(&camera.lock);
	gst_clear_object(&camera.caps);
	gst_clear_object(&camera.test);
	gst_buffer_replace(&camera.last, NULL);
	g_mutex_unlock(&camera.lock);
}

static void on_media(GstRTSPMediaFactory *factory, GstRTSPMedia *media, gpointer unused)
{
	GstElement *bin = gst_rtsp_media_get_element(media);
	g_mutex_lock(&camera.lock);
	gst_clear_object(&camera.caps);
	gst_clear_object(&camera.test);
	camera.caps = gst_bin_get_by_name(GST_BIN(bin), "size");
	camera.test = gst_bin_get_by_name(GST_BIN(bin), "test");
	GstCaps *caps = size_caps(camera.width, camera.height, camera.fps);
	g_object_set(camera.caps, "caps", caps, NULL);
	gst_caps_unref(caps);
	GstPad *pad = gst_element_get_static_pad(camera.caps, "src");
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_picture, NULL, NULL);
	gst_object_unref(pad);
	g_mutex_unlock(&camera.lock);
	g_signal_connect(media, "unprepared", G_CALLBACK(on_media_gone), NULL);
	gst_object_unref(bin);
}

static void set_clock(GstRTSPMediaFactory *factory, double rate)
{
	GstClock *clock = g_object_new(GST_TYPE_SYSTEM_CLOCK, "name", "camera", NULL);
	GstClockTime now = gst_clock_get_internal_time(clock);
	gst_clock_set_calibration(clock, now, now, (GstClockTime)(rate * 100000), 100000);
	gst_rtsp_media_factory_set_clock(factory, clock);
	gst_object_unref(clock);
}

// Without the right to construct, the server asks for a password; without access, it knows nothing.
static void open_to(GstRTSPMediaFactory *factory, const char *role, gboolean construct)
{
	gst_rtsp_media_factory_add_role(factory, role, GST_RTSP_PERM_MEDIA_FACTORY_ACCESS,
		G_TYPE_BOOLEAN, TRUE, GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT, G_TYPE_BOOLEAN,
		construct, NULL);
}

static void add_mount(GstRTSPMountPoints *points, const struct mount *mount)
{
	GstElementFactory *encoder = gst_element_factory_find(mount->encoder);
	if (!encoder)
		return;
	gst_object_unref(encoder);
	gchar *launch =
		g_strdup_printf("( videotestsrc name=test is-live=true pattern=ball ! "
				"capsfilter name=size caps=video/x-raw,format=I420,width=%d,"
				"height=%d,framerate=%d/1 ! %s )",
			camera.width, camera.height, camera.fps, mount->chain);
	GstRTSPMediaFactory *factory = gst_rtsp_media_factory_new();
	gst_rtsp_media_factory_set_launch(factory, launch);
	g_free(launch);
	gst_rtsp_media_factory_set_shared(factory, TRUE);
	if (mount->rate > 1)
		set_clock(factory, mount->rate);
	open_to(factory, ROLE, TRUE);
	open_to(factory, "anyone", !mount->auth);
	if (strcmp(mount->path, "/cam") == 0)
		g_signal_connect(factory, "media-constructed", G_CALLBACK(on_media), NULL);
	gst_rtsp_mount_points_add_factory(points, mount->path, factory);
}

static void require_password(GstRTSPServer *server)
{
	GstRTSPAuth *auth = gst_rtsp_auth_new();
	GstRTSPToken *viewer =
		gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, ROLE, NULL);
	GstRTSPToken *anyone = gst_rtsp_token_new(
		GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, "anyone", NULL);
	gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_DIGEST);
	gst_rtsp_auth_add_digest(auth, USER, PASSWORD, viewer);
	gst_rtsp_auth_set_default_token(auth, anyone);
	gst_rtsp_token_unref(viewer);
	gst_rtsp_token_unref(anyone);
	gst_rtsp_server_set_auth(server, auth);
	g_object_unref(auth);
}

static gboolean obey_size(int width, int height)
{
	GstCaps *caps = size_caps(width, height, camera.fps);
	camera.width = width;
	camera.height = height;
	if (camera.caps)
		g_object_set(camera.caps, "caps", caps, NULL);
	gst_caps_unref(caps);
	return camera.caps != NULL;
}

static gboolean obey(const char *line)
{
	int width, height;
	gboolean ok = TRUE;
	g_mutex_lock(&camera.lock);
	if (sscanf(line, "size %d %d", &width, &height) == 2)
		ok = obey_size(width, height);
	else if (strcmp(line, "freeze\n") == 0 || strcmp(line, "thaw\n") == 0)
		camera.frozen = line[0] == 'f';
	else if ((strcmp(line, "black\n") == 0 || strcmp(line, "ball\n") == 0) && camera.test)
		gst_util_set_object_arg(
			G_OBJECT(camera.test), "pattern", line[1] == 'l' ? "black" : "ball");
	else
		ok = FALSE;
	g_mutex_unlock(&camera.lock);
	return ok;
}

static gpointer read_commands(gpointer unused)
{
	char line[128];
	while (fgets(line, sizeof(line), stdin)) {
		puts(obey(line) ? "ok" : "no");
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 5) {
		fprintf(stderr, "usage: rtsp_server PORT [WIDTH HEIGHT FPS]\n");
		return 2;
	}
	if (argc == 5) {
		camera.width = (int)strtol(argv[2], NULL, 10);
		camera.height = (int)strtol(argv[3], NULL, 10);
		camera.fps = (int)strtol(argv[4], NULL, 10);
	}
	gst_init(NULL, NULL);
	g_mutex_init(&camera.lock);
	GstRTSPServer *server = gst_rtsp_server_new();
	gst_rtsp_server_set_address(server, "127.0.0.1");
	gst_rtsp_server_set_service(server, argv[1]);
	GstRTSPMountPoints *points = gst_rtsp_server_get_mount_points(server);
	for (size_t i = 0; i < G_N_ELEMENTS(mounts); i++)
		add_mount(points, &mounts[i]);
	g_object_unref(points);
	require_password(server);
	if (gst_rtsp_server_attach(server, NULL) == 0) {
		fprintf(stderr, "rtsp_server: cannot listen on port %s\n", argv[1]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	g_thread_unref(g_thread_new("commands", read_commands, NULL));
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
	return 0;
}
