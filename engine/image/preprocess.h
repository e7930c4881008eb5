// SPDX-License-Identifier: Apache-2.0
// Inside of pk_preprocess: the tables that creation makes and rows are computed from.
#pragma once

#include "engine/image/image.h"

#define PK_IMAGE_MAX_SIDE 16384

#define PK_IMAGE_VECTOR 8 // tables and rows are padded to a multiple of so many columns

// Bilinear taps along one axis: output i = src[low[i]] * (1 - part[i]) + src[high[i]] * part[i].
struct pk_axis_taps {
	int *low, *high;
	float *part;
	int first, last; // least and greatest source index in use
};

// The x taps by vectors: each four outputs find theirs in one window of 16 bytes of a source row.
// at: where the windows begin, one per four outputs; low, high: for each output the bytes of its
// taps' first component within the window, as a shuffle that leaves one byte in each 32 bits.
struct pk_windows {
	int *at;
	uint32_t *low, *high; // NULL: taps lie too far apart
};

// One source component family that is interpolated alike: luma, chroma or packed colours.
struct pk_sampler {
	struct pk_axis_taps x, y;
	int n_components; // interleaved in one row
	float *row;       // one vertically blended source row, n_components a pixel
	struct pk_windows windows;
};

struct pk_preprocess {
	struct pk_image_spec spec;
	struct pk_image_map map;
	enum pk_pixel_format format;
	enum pk_color_matrix matrix;
	bool full_range;
	int n_channels;              // of the output
	struct pk_sampler luma;      // or the packed colours
	struct pk_sampler chroma;    // YUV formats with colour output
	float *pixels[3];            // components of one output row, map.x1 - map.x0 each
	float luma_scale, luma_base; // y' = (y - base) * scale
	float r_v, g_u, g_v, b_u;    // of chroma - 128
	float scale[3], offset[3];   // normalisation: out = clamp(v) * scale + offset
	float pad[3];                // normalised border
	// Fills pixels (n_channels of them, in the output's colour order, 0..255) for covered row
	// i.
	void (*row)(struct pk_preprocess *pre, const struct pk_image *image, int i);
};

// The row function for a source format and output colour.
void pk_preprocess_choose_row(struct pk_preprocess *pre);
#if defined(__x86_64__)
// The same by vectors, equal to the bit, in place of the one chosen where there is one; needs AVX2.
void pk_preprocess_choose_row_avx2(struct pk_preprocess *pre);
#endif
// Columns [from, to) of output row y get the border colour.
void pk_preprocess_pad_run(const struct pk_preprocess *pre, float *out, int y, int from, int to);
// Normalises the pixels of one row into the tensor.
void pk_preprocess_emit_row(const struct pk_preprocess *pre, float *out, int y);
