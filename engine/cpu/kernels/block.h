// SPDX-License-Identifier: Apache-2.0
// Kernels on pictures in blocks of channels (engine/ir/layout.h): a block is as wide as a vector
// register. Geometry is made once at load; what runs is compiled per instruction set (block_*.inc).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/check.h"

// An instruction set's row functions take vectors of so many lanes.
#define PK_BLOCK_LANES_PLAIN  4
#define PK_BLOCK_LANES_AVX2   8
#define PK_BLOCK_LANES_AVX512 16

// The block of this processor's fastest rows.
int pk_block_preferred(void);

// What is done to sums on their way out: clamp((sum + bias) [+ residual]), then another function,
// then the residual.
struct pk_block_epilogue {
	int64_t residual; // PK_RESIDUAL_*
	float low, high;
	enum pk_fn act; // beyond clamping; PK_FN_NONE
	float alpha, beta;
};

// Sums are made for tiles of out_group blocks of output channels by some neighbouring output
// pixels, over taps: places in the source relative to a pixel's first one. A tap stands for a whole
// block of input channels (lanes weights rows), the last ones for tail_lanes of it; or, when the
// source is plain (the first convolution), for one channel.
struct pk_block_conv {
	struct pk_window geom;
	int64_t c, m;                  // input and output channels of a group
	int64_t in_blocks, out_blocks; // of a group
	struct pk_block_epilogue epilogue;

	bool plain;        // source is plain: one float a pixel
	bool copied;       // rows are copied into scratch with their padding, band after band
	bool flat;         // the picture is one long row
	int64_t out_rows, out_cols;
	int64_t band_rows; // output rows of a band; flat: output columns
	int64_t n_bands;
	int64_t pitch, plane;     // of the source, in pixels: a row, a block
	int64_t copied_rows;      // of the source in scratch
	int64_t step, row_step;   // floats in the source from one output pixel, row to the next
	int64_t n_taps, n_tail_taps;
	int tail_lanes;
	int64_t *offsets; // of the taps, floats
	int64_t weight_floats; // of a group
};

// Blocks of output channels of group number idx (of n_blocks) start here; 1..3 blocks each.
static inline int64_t pk_block_n_groups(int64_t n_blocks)
{
	return n_blocks > 1 ? n_blocks / 2 : 1;
}
static inline int64_t pk_block_group_first(int64_t n_blocks, int64_t idx)
{
	return idx == pk_block_n_groups(n_blocks) ? n_blocks : idx * 2;
}

// Winograd's F(4x4,3x3): 36 products of [tiles x channels] matrices.
#define PK_WINO_POINTS 36
struct pk_block_wino {
	struct pk_window geom;
	int64_t c, m, in_blocks, out_blocks;
	struct pk_block_epilogue epilogue;
	int64_t tile_rows, tile_cols; // of 4x4 output pixels
	int64_t n_tiles, chunk_tiles; // of a picture; worked on at a time
	int64_t n_taps;               // whole blocks
	int tail_lanes;
	int64_t *offsets;
	int64_t v_stride, m_stride;   // floats from one of the 36 matrices to the next
	int64_t weight_floats;
};

struct pk_block_depthwise {
	struct pk_window geom;
	int64_t blocks;
	struct pk_block_epilogue epilogue;
};

struct pk_block_pool {
	struct pk_window geom;
	int64_t blocks;
	bool average;
	float *inverse_rows, *inverse_columns; // of the cells counted per output coordinate
};

// Output index i mixes idx[i * n + k] by weights[i * n + k], k < n.
struct pk_block_taps {
	int64_t n;
	int64_t *idx;
	float *weights;
};
struct pk_block_resize {
	int64_t n_blocks; // of all pictures
	int64_t in[2], out[2];
	struct pk_block_taps down, across;
};

struct pk_block_reduce {
	int64_t batch, blocks, c, plane;
	enum pk_fn fn;
	float scale;
	bool blocked_out;
};

// Operands: full pictures, one pixel for all (per channel), or one number.
struct pk_block_binary {
	int64_t batch, blocks, plane;
	enum pk_fn fn;
	bool prelu;
	bool number[2];
	int64_t picture_step[2], block_step[2], pixel_step[2]; // floats
};

struct pk_block_reorder {
	int64_t batch, blocks, c, plane;
	bool to_blocked;
};

#define PK_BLOCK_RUNS(isa)                                                                         \
	void pk_block_conv_run_##isa(const struct pk_cpu_call *call);                              \
	void pk_block_wino_run_##isa(const struct pk_cpu_call *call);                              \
	void pk_block_depthwise_run_##isa(const struct pk_cpu_call *call);                         \
	void pk_block_pool_run_##isa(const struct pk_cpu_call *call);                              \
	void pk_block_resize_run_##isa(const struct pk_cpu_call *call);                            \
	void pk_block_reduce_run_##isa(const struct pk_cpu_call *call);                            \
	void pk_block_binary_run_##isa(const struct pk_cpu_call *call);                            \
	void pk_block_reorder_run_##isa(const struct pk_cpu_call *call);

PK_BLOCK_RUNS(plain)
#if defined(__x86_64__)
PK_BLOCK_RUNS(avx2)
PK_BLOCK_RUNS(avx512)
#endif

static inline void *pk_block_scratch(const struct pk_cpu_call *call, int thread)
{
	(void)thread;
	return call->workspace;
}
static inline void pk_block_each_chunk(const struct pk_cpu_call *call, int64_t n,
	void (*fn)(void *ctx, int64_t chunk, int thread))
{
	for (int64_t i = 0; i < n; i++)
		fn((void *)(uintptr_t)call, i, 0);
}

static inline int64_t pk_block_count(int64_t channels, int lanes)
{
	return (channels + lanes - 1) / lanes;
}
