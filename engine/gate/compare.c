// SPDX-License-Identifier: Apache-2.0
// Tensor distances, in double.
#include "engine/gate/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/gate/quantile.h"

#define MAX_CHANNELS         1024
#define SILENT_RMS           1e-4
#define MIN_CHANNEL_ELEMENTS 4    // one logit near zero has no signal to noise ratio
#define SILENT_PART          1e-3 // of the output's peak: a score that nothing raises has no signal
#define MIN_RANGE            1e-6

// Sums over the pairs that are finite on both sides.
struct sums {
	int64_t n;
	double a, b, ab, aa, bb, dd;
	double low, high; // of b
	double worst;     // |a - b|
};

static bool both_finite(float a, float b)
{
	return isfinite(a) && isfinite(b);
}

static void add_pair(struct sums *sums, double a, double b)
{
	sums->n++;
	sums->a += a;
	sums->b += b;
	sums->ab += a * b;
	sums->aa += a * a;
	sums->bb += b * b;
	sums->dd += (a - b) * (a - b);
	sums->low = PK_MIN(sums->low, b);
	sums->high = PK_MAX(sums->high, b);
	sums->worst = PK_MAX(sums->worst, fabs(a - b));
}

static double cosine_of(double ab, double aa, double bb)
{
	if (ab == aa && aa == bb)
		return 1; // the same, or both zero: without rounding
	return aa <= 0 || bb <= 0 ? 0 : PK_MAX(-1.0, PK_MIN(1.0, ab / sqrt(aa) / sqrt(bb)));
}

static double sqnr_of(const struct sums *sums)
{
	if (sums->dd <= 0)
		return PK_SQNR_MAX_DB;
	if (sums->bb <= 0)
		return -PK_SQNR_MAX_DB;
	double db = 10 * log10(sums->bb / sums->dd);
	return PK_MAX(-PK_SQNR_MAX_DB, PK_MIN(PK_SQNR_MAX_DB, db));
}

// Second pass with the means known: sums of squares of differences from large means cancel badly.
static double centered_cosine(const float *a, const float *b, int64_t n, const struct sums *sums)
{
	double mean_a = sums->a / (double)sums->n, mean_b = sums->b / (double)sums->n;
	double ab = 0, aa = 0, bb = 0;
	for (int64_t i = 0; i < n; i++) {
		if (!both_finite(a[i], b[i]))
			continue;
		double x = (double)a[i] - mean_a, y = (double)b[i] - mean_b;
		ab += x * y;
		aa += x * x;
		bb += y * y;
	}
	// A constant tensor has no direction once its mean is gone: rounding alone would remain.
	double tiny_a = 1e-14 * sums->aa, tiny_b = 1e-14 * sums->bb;
	if (bb <= tiny_b)
		return aa <= tiny_a || aa <= 1e-8 * sums->aa ? 1 : 0;
	return cosine_of(ab, aa, bb);
}

static double low_to_high(float *sorted, const struct sums *sums)
{
	double high = pk_quantile_f32(sorted, sums->n, 0.999);
	double low = pk_quantile_f32(sorted, sums->n, 0.001);
	double full = sums->high - sums->low, range = PK_MAX(high - low, full / 10);
	// Peaks on a floor (softmax, heat maps): the quantiles only see the floor.
	if (high - low < full / 100)
		range = full;
	double size = PK_MAX(fabs(sums->low), fabs(sums->high));
	if (range <= 0)
		range = size;
	// Nearly constant (two probabilities of one half): floats resolve a part of their size.
	return PK_MAX(PK_MAX(range, size / 100), MIN_RANGE);
}

static void take_quantiles(const float *a, const float *b, int64_t n, const struct sums *sums,
	float *scratch, struct pk_comparison *out)
{
	int64_t k = 0;
	for (int64_t i = 0; i < n; i++) {
		if (both_finite(a[i], b[i]))
			scratch[k++] = b[i];
	}
	out->range = low_to_high(scratch, sums);
	out->max_rel_err = sums->worst / out->range;
	k = 0;
	for (int64_t i = 0; i < n; i++) {
		if (both_finite(a[i], b[i]))
			scratch[k++] = (float)fabs((double)a[i] - (double)b[i]);
	}
	out->rel_err_q99 = pk_quantile_f32(scratch, k, 0.99) / out->range;
	out->rel_err_q999 = pk_quantile_f32(scratch, k, 0.999) / out->range;
}

int pk_compare_f32(const float *a, const float *b, int64_t n, struct pk_comparison *out)
{
	struct sums sums = {.low = INFINITY, .high = -INFINITY};
	*out = (struct pk_comparison){
		.cosine = 1, .cosine_centered = 1, .sqnr_db = PK_SQNR_MAX_DB, .range = MIN_RANGE};
	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(b[i]))
			out->n_bad_reference++;
		else if (!isfinite(a[i]))
			out->n_bad++;
		else
			add_pair(&sums, (double)a[i], (double)b[i]);
	}
	if (sums.n == 0)
		return 0;
	pk_auto_free float *scratch = malloc((size_t)sums.n * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	out->cosine = cosine_of(sums.ab, sums.aa, sums.bb);
	out->cosine_centered = centered_cosine(a, b, n, &sums);
	out->sqnr_db = sqnr_of(&sums);
	take_quantiles(a, b, n, &sums, scratch, out);
	return 0;
}

int pk_channel_axis(const struct pk_shape *shape)
{
	int axis = -1;
	if (shape->rank == 3)
		axis = shape->dims[1] <= shape->dims[2] ? 1 : 2;
	else if (shape->rank >= 4)
		axis = 1;
	if (axis < 0 || shape->dims[axis] < 1 || shape->dims[axis] > MAX_CHANNELS)
		return -1;
	int64_t n = pk_shape_elements(shape) / shape->dims[axis];
	return n >= MIN_CHANNEL_ELEMENTS ? axis : -1;
}

// A slice of the tensor seen as [outer, channels, inner].
static struct sums channel_sums(
	const float *a, const float *b, const int64_t dims[3], int64_t channel)
{
	struct sums sums = {.low = INFINITY, .high = -INFINITY};
	for (int64_t o = 0; o < dims[0]; o++) {
		int64_t at = (o * dims[1] + channel) * dims[2];
		for (int64_t i = at; i < at + dims[2]; i++) {
			if (both_finite(a[i], b[i]))
				add_pair(&sums, (double)a[i], (double)b[i]);
		}
	}
	return sums;
}

// Largest magnitude of the finite values.
static double peak_of(const float *b, int64_t n)
{
	double peak = 0;
	for (int64_t i = 0; i < n; i++) {
		if (isfinite(b[i]))
			peak = PK_MAX(peak, fabs((double)b[i]));
	}
	return peak;
}

void pk_compare_channels(const float *a, const float *b, const struct pk_shape *shape, int axis,
	struct pk_channel_noise *out)
{
	*out = (struct pk_channel_noise){.min_sqnr_db = PK_SQNR_MAX_DB, .worst = -1};
	if (axis < 0)
		return;
	int64_t dims[3] = {1, shape->dims[axis], 1};
	for (int i = 0; i < axis; i++)
		dims[0] *= shape->dims[i];
	for (int i = axis + 1; i < shape->rank; i++)
		dims[2] *= shape->dims[i];
	double faint = SILENT_PART * peak_of(b, dims[0] * dims[1] * dims[2]);
	for (int64_t c = 0; c < dims[1]; c++) {
		struct sums sums = channel_sums(a, b, dims, c);
		double rms = sums.n ? sqrt(sums.bb / (double)sums.n) : 0;
		if (rms < SILENT_RMS || PK_MAX(fabs(sums.low), fabs(sums.high)) < faint) {
			out->n_silent++;
			continue;
		}
		out->n_channels++;
		double db = sqnr_of(&sums);
		if (out->worst < 0 || db < out->min_sqnr_db) {
			out->min_sqnr_db = db;
			out->worst = c;
		}
	}
}

int64_t pk_compare_bytes(const void *a, const void *b, int64_t n, size_t element_bytes)
{
	const char *x = a, *y = b;
	int64_t n_other = 0;
	for (int64_t i = 0; i < n; i++, x += element_bytes, y += element_bytes)
		n_other += memcmp(x, y, element_bytes) != 0;
	return n_other;
}
