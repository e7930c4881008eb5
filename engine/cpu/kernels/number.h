// SPDX-License-Identifier: Apache-2.0
// One number of any type as double or int64: how the reference kernels read and write.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/tensor.h"

static inline bool pk_number_is_float(enum pk_dtype dtype)
{
	return dtype == PK_F32 || dtype == PK_F64 || dtype == PK_F16 || dtype == PK_BF16;
}

// Signed and unsigned integers that an int64 holds; not bool, not u64.
static inline bool pk_number_is_int(enum pk_dtype dtype)
{
	return dtype == PK_U8 || dtype == PK_I8 || dtype == PK_U16 || dtype == PK_I16 ||
	       dtype == PK_I32 || dtype == PK_I64 || dtype == PK_U32;
}

double pk_number_f(enum pk_dtype dtype, const void *data, int64_t idx);
int64_t pk_number_i(enum pk_dtype dtype, const void *data, int64_t idx);
// To integers: truncated toward zero and saturated, NaN gives 0. To bool: not zero.
void pk_number_set_f(enum pk_dtype dtype, void *data, int64_t idx, double v);
// To narrower integers: the low bits (two's complement). To bool: not zero.
void pk_number_set_i(enum pk_dtype dtype, void *data, int64_t idx, int64_t v);
