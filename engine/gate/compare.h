// SPDX-License-Identifier: Apache-2.0
// How far two tensors are apart.
#pragma once

#include <stdint.h>

struct pk_comparison {
	double max_rel_err; // largest |a - b| over the range (max - min) of the reference, at least
			    // 1e-6
	double cosine;      // of the two as vectors; 1 when both are all zero
	int64_t n_bad;      // NaN or infinite in a where the reference is finite
};

// a: n values under test, b: the reference.
void pk_compare_f32(const float *a, const float *b, int64_t n, struct pk_comparison *out);
