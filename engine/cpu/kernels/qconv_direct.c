// SPDX-License-Identifier: Apache-2.0
// Rows of the integer convolution on laid out bands: geometry, packing, what they take.
#include "engine/cpu/kernels/qconv_direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/tile.h"

// Cells of a band: it stays in the second level cache beside the weights.
#define BAND_CELLS (32 * 1024)
// Bytes of tiles that are unfolded together, likewise.
#define TILES_BYTES (96 * 1024)
// Cells that copies may read beyond the last one.
#define SLACK 64
// A row of more cells than this is no picture's.
#define PITCH_MAX (1 << 20)
#define QUADS_MAX (1 << 20)

// Taps along the width that a cell holds, and cells that the width takes.
static int64_t taps_per_cell(const struct pk_qconv_direct *s)
{
	return s->fold_taps ? 4 : 1;
}
static int64_t width_cells(const struct pk_qconv_direct *s)
{
	return (s->geom.kernel[2] + taps_per_cell(s) - 1) / taps_per_cell(s);
}

static void init_tiles(struct pk_qconv_direct *s)
{
	int64_t bytes = s->n_quads * PK_QCONV_TILE * 4;
	s->n_tiles = PK_MIN(PK_MAX(TILES_BYTES / bytes, 1), PK_QCONV_CHUNK / PK_QCONV_TILE);
	// Packed weights name quads; a damaged file may name what is none: the mask keeps it
	// inside.
	uint32_t size = 1;
	while (size < s->n_quads)
		size *= 2;
	s->mask = size - 1;
}

static void init_band(struct pk_qconv_direct *s)
{
	const struct pk_window *g = &s->geom;
	int64_t last_h = (g->kernel[1] - 1) * g->dilation[1];
	int64_t last_w = (width_cells(s) - 1) * taps_per_cell(s) * g->dilation[2];
	int64_t phases = g->stride[1] * g->stride[2];
	s->pitch = g->out[2] + last_w / g->stride[2];
	int64_t halo = last_h / g->stride[1];
	int64_t row = s->n_chans * phases * s->pitch;
	s->band_rows = PK_MIN(PK_MAX(BAND_CELLS / row - halo, 1), g->out[1]);
	// Not a short band at the end: bands of nearly equal height.
	int64_t n_bands = (g->out[1] + s->band_rows - 1) / s->band_rows;
	s->band_rows = (g->out[1] + n_bands - 1) / n_bands;
	s->phase_rows = s->band_rows + halo;
	// An odd number of cache lines, so that quads of channels do not share their sets.
	s->plane = (s->phase_rows * s->pitch + 15) / 16;
	s->plane = (s->plane | 1) * 16;
	s->n_cells = s->n_chans * phases * s->plane + s->pitch + SLACK;
	s->dense = phases == 1 && s->n_quads == s->n_chans && !g->pad[1] && !g->pad[2] &&
		   g->in[1] == g->out[1] && g->in[2] == g->out[2] && !s->fold_taps && s->m > 1;
	if (s->dense) {
		s->band_rows = g->out[1];
		s->n_cells = 0;
	}
}

static bool plane_ok(const struct pk_window *g)
{
	return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && g->pad[0] == 0 &&
	       g->out_plane > 0 && g->in_plane > 0 && g->pad[1] >= 0 && g->pad[2] >= 0;
}

// Whether the taps' reach and the planes are of a size that this arithmetic was made for.
static bool size_ok(const struct pk_qconv_direct *s)
{
	const struct pk_window *g = &s->geom;
	int64_t reach_h, reach_w, cells;
	if (s->n_quads < 1 || pk_mul_overflow(g->kernel[1], g->dilation[1], &reach_h) ||
		pk_mul_overflow(g->kernel[2] + 3, g->dilation[2], &reach_w) || g->stride[1] > 16 ||
		g->stride[2] > 16 || s->n_quads > QUADS_MAX)
		return false;
	return reach_h < PITCH_MAX && reach_w < PITCH_MAX && g->out[2] < PITCH_MAX &&
	       g->in[2] < PITCH_MAX &&
	       !pk_mul_overflow(s->n_quads, g->stride[1] * g->stride[2] * PITCH_MAX, &cells);
}

static bool init(struct pk_qconv_direct *s, const struct pk_node *node)
{
	memset(s, 0, sizeof(*s));
	if (!pk_window_init(&s->geom, node) || !pk_quant_init(&s->quant, node, s->geom.out_c))
		return false;
	for (int i = PK_QUANT_W; i < node->n_inputs; i++)
		if (node->inputs[i] && i != PK_QUANT_MULT && i < PK_QUANT_Y_SCALE &&
			!node->inputs[i]->data)
			return false;
	s->c = s->geom.in_c / s->geom.group;
	s->m = s->geom.out_c / s->geom.group;
	s->fold_taps = s->c == 1;
	s->n_chans = (s->c + 3) / 4;
	int64_t plane;
	if (pk_mul_overflow(s->geom.kernel[1], width_cells(s), &plane) || plane > QUADS_MAX ||
		s->n_chans > QUADS_MAX)
		return false;
	s->n_quads = s->n_chans * plane;
	if (!plane_ok(&s->geom) || s->c < 1 || s->m < 1 || !size_ok(s))
		return false;
	init_tiles(s);
	init_band(s);
	return s->n_cells < INT32_MAX / 4;
}

static bool supports(const struct pk_node *node)
{
	struct pk_qconv_direct s;
	return init(&s, node);
}

static size_t workspace(const struct pk_node *node)
{
	struct pk_qconv_direct s;
	init(&s, node);
	return (size_t)(s.n_cells + pk_qconv_tile_cells(&s) + PK_QCONV_PANEL * PK_QCONV_CHUNK +
			2 * pk_qconv_row_cells(&s)) *
	       sizeof(uint32_t);
}

static size_t pack_bytes(const struct pk_node *node)
{
	struct pk_qconv_direct s;
	init(&s, node);
	return (size_t)(pk_qconv_bias_bytes(&s) +
			s.geom.group * pk_qconv_n_panels(&s) *
				pk_qconv_panel_bytes(s.n_quads, pk_qconv_rows(&s)));
}

// Where a node's constants lie, for packing.
struct source {
	const struct pk_qconv_direct *s;
	const struct pk_node *node;
};

static int32_t constant_of(const struct source *from, enum pk_quant_operand idx, int64_t i)
{
	const struct pk_value *value = pk_check_input(from->node, idx);
	if (!value)
		return 0;
	return idx == PK_QUANT_BIAS ? ((const int32_t *)value->data)[i]
				    : pk_quant_get(value->dtype, value->data, i);
}

// The weights of output channel ch, less their zero point, as n_quads quads. Their sum.
static int32_t gather_row(const struct source *from, int64_t ch, int16_t *out)
{
	const struct pk_qconv_direct *s = from->s;
	const struct pk_window *g = &s->geom;
	int32_t sum = 0, zero = constant_of(from, PK_QUANT_W_ZERO, ch * s->quant.w_zero_step);
	int64_t wide = width_cells(s), per = taps_per_cell(s);
	memset(out, 0, (size_t)s->n_quads * 4 * sizeof(*out));
	for (int64_t c = 0; c < s->c; c++) {
		for (int64_t k = 0; k < g->kernel_plane; k++) {
			int64_t kh = k / g->kernel[2], kw = k % g->kernel[2];
			int64_t quad = (c / 4 * g->kernel[1] + kh) * wide + kw / per;
			int64_t lane = s->fold_taps ? kw % 4 : c % 4;
			int32_t w = constant_of(from, PK_QUANT_W,
					    (ch * s->c + c) * g->kernel_plane + k) -
				    zero;
			out[quad * 4 + lane] = (int16_t)w;
			sum += w;
		}
	}
	return sum;
}

// Padded cells hold the zero point: all that it adds is taken off in the bias. (Sums wrap around.)
static void pack_rows(
	const struct source *from, int64_t first, int64_t n, int16_t *weights, int32_t *bias)
{
	const struct pk_qconv_direct *s = from->s;
	int32_t x_zero = constant_of(from, PK_QUANT_X_ZERO, 0) + (s->quant.x == PK_I8 ? 128 : 0);
	for (int64_t r = 0; r < n; r++) {
		int32_t sum = gather_row(from, first + r, weights + r * s->n_quads * 4);
		bias[r] = (int32_t)((uint32_t)constant_of(from, PK_QUANT_BIAS, first + r) -
				    (uint32_t)sum * (uint32_t)x_zero);
	}
}

static void pack(const struct pk_node *node, void *out)
{
	struct pk_qconv_direct s;
	init(&s, node);
	const struct source from = {&s, node};
	int64_t rows = pk_qconv_rows(&s), n_panels = pk_qconv_n_panels(&s);
	int32_t *bias = out;
	char *panel = (char *)out + pk_qconv_bias_bytes(&s);
	memset(out, 0, pack_bytes(node));
	int16_t *weights = malloc((size_t)(rows * s.n_quads) * 4 * sizeof(*weights));
	for (int64_t i = 0; weights && i < s.geom.group * n_panels; i++, bias += rows) {
		int64_t m = i % n_panels * rows;
		memset(weights, 0, (size_t)(rows * s.n_quads) * 4 * sizeof(*weights));
		pack_rows(&from, i / n_panels * s.m + m, PK_MIN(rows, s.m - m), weights, bias);
		pk_qconv_pack_panel(weights, s.n_quads, rows, panel);
		panel += pk_qconv_panel_bytes(s.n_quads, rows);
	}
	free(weights);
}

// Cells from a column's own place to those of every quad.
static void init_offsets(struct pk_qconv_direct *s)
{
	const struct pk_window *g = &s->geom;
	int64_t wide = width_cells(s), q = 0;
	for (int64_t c = 0; c < s->n_chans; c++) {
		for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
			for (int64_t kw = 0; kw < wide; kw++, q++) {
				int64_t h = kh * g->dilation[1];
				int64_t w = kw * taps_per_cell(s) * g->dilation[2];
				int64_t phase =
					(c * g->stride[1] + h % g->stride[1]) * g->stride[2] +
					w % g->stride[2];
				s->offsets[q] =
					(int32_t)(phase * s->plane + h / g->stride[1] * s->pitch +
						  w / g->stride[2]);
			}
		}
	}
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_qconv_direct *s = pk_arena_new(arena, struct pk_qconv_direct);
	if (!s)
		return -ENOMEM;
	init(s, node);
	s->offsets = pk_arena_array(arena, (size_t)s->n_quads, sizeof(*s->offsets));
	if (!s->offsets)
		return -ENOMEM;
	init_offsets(s);
	*state = s;
	return 0;
}

#define ROW(isa, suffix, rank_value)                                                               \
	const struct pk_cpu_kernel pk_kernel_qconv_direct##suffix = {                              \
		.op = PK_OP_QCONV,                                                                 \
		.name = "qconv_direct" #suffix,                                                    \
		.rank = rank_value,                                                                \
		.supports = supports_##isa,                                                        \
		.workspace = workspace,                                                            \
		.pack_bytes = pack_bytes,                                                          \
		.pack = pack,                                                                      \
		.setup = setup,                                                                    \
		.run = pk_qconv_direct_run_##isa,                                                  \
	};

static bool supports_plain(const struct pk_node *node)
{
	return supports(node);
}
ROW(plain, , 10)

#if defined(__x86_64__)
static bool supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && supports(node);
}
ROW(avx2, _avx2, 110)
#endif
