// SPDX-License-Identifier: Apache-2.0
// The register tile of all products, for the instruction set that vec.h is compiled for.
#pragma once

#include "engine/cpu/kernels/tile.h"
#include "engine/cpu/kernels/vec.h"

// t[r][j] = sum over i < k of a[i][r] * b_i[j], for r < rows and j < the tile's columns. b_i is
// b + offsets[i], or b + i * step when offsets is NULL; all its columns are read. a is one packed
// panel.
struct pk_tile_operands {
	const float *a, *b;
	const int64_t *offsets;
	int64_t step, k;
	float *t;
	int64_t pitch; // of t, floats
};

PK_VEC_FN void pk_tile_body(const struct pk_tile_operands *o, const int rows, const bool indirect)
{
	pk_vec sum[PK_TILE_ROWS][PK_TILE_VECS];
	const float *a = o->a, *b = o->b;
	PK_VEC_UNROLL
	for (int r = 0; r < rows; r++) {
		PK_VEC_UNROLL
		for (int j = 0; j < PK_TILE_VECS; j++)
			sum[r][j] = (pk_vec){0};
	}
	for (int64_t i = 0; i < o->k; i++) {
		const float *row = indirect ? b + o->offsets[i] : b;
		pk_vec v[PK_TILE_VECS];
		PK_VEC_UNROLL
		for (int j = 0; j < PK_TILE_VECS; j++)
			v[j] = pk_vec_load(row + j * PK_VEC_LANES);
		PK_VEC_UNROLL
		for (int r = 0; r < rows; r++) {
			pk_vec w = pk_vec_splat(a[r]);
			PK_VEC_UNROLL
			for (int j = 0; j < PK_TILE_VECS; j++)
				sum[r][j] = pk_vec_fma(w, v[j], sum[r][j]);
		}
		a += rows;
		b = indirect ? b : b + o->step;
	}
	PK_VEC_UNROLL
	for (int r = 0; r < rows; r++) {
		PK_VEC_UNROLL
		for (int j = 0; j < PK_TILE_VECS; j++)
			pk_vec_store(o->t + r * o->pitch + j * PK_VEC_LANES, sum[r][j]);
	}
}

#define PK_TILE_FN(rows)                                                                           \
	static void pk_tile_##rows(const struct pk_tile_operands *o)                               \
	{                                                                                          \
		if (o->offsets)                                                                    \
			pk_tile_body(o, rows, true);                                               \
		else                                                                               \
			pk_tile_body(o, rows, false);                                              \
	}
PK_TILE_FN(1)
PK_TILE_FN(2)
PK_TILE_FN(3)
PK_TILE_FN(4)
#if PK_TILE_ROWS > 4
PK_TILE_FN(5)
PK_TILE_FN(6)
#endif

// By number of rows.
static void (*const pk_tile_run[PK_TILE_MAX_ROWS + 1])(const struct pk_tile_operands *) = {
	NULL,
	pk_tile_1,
	pk_tile_2,
	pk_tile_3,
	pk_tile_4,
#if PK_TILE_ROWS > 4
	pk_tile_5,
	pk_tile_6,
#endif
};
