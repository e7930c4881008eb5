// SPDX-License-Identifier: Apache-2.0
// Which elements are chosen, with a registry of the test's own, and the launch texts of sources for
// which this machine has no device.
#include <errno.h>
#include <gst/gst.h>
#include <stdio.h>

#include "config/config.h"
#include "pipeline/elements.h"
#include "pipeline/sources/plan.h"
#include "tests/unit/pipeline/cm.h"

// ctx: a space-separated list of what there is.
static bool listed(void *ctx, const char *factory)
{
	char word[64];
	snprintf(word, sizeof(word), " %s ", factory);
	return strstr(ctx, word) != NULL;
}

static struct pk_elements machine(const char *list)
{
	return (struct pk_elements){.exists = listed, .ctx = (void *)list};
}

static const char desk[] = " avdec_h264 avdec_h265 jpegdec pngdec souphttpsrc rtph264depay "
			   "h264parse rtph265depay h265parse rtpjpegdepay ";
static const char jetson[] = " avdec_h264 jpegdec nvv4l2decoder nvvidconv nvjpegdec "
			     "nvarguscamerasrc souphttpsrc rtph264depay h264parse ";

static void test_hardware_first(void **state)
{
	static const struct {
		const char *list;
		enum pk_codec codec;
		const char *want; // NULL: none
	} rows[] = {
		{desk, PK_CODEC_H264, "avdec_h264 max-threads=2 output-corrupt=false"},
		{desk, PK_CODEC_H265, "avdec_h265 max-threads=2 output-corrupt=false"},
		{desk, PK_CODEC_JPEG, "jpegdec"},
		{desk, PK_CODEC_PNG, "pngdec"},
		{jetson, PK_CODEC_H264, "nvv4l2decoder ! nvvidconv ! video/x-raw,format=NV12"},
		{jetson, PK_CODEC_H265, "nvv4l2decoder ! nvvidconv ! video/x-raw,format=NV12"},
		{jetson, PK_CODEC_JPEG, "nvjpegdec ! nvvidconv ! video/x-raw,format=NV12"},
		{" nvv4l2decoder openh264dec ", PK_CODEC_H264, "openh264dec"}, // no way out of it
		{" libde265dec ", PK_CODEC_H265, "libde265dec max-threads=2"},
		{" avdec_mjpeg ", PK_CODEC_JPEG, "avdec_mjpeg max-threads=2 output-corrupt=false"},
		{"  ", PK_CODEC_H264, NULL},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_elements elements = machine(rows[i].list);
		const char *got = pk_elements_decoder(&elements, rows[i].codec);
		if (!rows[i].want)
			assert_null(got);
		else
			assert_string_equal(got ? got : "none", rows[i].want);
	}
}

static void test_depay_needs_its_parser(void **state)
{
	struct pk_elements whole = machine(desk), half = machine(" rtph264depay ");
	assert_non_null(strstr(pk_elements_depay(&whole, PK_CODEC_H264), "name=picket-depay"));
	assert_non_null(strstr(pk_elements_depay(&whole, PK_CODEC_H265), "alignment=au"));
	assert_null(pk_elements_depay(&half, PK_CODEC_H264));
	assert_null(pk_elements_depay(&whole, PK_CODEC_PNG));
}

static void test_rtp_names(void **state)
{
	assert_int_equal(pk_codec_of_rtp("H264"), PK_CODEC_H264);
	assert_int_equal(pk_codec_of_rtp("h265"), PK_CODEC_H265);
	assert_int_equal(pk_codec_of_rtp("JPEG"), PK_CODEC_JPEG);
	assert_int_equal(pk_codec_of_rtp("VP8"), PK_N_CODECS);
	assert_int_equal(pk_codec_of_rtp(NULL), PK_N_CODECS);
}

static struct pk_source_config v4l2(enum pk_v4l2_format format)
{
	return (struct pk_source_config){.kind = PK_SOURCE_V4L2,
		.device = (char *)"/dev/v4l/by-id/usb-Some \"cam\" ! fakesink-index0",
		.format = format,
		.width = 1280,
		.height = 720,
		.rate_hz = 30};
}

static void test_v4l2_texts(void **state)
{
	static const struct {
		const char *list;
		enum pk_v4l2_format format;
		const char *want;
	} rows[] = {
		{desk, PK_V4L2_YUYV,
			"v4l2src name=picket-src do-timestamp=true ! "
			"video/x-raw,format=YUY2,width=1280,height=720,framerate=30/1"},
		{desk, PK_V4L2_MJPEG,
			"v4l2src name=picket-src do-timestamp=true ! "
			"image/jpeg,width=1280,height=720,framerate=30/1 ! jpegdec"},
		{jetson, PK_V4L2_MJPEG,
			"v4l2src name=picket-src do-timestamp=true ! "
			"image/jpeg,width=1280,height=720,framerate=30/1 ! nvjpegdec ! nvvidconv ! "
			"video/x-raw,format=NV12"},
		{desk, PK_V4L2_H264,
			"v4l2src name=picket-src do-timestamp=true ! "
			"video/x-h264,width=1280,height=720,framerate=30/1 ! h264parse ! "
			"avdec_h264 max-threads=2 output-corrupt=false"},
		{desk, PK_V4L2_ANY,
			"v4l2src name=picket-src do-timestamp=true ! capsfilter caps=\""
			"video/x-raw,width=1280,height=720,framerate=30/1;"
			"image/jpeg,width=1280,height=720,framerate=30/1\" ! decodebin"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_elements elements = machine(rows[i].list);
		struct pk_source_config config = v4l2(rows[i].format);
		struct pk_source_plan plan;
		assert_int_equal(pk_source_plan(&config, &elements, &plan, NULL), 0);
		assert_string_equal(plan.text, rows[i].want);
		assert_string_equal(plan.property, "device");
		assert_string_equal(plan.value, config.device); // and not in the text
	}
}

static void test_v4l2_leaves_open_and_controls(void **state)
{
	struct pk_elements elements = machine(desk);
	struct pk_source_config config = v4l2(PK_V4L2_UYVY);
	char *controls[] = {(char *)"exposure_auto=1", (char *)"gain=-3"};
	struct pk_source_plan plan;
	config.width = config.height = 0;
	config.rate_hz = 29.97;
	config.controls = controls;
	config.n_controls = 2;
	assert_int_equal(pk_source_plan(&config, &elements, &plan, NULL), 0);
	assert_string_equal(plan.text,
		"v4l2src name=picket-src do-timestamp=true extra-controls=\"c,exposure_auto=1,"
		"gain=-3\" ! video/x-raw,format=UYVY,framerate=30000/1001");
}

static void test_csi(void **state)
{
	struct pk_source_config config = {.kind = PK_SOURCE_CSI,
		.sensor_id = 1,
		.width = 1920,
		.height = 1080,
		.rate_hz = 60};
	struct pk_elements there = machine(jetson), missing = machine(desk);
	struct pk_source_plan plan;
	struct pk_err err = {0};
	assert_int_equal(pk_source_plan(&config, &there, &plan, NULL), 0);
	assert_string_equal(plan.text,
		"nvarguscamerasrc name=picket-src sensor-id=1 ! "
		"video/x-raw(memory:NVMM),format=NV12,width=1920,height=1080,framerate=60/1 ! "
		"nvvidconv ! video/x-raw,format=NV12");
	assert_null(plan.property);
	assert_int_equal(pk_source_plan(&config, &missing, &plan, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nvidia-l4t-gstreamer"));
}

static void test_http(void **state)
{
	struct pk_source_config config = {
		.kind = PK_SOURCE_HTTP, .uri = (char *)"http://cam/a?b=\"c\" ! x"};
	struct pk_elements curl = machine(" curlhttpsrc jpegdec "), none = machine(" jpegdec ");
	struct pk_source_plan plan;
	struct pk_err err = {0};
	assert_int_equal(pk_source_plan(&config, &curl, &plan, NULL), 0);
	assert_string_equal(plan.text, "curlhttpsrc name=picket-src do-timestamp=true retries=0 ! "
				       "multipartdemux single-stream=true ! image/jpeg ! jpegdec");
	assert_string_equal(plan.value, config.uri);
	assert_int_equal(pk_source_plan(&config, &none, &plan, &err), -ENOENT);
	assert_non_null(strstr(err.text, "souphttpsrc"));
}

// Every text that needs no hardware is valid launch syntax of this machine's GStreamer.
static void test_texts_parse(void **state)
{
	gst_init(NULL, NULL);
	for (int format = 0; format < PK_N_V4L2_FORMATS; format++) {
		struct pk_source_config config = v4l2((enum pk_v4l2_format)format);
		char *controls[] = {(char *)"exposure_auto=1"};
		struct pk_source_plan plan;
		config.controls = controls;
		config.n_controls = 1;
		if (!pk_elements_here.exists(NULL, "v4l2src") ||
			pk_source_plan(&config, &pk_elements_here, &plan, NULL) < 0)
			skip();
		GError *error = NULL;
		gchar *text = g_strdup_printf("%s ! identity", plan.text); // as the graph does
		GstElement *bin = gst_parse_bin_from_description_full(
			text, FALSE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
		if (error)
			fail_msg("%s: %s", plan.text, error->message);
		gst_object_unref(gst_object_ref_sink(bin));
		g_free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hardware_first),
		cmocka_unit_test(test_depay_needs_its_parser),
		cmocka_unit_test(test_rtp_names),
		cmocka_unit_test(test_v4l2_texts),
		cmocka_unit_test(test_v4l2_leaves_open_and_controls),
		cmocka_unit_test(test_csi),
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_texts_parse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
