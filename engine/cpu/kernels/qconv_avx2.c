// SPDX-License-Identifier: Apache-2.0
// Integer convolution on laid out bands for AVX2 and FMA.
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/scalar.h"

#if defined(__x86_64__)
#include "engine/cpu/kernels/avx2_begin.h"

#include "engine/cpu/kernels/act_vec.h"
#include "engine/cpu/kernels/qconv_direct.h"

#define RUN(name) name##_avx2
#include "engine/cpu/kernels/qconv_run.inc"

#include "engine/cpu/kernels/avx2_end.h"
#endif
