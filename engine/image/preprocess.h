// SPDX-License-Identifier: Apache-2.0
// Inside of pk_preprocess: the tables that creation makes and rows are computed from.
#pragma once

#include "engine/image/image.h"

#define PK_IMAGE_MAX_SIDE 16384

// Bilinear taps along one axis: output i = src[low[i]] * (1 - part[i]) + src[high[i]] * part[i].
struct pk_axis_taps {
	int *low, *high;
	float *part;
	int first, last; // least and greatest source index in use
};

// One source component family that is interpolated alike: luma, chroma or packed colours.
struct pk_sampler {
	struct pk_axis_taps x, y;
	int n_components; // interleaved in one row
	float *row;       // one vertically blended source row, n_components a pixel
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
// Columns [from, to) of output row y get the border colour.
void pk_preprocess_pad_run(const struct pk_preprocess *pre, float *out, int y, int from, int to);
// Normalises the pixels of one row into the tensor.
void pk_preprocess_emit_row(const struct pk_preprocess *pre, float *out, int y);
