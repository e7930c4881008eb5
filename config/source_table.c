// SPDX-License-Identifier: Apache-2.0
// The schema table of a camera's `source`: one kind after the other.
#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "config/config_table.h"
#include "config/path.h"

#define SOURCE(kind) PK_SCHEMA_BIT(PK_SOURCE_##kind)
#define REMOTE       (SOURCE(RTSP) | SOURCE(HTTP))
#define DISK         (SOURCE(FILE) | SOURCE(IMAGES))

static int verify_rtsp(const char *text, struct pk_err *err)
{
	if (strncmp(text, "rtsp://", 7) == 0 || strncmp(text, "rtsps://", 8) == 0)
		return 0;
	return pk_fail(err, -EINVAL, "must start with rtsp:// or rtsps://");
}

static int verify_http(const char *text, struct pk_err *err)
{
	const char *host = strstr(text, "://");
	if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
		return pk_fail(err, -EINVAL, "must start with http:// or https://");
	if (memchr(host + 3, '@', strcspn(host + 3, "/?#")))
		return pk_fail(err, -EINVAL,
			"must not hold a user or password; use `user` and `password_file`");
	return 0;
}

static int verify_control(const char *text, struct pk_err *err)
{
	size_t n_name = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
	const char *value = text + n_name + (text[n_name] == '=');
	const char *digits = value + (*value == '-');
	size_t n_digits = strspn(digits, "0123456789");
	if (n_name > 0 && n_name < 64 && text[n_name] == '=' && n_digits > 0 && n_digits < 10 &&
		digits[n_digits] == '\0')
		return 0;
	return pk_fail(err, -EINVAL,
		"must be name=number, as `v4l2-ctl --list-ctrls` names them: exposure_auto=1");
}

static const struct pk_schema_name kinds[] = {
	{"file", PK_SOURCE_FILE, "a video file"},
	{"images", PK_SOURCE_IMAGES, "JPEG or PNG pictures of a folder"},
	{"test", PK_SOURCE_TEST, "a moving test picture"},
	{"rtsp", PK_SOURCE_RTSP, "a network camera"},
	{"http", PK_SOURCE_HTTP, "a network camera that sends MJPEG over HTTP"},
	{"v4l2", PK_SOURCE_V4L2, "a USB or other Video4Linux camera"},
	{"csi", PK_SOURCE_CSI, "a camera at the Jetson's CSI connector"},
	{"gst", PK_SOURCE_GST, "GStreamer elements of your own"},
	{NULL, 0, NULL},
};

static const struct pk_schema_name v4l2_formats[] = {
	{"any", PK_V4L2_ANY, "the first that the device offers"},
	{"mjpeg", PK_V4L2_MJPEG, "JPEG pictures"},
	{"yuyv", PK_V4L2_YUYV, "4:2:2"},
	{"uyvy", PK_V4L2_UYVY, "4:2:2"},
	{"nv12", PK_V4L2_NV12, "4:2:0"},
	{"i420", PK_V4L2_I420, "4:2:0 (the device calls it YU12)"},
	{"gray8", PK_V4L2_GRAY8, "grey"},
	{"h264", PK_V4L2_H264, "H.264 of the camera's own encoder"},
	{"h265", PK_V4L2_H265, "H.265 of the camera's own encoder"},
	{NULL, 0, NULL},
};

static const struct pk_schema_row rows[] = {
	{.key = "kind",
		.kind = PK_SCHEMA_ENUM,
		.names = kinds,
		.required = true,
		PK_SCHEMA_AT(struct pk_source_config, kind),
		.help = "What delivers the video."},
	{.key = "uri",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		.required = true,
		PK_SCHEMA_AT(struct pk_source_config, uri),
		.when = SOURCE(FILE),
		.help = "The video file."},
	{.key = "uri",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		.required = true,
		PK_SCHEMA_AT(struct pk_source_config, uri),
		.when = SOURCE(IMAGES),
		.help = "A folder of pictures, or a pattern (`/data/belt_*.jpg`); taken in the "
			"order "
			"of their names, read again at each loop."},
	{.key = "uri",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_rtsp,
		.required = true,
		.max = "2048",
		PK_SCHEMA_AT(struct pk_source_config, uri),
		.when = SOURCE(RTSP),
		.help = "Address of the camera's stream. A user and password in it are never "
			"logged."},
	{.key = "uri",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_http,
		.required = true,
		.max = "2048",
		PK_SCHEMA_AT(struct pk_source_config, uri),
		.when = SOURCE(HTTP),
		.help = "Address of the MJPEG stream (multipart/x-mixed-replace)."},
	{.key = "launch",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_filled,
		.required = true,
		.max = "4096",
		PK_SCHEMA_AT(struct pk_source_config, launch),
		.when = SOURCE(GST),
		.help = "GStreamer elements in launch syntax that end in raw video."},
	{.key = "pattern",
		.kind = PK_SCHEMA_STRING,
		.verify = pk_schema_verify_name,
		.def = "ball",
		PK_SCHEMA_AT(struct pk_source_config, pattern),
		.when = SOURCE(TEST),
		.help = "A pattern name of GStreamer's videotestsrc."},
	{.key = "user",
		.kind = PK_SCHEMA_STRING,
		.max = "255",
		PK_SCHEMA_AT(struct pk_source_config, user),
		.when = REMOTE,
		.unset = "none",
		.help = "Who the camera is told we are."},
	{.key = "password_file",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_source_config, password_file),
		.when = REMOTE,
		.unset = "none",
		.help = "File whose first line is the password; read at each start of the source, "
			"so that a changed one needs no reload."},
	{.key = "tls_ca",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		PK_SCHEMA_AT(struct pk_source_config, tls_ca),
		.when = REMOTE,
		.unset = "the system's",
		.help = "Certificates (PEM) that may sign the camera's, for rtsps:// and "
			"https://."},
	{.key = "tls_verify",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_source_config, tls_verify),
		.when = REMOTE,
		.help = "false: any certificate will do; whoever is on the way can read and change "
			"the video."},
	{.key = "device",
		.kind = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		.required = true,
		PK_SCHEMA_AT(struct pk_source_config, device),
		.when = SOURCE(V4L2),
		.example = "/dev/v4l/by-id/usb-046d_HD_Pro_Webcam_C920-video-index0",
		.help = "The device. Names below /dev/v4l/by-id and by-path stay the same after a "
			"restart, /dev/video0 may not."},
	{.key = "format",
		.kind = PK_SCHEMA_ENUM,
		.names = v4l2_formats,
		.def = "any",
		PK_SCHEMA_AT(struct pk_source_config, format),
		.when = SOURCE(V4L2),
		.help = "What the device is asked for."},
	{.key = "controls",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = verify_control,
		.max_items = 32,
		PK_SCHEMA_ARRAY(struct pk_source_config, controls, n_controls),
		.when = SOURCE(V4L2),
		.unset = "as the device has them",
		.example = "[exposure_auto=1, gain=10]",
		.help = "Settings of the device, as `v4l2-ctl --list-ctrls` names them."},
	{.key = "sensor_id",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "15",
		PK_SCHEMA_AT(struct pk_source_config, sensor_id),
		.when = SOURCE(CSI),
		.help = "Which of the board's sensors."},
	{.key = "recovery",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.def = "[/usr/bin/systemctl, --no-ask-password, restart, nvargus-daemon.service]",
		.max_items = 16,
		PK_SCHEMA_ARRAY(struct pk_source_config, recovery, n_recovery),
		.when = SOURCE(CSI),
		.help = "Run when starting the source again has not helped three times: restarts "
			"the "
			"camera service of the board. At most once in 10 minutes for all csi "
			"cameras together. `[]`: never."},
	{.key = "width",
		.kind = PK_SCHEMA_INT,
		.def = "640",
		.min = "16",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, width),
		.when = SOURCE(TEST),
		.help = "Picture width in pixels."},
	{.key = "width",
		.kind = PK_SCHEMA_INT,
		.def = "1920",
		.min = "16",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, width),
		.when = SOURCE(CSI),
		.help = "Picture width in pixels."},
	{.key = "width",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, width),
		.when = SOURCE(V4L2),
		.help = "Picture width in pixels; 0: the first that the device offers."},
	{.key = "height",
		.kind = PK_SCHEMA_INT,
		.def = "480",
		.min = "16",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, height),
		.when = SOURCE(TEST),
		.help = "Picture height in pixels."},
	{.key = "height",
		.kind = PK_SCHEMA_INT,
		.def = "1080",
		.min = "16",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, height),
		.when = SOURCE(CSI),
		.help = "Picture height in pixels."},
	{.key = "height",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "8192",
		PK_SCHEMA_AT(struct pk_source_config, height),
		.when = SOURCE(V4L2),
		.help = "Picture height in pixels; 0: the first that the device offers."},
	{.key = "rate",
		.kind = PK_SCHEMA_RATE,
		.def = "15/s",
		.min = "0.1/s",
		.max = "1000/s",
		PK_SCHEMA_AT(struct pk_source_config, rate_hz),
		.when = SOURCE(TEST),
		.help = "Frames per second."},
	{.key = "rate",
		.kind = PK_SCHEMA_RATE,
		.def = "30/s",
		.min = "1/s",
		.max = "1000/s",
		PK_SCHEMA_AT(struct pk_source_config, rate_hz),
		.when = SOURCE(CSI),
		.help = "Frames per second."},
	{.key = "rate",
		.kind = PK_SCHEMA_RATE,
		.def = "0",
		.min = "0",
		.max = "1000/s",
		PK_SCHEMA_AT(struct pk_source_config, rate_hz),
		.when = SOURCE(V4L2),
		.help = "Frames per second; 0: what the device does."},
	{.key = "rate",
		.kind = PK_SCHEMA_RATE,
		.def = "5/s",
		.min = "0.01/s",
		.max = "1000/s",
		PK_SCHEMA_AT(struct pk_source_config, rate_hz),
		.when = SOURCE(IMAGES),
		.help = "Pictures per second."},
	{.key = "loop",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_source_config, loop),
		.when = DISK,
		.help = "Start again at the end."},
	{.key = "paced",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_source_config, paced),
		.when = DISK,
		.help = "Deliver at the source's own rate; false: as fast as it decodes."},
	{.key = "tcp",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_source_config, tcp),
		.when = SOURCE(RTSP),
		.help = "Carry the stream over TCP; false: over UDP."},
	{.key = "resync",
		.kind = PK_SCHEMA_BOOL,
		.def = "true",
		PK_SCHEMA_AT(struct pk_source_config, resync),
		.when = SOURCE(RTSP),
		.help = "After lost packets nothing is decoded until the next key frame, so that "
			"no "
			"smeared picture is ever judged; the pictures left out are counted."},
	{.key = "latency",
		.kind = PK_SCHEMA_DURATION,
		.def = "200ms",
		.min = "0",
		.max = "10s",
		PK_SCHEMA_AT(struct pk_source_config, latency_ns),
		.when = SOURCE(RTSP),
		.help = "Jitter buffer: packets are waited for so long. Adds to the age of a "
			"frame."},
	{NULL},
};

const struct pk_schema pk_config_source_schema = {
	.noun = "source",
	.rows = rows,
	.size = sizeof(struct pk_source_config),
	.kind_key = "kind",
};
