// SPDX-License-Identifier: Apache-2.0
// What the faster matrix products share, and their entry points per ISA.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/gemm.h"
#include "engine/cpu/kernels/tile.h"

struct pk_gemm_fast {
	struct pk_gemm g; // batch folded into the rows where B is one matrix
	bool packed;      // B is constant and packed in tiles of columns: [tile][k][columns]
	float alpha, beta;
};

// Packs columns [first, first + columns) of B, zeros beyond its end; b may lie misaligned.
void pk_gemm_fast_pack_tile(
	const struct pk_gemm *g, const void *b, int64_t first, int columns, float *out);

void pk_gemm_run_plain(const struct pk_cpu_call *call);
#if defined(__x86_64__)
void pk_gemm_run_avx2(const struct pk_cpu_call *call);
#endif
