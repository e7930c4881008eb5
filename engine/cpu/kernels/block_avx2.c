// SPDX-License-Identifier: Apache-2.0
// The kernels on blocked pictures for AVX2 and FMA: blocks of 8 channels.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "engine/cpu/kernels/block.h"
#include "engine/cpu/kernels/scalar.h"

#if defined(__x86_64__)
#include "engine/cpu/kernels/avx2_begin.h"
#if defined(__clang__)
// Instrumented, it compiles for many minutes; gcc's sanitizers see it.
#pragma clang attribute push(                                                                      \
	__attribute__((no_sanitize("address", "undefined", "coverage"))), apply_to = function)
#endif

#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/vec.h"

#define RUN(name) name##_avx2
#include "engine/cpu/kernels/block_tile.inc"

#include "engine/cpu/kernels/block_conv.inc"
#include "engine/cpu/kernels/block_depthwise.inc"
#include "engine/cpu/kernels/block_move.inc"
#include "engine/cpu/kernels/block_wino.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "engine/cpu/kernels/avx2_end.h"
#endif
