// SPDX-License-Identifier: Apache-2.0
// The functions of PK_FN_LIST on single numbers: the meaning that every faster kernel is held to.
#pragma once

#include <stdint.h>

#include "engine/ir/op.h"

typedef double pk_scalar_unary(double x, double alpha, double beta);
typedef double pk_scalar_binary(double a, double b);
typedef int64_t pk_scalar_binary_int(int64_t a, int64_t b);

// NULL when fn is not of that kind. Class U (NONE gives identity).
pk_scalar_unary *pk_scalar_unary_fn(enum pk_fn fn);
// Class B, C and L; comparisons and logic give 0 or 1.
pk_scalar_binary *pk_scalar_binary_fn(enum pk_fn fn);
// The same on integers: wraps around like the narrower type, x / 0 and x mod 0 give 0.
pk_scalar_binary_int *pk_scalar_binary_int_fn(enum pk_fn fn);
