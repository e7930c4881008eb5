// SPDX-License-Identifier: Apache-2.0
// A histogram of magnitudes and the clipping thresholds drawn from it.
#include "engine/calibrate/magnitudes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "base/checked.h"

static const char *const method_names[] = {
	[PK_RANGE_MINMAX] = "minmax",
	[PK_RANGE_PERCENTILE] = "percentile",
	[PK_RANGE_ENTROPY] = "entropy",
};

const char *pk_range_method_name(enum pk_range_method method)
{
	return method_names[method];
}

int pk_range_method_from_name(const char *name)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(method_names); i++)
		if (strcmp(method_names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

// Ranges are powers of two, so that bins of a smaller range add up to bins of a larger one.
static double range_for(double v)
{
	int exponent;
	(void)frexp(v, &exponent);
	return ldexp(1, exponent); // above v
}

static void grow(struct pk_magnitudes *h, double range)
{
	if (h->range == 0)
		h->range = range;
	for (; h->range < range; h->range *= 2) {
		for (int i = 0; i < PK_MAGNITUDES_BINS / 2; i++)
			h->bins[i] = h->bins[2 * i] + h->bins[2 * i + 1];
		memset(h->bins + PK_MAGNITUDES_BINS / 2, 0, sizeof(h->bins) / 2);
	}
}

void pk_magnitudes_add(struct pk_magnitudes *h, const float *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double v = fabs((double)data[i]);
		if (!isfinite(v))
			continue;
		if (v == 0) {
			h->n_zeros++;
			continue;
		}
		if (v >= h->range)
			grow(h, range_for(v));
		h->max = PK_MAX(h->max, v);
		h->bins[(int)(v / h->range * PK_MAGNITUDES_BINS)]++;
	}
}

static double percentile_of(const struct pk_magnitudes *h, double percentile)
{
	double all = (double)h->n_zeros, below = (double)h->n_zeros;
	for (int i = 0; i < PK_MAGNITUDES_BINS; i++)
		all += (double)h->bins[i];
	for (int i = 0; i < PK_MAGNITUDES_BINS; i++) {
		below += (double)h->bins[i];
		if (below >= all * percentile / 100)
			return PK_MIN((i + 1) * h->range / PK_MAGNITUDES_BINS, h->max);
	}
	return h->max;
}

// Divergence of the first n bins (with all beyond them counted into the last) from the same held in
// 128 levels, each spread evenly over its bins that are not empty.
static double divergence(const struct pk_magnitudes *h, int n, double beyond)
{
	double sum = beyond, result = 0;
	for (int i = 0; i < n; i++)
		sum += (double)h->bins[i];
	for (int level = 0; level < PK_MAGNITUDES_LEVELS; level++) {
		int first = (int)((int64_t)level * n / PK_MAGNITUDES_LEVELS);
		int end = (int)((int64_t)(level + 1) * n / PK_MAGNITUDES_LEVELS), used = 0;
		double q = 0;
		for (int i = first; i < end; i++) {
			q += (double)h->bins[i];
			used += h->bins[i] > 0 || (i == n - 1 && beyond > 0);
		}
		for (int i = first; i < end; i++) {
			double p = (double)h->bins[i] + (i == n - 1 ? beyond : 0);
			// A level that held nothing before clipping cannot stand for what is
			// clipped into it.
			double even = used ? PK_MAX(q, 1e-3) / used : 0;
			result +=
				p > 0 ? p / sum * log(p / (even * sum / (sum - beyond + 1e-9))) : 0;
		}
	}
	return result;
}

static double entropy_of(const struct pk_magnitudes *h)
{
	int last = 0, best = 0;
	double total = 0, inside = 0, least = INFINITY;
	for (int i = 0; i < PK_MAGNITUDES_BINS; i++) {
		total += (double)h->bins[i];
		last = h->bins[i] ? i + 1 : last;
	}
	for (int n = 1; n <= last; n++) {
		inside += (double)h->bins[n - 1];
		if (n < PK_MAGNITUDES_LEVELS && n < last)
			continue;
		double d = divergence(h, n, total - inside);
		if (d < least) {
			least = d;
			best = n;
		}
	}
	return PK_MIN(best * h->range / PK_MAGNITUDES_BINS, h->max);
}

double pk_magnitudes_threshold(
	const struct pk_magnitudes *h, enum pk_range_method method, double percentile)
{
	switch (method) {
	case PK_RANGE_PERCENTILE:
		return percentile_of(h, percentile);
	case PK_RANGE_ENTROPY:
		return entropy_of(h);
	default:
		return h->max;
	}
}
