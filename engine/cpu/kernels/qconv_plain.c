// SPDX-License-Identifier: Apache-2.0
// Integer convolution on laid out bands for the instruction set that the compiler is set to.
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/qconv_direct.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define RUN(name) name##_plain
#include "engine/cpu/kernels/qconv_run.inc"
