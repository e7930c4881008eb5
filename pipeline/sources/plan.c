// SPDX-License-Identifier: Apache-2.0
// Launch texts of v4l2, csi and http sources.
#include "pipeline/sources/plan.h"

#include <errno.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int pk_plan_add(struct pk_source_plan *plan, const char *fmt, ...) pk_printf(2, 3);
static int pk_plan_add(struct pk_source_plan *plan, const char *fmt, ...)
{
	size_t n = strlen(plan->text), left = sizeof(plan->text) - n;
	va_list args;
	va_start(args, fmt);
	int more = vsnprintf(plan->text + n, left, fmt, args);
	va_end(args);
	return more < 0 || (size_t)more >= left ? -ENOSPC : 0;
}

static int pk_plan_no_decoder(enum pk_codec codec, struct pk_err *err)
{
	return pk_fail(err, -ENOENT, "no decoder for %s is installed", pk_codec_name(codec));
}

// ",width=…,height=…,framerate=…": what is 0 stays open.
static int pk_plan_add_size(struct pk_source_plan *plan, const struct pk_source_config *config)
{
	int r = 0;
	if (config->width > 0)
		r = pk_plan_add(plan, ",width=%d", config->width);
	if (r == 0 && config->height > 0)
		r = pk_plan_add(plan, ",height=%d", config->height);
	if (r == 0 && config->rate_hz > 0) {
		gint num, den;
		// 29.97 means 30000/1001, and a device has nothing else.
		gst_video_guess_framerate(
			(GstClockTime)((double)GST_SECOND / config->rate_hz), &num, &den);
		r = pk_plan_add(plan, ",framerate=%d/%d", num, den);
	}
	return r;
}

// What each format is called, and what turns it into raw video.
struct pk_plan_format {
	const char *caps;
	enum pk_codec codec; // PK_N_CODECS: it is raw
	const char *parser;  // before the decoder; "" none
};
static const struct pk_plan_format pk_plan_formats[PK_N_V4L2_FORMATS] = {
	[PK_V4L2_MJPEG] = {"image/jpeg", PK_CODEC_JPEG, ""},
	[PK_V4L2_YUYV] = {"video/x-raw,format=YUY2", PK_N_CODECS, ""},
	[PK_V4L2_UYVY] = {"video/x-raw,format=UYVY", PK_N_CODECS, ""},
	[PK_V4L2_NV12] = {"video/x-raw,format=NV12", PK_N_CODECS, ""},
	[PK_V4L2_I420] = {"video/x-raw,format=I420", PK_N_CODECS, ""},
	[PK_V4L2_GRAY8] = {"video/x-raw,format=GRAY8", PK_N_CODECS, ""},
	[PK_V4L2_H264] = {"video/x-h264", PK_CODEC_H264, "h264parse ! "},
	[PK_V4L2_H265] = {"video/x-h265", PK_CODEC_H265, "h265parse ! "},
};

static int pk_plan_v4l2_any(struct pk_source_plan *plan, const struct pk_source_config *config)
{
	int r = pk_plan_add(plan, " ! capsfilter caps=\"video/x-raw");
	if (r == 0)
		r = pk_plan_add_size(plan, config);
	if (r == 0)
		r = pk_plan_add(plan, ";image/jpeg");
	if (r == 0)
		r = pk_plan_add_size(plan, config);
	return r < 0 ? r : pk_plan_add(plan, "\" ! decodebin");
}

static int pk_plan_v4l2_pinned(struct pk_source_plan *plan, const struct pk_source_config *config,
	const struct pk_elements *elements, struct pk_err *err)
{
	const struct pk_plan_format *format = &pk_plan_formats[config->format];
	const char *decoder = "";
	if (format->codec != PK_N_CODECS) {
		decoder = pk_elements_decoder(elements, format->codec);
		if (!decoder)
			return pk_plan_no_decoder(format->codec, err);
	}
	int r = pk_plan_add(plan, " ! %s", format->caps);
	if (r == 0)
		r = pk_plan_add_size(plan, config);
	if (r == 0 && *decoder)
		r = pk_plan_add(plan, " ! %s%s", format->parser, decoder);
	return r;
}

static int pk_plan_v4l2(struct pk_source_plan *plan, const struct pk_source_config *config,
	const struct pk_elements *elements, struct pk_err *err)
{
	plan->property = "device";
	plan->value = config->device;
	int r = pk_plan_add(plan, "v4l2src name=picket-src do-timestamp=true");
	for (size_t i = 0; i < config->n_controls && r == 0; i++)
		r = pk_plan_add(plan, "%s,%s", i ? "" : " extra-controls=\"c", config->controls[i]);
	if (r == 0 && config->n_controls > 0)
		r = pk_plan_add(plan, "\"");
	if (r < 0)
		return r;
	return config->format == PK_V4L2_ANY ? pk_plan_v4l2_any(plan, config)
					     : pk_plan_v4l2_pinned(plan, config, elements, err);
}

static int pk_plan_csi(struct pk_source_plan *plan, const struct pk_source_config *config,
	const struct pk_elements *elements, struct pk_err *err)
{
	const char *download = pk_elements_download(elements);
	if (!elements->exists(elements->ctx, "nvarguscamerasrc") || !download)
		return pk_fail(err, -ENOENT,
			"GStreamer elements \"nvarguscamerasrc\" and \"nvvidconv\" are not "
			"installed: csi cameras need a Jetson with nvidia-l4t-gstreamer");
	int r = pk_plan_add(plan,
		"nvarguscamerasrc name=picket-src sensor-id=%d ! "
		"video/x-raw(memory:NVMM),format=NV12",
		config->sensor_id);
	if (r == 0)
		r = pk_plan_add_size(plan, config);
	return r < 0 ? r : pk_plan_add(plan, " ! %s", download);
}

static int pk_plan_http(struct pk_source_plan *plan, const struct pk_source_config *config,
	const struct pk_elements *elements, struct pk_err *err)
{
	const char *client = pk_elements_http(elements);
	const char *decoder = pk_elements_decoder(elements, PK_CODEC_JPEG);
	if (!client)
		return pk_fail(err, -ENOENT,
			"no HTTP client is installed: GStreamer element \"souphttpsrc\"");
	if (!decoder)
		return pk_plan_no_decoder(PK_CODEC_JPEG, err);
	plan->property = "location";
	plan->value = config->uri;
	return pk_plan_add(
		plan, "%s ! multipartdemux single-stream=true ! image/jpeg ! %s", client, decoder);
}

int pk_source_plan(const struct pk_source_config *config, const struct pk_elements *elements,
	struct pk_source_plan *out, struct pk_err *err)
{
	static int (*const planners[PK_N_SOURCE_KINDS])(struct pk_source_plan * plan,
		const struct pk_source_config *config, const struct pk_elements *elements,
		struct pk_err *err) = {
		[PK_SOURCE_V4L2] = pk_plan_v4l2,
		[PK_SOURCE_CSI] = pk_plan_csi,
		[PK_SOURCE_HTTP] = pk_plan_http,
	};
	*out = (struct pk_source_plan){0};
	if (!planners[config->kind])
		return pk_fail(err, -EINVAL, "this kind of source has no plan");
	int r = planners[config->kind](out, config, elements, err);
	return r == -ENOSPC ? pk_fail(err, -EINVAL, "the description is too long") : r;
}
