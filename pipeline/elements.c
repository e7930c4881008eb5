// SPDX-License-Identifier: Apache-2.0
// Candidates for each job, best first.
#include "pipeline/elements.h"

#include <gst/gst.h>
#include <strings.h>

#include "base/attr.h"

#define PK_ELEMENTS_PER_ROW 3
// Accelerators hand out pictures in memory of their own.
#define PK_DOWNLOAD "nvvidconv ! video/x-raw,format=NV12"
// A live decoder of libav works on slices of one picture: a second thread helps at 4K, more would
// only cost memory, and frame threads would add age.
#define PK_LIBAV "max-threads=2 output-corrupt=false"

struct pk_candidate {
	const char *needs[PK_ELEMENTS_PER_ROW]; // NULL-ended unless full
	const char *text;
};

struct pk_job {
	const struct pk_candidate *rows;
	size_t n;
};

static const struct pk_candidate h264_decoders[] = {
	{{"nvv4l2decoder", "nvvidconv"}, "nvv4l2decoder ! " PK_DOWNLOAD},
	{{"avdec_h264"}, "avdec_h264 " PK_LIBAV},
	{{"openh264dec"}, "openh264dec"},
};
static const struct pk_candidate h265_decoders[] = {
	{{"nvv4l2decoder", "nvvidconv"}, "nvv4l2decoder ! " PK_DOWNLOAD},
	{{"avdec_h265"}, "avdec_h265 " PK_LIBAV},
	{{"libde265dec"}, "libde265dec max-threads=2"},
};
static const struct pk_candidate jpeg_decoders[] = {
	{{"nvjpegdec", "nvvidconv"}, "nvjpegdec ! " PK_DOWNLOAD},
	{{"jpegdec"}, "jpegdec"},
	{{"avdec_mjpeg"}, "avdec_mjpeg " PK_LIBAV},
};
static const struct pk_candidate png_decoders[] = {
	{{"pngdec"}, "pngdec"},
	{{"avdec_png"}, "avdec_png " PK_LIBAV},
};

static const struct pk_candidate h264_depays[] = {
	{{"rtph264depay", "h264parse"},
		"rtph264depay name=picket-depay ! "
		"video/x-h264,stream-format=byte-stream,alignment=au ! h264parse"},
};
static const struct pk_candidate h265_depays[] = {
	{{"rtph265depay", "h265parse"},
		"rtph265depay name=picket-depay ! "
		"video/x-h265,stream-format=byte-stream,alignment=au ! h265parse"},
};
static const struct pk_candidate jpeg_depays[] = {
	{{"rtpjpegdepay"}, "rtpjpegdepay name=picket-depay"},
};

static const struct pk_candidate downloads[] = {
	{{"nvvidconv"}, PK_DOWNLOAD},
	{{"nvvideoconvert"}, "nvvideoconvert ! video/x-raw,format=NV12"},
};

static const struct pk_candidate https[] = {
	{{"souphttpsrc"}, "souphttpsrc name=picket-src is-live=true do-timestamp=true retries=0 "
			  "compress=false"},
	{{"curlhttpsrc"}, "curlhttpsrc name=picket-src do-timestamp=true retries=0"},
};

#define PK_JOB(table)                                                                              \
	{                                                                                          \
		table, PK_ARRAY_LEN(table)                                                         \
	}
static const struct pk_job decoders[PK_N_CODECS] = {
	[PK_CODEC_H264] = PK_JOB(h264_decoders),
	[PK_CODEC_H265] = PK_JOB(h265_decoders),
	[PK_CODEC_JPEG] = PK_JOB(jpeg_decoders),
	[PK_CODEC_PNG] = PK_JOB(png_decoders),
};
static const struct pk_job depays[PK_N_CODECS] = {
	[PK_CODEC_H264] = PK_JOB(h264_depays),
	[PK_CODEC_H265] = PK_JOB(h265_depays),
	[PK_CODEC_JPEG] = PK_JOB(jpeg_depays),
};
static const struct pk_job download = PK_JOB(downloads);
static const struct pk_job http = PK_JOB(https);

static bool pk_elements_gst_exists(void *ctx, const char *name)
{
	GstElementFactory *factory = gst_element_factory_find(name);
	if (factory)
		gst_object_unref(factory);
	return factory != NULL;
}

const struct pk_elements pk_elements_here = {.exists = pk_elements_gst_exists};

static const char *pk_elements_best(const struct pk_elements *elements, const struct pk_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		const char *const *needs = job->rows[i].needs;
		size_t n = 0;
		while (n < PK_ELEMENTS_PER_ROW && needs[n] &&
			elements->exists(elements->ctx, needs[n]))
			n++;
		if (n == PK_ELEMENTS_PER_ROW || !needs[n])
			return job->rows[i].text;
	}
	return NULL;
}

const char *pk_elements_decoder(const struct pk_elements *elements, enum pk_codec codec)
{
	return pk_elements_best(elements, &decoders[codec]);
}

const char *pk_elements_depay(const struct pk_elements *elements, enum pk_codec codec)
{
	return pk_elements_best(elements, &depays[codec]);
}

const char *pk_elements_download(const struct pk_elements *elements)
{
	return pk_elements_best(elements, &download);
}

const char *pk_elements_http(const struct pk_elements *elements)
{
	return pk_elements_best(elements, &http);
}

enum pk_codec pk_codec_of_rtp(const char *encoding_name)
{
	static const char *const names[] = {
		[PK_CODEC_H264] = "H264", [PK_CODEC_H265] = "H265", [PK_CODEC_JPEG] = "JPEG"};
	for (size_t i = 0; encoding_name && i < PK_ARRAY_LEN(names); i++)
		if (strcasecmp(encoding_name, names[i]) == 0)
			return (enum pk_codec)i;
	return PK_N_CODECS;
}

const char *pk_codec_name(enum pk_codec codec)
{
	static const char *const names[] = {[PK_CODEC_H264] = "H.264",
		[PK_CODEC_H265] = "H.265",
		[PK_CODEC_JPEG] = "JPEG",
		[PK_CODEC_PNG] = "PNG"};
	return (size_t)codec < PK_ARRAY_LEN(names) ? names[codec] : "?";
}
