// SPDX-License-Identifier: Apache-2.0
// Convolution rows on blocked pictures: what they accept, how weights are packed, geometry.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/block.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/scalar.h"
#include "engine/cpu/kernels/tile.h"

#define MAX_PLAIN_CHANNELS 4           // of the source of a first convolution
#define BAND_FLOATS        (64 * 1024) // of source rows that are worked on at a time
#define LEAST_PIXELS       48          // of a flat band
#define LEAST_CHUNKS       8
#define PLANE_LANES        256 // source channels x cells: their weights stay in the L1 cache
#define MAX_KERNEL         16  // cells along an axis: bounds the lists of taps
#define MAX_WINO_BYTES     (10u << 20)  // transformed weights: above, streaming them costs more
#define WINO_FLOATS        (160 * 1024) // of a chunk's matrices
#define WINO_LEAST_USE     0.5          // pixels used of those that tiles compute
#define WINO_LEAST_C       8

int pk_block_preferred(void)
{
	if (pk_tile_has_avx512())
		return PK_BLOCK_LANES_AVX512;
	return pk_tile_has_avx2() ? PK_BLOCK_LANES_AVX2 : PK_BLOCK_LANES_PLAIN;
}

static void set_clamp(struct pk_block_epilogue *e, float low, float high)
{
	e->low = low;
	e->high = high;
	e->act = PK_FN_NONE;
}

static void init_epilogue(struct pk_block_epilogue *e, const struct pk_node *node)
{
	*e = (struct pk_block_epilogue){
		.residual = pk_node_int(node, PK_ATTR_RESIDUAL),
		.low = -INFINITY,
		.high = INFINITY,
		.act = pk_node_fn(node, PK_ATTR_ACT),
		.alpha = (float)pk_node_float(node, PK_ATTR_ALPHA),
		.beta = (float)pk_node_float(node, PK_ATTR_BETA),
	};
	if (e->act == PK_FN_RELU)
		set_clamp(e, 0, INFINITY);
	else if (e->act == PK_FN_CLIP)
		set_clamp(e, e->alpha, e->beta);
	if (e->act == PK_FN_NONE && e->residual == PK_RESIDUAL_AFTER_ACT && e->low == -INFINITY &&
		e->high == INFINITY)
		e->residual = PK_RESIDUAL_BEFORE_ACT; // the same
}

// The picture comes in blocked (plain: it does not), and goes out blocked.
static bool layout_fits(const struct pk_node *node, int lanes, bool plain)
{
	const struct pk_value *residual = pk_check_input(node, 3);
	return node->inputs[0]->shape.rank == 4 && node->outputs[0]->block == lanes &&
	       node->inputs[0]->block == (plain ? 0 : lanes) &&
	       (!residual || residual->block == lanes);
}

// f32, constant weights and bias, known functions, nothing empty.
static bool conv_fits(const struct pk_node *node, struct pk_window *g, int lanes, bool plain)
{
	const struct pk_value *w = pk_check_input(node, 1), *bias = pk_check_input(node, 2);
	if (!w || !w->data || (bias && !bias->data) || !pk_check_all_dtype(node, PK_F32) ||
		!layout_fits(node, lanes, plain) || !pk_check_conv_bias(node) ||
		!pk_check_conv_residual(node) || !pk_window_init(g, node))
		return false;
	return pk_shape_elements(&node->inputs[0]->shape) > 0 &&
	       pk_shape_elements(&node->outputs[0]->shape) > 0 && g->kernel_plane > 0 &&
	       pk_scalar_unary_fn(pk_node_fn(node, PK_ATTR_ACT));
}

static float weight(const struct pk_node *node, int64_t idx)
{
	float v;
	memcpy(&v, (const char *)node->inputs[1]->data + idx * (int64_t)sizeof(v), sizeof(v));
	return v;
}

// Each group's channels padded to whole blocks; returns what follows.
static float *pack_bias(
	const struct pk_node *node, const struct pk_window *g, int lanes, float *out)
{
	const struct pk_value *bias = pk_check_input(node, 2);
	int64_t m = g->out_c / g->group, padded = pk_block_count(m, lanes) * lanes;
	memset(out, 0, (size_t)(padded * g->group) * sizeof(*out));
	for (int64_t i = 0; bias && i < g->group; i++)
		memcpy(out + i * padded, (const char *)bias->data + i * m * (int64_t)sizeof(float),
			(size_t)m * sizeof(float));
	return out + padded * g->group;
}

static bool is_flat(const struct pk_window *g)
{
	return g->kernel_plane == 1 && g->stride[1] == 1 && g->stride[2] == 1 && g->pad[1] == 0 &&
	       g->pad[2] == 0 && g->in[1] == g->out[1] && g->in[2] == g->out[2];
}

// The cells of the window over output coordinate o that are inside.
static void find_span(const struct pk_window *g, int axis, int64_t o, struct pk_block_span *span)
{
	int64_t begin = o * g->stride[axis] - g->pad[axis], d = g->dilation[axis];
	int64_t first = begin < 0 ? (-begin + d - 1) / d : 0;
	int64_t end = begin < g->in[axis] ? (g->in[axis] - 1 - begin) / d + 1 : 0;
	span->k_first = PK_MIN(first, g->kernel[axis]);
	span->k_end = PK_MAX(PK_MIN(end, g->kernel[axis]), span->k_first);
	span->first = o;
	span->end = o + 1;
}

// What wide dilation keeps outside for every output has no weights: as o grows, windows leave cells
// at their end, then take in ones at their begin.
static void find_live(struct pk_block_conv *s)
{
	const struct pk_window *g = &s->geom;
	s->n_cells = 1;
	for (int axis = 1; axis < 3; axis++) {
		struct pk_block_span low, high;
		find_span(g, axis, 0, &high);
		find_span(g, axis, g->out[axis] - 1, &low);
		s->live_first[axis] = low.k_first;
		s->live_end[axis] = PK_MAX(high.k_end, low.k_first);
		s->n_cells *= s->live_end[axis] - s->live_first[axis];
	}
}

// Bands of rows (flat: pixels) whose source stays in the second-level cache while all output blocks
// pass over it; parts of the output blocks where there are few bands, so that threads come out
// even.
static void init_chunks(struct pk_block_conv *s)
{
	const struct pk_window *g = &s->geom;
	int64_t length = s->flat ? g->out_plane : g->out[1];
	int64_t row = s->flat ? s->pixel_floats : s->row_floats * g->stride[1];
	int64_t rows = PK_MAX(BAND_FLOATS / (row * s->planes), 1);
	int64_t least = s->flat ? LEAST_PIXELS : g->kernel[1];
	rows = PK_MIN(PK_MAX(rows, least), length);
	s->n_bands = (length + rows - 1) / rows;
	s->n_parts = PK_MIN(
		(LEAST_CHUNKS + s->n_bands - 1) / s->n_bands, pk_block_n_groups(s->out_blocks));
}

// The source's channels fit, and lists of taps stay short.
static bool window_fits(const struct pk_block_conv *s, int lanes)
{
	const struct pk_window *g = &s->geom;
	if (g->kernel[1] > MAX_KERNEL || g->kernel[2] > MAX_KERNEL)
		return false;
	if (s->plain)
		return g->group == 1 && s->c <= MAX_PLAIN_CHANNELS;
	return g->group == 1 || (s->c % lanes == 0 && s->m % lanes == 0);
}

static void init_source(struct pk_block_conv *s, int lanes)
{
	const struct pk_window *g = &s->geom;
	s->planes = s->plain ? s->c : pk_block_count(s->c, lanes);
	s->n_blocks = s->plain ? s->c : s->c / lanes;
	s->tail_lanes = s->plain ? 0 : (int)(s->c % lanes);
	s->pixel_floats = s->plain ? 1 : lanes;
	s->row_floats = g->in[2] * s->pixel_floats;
	s->plane_floats = g->in_plane * s->pixel_floats;
	s->step = g->stride[2] * s->pixel_floats;
	s->flat = !s->plain && is_flat(g);
}

static bool conv_init(struct pk_block_conv *s, const struct pk_node *node, int lanes)
{
	memset(s, 0, sizeof(*s));
	s->plain = node->inputs[0]->block == 0;
	if (!conv_fits(node, &s->geom, lanes, s->plain))
		return false;
	const struct pk_window *g = &s->geom;
	s->c = g->in_c / g->group;
	s->m = g->out_c / g->group;
	if (!window_fits(s, lanes))
		return false;
	s->out_blocks = pk_block_count(s->m, lanes);
	init_source(s, lanes);
	init_epilogue(&s->epilogue, node);
	init_chunks(s);
	find_live(s);
	s->planes_at_once = PLANE_LANES / PK_MAX(s->n_cells * s->pixel_floats, 1);
	s->planes_at_once = PK_MAX(s->planes_at_once, 1);
	int64_t row, all;
	if (pk_mul_overflow(s->out_blocks * lanes, s->c, &row) ||
		pk_mul_overflow(row, s->n_cells, &s->weight_floats) ||
		pk_mul_overflow(s->weight_floats, g->group, &all))
		return false;
	return all <= PK_MAX_ELEMENTS;
}

static bool conv_supports(const struct pk_node *node, int lanes)
{
	struct pk_block_conv s;
	return conv_init(&s, node, lanes);
}

static size_t conv_pack_bytes(const struct pk_node *node, int lanes)
{
	struct pk_block_conv s;
	conv_init(&s, node, lanes);
	return (size_t)(s.geom.group * (s.out_blocks * lanes + s.weight_floats)) * sizeof(float);
}

// Weights of one tap and input channel for some output blocks: lanes floats a block.
static float *pack_lane(const struct pk_node *node, const int64_t m[2], int64_t n, int64_t at,
	int64_t m_step, float *out)
{
	for (int64_t i = 0; i < n; i++)
		*out++ = m[0] + i < m[1] ? weight(node, (m[0] + i) * m_step + at) : 0;
	return out;
}

// In the order in which tiles read them: channels of a block together, tap after tap, block after
// block (plain: channel after channel).
static float *pack_group(const struct pk_node *node, const struct pk_block_conv *s, int lanes,
	const int64_t m[2], int64_t n, float *out)
{
	int64_t kernel = s->geom.kernel_plane, step = s->plain ? 1 : lanes;
	int64_t live_cols = s->live_end[2] - s->live_first[2];
	for (int64_t at = 0; at < pk_block_count(s->c, (int)step) * s->n_cells; at++) {
		int64_t c = at / s->n_cells * step, cell = at % s->n_cells;
		int64_t k = (s->live_first[1] + cell / live_cols) * s->geom.kernel[2] +
			    s->live_first[2] + cell % live_cols;
		for (int64_t i = c; i < PK_MIN(c + step, s->c); i++)
			out = pack_lane(node, m, n, i * kernel + k, s->c * kernel, out);
	}
	return out;
}

static void conv_pack(const struct pk_node *node, void *packed, int lanes)
{
	struct pk_block_conv s;
	conv_init(&s, node, lanes);
	float *out = pack_bias(node, &s.geom, lanes, packed);
	int64_t n_groups = pk_block_n_groups(s.out_blocks);
	for (int64_t group = 0; group < s.geom.group; group++) {
		for (int64_t i = 0; i < n_groups; i++) {
			int64_t first = pk_block_group_first(s.out_blocks, i);
			int64_t end = pk_block_group_first(s.out_blocks, i + 1);
			int64_t m[2] = {group * s.m + first * lanes, (group + 1) * s.m};
			out = pack_group(node, &s, lanes, m, (end - first) * lanes, out);
		}
	}
}

static int find_spans(
	struct pk_block_spans *spans, const struct pk_window *g, int axis, struct pk_arena *arena)
{
	spans->items = pk_arena_array(arena, (size_t)g->out[axis], sizeof(*spans->items));
	if (!spans->items)
		return -ENOMEM;
	for (int64_t o = 0; o < g->out[axis]; o++) {
		struct pk_block_span span;
		struct pk_block_span *last = spans->n ? &spans->items[spans->n - 1] : NULL;
		find_span(g, axis, o, &span);
		if (last && last->k_first == span.k_first && last->k_end == span.k_end)
			last->end = o + 1;
		else
			spans->items[spans->n++] = span;
	}
	return 0;
}

static struct pk_block_tap *make_taps(const struct pk_block_conv *s,
	const struct pk_block_span *down, const struct pk_block_span *across,
	struct pk_arena *arena)
{
	const struct pk_window *g = &s->geom;
	int64_t n = (down->k_end - down->k_first) * (across->k_end - across->k_first);
	struct pk_block_tap *taps = pk_arena_array(arena, (size_t)n + 1, sizeof(*taps));
	struct pk_block_tap *out = taps;
	for (int64_t i = down->k_first; taps && i < down->k_end; i++) {
		for (int64_t j = across->k_first; j < across->k_end; j++)
			*out++ = (struct pk_block_tap){
				.x = i * g->dilation[1] * s->row_floats +
				     j * g->dilation[2] * s->pixel_floats,
				.cell = (i - s->live_first[1]) *
						(s->live_end[2] - s->live_first[2]) +
					j - s->live_first[2],
			};
	}
	return taps;
}

static int conv_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_conv *s = pk_arena_new(arena, struct pk_block_conv);
	if (!s)
		return -ENOMEM;
	conv_init(s, node, lanes);
	if (find_spans(&s->down, &s->geom, 1, arena) < 0 ||
		find_spans(&s->across, &s->geom, 2, arena) < 0)
		return -ENOMEM;
	int64_t n = s->down.n * s->across.n;
	s->taps = pk_arena_array(arena, (size_t)n, sizeof(*s->taps));
	for (int64_t i = 0; s->taps && i < n; i++) {
		s->taps[i] = make_taps(s, &s->down.items[i / s->across.n],
			&s->across.items[i % s->across.n], arena);
		if (!s->taps[i])
			return -ENOMEM;
	}
	*state = s;
	return s->taps ? 0 : -ENOMEM;
}

static bool wino_init(struct pk_block_wino *s, const struct pk_node *node, int lanes)
{
	memset(s, 0, sizeof(*s));
	if (!conv_fits(node, &s->geom, lanes, false))
		return false;
	const struct pk_window *g = &s->geom;
	for (int i = 1; i < 3; i++) {
		if (g->kernel[i] != 3 || g->stride[i] != 1 || g->dilation[i] != 1)
			return false;
	}
	s->c = g->in_c;
	s->m = g->out_c;
	s->in_blocks = pk_block_count(s->c, lanes);
	s->out_blocks = pk_block_count(s->m, lanes);
	s->tile_rows = (g->out[1] + 3) / 4;
	s->tile_cols = (g->out[2] + 3) / 4;
	s->n_tiles = s->tile_rows * s->tile_cols;
	s->weight_floats = PK_WINO_POINTS * s->out_blocks * lanes * s->c;
	if (g->group != 1 || s->c < WINO_LEAST_C || s->m < WINO_LEAST_C ||
		s->c > PK_MAX_ELEMENTS / (PK_WINO_POINTS * (s->m + lanes)) ||
		s->weight_floats > (int64_t)(MAX_WINO_BYTES / sizeof(float)) ||
		(double)g->out_plane < WINO_LEAST_USE * 16 * (double)s->n_tiles)
		return false;
	int64_t per_tile = PK_WINO_POINTS * (s->in_blocks + s->out_blocks) * lanes;
	s->chunk_tiles = PK_MAX(WINO_FLOATS / per_tile / 6 * 6, 12);
	s->chunk_tiles = PK_MIN(s->chunk_tiles, s->n_tiles);
	s->v_stride =
		s->in_blocks * s->chunk_tiles * lanes + 16; // so that no two share a cache set
	s->m_stride = s->out_blocks * s->chunk_tiles * lanes + 16;
	init_epilogue(&s->epilogue, node);
	s->tail_lanes = (int)(s->c % lanes);
	s->n_blocks = s->c / lanes;
	return true;
}

static bool wino_supports(const struct pk_node *node, int lanes)
{
	struct pk_block_wino s;
	return wino_init(&s, node, lanes);
}

static size_t wino_scratch(const struct pk_node *node, int lanes)
{
	struct pk_block_wino s;
	wino_init(&s, node, lanes);
	return (size_t)(PK_WINO_POINTS * (s.v_stride + s.m_stride)) * sizeof(float);
}

static size_t wino_pack_bytes(const struct pk_node *node, int lanes)
{
	struct pk_block_wino s;
	wino_init(&s, node, lanes);
	return (size_t)(s.out_blocks * lanes + s.weight_floats) * sizeof(float);
}

// Element `point` of G w G' for the 3x3 weights of one pair of channels.
static double wino_weight(const struct pk_node *node, int64_t pair, int point)
{
	static const double g[6][3] = {{1.0 / 4, 0, 0}, {-1.0 / 6, -1.0 / 6, -1.0 / 6},
		{-1.0 / 6, 1.0 / 6, -1.0 / 6}, {1.0 / 24, 1.0 / 12, 1.0 / 6},
		{1.0 / 24, -1.0 / 12, 1.0 / 6}, {0, 0, 1}};
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			sum += g[point / 6][i] * g[point % 6][j] *
			       (double)weight(node, pair * 9 + i * 3 + j);
	}
	return sum;
}

static void wino_pack(const struct pk_node *node, void *packed, int lanes)
{
	struct pk_block_wino s;
	wino_init(&s, node, lanes);
	float *out = pack_bias(node, &s.geom, lanes, packed);
	int64_t n_groups = pk_block_n_groups(s.out_blocks);
	for (int point = 0; point < PK_WINO_POINTS; point++) {
		for (int64_t i = 0; i < n_groups; i++) {
			int64_t first = pk_block_group_first(s.out_blocks, i) * lanes;
			int64_t end = pk_block_group_first(s.out_blocks, i + 1) * lanes;
			for (int64_t c = 0; c < s.c; c++) {
				for (int64_t m = first; m < end; m++)
					*out++ = m < s.m ? (float)wino_weight(
								   node, m * s.c + c, point)
							 : 0;
			}
		}
	}
}

static int wino_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_wino *s = pk_arena_new(arena, struct pk_block_wino);
	if (!s)
		return -ENOMEM;
	wino_init(s, node, lanes);
	*state = s;
	return 0;
}

static bool depthwise_init(struct pk_block_depthwise *s, const struct pk_node *node, int lanes)
{
	memset(s, 0, sizeof(*s));
	if (!conv_fits(node, &s->geom, lanes, false))
		return false;
	init_epilogue(&s->epilogue, node);
	s->blocks = pk_block_count(s->geom.in_c, lanes);
	return s->geom.group == s->geom.in_c && s->geom.out_c == s->geom.in_c;
}

static bool depthwise_supports(const struct pk_node *node, int lanes)
{
	struct pk_block_depthwise s;
	return depthwise_init(&s, node, lanes);
}

static size_t depthwise_pack_bytes(const struct pk_node *node, int lanes)
{
	struct pk_block_depthwise s;
	depthwise_init(&s, node, lanes);
	return (size_t)(s.blocks * lanes * (1 + s.geom.kernel_plane)) * sizeof(float);
}

static void depthwise_pack(const struct pk_node *node, void *packed, int lanes)
{
	struct pk_block_depthwise s;
	const struct pk_value *bias = pk_check_input(node, 2);
	depthwise_init(&s, node, lanes);
	float *out = packed;
	int64_t c = s.geom.in_c, kernel = s.geom.kernel_plane;
	memset(out, 0, depthwise_pack_bytes(node, lanes));
	if (bias)
		memcpy(out, bias->data, (size_t)c * sizeof(*out));
	out += s.blocks * lanes;
	for (int64_t i = 0; i < c; i++) {
		for (int64_t k = 0; k < kernel; k++)
			out[(i / lanes * kernel + k) * lanes + i % lanes] =
				weight(node, i * kernel + k);
	}
}

static int depthwise_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state, int lanes)
{
	struct pk_block_depthwise *s = pk_arena_new(arena, struct pk_block_depthwise);
	if (!s)
		return -ENOMEM;
	depthwise_init(s, node, lanes);
	*state = s;
	return 0;
}

static size_t no_scratch(const struct pk_node *node, int lanes)
{
	return 0;
}
#define conv_scratch      no_scratch
#define depthwise_scratch no_scratch

// Rows: the same functions bound to an instruction set's lanes.
#define ROW(id, isa, suffix, lanes, has_isa, rank_value)                                           \
	static bool id##_supports_##isa(const struct pk_node *node)                                \
	{                                                                                          \
		return (has_isa) && id##_supports(node, lanes);                                    \
	}                                                                                          \
	static size_t id##_scratch_##isa(const struct pk_node *node)                               \
	{                                                                                          \
		return id##_scratch(node, lanes);                                                  \
	}                                                                                          \
	static size_t id##_pack_bytes_##isa(const struct pk_node *node)                            \
	{                                                                                          \
		return id##_pack_bytes(node, lanes);                                               \
	}                                                                                          \
	static void id##_pack_##isa(const struct pk_node *node, void *out)                         \
	{                                                                                          \
		id##_pack(node, out, lanes);                                                       \
	}                                                                                          \
	static int id##_setup_##isa(                                                               \
		const struct pk_node *node, struct pk_arena *arena, const void **state)            \
	{                                                                                          \
		return id##_setup(node, arena, state, lanes);                                      \
	}                                                                                          \
	const struct pk_cpu_kernel pk_kernel_block_##id##suffix = {                                \
		.op = PK_OP_CONV,                                                                  \
		.name = "block_" #id #suffix,                                                      \
		.rank = rank_value,                                                                \
		.blocked = true,                                                                   \
		.supports = id##_supports_##isa,                                                   \
		.scratch = id##_scratch_##isa,                                                     \
		.pack_bytes = id##_pack_bytes_##isa,                                               \
		.pack = id##_pack_##isa,                                                           \
		.setup = id##_setup_##isa,                                                         \
		.run = pk_block_##id##_run_##isa,                                                  \
	};

#define ROWS(isa, suffix, lanes, has_isa, order)                                                   \
	ROW(depthwise, isa, suffix, lanes, has_isa, 230 + (order))                                 \
	ROW(wino, isa, suffix, lanes, has_isa, 220 + (order))                                      \
	ROW(conv, isa, suffix, lanes, has_isa, 210 + (order))

ROWS(plain, , PK_BLOCK_LANES_PLAIN, true, 0)
#if defined(__x86_64__)
ROWS(avx2, _avx2, PK_BLOCK_LANES_AVX2, pk_tile_has_avx2(), 1)
ROWS(avx512, _avx512, PK_BLOCK_LANES_AVX512, pk_tile_has_avx512(), 2)
#endif
