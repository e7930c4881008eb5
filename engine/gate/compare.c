// SPDX-License-Identifier: Apache-2.0
// Tensor distances, in double.
#include "engine/gate/compare.h"

#include <math.h>

#include "base/checked.h"

void pk_compare_f32(const float *a, const float *b, int64_t n, struct pk_comparison *out)
{
	double low = INFINITY, high = -INFINITY, worst = 0, dot = 0, aa = 0, bb = 0;
	*out = (struct pk_comparison){0};
	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(b[i]))
			continue;
		if (!isfinite(a[i])) {
			out->n_bad++;
			continue;
		}
		double x = (double)a[i], y = (double)b[i];
		low = PK_MIN(low, y);
		high = PK_MAX(high, y);
		worst = PK_MAX(worst, fabs(x - y));
		dot += x * y;
		aa += x * x;
		bb += y * y;
	}
	double range = high > low ? high - low : fabs(high);
	out->max_rel_err = worst == 0 ? 0 : worst / PK_MAX(range, 1e-6);
	out->cosine = aa == 0 && bb == 0 ? 1 : dot / sqrt(PK_MAX(aa * bb, 1e-300));
}
