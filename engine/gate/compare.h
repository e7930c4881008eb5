// SPDX-License-Identifier: Apache-2.0
// How far a tensor is from its reference: direction, largest and typical difference, noise.
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "engine/tensor.h"

// Signal to noise is kept below this: equal tensors have no noise.
#define PK_SQNR_MAX_DB 200.0

struct pk_comparison {
	// Over the elements that are finite on both sides.
	double cosine;          // of the two as vectors; 1 when both are all zero
	double cosine_centered; // the same of mean-removed copies: a constant offset does not hide
	double range;           // p99.9 - p0.1 of the reference, at least a tenth of max - min; all
				// of max - min when it is less than a hundredth of that (peaks)
	double max_rel_err;     // largest |a - b| over range
	double rel_err_q99, rel_err_q999; // quantiles of the same
	double sqnr_db;                   // 20 log10(|b| / |a - b|), at most PK_SQNR_MAX_DB
	int64_t n_bad;                    // NaN or infinite in a where the reference is finite
	int64_t n_bad_reference;          // NaN or infinite in the reference: not compared
};

// a: n values under test, b: the reference. 0 or -ENOMEM.
int pk_compare_f32(const float *a, const float *b, int64_t n, struct pk_comparison *out)
	pk_must_check;

// Channels of an output: slices along one axis, judged one by one since large ones (boxes in
// pixels) hide small ones (scores).
struct pk_channel_noise {
	double min_sqnr_db; // of the worst channel; PK_SQNR_MAX_DB without channels
	int64_t worst;      // its index; -1: none
	int n_channels;     // judged
	int n_silent;       // left out: their reference stays below 1e-4 (root mean square), or
			    // below 1e-3 of the output's peak
};

// The axis whose slices are channels: 1 for [n,c,h,w]; the shorter of the last two for [n,x,y]; -1
// when the shape has none, more than 1024 of them, or fewer than 4 elements in each (logits).
int pk_channel_axis(const struct pk_shape *shape);

// Values that are not finite on either side are left out.
void pk_compare_channels(const float *a, const float *b, const struct pk_shape *shape, int axis,
	struct pk_channel_noise *out);

// Elements that differ, for tensors that are not f32 (indices, class maps); bytes per element.
int64_t pk_compare_bytes(const void *a, const void *b, int64_t n, size_t element_bytes);
