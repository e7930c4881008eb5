// SPDX-License-Identifier: Apache-2.0
// Which instruction sets kernels may use: what the processor has, or less by PICKET_CPU_ISA.
#pragma once

#include <stdbool.h>

enum pk_isa {
	PK_ISA_PLAIN = 0, // what every processor of the architecture has (aarch64: NEON)
	PK_ISA_AVX2,      // and FMA
	PK_ISA_AVX512,    // F, BW, DQ, VL
};

// The highest that this process uses; the environment's PICKET_CPU_ISA (plain, avx2, avx512) lowers
// it, for tests and for finding out which kernel is wrong. Always the same answer. Any thread.
enum pk_isa pk_isa(void);
const char *pk_isa_name(enum pk_isa isa);
static inline bool pk_isa_has_avx2(void)
{
	return pk_isa() >= PK_ISA_AVX2;
}
