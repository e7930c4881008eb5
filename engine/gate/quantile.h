// SPDX-License-Identifier: Apache-2.0
// Order statistics of many floats without sorting them.
#pragma once

#include <stdint.h>

// The q-quantile (0..1) of n >= 1 finite values, linear between neighbours: position q * (n - 1) of
// the sorted values. Reorders the values. Expected time O(n).
double pk_quantile_f32(float *values, int64_t n, double q);
