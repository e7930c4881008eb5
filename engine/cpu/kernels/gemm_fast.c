// SPDX-License-Identifier: Apache-2.0
// Matrix products on register tiles: what they accept, packing and workspace.
#include "engine/cpu/kernels/gemm_fast.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

// With one B for all of them the A matrices are one tall matrix.
static void fold_batch(struct pk_gemm *g)
{
	struct pk_shape none = {0};
	for (int axis = 0; axis < g->batch.rank; axis++) {
		if (g->batch.strides[2][axis])
			return;
	}
	// A must be dense over the batch: it is when its elements are as many as the rows need.
	if (g->a_k != 1 || g->a_m != g->k)
		return;
	int64_t step = g->m * g->k;
	for (int axis = g->batch.rank - 1; axis >= 0; axis--) {
		if (g->batch.dims[axis] != 1 && g->batch.strides[1][axis] != step)
			return;
		step *= g->batch.dims[axis];
	}
	g->m *= g->batch.n;
	pk_walk_init(&g->batch, &none);
	for (int i = 0; i < 3; i++)
		pk_walk_add_shape(&g->batch, &none);
}

static bool init(struct pk_gemm_fast *s, const struct pk_node *node)
{
	memset(s, 0, sizeof(*s));
	if (!pk_check_all_dtype(node, PK_F32) || !pk_gemm_init(&s->g, node))
		return false;
	fold_batch(&s->g);
	const struct pk_value *b = node->inputs[1];
	int64_t size;
	s->packed = b->data && b->shape.rank == 2;
	s->alpha = (float)s->g.alpha;
	s->beta = (float)s->g.beta;
	return s->g.m > 0 && s->g.n > 0 && s->g.k > 0 && s->g.batch.n > 0 &&
	       !pk_mul_overflow(s->g.m, s->g.k, &size) && size <= PK_MAX_ELEMENTS;
}

void pk_gemm_fast_pack_tile(
	const struct pk_gemm *g, const void *b, int64_t first, int columns, float *out)
{
	int64_t n = PK_MIN(columns, g->n - first);
	for (int64_t k = 0; k < g->k; k++, out += columns) {
		const char *row = (const char *)b + (k * g->b_k + first * g->b_n) * 4;
		if (g->b_n == 1)
			memcpy(out, row, (size_t)n * sizeof(*out));
		for (int64_t i = 0; g->b_n != 1 && i < n; i++)
			memcpy(out + i, row + i * g->b_n * 4, sizeof(*out));
		memset(out + n, 0, (size_t)(columns - n) * sizeof(*out));
	}
}

static int64_t n_tiles(const struct pk_gemm *g, int columns)
{
	return (g->n + columns - 1) / columns;
}

static size_t pack_bytes(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_gemm_fast s;
	if (!init(&s, node) || !s.packed)
		return 0;
	return (size_t)(n_tiles(&s.g, tile.columns) * tile.columns * s.g.k) * sizeof(float);
}

static void pack(const struct pk_node *node, void *out, struct pk_tile_shape tile)
{
	struct pk_gemm_fast s;
	if (!init(&s, node) || !s.packed)
		return;
	for (int64_t i = 0; i < n_tiles(&s.g, tile.columns); i++)
		pk_gemm_fast_pack_tile(&s.g, node->inputs[1]->data, i * tile.columns, tile.columns,
			(float *)out + i * tile.columns * s.g.k);
}

static bool supports(const struct pk_node *node)
{
	struct pk_gemm_fast s;
	return init(&s, node);
}

// All of A.
static size_t workspace(const struct pk_node *node)
{
	struct pk_gemm_fast s;
	init(&s, node);
	return (size_t)(s.g.m * s.g.k) * sizeof(float);
}

// One tile of sums, one tile of B.
static size_t scratch(const struct pk_node *node, struct pk_tile_shape tile)
{
	struct pk_gemm_fast s;
	init(&s, node);
	return (size_t)((PK_TILE_MAX_ROWS + s.g.k) * tile.columns) * sizeof(float);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_gemm_fast *s = pk_arena_new(arena, struct pk_gemm_fast);
	if (!s)
		return -ENOMEM;
	init(s, node);
	*state = s;
	return 0;
}

#define ROW(id, op_id, isa, suffix, rank_value)                                                    \
	const struct pk_cpu_kernel pk_kernel_##id##_tile##suffix = {                               \
		.op = op_id,                                                                       \
		.name = #id "_tile" #suffix,                                                       \
		.rank = rank_value,                                                                \
		.supports = supports_##isa,                                                        \
		.workspace = workspace,                                                            \
		.scratch = scratch_##isa,                                                          \
		.pack_bytes = pack_bytes_##isa,                                                    \
		.pack = pack_##isa,                                                                \
		.setup = setup,                                                                    \
		.run = pk_gemm_run_##isa,                                                          \
	};

#define ROWS(isa, tile, has_isa, suffix, rank_value)                                               \
	static bool supports_##isa(const struct pk_node *node)                                     \
	{                                                                                          \
		return (has_isa) && supports(node);                                                \
	}                                                                                          \
	static size_t scratch_##isa(const struct pk_node *node)                                    \
	{                                                                                          \
		return scratch(node, tile);                                                        \
	}                                                                                          \
	static size_t pack_bytes_##isa(const struct pk_node *node)                                 \
	{                                                                                          \
		return pack_bytes(node, tile);                                                     \
	}                                                                                          \
	static void pack_##isa(const struct pk_node *node, void *out)                              \
	{                                                                                          \
		pack(node, out, tile);                                                             \
	}                                                                                          \
	ROW(gemm, PK_OP_GEMM, isa, suffix, rank_value)                                             \
	ROW(matmul, PK_OP_MATMUL, isa, suffix, rank_value)

ROWS(plain, PK_TILE_PLAIN, true, , 10)
#if defined(__x86_64__)
ROWS(avx2, PK_TILE_AVX2, pk_tile_has_avx2(), _avx2, 110)
#endif
