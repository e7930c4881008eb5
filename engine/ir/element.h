// SPDX-License-Identifier: Apache-2.0
// Single elements of a tensor, read and written by dynamic type. Slow; for text and graph
// rewriting.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor.h"

bool pk_dtype_is_float(enum pk_dtype dtype); // f16, bf16, f32, f64
// data: dense elements of a valid dtype, any alignment.
double pk_element_get(enum pk_dtype dtype, const void *data, size_t idx);
// Of integer types and bool, exact (u64 as its bits); 0 for floats.
int64_t pk_element_get_int(enum pk_dtype dtype, const void *data, size_t idx);
// Of float types: v rounded to the type. Integer types: false (nothing written).
bool pk_element_put_float(enum pk_dtype dtype, void *data, size_t idx, double v);
// Of integer types and bool; false when v is out of the type's range, or the type is a float.
bool pk_element_put_int(enum pk_dtype dtype, void *data, size_t idx, int64_t v);
