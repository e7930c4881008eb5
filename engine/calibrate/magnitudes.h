// SPDX-License-Identifier: Apache-2.0
// A histogram of magnitudes that grows with what it sees, and the clipping thresholds drawn from
// it.
#pragma once

#include <stdint.h>

#define PK_MAGNITUDES_BINS   2048
#define PK_MAGNITUDES_LEVELS 128 // magnitudes that a symmetric i8 tells apart

// Bin i counts magnitudes in [i, i + 1) * range / bins. Zeroed is empty. Magnitudes of exactly 0
// are counted apart: they come out as 0 whatever the scale.
struct pk_magnitudes {
	double range; // a power of two; 0: nothing seen but zeros
	double max;
	uint64_t n_zeros;
	uint64_t bins[PK_MAGNITUDES_BINS];
};

enum pk_range_method {
	PK_RANGE_MINMAX,
	PK_RANGE_PERCENTILE,
	PK_RANGE_ENTROPY,
};

const char *pk_range_method_name(enum pk_range_method method);
int pk_range_method_from_name(const char *name); // the method, or -EINVAL

// NaN and infinities are passed over. The counts do not depend on how the numbers are divided
// into calls, nor on their order.
void pk_magnitudes_add(struct pk_magnitudes *h, const float *data, int64_t n);

// The magnitude beyond which numbers are clipped; 0 for an empty histogram. percentile: 0..100, of
// all numbers seen, for that method. Entropy: the threshold whose 128-level form of the clipped
// distribution loses least (Kullback-Leibler divergence; Migacz, "8-bit inference", 2017).
double pk_magnitudes_threshold(
	const struct pk_magnitudes *h, enum pk_range_method method, double percentile);
