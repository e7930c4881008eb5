// SPDX-License-Identifier: Apache-2.0
// Denormal numbers count as zero while models run: a hundred times faster, and no model means them.
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// Of the calling thread. Gives the mode before, for pk_float_mode_restore.
static inline uint64_t pk_float_mode_flush(void)
{
#if defined(__x86_64__)
	unsigned before = _mm_getcsr();
	_mm_setcsr(before | 0x8040); // results (FTZ) and operands (DAZ)
	return before;
#elif defined(__aarch64__)
	uint64_t before;
	__asm__ volatile("mrs %0, fpcr" : "=r"(before));
	__asm__ volatile("msr fpcr, %0" : : "r"(before | (UINT64_C(1) << 24))); // FZ
	return before;
#else
	return 0;
#endif
}

static inline void pk_float_mode_restore(uint64_t before)
{
#if defined(__x86_64__)
	_mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
	(void)before;
#endif
}
