// SPDX-License-Identifier: Apache-2.0
// Default limits per precision. The reasons stand with each column.
#include "engine/gate/profile.h"

#include <stddef.h>

// fp32: only the order of additions differs from the reference: 1e-3 of the range is far above what
// it does and far below what a wrong kernel does. fp16: 11 bits of mantissa; the raw heads of small
// detectors have been seen at 5e-3 of their range. int8: single elements may be far off (a
// saturated channel), so a quantile is judged; noise and plain fields lie outside the ranges that
// were calibrated on pictures, so channels are judged on pictures; 95 % retention is the usual line
// for edge use.
static const struct pk_gate_profile profiles[] = {
	[PK_PRECISION_FP32] =
		{
			.precision = PK_PRECISION_FP32,
			.min_cosine = 0.9999,
			.max_rel_err = 1e-3,
			.max_other_ints = 0.001,
			.min_sqnr_db = 60,
			.min_match = 0.999,
			.match_iou = 0.9,
			.score_mean = 1e-4,
			.score_signed = 1e-4,
			.count_change = 0.001,
			.map_retention = 0.999,
			.top1 = 0.99,
			.max_kl = 1e-3,
		},
	[PK_PRECISION_FP16] =
		{
			.precision = PK_PRECISION_FP16,
			.min_cosine = 0.999,
			.max_rel_err = 1e-2,
			.rel_err_q999 = 5e-3,
			.max_other_ints = 0.005,
			.min_sqnr_db = 40,
			.min_match = 0.99,
			.match_iou = 0.9,
			.score_mean = 0.01,
			.score_signed = 0.005,
			.count_change = 0.01,
			.map_retention = 0.99,
			.top1 = 0.98,
			.max_kl = 1e-2,
		},
	[PK_PRECISION_INT8] =
		{
			.precision = PK_PRECISION_INT8,
			.channels_on_pictures = true,
			.min_cosine = 0.99,
			.rel_err_q99 = 5e-2,
			.max_other_ints = 0.02,
			.min_sqnr_db = 20,
			.min_match = 0.95,
			.match_iou = 0.75,
			.score_mean = 0.05,
			.score_signed = 0.03,
			.count_change = 0.05,
			.map_retention = 0.95,
			.top1 = 0.95,
			.max_kl = 5e-2,
		},
};

const struct pk_gate_profile *pk_gate_profile_of(enum pk_precision precision)
{
	return &profiles[precision];
}

void pk_gate_profile_limit(struct pk_gate_profile *profile, double max_rel_err, double min_cosine)
{
	bool is_fp32 = profile->precision == PK_PRECISION_FP32;
	if (max_rel_err > 0 && (is_fp32 || max_rel_err > profile->max_rel_err) &&
		profile->max_rel_err > 0)
		profile->max_rel_err = max_rel_err;
	if (min_cosine > 0 && (is_fp32 || min_cosine < profile->min_cosine))
		profile->min_cosine = min_cosine;
}
