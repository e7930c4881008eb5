// SPDX-License-Identifier: Apache-2.0
// Rows of the faster quantised kernels: what they take, how weights are packed.
#include "engine/cpu/kernels/quant_fast.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/gemm.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/tile.h"

static bool qconv_init(struct pk_qconv_fast *s, const struct pk_node *node)
{
	const struct pk_value *w = node->inputs[1], *zero = pk_check_input(node, PK_QUANT_W_ZERO);
	if (!pk_window_init(&s->geom, node) || !pk_quant_init(&s->quant, node, s->geom.out_c) ||
		!w->data || (zero && !zero->data) || s->geom.out_c < 1)
		return false;
	s->c = s->geom.in_c / s->geom.group;
	s->m = s->geom.out_c / s->geom.group;
	s->k = s->c * s->geom.kernel_plane;
	s->n_pairs = (s->k + 1) / 2;
	return true;
}

static bool qconv_supports(const struct pk_node *node)
{
	struct pk_qconv_fast s;
	return qconv_init(&s, node);
}

static size_t qconv_workspace(const struct pk_node *node)
{
	struct pk_qconv_fast s;
	qconv_init(&s, node);
	return (size_t)s.n_pairs * 2 * PK_QCONV_COLUMNS * sizeof(int16_t);
}

static size_t qconv_pack_bytes(const struct pk_node *node)
{
	struct pk_qconv_fast s;
	qconv_init(&s, node);
	return (size_t)(s.geom.out_c * s.n_pairs) * 2 * sizeof(int16_t);
}

// Less their zero points, so that run needs not know these.
static void qconv_pack(const struct pk_node *node, void *out)
{
	struct pk_qconv_fast s;
	int16_t *to = out;
	qconv_init(&s, node);
	const struct pk_value *zero = pk_check_input(node, PK_QUANT_W_ZERO);
	for (int64_t m = 0; m < s.geom.out_c; m++) {
		int32_t from =
			zero ? pk_quant_get(s.quant.w, zero->data, m * s.quant.w_zero_step) : 0;
		for (int64_t k = 0; k < 2 * s.n_pairs; k++, to++)
			*to = k < s.k ? (int16_t)(pk_quant_get(s.quant.w, node->inputs[1]->data,
							  m * s.k + k) -
						  from)
				      : 0;
	}
}

static int qconv_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_qconv_fast *s = pk_arena_new(arena, struct pk_qconv_fast);
	if (!s)
		return -ENOMEM;
	qconv_init(s, node);
	*state = s;
	return 0;
}

static bool qmatmul_init(struct pk_qmatmul_fast *s, const struct pk_node *node)
{
	struct pk_gemm g;
	const struct pk_value *b = node->inputs[1], *zero = pk_check_input(node, PK_QUANT_W_ZERO);
	if (!pk_gemm_init(&g, node) || !pk_quant_init(&s->quant, node, g.n) || !b->data ||
		b->shape.rank != 2 || (zero && !zero->data) || g.k < 1 || g.n < 1)
		return false;
	s->k = g.k;
	s->n = g.n;
	s->rows = pk_shape_elements(pk_check_in_shape(node, 0)) / g.k;
	s->n_pairs = (g.k + 1) / 2;
	return pk_shape_elements(pk_check_out_shape(node)) == s->rows * s->n;
}

static bool qmatmul_supports(const struct pk_node *node)
{
	struct pk_qmatmul_fast s;
	return qmatmul_init(&s, node);
}

static size_t qmatmul_workspace(const struct pk_node *node)
{
	struct pk_qmatmul_fast s;
	qmatmul_init(&s, node);
	return (size_t)(s.n_pairs * PK_QMATMUL_ROWS) * 2 * sizeof(int16_t);
}

static int64_t qmatmul_tiles(const struct pk_qmatmul_fast *s)
{
	return (s->n + PK_QMATMUL_COLUMNS - 1) / PK_QMATMUL_COLUMNS;
}

static size_t qmatmul_pack_bytes(const struct pk_node *node)
{
	struct pk_qmatmul_fast s;
	qmatmul_init(&s, node);
	return (size_t)(qmatmul_tiles(&s) * s.n_pairs * PK_QMATMUL_COLUMNS) * 2 * sizeof(int16_t);
}

static void qmatmul_pack(const struct pk_node *node, void *out)
{
	struct pk_qmatmul_fast s;
	int16_t *to = out;
	qmatmul_init(&s, node);
	memset(out, 0, qmatmul_pack_bytes(node));
	const struct pk_value *zero = pk_check_input(node, PK_QUANT_W_ZERO);
	for (int64_t n = 0; n < s.n; n++) {
		int32_t from =
			zero ? pk_quant_get(s.quant.w, zero->data, n * s.quant.w_zero_step) : 0;
		int16_t *tile = to + n / PK_QMATMUL_COLUMNS * s.n_pairs * 2 * PK_QMATMUL_COLUMNS;
		for (int64_t k = 0; k < s.k; k++)
			tile[(k / 2 * PK_QMATMUL_COLUMNS + n % PK_QMATMUL_COLUMNS) * 2 + k % 2] =
				(int16_t)(pk_quant_get(
						  s.quant.w, node->inputs[1]->data, k * s.n + n) -
					  from);
	}
}

static int qmatmul_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_qmatmul_fast *s = pk_arena_new(arena, struct pk_qmatmul_fast);
	if (!s)
		return -ENOMEM;
	qmatmul_init(s, node);
	*state = s;
	return 0;
}

static bool line_init(struct pk_quant_line *s, const struct pk_node *node)
{
	const struct pk_value *zero = pk_check_input(node, 2);
	bool quantize = node->op == PK_OP_QUANTIZE;
	const struct pk_value *real = quantize ? node->inputs[0] : node->outputs[0];
	const struct pk_value *stored = quantize ? node->outputs[0] : node->inputs[0];
	*s = (struct pk_quant_line){
		.stored = stored->dtype,
		.has_zero = zero != NULL,
		.n = pk_shape_elements(&real->shape),
	};
	return real->dtype == PK_F32 && (s->stored == PK_I8 || s->stored == PK_U8) &&
	       pk_shape_equal(&real->shape, &stored->shape) && node->inputs[1]->dtype == PK_F32 &&
	       pk_shape_elements(&node->inputs[1]->shape) == 1 &&
	       (!zero || (zero->dtype == s->stored && pk_shape_elements(&zero->shape) == 1));
}

static bool line_supports(const struct pk_node *node)
{
	struct pk_quant_line s;
	return line_init(&s, node);
}

static int line_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_quant_line *s = pk_arena_new(arena, struct pk_quant_line);
	if (!s)
		return -ENOMEM;
	line_init(s, node);
	*state = s;
	return 0;
}

#define QCONV(suffix, rank_, supports_, run_)                                                      \
	const struct pk_cpu_kernel pk_kernel_qconv_gemm##suffix = {                                \
		.op = PK_OP_QCONV,                                                                 \
		.name = "qconv_gemm" #suffix,                                                      \
		.rank = rank_,                                                                     \
		.supports = supports_,                                                             \
		.workspace = qconv_workspace,                                                      \
		.pack_bytes = qconv_pack_bytes,                                                    \
		.pack = qconv_pack,                                                                \
		.setup = qconv_setup,                                                              \
		.run = run_,                                                                       \
	};
#define QMATMUL(suffix, rank_, supports_, run_)                                                    \
	const struct pk_cpu_kernel pk_kernel_qmatmul_pairs##suffix = {                             \
		.op = PK_OP_QMATMUL,                                                               \
		.name = "qmatmul_pairs" #suffix,                                                   \
		.rank = rank_,                                                                     \
		.supports = supports_,                                                             \
		.workspace = qmatmul_workspace,                                                    \
		.pack_bytes = qmatmul_pack_bytes,                                                  \
		.pack = qmatmul_pack,                                                              \
		.setup = qmatmul_setup,                                                            \
		.run = run_,                                                                       \
	};
#define LINE(op_, name_, rank_, supports_, run_)                                                   \
	const struct pk_cpu_kernel pk_kernel_##name_ = {                                           \
		.op = op_,                                                                         \
		.name = #name_,                                                                    \
		.rank = rank_,                                                                     \
		.supports = supports_,                                                             \
		.setup = line_setup,                                                               \
		.run = run_,                                                                       \
	};

QCONV(, 1, qconv_supports, pk_qconv_gemm_run_plain)
QMATMUL(, 10, qmatmul_supports, pk_qmatmul_pairs_run_plain)
LINE(PK_OP_QUANTIZE, quantize_line, 1, line_supports, pk_quantize_line_run_plain)
LINE(PK_OP_DEQUANTIZE, dequantize_line, 1, line_supports, pk_dequantize_line_run_plain)

#if defined(__x86_64__)
static bool qconv_supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && qconv_supports(node);
}

static bool line_supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && line_supports(node);
}

static bool qmatmul_supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && qmatmul_supports(node);
}

QCONV(_avx2, 2, qconv_supports_avx2, pk_qconv_gemm_run_avx2)
QMATMUL(_avx2, 110, qmatmul_supports_avx2, pk_qmatmul_pairs_run_avx2)
LINE(PK_OP_QUANTIZE, quantize_line_avx2, 2, line_supports_avx2, pk_quantize_line_run_avx2)
LINE(PK_OP_DEQUANTIZE, dequantize_line_avx2, 2, line_supports_avx2, pk_dequantize_line_run_avx2)
#endif
