// SPDX-License-Identifier: Apache-2.0
// Instruction sets by cpuid and environment.
#include "engine/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const names[] = {
	[PK_ISA_PLAIN] = "plain",
	[PK_ISA_AVX2] = "avx2",
	[PK_ISA_AVX512] = "avx512",
};

const char *pk_isa_name(enum pk_isa isa)
{
	return names[isa];
}

static enum pk_isa of_processor(void)
{
#if defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return PK_ISA_PLAIN;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
		!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
		return PK_ISA_AVX2;
	return PK_ISA_AVX512;
#else
	return PK_ISA_PLAIN;
#endif
}

static enum pk_isa find(void)
{
	enum pk_isa isa = of_processor();
	const char *wanted = getenv("PICKET_CPU_ISA");
	for (size_t i = 0; wanted && i < PK_ARRAY_LEN(names); i++) {
		if (strcmp(wanted, names[i]) == 0 && (enum pk_isa)i < isa)
			return (enum pk_isa)i;
	}
	return isa;
}

enum pk_isa pk_isa(void)
{
	static _Atomic int known; // 1 + the answer
	int isa = atomic_load_explicit(&known, memory_order_relaxed);
	if (!isa) {
		isa = 1 + (int)find();
		atomic_store_explicit(&known, isa, memory_order_relaxed);
	}
	return (enum pk_isa)(isa - 1);
}
