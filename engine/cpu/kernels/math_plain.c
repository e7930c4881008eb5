// SPDX-License-Identifier: Apache-2.0
// Unary functions and softmax for the instruction set that the compiler is set to.
#include <stddef.h>

#include "base/checked.h"
#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/math_fast.h"

bool pk_math_has_unary(enum pk_fn fn)
{
	return (unsigned)fn < PK_N_FNS && pk_act_vec_fn(fn);
}

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define RUN(name) name##_plain
#include "engine/cpu/kernels/math_run.inc"
