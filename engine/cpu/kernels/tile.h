// SPDX-License-Identifier: Apache-2.0
// How matrix products are cut into register tiles: shapes per instruction set, panels of rows.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// At most rows x columns sums in registers; columns are consecutive floats.
struct pk_tile_shape {
	int rows, columns;
};

#define PK_TILE_AVX2 ((struct pk_tile_shape){.rows = 6, .columns = 16})
#if defined(__aarch64__)
#define PK_TILE_PLAIN ((struct pk_tile_shape){.rows = 6, .columns = 16})
#else
#define PK_TILE_PLAIN ((struct pk_tile_shape){.rows = 4, .columns = 8})
#endif
#define PK_TILE_MAX_ROWS      6
#define PK_TILE_BLOCK_COLUMNS 256 // finished together: a multiple of every shape's columns

// m rows in panels of nearly equal height, none above the shape's: number, and first row of one.
static inline int64_t pk_tile_n_panels(int64_t m, int rows)
{
	return (m + rows - 1) / rows;
}
static inline int64_t pk_tile_panel_row(int64_t m, int64_t n_panels, int64_t panel)
{
	return panel * m / n_panels;
}

// Packs rows of a[m][k] (strides in floats): panel after panel, within a panel k after k. m * k
// floats.
void pk_tile_pack_rows(const float *a, int64_t stride_m, int64_t stride_k, int64_t m, int64_t k,
	int max_rows, float *out);

// The instruction sets of this processor that kernels ask for.
bool pk_tile_has_avx2(void);   // and FMA
bool pk_tile_has_avx512(void); // the foundation
