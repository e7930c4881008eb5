// SPDX-License-Identifier: Apache-2.0
// Opens the part of a file that is compiled for AVX2 and FMA: only code that runs after
// pk_tile_has_avx2() said yes. Headers of others come before it, avx2_end.h closes it.
#pragma once

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#if defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("O1") // minutes less of compiling
#else
#pragma GCC optimize("O3") // vectorises loops of unknown length
#endif
#endif
#define PK_VEC_AVX2 1
