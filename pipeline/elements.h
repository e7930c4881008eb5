// SPDX-License-Identifier: Apache-2.0
// Which GStreamer elements do a job on this machine: the hardware's when they are there.
#pragma once

#include <stdbool.h>

// How it is found out whether there is an element; tests put their own.
struct pk_elements {
	bool (*exists)(void *ctx, const char *factory);
	void *ctx;
};
extern const struct pk_elements pk_elements_here; // GStreamer's registry; after gst_init

enum pk_codec {
	PK_CODEC_H264,
	PK_CODEC_H265,
	PK_CODEC_JPEG,
	PK_CODEC_PNG,
	PK_N_CODECS,
};

// In launch syntax; all are static. NULL: nothing here does it.
// From whole encoded pictures to raw video in system memory.
const char *pk_elements_decoder(const struct pk_elements *elements, enum pk_codec codec);
// From RTP packets to whole encoded pictures. The element that unpacks is "picket-depay", the
// last one has the encoded stream at its src pad.
const char *pk_elements_depay(const struct pk_elements *elements, enum pk_codec codec);
// Out of the accelerator's memory (memory:NVMM) into the system's.
const char *pk_elements_download(const struct pk_elements *elements);
// An HTTP client called "picket-src".
const char *pk_elements_http(const struct pk_elements *elements);
// The codec of an RTP stream's encoding-name; PK_N_CODECS: none of these.
enum pk_codec pk_codec_of_rtp(const char *encoding_name);
const char *pk_codec_name(enum pk_codec codec);
