// SPDX-License-Identifier: Apache-2.0
// How matrix products are cut into register tiles.
#include "engine/cpu/kernels/tile.h"

#include <string.h>

#include "engine/isa.h"

void pk_tile_pack_rows(const float *a, int64_t stride_m, int64_t stride_k, int64_t m, int64_t k,
	int max_rows, float *out)
{
	int64_t n_panels = pk_tile_n_panels(m, max_rows);
	for (int64_t panel = 0; panel < n_panels; panel++) {
		int64_t first = pk_tile_panel_row(m, n_panels, panel);
		int64_t end = pk_tile_panel_row(m, n_panels, panel + 1);
		for (int64_t i = 0; i < k; i++) {
			// memcpy: constants of a model file may lie misaligned
			for (int64_t row = first; row < end; row++)
				memcpy(out++, (const char *)a + (row * stride_m + i * stride_k) * 4,
					sizeof(float));
		}
	}
}

bool pk_tile_has_avx2(void)
{
	return pk_isa_has_avx2();
}

bool pk_tile_has_avx512(void)
{
#if defined(__x86_64__)
	return pk_isa() >= PK_ISA_AVX512;
#else
	return false;
#endif
}
