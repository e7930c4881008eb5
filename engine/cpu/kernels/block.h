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

// A cell of the window: floats from where the window begins, and its number.
struct pk_block_tap {
	int64_t x, cell;
};

// Output coordinates along one axis that see the same cells of the window inside the picture.
struct pk_block_span {
	int64_t first, end;
	int64_t k_first, k_end;
};
struct pk_block_spans {
	struct pk_block_span *items;
	int64_t n;
};

// Sums are made for tiles of some blocks of output channels by neighbouring output pixels, over
// planes of the source (blocks of channels; when the source is plain: channels) and the taps that
// are inside the picture: nothing is padded.
struct pk_block_conv {
	struct pk_window geom;
	int64_t c, m;       // input and output channels of a group
	int64_t out_blocks; // of a group
	struct pk_block_epilogue epilogue;

	bool plain;       // the source is: one float a pixel
	bool flat;        // 1x1, stride 1: the picture is one long row
	int64_t planes;   // of the source, of a group
	int64_t n_blocks; // whole planes
	int tail_lanes;   // of one plane more, or 0
	int64_t planes_at_once;
	int64_t pixel_floats, row_floats, plane_floats; // of the source
	int64_t step;             // floats in the source from one output pixel to the next
	int64_t n_bands, n_parts; // chunks of rows (flat: pixels), and of the output blocks
	int64_t live_first[3], live_end[3]; // cells of the window that are inside for any output
	int64_t n_cells;                    // of those
	struct pk_block_spans down, across;
	const struct pk_block_tap **taps; // [down][across]
	int64_t weight_floats;            // of a group
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
	int64_t n_blocks;             // whole input blocks
	int tail_lanes;               // of one more, or 0
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

static inline int64_t pk_block_count(int64_t channels, int lanes)
{
	return (channels + lanes - 1) / lanes;
}
