// SPDX-License-Identifier: Apache-2.0
// Convolution rows on register tiles: what they accept, their packing, layouts and workspaces.
#include "engine/cpu/kernels/conv_fast.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/scalar.h"

static void init_epilogue(struct pk_conv_fast *s, const struct pk_node *node)
{
	s->has_bias = pk_check_input(node, 2) != NULL;
	s->residual = PK_RESIDUAL_NONE;
	if (node->op == PK_OP_CONV)
		s->residual = pk_node_int(node, PK_ATTR_RESIDUAL);
	s->act = pk_node_fn(node, PK_ATTR_ACT);
	s->alpha = (float)pk_node_float(node, PK_ATTR_ALPHA);
	s->beta = (float)pk_node_float(node, PK_ATTR_BETA);
}

static bool is_in_place(const struct pk_window *g)
{
	return g->kernel[1] == 1 && g->kernel[2] == 1 && g->stride[1] == 1 && g->stride[2] == 1 &&
	       g->pad[1] == 0 && g->pad[2] == 0 && g->out[1] == g->in[1] && g->out[2] == g->in[2];
}

// Sizes of the laid out group; false when absurd.
static bool init_layout(struct pk_conv_fast *s, int tile_columns)
{
	const struct pk_window *g = &s->geom;
	s->in_place = is_in_place(g);
	s->rows = g->out[1] + (g->kernel[1] - 1) * g->dilation[1] / g->stride[1];
	s->row_pitch = g->out[2] + (g->kernel[2] - 1) * g->dilation[2] / g->stride[2];
	int64_t cells, phases;
	if (pk_mul_overflow(s->rows, s->row_pitch, &cells) ||
		pk_mul_overflow(g->stride[1], g->stride[2], &phases) ||
		pk_mul_overflow(cells, phases, &cells) || pk_mul_overflow(cells, s->c, &cells) ||
		cells > PK_MAX_ELEMENTS)
		return false;
	s->n_source = cells + PK_CONV_SLACK;
	// Tiles that end with the rows waste no columns.
	s->pitch = g->out[2] % tile_columns == 0 ? g->out[2] : s->row_pitch;
	s->n_columns = (g->out[1] - 1) * s->pitch + g->out[2];
	return true;
}

bool pk_conv_fast_init(struct pk_conv_fast *s, const struct pk_node *node, int tile_columns)
{
	memset(s, 0, sizeof(*s));
	const struct pk_value *w = pk_check_input(node, 1);
	if (node->inputs[0]->shape.rank > 4 || !pk_check_all_dtype(node, PK_F32) ||
		!pk_window_init(&s->geom, node) || !pk_check_conv_bias(node) || !w)
		return false;
	const struct pk_window *g = &s->geom;
	s->c = g->in_c / g->group;
	s->m = g->out_c / g->group;
	s->k = s->c * g->kernel_plane;
	init_epilogue(s, node);
	return g->out_plane > 0 && g->in_plane > 0 && s->k > 0 && s->m > 0 &&
	       pk_scalar_unary_fn(s->act) && init_layout(s, tile_columns);
}

// Place of padded cell (h, w) of channel c in the layout.
static int64_t place(const struct pk_conv_fast *s, int64_t c, int64_t h, int64_t w)
{
	const int64_t *stride = s->geom.stride;
	int64_t phase = (c * stride[1] + h % stride[1]) * stride[2] + w % stride[2];
	return (phase * s->rows + h / stride[1]) * s->row_pitch + w / stride[2];
}

static int set_offsets(struct pk_conv_fast *s, struct pk_arena *arena)
{
	const struct pk_window *g = &s->geom;
	int64_t *out = s->offsets = pk_arena_array(arena, (size_t)s->k, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (int64_t c = 0; c < s->c; c++) {
		for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
			for (int64_t kw = 0; kw < g->kernel[2]; kw++)
				*out++ = place(s, c, kh * g->dilation[1], kw * g->dilation[2]);
		}
	}
	return 0;
}

static void lay_out_row(
	const struct pk_conv_fast *s, const float *x, float *out, int64_t c, int64_t h)
{
	const struct pk_window *g = &s->geom;
	int64_t stride = g->stride[2];
	if (h < 0 || h / g->stride[1] >= s->rows)
		return;
	for (int64_t phase = 0; phase < stride; phase++) {
		// first input column of this phase: (w + pad) % stride == phase
		int64_t first = phase - g->pad[2];
		if (first < 0)
			first += (-first + stride - 1) / stride * stride;
		int64_t at = (first + g->pad[2]) / stride,
			n = (g->in[2] - first + stride - 1) / stride;
		n = PK_MIN(n, s->row_pitch - at);
		if (first >= g->in[2] || n <= 0)
			continue;
		float *dst = out + place(s, c, h, phase) + at;
		if (stride == 1)
			memcpy(dst, x + first, (size_t)n * sizeof(*x));
		for (int64_t i = 0; stride > 1 && i < n; i++)
			dst[i] = x[first + i * stride];
	}
}

void pk_conv_fast_lay_out(const struct pk_conv_fast *s, const float *x, float *out)
{
	const struct pk_window *g = &s->geom;
	memset(out, 0, (size_t)s->n_source * sizeof(*out));
	for (int64_t c = 0; c < s->c; c++) {
		for (int64_t h = 0; h < g->in[1]; h++)
			lay_out_row(s, x + c * g->in_plane + h * g->in[2], out, c, h + g->pad[1]);
	}
}

static size_t pack_bytes(const struct pk_node *node)
{
	return (size_t)pk_shape_elements(pk_check_in_shape(node, 1)) * sizeof(float);
}

static void pack_rows(const struct pk_node *node, void *out, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	for (int64_t group = 0; group < s.geom.group; group++) {
		int64_t first = group * s.m * s.k;
		const char *w =
			(const char *)node->inputs[1]->data + first * (int64_t)sizeof(float);
		pk_tile_pack_rows((const float *)(const void *)w, s.k, 1, s.m, s.k, tile.rows,
			(float *)out + first);
	}
}

static bool conv_supports(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	return node->inputs[1] && node->inputs[1]->data && pk_check_conv_residual(node) &&
	       pk_conv_fast_init(&s, node, tile.columns);
}

static bool depthwise_supports(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	return pk_check_conv_residual(node) && pk_conv_fast_init(&s, node, tile.columns) &&
	       s.c == 1;
}

static int conv_setup(const struct pk_node *node, struct pk_arena *arena, const void **state,
	struct pk_tile_shape tile)
{
	struct pk_conv_fast *s = pk_arena_new(arena, struct pk_conv_fast);
	if (!s)
		return -ENOMEM;
	pk_conv_fast_init(s, node, tile.columns);
	*state = s;
	return set_offsets(s, arena);
}

// The laid out group, or in place the last tile's columns.
static size_t direct_workspace(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	return (size_t)(s.in_place ? s.k * tile.columns : s.n_source) * sizeof(float);
}

static size_t block_scratch(const struct pk_node *node)
{
	(void)node;
	return PK_CONV_BLOCK_FLOATS * sizeof(float);
}

static size_t depthwise_workspace(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	return (size_t)(PK_CONV_BLOCK_FLOATS + s.n_source) * sizeof(float);
}

// Unfolded columns stay within about a second-level cache.
#define UNFOLDED_FLOATS (64 * 1024)

int64_t pk_conv_gemm_columns(const struct pk_conv_fast *s, int tile_columns)
{
	int64_t n = UNFOLDED_FLOATS / s->k / tile_columns * tile_columns;
	return PK_MAX(PK_MIN(n, PK_TILE_BLOCK_COLUMNS), tile_columns);
}

static size_t gemm_workspace(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	int64_t unfolded = pk_conv_gemm_columns(&s, tile.columns) * s.k;
	return (size_t)(PK_CONV_BLOCK_FLOATS + PK_TILE_BLOCK_COLUMNS + unfolded) * sizeof(float);
}

// Transposed: a product over input channels per output channel and tap, spread over the output.
static bool transpose_supports(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	return node->inputs[1] && node->inputs[1]->data &&
	       pk_conv_fast_init(&s, node, tile.columns);
}

static void transpose_pack(const struct pk_node *node, void *out, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	int64_t rows = s.m * s.geom.kernel_plane;
	for (int64_t group = 0; group < s.geom.group; group++) {
		int64_t first = group * s.c * rows;
		const char *w =
			(const char *)node->inputs[1]->data + first * (int64_t)sizeof(float);
		pk_tile_pack_rows((const float *)(const void *)w, 1, rows, rows, s.c, tile.rows,
			(float *)out + first);
	}
}

static int transpose_setup(const struct pk_node *node, struct pk_arena *arena, const void **state,
	struct pk_tile_shape tile)
{
	struct pk_conv_fast *s = pk_arena_new(arena, struct pk_conv_fast);
	if (!s)
		return -ENOMEM;
	pk_conv_fast_init(s, node, tile.columns);
	*state = s;
	return 0;
}

static size_t transpose_workspace(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_conv_fast s;
	pk_conv_fast_init(&s, node, tile.columns);
	return (size_t)(PK_CONV_BLOCK_FLOATS + s.c * tile.columns) * sizeof(float);
}

// Rows: the same functions bound to an instruction set's tile.
#define BIND(isa, tile, has_isa, id, kind_setup)                                                   \
	static bool id##_supports_##isa(const struct pk_node *node)                                \
	{                                                                                          \
		return (has_isa) && id##_supports(node, tile);                                     \
	}                                                                                          \
	static size_t id##_workspace_##isa(const struct pk_node *node)                             \
	{                                                                                          \
		return id##_workspace(node, tile);                                                 \
	}                                                                                          \
	static int id##_setup_##isa(                                                               \
		const struct pk_node *node, struct pk_arena *arena, const void **state)            \
	{                                                                                          \
		return kind_setup(node, arena, state, tile);                                       \
	}

#define ROWS(isa, tile, has_isa, suffix, rank_bonus)                                               \
	BIND(isa, tile, has_isa, direct, conv_setup)                                               \
	BIND(isa, tile, has_isa, gemm, conv_setup)                                                 \
	BIND(isa, tile, has_isa, depthwise, conv_setup)                                            \
	BIND(isa, tile, has_isa, transpose, transpose_setup)                                       \
	static void pack_##isa(const struct pk_node *node, void *out)                              \
	{                                                                                          \
		pack_rows(node, out, tile);                                                        \
	}                                                                                          \
	static void transpose_pack_##isa(const struct pk_node *node, void *out)                    \
	{                                                                                          \
		transpose_pack(node, out, tile);                                                   \
	}                                                                                          \
	const struct pk_cpu_kernel pk_kernel_conv_depthwise##suffix = {                            \
		.op = PK_OP_CONV,                                                                  \
		.name = "conv_depthwise" #suffix,                                                  \
		.rank = 30 + (rank_bonus),                                                         \
		.supports = depthwise_supports_##isa,                                              \
		.workspace = depthwise_workspace_##isa,                                            \
		.setup = depthwise_setup_##isa,                                                    \
		.run = pk_conv_depthwise_run_##isa,                                                \
	};                                                                                         \
	const struct pk_cpu_kernel pk_kernel_conv_direct##suffix = {                               \
		.op = PK_OP_CONV,                                                                  \
		.name = "conv_direct" #suffix,                                                     \
		.rank = 20 + (rank_bonus),                                                         \
		.supports = direct_supports_##isa,                                                 \
		.workspace = direct_workspace_##isa,                                               \
		.scratch = block_scratch,                                                          \
		.pack_bytes = pack_bytes,                                                          \
		.pack = pack_##isa,                                                                \
		.setup = direct_setup_##isa,                                                       \
		.run = pk_conv_direct_run_##isa,                                                   \
	};                                                                                         \
	const struct pk_cpu_kernel pk_kernel_conv_gemm##suffix = {                                 \
		.op = PK_OP_CONV,                                                                  \
		.name = "conv_gemm" #suffix,                                                       \
		.rank = 10 + (rank_bonus),                                                         \
		.supports = gemm_supports_##isa,                                                   \
		.workspace = gemm_workspace_##isa,                                                 \
		.pack_bytes = pack_bytes,                                                          \
		.pack = pack_##isa,                                                                \
		.setup = gemm_setup_##isa,                                                         \
		.run = pk_conv_gemm_run_##isa,                                                     \
	};                                                                                         \
	const struct pk_cpu_kernel pk_kernel_conv_transpose_gemm##suffix = {                       \
		.op = PK_OP_CONV_TRANSPOSE,                                                        \
		.name = "conv_transpose_gemm" #suffix,                                             \
		.rank = 10 + (rank_bonus),                                                         \
		.supports = transpose_supports_##isa,                                              \
		.workspace = transpose_workspace_##isa,                                            \
		.pack_bytes = pack_bytes,                                                          \
		.pack = transpose_pack_##isa,                                                      \
		.setup = transpose_setup_##isa,                                                    \
		.run = pk_conv_transpose_run_##isa,                                                \
	};

#define direct_supports conv_supports
#define gemm_supports   conv_supports
ROWS(plain, PK_TILE_PLAIN, true, , 0)
#if defined(__x86_64__)
ROWS(avx2, PK_TILE_AVX2, pk_tile_has_avx2(), _avx2, 100)
#endif
