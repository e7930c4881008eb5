// SPDX-License-Identifier: Apache-2.0
// Quickselect with seeded random pivots: no input order is slow but by bad luck.
#include "engine/gate/quantile.h"

#include <math.h>

static void swap(float *a, float *b)
{
	float kept = *a;
	*a = *b;
	*b = kept;
}

// Afterwards v[low..return] <= v[return + 1..high]; low < high.
static int64_t partition(float *v, int64_t low, int64_t high, uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	float pivot = v[low + (int64_t)((*seed >> 33) % (uint64_t)(high - low))];
	int64_t i = low - 1, k = high + 1;
	for (;;) {
		do
			i++;
		while (v[i] < pivot);
		do
			k--;
		while (v[k] > pivot);
		if (i >= k)
			return k;
		swap(&v[i], &v[k]);
	}
}

// Puts the value of rank `rank` in its place, the smaller before it, the larger behind it.
static void select_rank(float *v, int64_t n, int64_t rank)
{
	int64_t low = 0, high = n - 1;
	uint64_t seed = 1;
	while (low < high) {
		int64_t at = partition(v, low, high, &seed);
		if (rank <= at)
			high = at;
		else
			low = at + 1;
	}
}

double pk_quantile_f32(float *values, int64_t n, double q)
{
	double at = q * (double)(n - 1);
	int64_t rank = (int64_t)floor(at);
	if (rank > n - 1)
		rank = n - 1;
	select_rank(values, n, rank);
	double below = (double)values[rank], above = below;
	for (int64_t i = rank + 1; i < n; i++) {
		if (i == rank + 1 || (double)values[i] < above)
			above = (double)values[i];
	}
	return below + (above - below) * (at - (double)rank);
}
