// SPDX-License-Identifier: Apache-2.0
// The kernels on blocked pictures for AVX-512: blocks of 16 channels.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "engine/cpu/kernels/block.h"
#include "engine/cpu/kernels/scalar.h"

#if defined(__x86_64__)
#include <immintrin.h>

// From here on only code that runs after pk_tile_has_avx512() said yes.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
// Instrumented, it compiles for many minutes; gcc's sanitizers see it.
#pragma clang attribute push(                                                                      \
	__attribute__((no_sanitize("address", "undefined", "coverage"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx2,fma")
#if defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("O1") // minutes less of compiling
#else
#pragma GCC optimize("O3") // vectorises loops of unknown length
#endif
#endif
#define PK_VEC_AVX512 1

#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/vec.h"

#define RUN(name) name##_avx512
#include "engine/cpu/kernels/block_tile.inc"

#include "engine/cpu/kernels/block_conv.inc"
#include "engine/cpu/kernels/block_depthwise.inc"
#include "engine/cpu/kernels/block_move.inc"
#include "engine/cpu/kernels/block_wino.inc"

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute pop
#endif
#endif
