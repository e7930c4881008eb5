// SPDX-License-Identifier: Apache-2.0
// Integer convolution without unfolding: how a band of the input is laid out in quads of bytes, how
// weights are packed, and the entry points per instruction set.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/quant.h"

// A cell is a quad of bytes: the same place in four input channels, or, where a group has one input
// channel, four taps that stand side by side. Bytes are 0..255 (i8: 128 more). A band of output
// rows reads a band of the input in which each quad of taps is a constant offset and successive
// output columns are successive cells: padded, and split in phases by the stride. Output column v
// of a band is row * pitch + x; those with x beyond the output's width are computed and dropped.
struct pk_qconv_direct {
	struct pk_window geom;
	struct pk_quant quant;
	int64_t c, m;    // input and output channels of a group
	bool fold_taps;  // quads of taps, not of channels
	int64_t n_chans; // quads of channels
	int64_t n_quads; // of channels and taps: length of a sum
	int64_t band_rows, phase_rows, pitch;
	int64_t plane;    // cells of one phase of one quad of channels
	bool dense;       // the input's planes have that layout already
	int64_t n_cells;  // of a band, with slack for a tile's overhang
	int32_t *offsets; // of the quads, offsets_mask + 1 (a power of two) numbers
	uint32_t offsets_mask;
};

// Rows of output channels that one panel of weights holds: of many channels, of one.
#define PK_QCONV_PANEL 4
// Columns that are finished together; a multiple of every tile's.
#define PK_QCONV_CHUNK 256

// A panel of weights, rows of them a quad. Where it is proved, u8 * i8 sums of the halves of a quad,
// or of the halves of two, never leave i16:
//   n_doubles of { uint32_t quads[2]; int8_t w[2][rows][4]; },
//   n_singles of { uint32_t quads[rows]; int8_t w[rows][4]; }: one of its own for each row.
// Else (all counts 0) quad after quad of int16_t w[2][rows][2]: bytes 0 and 2, then 1 and 3.
struct pk_qconv_panel {
	uint32_t n_doubles, n_singles;
	uint32_t pad[14];
};
static inline int64_t pk_qconv_panel_bytes(int64_t n_quads, int64_t rows)
{
	return (int64_t)sizeof(struct pk_qconv_panel) + n_quads * (8 + 8 * rows);
}

static inline int64_t pk_qconv_rows(const struct pk_qconv_direct *s)
{
	return s->m == 1 ? 1 : PK_QCONV_PANEL;
}
static inline int64_t pk_qconv_n_panels(const struct pk_qconv_direct *s)
{
	return (s->m + pk_qconv_rows(s) - 1) / pk_qconv_rows(s);
}
// Packed weights: biases (less what the zero points of x add) of every panel row, then panels.
static inline int64_t pk_qconv_bias_bytes(const struct pk_qconv_direct *s)
{
	int64_t n = s->geom.group * pk_qconv_n_panels(s) * pk_qconv_rows(s);
	return (n * 4 + 63) / 64 * 64;
}

// Fills a panel from rows x n_quads x 4 weights (each within +-255): the shorter of both forms.
void pk_qconv_pack_panel(const int16_t *weights, int64_t n_quads, int64_t rows, void *panel);

// Workspace in bytes: cells, then one row of cells, then sums, then a row of bytes.
static inline int64_t pk_qconv_row_cells(const struct pk_qconv_direct *s)
{
	return (s->pitch + 4 * s->geom.dilation[2]) * s->geom.stride[2] + 64;
}

void pk_qconv_direct_run_plain(const struct pk_cpu_call *call);
#if defined(__x86_64__)
void pk_qconv_direct_run_avx2(const struct pk_cpu_call *call);
#endif
