// SPDX-License-Identifier: Apache-2.0
// What the faster convolutions share: geometry made once at load, and the entry points per ISA.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/tile.h"

// The input of one group is laid out so that each kernel tap is a constant offset and consecutive
// output columns are consecutive floats: padded, and split in stride_h x stride_w phases (cells of
// equal coordinate modulo the stride). Output column v = row * pitch + x; pitch may exceed the
// output's width, then columns x >= width are computed and dropped.
struct pk_conv_fast {
	struct pk_window geom;
	int64_t c, m; // input and output channels of a group
	int64_t k;    // c * kernel cells: length of a sum
	bool has_bias;
	int64_t residual; // PK_RESIDUAL_*
	enum pk_fn act;
	float alpha, beta;

	bool in_place;           // the input has that layout already (1x1, stride 1, no padding)
	int64_t rows, row_pitch; // of one phase plane
	int64_t n_source;        // floats of the laid out group, slack for whole tiles included
	int64_t *offsets;        // of the k taps in the layout
	int64_t pitch, n_columns;
};

// Floats that a tile may read beyond the last column.
#define PK_CONV_SLACK 64

// Row state for a tile of that many columns; offsets NULL. False: not a node for these kernels.
bool pk_conv_fast_init(struct pk_conv_fast *s, const struct pk_node *node, int tile_columns);

// Lays one group of one picture out (n_source floats).
void pk_conv_fast_lay_out(const struct pk_conv_fast *s, const float *x, float *out);

// Floats of a finished block: scratch of conv_direct, the first part of the others' workspace.
#define PK_CONV_BLOCK_FLOATS (PK_TILE_MAX_ROWS * PK_TILE_BLOCK_COLUMNS)
// conv_gemm: tiles of columns that are unfolded together.
int64_t pk_conv_gemm_columns(const struct pk_conv_fast *s, int tile_columns);

void pk_conv_direct_run_plain(const struct pk_cpu_call *call);
void pk_conv_gemm_run_plain(const struct pk_cpu_call *call);
void pk_conv_depthwise_run_plain(const struct pk_cpu_call *call);
void pk_conv_transpose_run_plain(const struct pk_cpu_call *call);
#if defined(__x86_64__)
void pk_conv_direct_run_avx2(const struct pk_cpu_call *call);
void pk_conv_gemm_run_avx2(const struct pk_cpu_call *call);
void pk_conv_depthwise_run_avx2(const struct pk_cpu_call *call);
void pk_conv_transpose_run_avx2(const struct pk_cpu_call *call);
#endif
