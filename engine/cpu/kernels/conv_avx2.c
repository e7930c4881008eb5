// SPDX-License-Identifier: Apache-2.0
// The convolutions for AVX2 and FMA.
#include <stddef.h>

#include "base/checked.h"
#include "engine/cpu/kernels/conv_fast.h"
#include "engine/cpu/kernels/scalar.h"

#if defined(__x86_64__)
#include "engine/cpu/kernels/avx2_begin.h"

#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/tile_vec.h"

#define RUN(name) name##_avx2
#include "engine/cpu/kernels/conv_run.inc"

#include "engine/cpu/kernels/avx2_end.h"
#endif
