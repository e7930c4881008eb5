// SPDX-License-Identifier: Apache-2.0
// Reference matrix products, sums in double (int64 for integers).
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/gemm.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"

static bool number(const struct pk_node *node)
{
	enum pk_dtype dtype = node->outputs[0]->dtype;
	return (pk_number_is_float(dtype) || pk_number_is_int(dtype)) &&
	       pk_check_all_dtype(node, dtype);
}

static bool gemm_supports(const struct pk_node *node)
{
	struct pk_gemm g;
	return pk_check_all_float(node) && pk_gemm_init(&g, node);
}

static bool matmul_supports(const struct pk_node *node)
{
	struct pk_gemm g;
	return number(node) && pk_gemm_init(&g, node);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_gemm *g = pk_arena_new(arena, struct pk_gemm);
	if (!g)
		return -ENOMEM;
	pk_gemm_init(g, node);
	*state = g;
	return 0;
}

static double dot_f(const struct pk_gemm *g, const void *const *in, int64_t a, int64_t b)
{
	double sum = 0;
	for (int64_t k = 0; k < g->k; k++)
		sum += pk_number_f(g->dtype, in[0], a + k * g->a_k) *
		       pk_number_f(g->dtype, in[1], b + k * g->b_k);
	return sum;
}

static int64_t dot_i(const struct pk_gemm *g, const void *const *in, int64_t a, int64_t b)
{
	uint64_t sum = 0;
	for (int64_t k = 0; k < g->k; k++)
		sum += (uint64_t)pk_number_i(g->dtype, in[0], a + k * g->a_k) *
		       (uint64_t)pk_number_i(g->dtype, in[1], b + k * g->b_k);
	return (int64_t)sum;
}

static void element(const struct pk_cpu_call *call, const int64_t off[3], int64_t m, int64_t n)
{
	const struct pk_gemm *g = call->state;
	int64_t a = off[1] + m * g->a_m, b = off[2] + n * g->b_n, y = off[0] + m * g->n + n;
	if (!pk_number_is_float(g->dtype)) {
		pk_number_set_i(g->dtype, call->outputs[0], y, dot_i(g, call->inputs, a, b));
		return;
	}
	double v = g->alpha * dot_f(g, call->inputs, a, b);
	if (g->has_c)
		v += g->beta * pk_number_f(g->dtype, call->inputs[2], m * g->c_m + n * g->c_n);
	pk_number_set_f(g->dtype, call->outputs[0], y, v);
}

static void run(const struct pk_cpu_call *call)
{
	const struct pk_gemm *g = call->state;
	struct pk_walk_pos pos = {0};
	if (!g->batch.n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(&g->batch); i++) {
			int64_t off[3];
			for (int k = 0; k < 3; k++)
				off[k] = pos.off[k] + i * pk_walk_stride(&g->batch, k);
			for (int64_t j = 0; j < g->m * g->n; j++)
				element(call, off, j / g->n, j % g->n);
		}
	} while (pk_walk_next(&g->batch, &pos));
}

const struct pk_cpu_kernel pk_kernel_gemm_ref = {
	.op = PK_OP_GEMM,
	.name = "gemm_ref",
	.supports = gemm_supports,
	.setup = setup,
	.run = run,
};

const struct pk_cpu_kernel pk_kernel_matmul_ref = {
	.op = PK_OP_MATMUL,
	.name = "matmul_ref",
	.supports = matmul_supports,
	.setup = setup,
	.run = run,
};
