// SPDX-License-Identifier: Apache-2.0
// Reference integer convolution and matrix product, sums in i32 (which wrap around).
#include <errno.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/gemm.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/quant.h"

struct qconv {
	struct pk_window geom;
	struct pk_quant quant;
};

static bool qconv_supports(const struct pk_node *node)
{
	struct qconv s;
	return pk_window_init(&s.geom, node) && pk_quant_init(&s.quant, node, s.geom.out_c);
}

static int qconv_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct qconv *s = pk_arena_new(arena, struct qconv);
	if (!s)
		return -ENOMEM;
	pk_window_init(&s->geom, node);
	pk_quant_init(&s->quant, node, s->geom.out_c);
	*state = s;
	return 0;
}

static size_t qconv_workspace(const struct pk_node *node)
{
	struct pk_window geom;
	pk_window_init(&geom, node);
	return (size_t)geom.out[2] * sizeof(int32_t);
}

// One tap over a row of sums; cells outside count as the zero point, which is nothing.
static void add_tap(int32_t *sums, const struct qconv *s, const struct pk_cpu_call *call,
	const int64_t at[3], int32_t weight)
{
	const struct pk_window *g = &s->geom;
	int32_t zero = pk_quant_zero(&s->quant, call, PK_QUANT_X_ZERO);
	int64_t base = at[2] * g->dilation[2] - g->pad[2];
	for (int64_t o = 0; o < g->out[2]; o++) {
		int64_t x = base + o * g->stride[2];
		if (x < 0 || x >= g->in[2])
			continue;
		int32_t v = pk_quant_get(s->quant.x, call->inputs[0], at[0] + x) - zero;
		sums[o] = (int32_t)((uint32_t)sums[o] + (uint32_t)(weight * v));
	}
}

static bool in_coord(const struct pk_window *g, int axis, int64_t o, int64_t k, int64_t *out)
{
	*out = o * g->stride[axis] + k * g->dilation[axis] - g->pad[axis];
	return *out >= 0 && *out < g->in[axis];
}

// Input channel at x_idx under the kernel plane at w_idx, into the sums of output row `row`.
static void add_channel(int32_t *sums, const struct qconv *s, const struct pk_cpu_call *call,
	const int64_t idx[2], const int64_t row[2], int32_t w_zero)
{
	const struct pk_window *g = &s->geom;
	for (int64_t k = 0; k < g->kernel_plane; k++) {
		int64_t kw = k % g->kernel[2], kh = k / g->kernel[2] % g->kernel[1];
		int64_t kd = k / (g->kernel[2] * g->kernel[1]), id, ih;
		if (!in_coord(g, 0, row[0], kd, &id) || !in_coord(g, 1, row[1], kh, &ih))
			continue;
		int64_t at[3] = {idx[0] + (id * g->in[1] + ih) * g->in[2], 0, kw};
		add_tap(sums, s, call, at,
			pk_quant_get(s->quant.w, call->inputs[1], idx[1] + k) - w_zero);
	}
}

static void qconv_channel(const struct pk_cpu_call *call, int64_t n, int64_t m)
{
	const struct qconv *s = call->state;
	const struct pk_window *g = &s->geom;
	int64_t per_group = g->in_c / g->group, group = m / (g->out_c / g->group);
	int64_t x_idx = (n * g->in_c + group * per_group) * g->in_plane;
	int64_t w_idx = m * per_group * g->kernel_plane;
	int32_t *sums = call->workspace, w_zero = pk_quant_w_zero(&s->quant, call, m);
	int32_t bias =
		s->quant.has[PK_QUANT_BIAS] ? ((const int32_t *)call->inputs[PK_QUANT_BIAS])[m] : 0;
	for (int64_t row = 0; row < g->out[0] * g->out[1]; row++) {
		int64_t at[2] = {row / g->out[1], row % g->out[1]};
		for (int64_t i = 0; i < g->out[2]; i++)
			sums[i] = bias;
		for (int64_t c = 0; c < per_group; c++) {
			int64_t idx[2] = {x_idx + c * g->in_plane, w_idx + c * g->kernel_plane};
			add_channel(sums, s, call, idx, at, w_zero);
		}
		pk_quant_finish_ref(&s->quant, call, sums, g->out[2], m, 0,
			(n * g->out_c + m) * g->out_plane + row * g->out[2]);
	}
}

static void qconv_run(const struct pk_cpu_call *call)
{
	const struct qconv *s = call->state;
	for (int64_t n = 0; n < s->geom.batch; n++) {
		for (int64_t m = 0; m < s->geom.out_c; m++)
			qconv_channel(call, n, m);
	}
}

const struct pk_cpu_kernel pk_kernel_qconv_ref = {
	.op = PK_OP_QCONV,
	.name = "qconv_ref",
	.supports = qconv_supports,
	.workspace = qconv_workspace,
	.setup = qconv_setup,
	.run = qconv_run,
};

struct qmatmul {
	struct pk_gemm gemm;
	struct pk_quant quant;
};

static bool qmatmul_supports(const struct pk_node *node)
{
	struct qmatmul s;
	return pk_gemm_init(&s.gemm, node) && pk_quant_init(&s.quant, node, s.gemm.n);
}

static int qmatmul_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct qmatmul *s = pk_arena_new(arena, struct qmatmul);
	if (!s)
		return -ENOMEM;
	pk_gemm_init(&s->gemm, node);
	pk_quant_init(&s->quant, node, s->gemm.n);
	*state = s;
	return 0;
}

static void qmatmul_element(
	const struct pk_cpu_call *call, const int64_t off[3], int64_t m, int64_t n)
{
	const struct qmatmul *s = call->state;
	const struct pk_gemm *g = &s->gemm;
	int32_t zero = pk_quant_zero(&s->quant, call, PK_QUANT_X_ZERO);
	int32_t w_zero = pk_quant_w_zero(&s->quant, call, n), sum = 0;
	if (s->quant.has[PK_QUANT_BIAS])
		sum = ((const int32_t *)call->inputs[PK_QUANT_BIAS])[n];
	for (int64_t k = 0; k < g->k; k++) {
		int64_t a = off[1] + m * g->a_m + k * g->a_k, b = off[2] + n * g->b_n + k * g->b_k;
		int32_t x = pk_quant_get(s->quant.x, call->inputs[0], a) - zero;
		int32_t w = pk_quant_get(s->quant.w, call->inputs[1], b) - w_zero;
		sum = (int32_t)((uint32_t)sum + (uint32_t)(x * w));
	}
	pk_quant_finish_ref(&s->quant, call, &sum, 1, n, 0, off[0] + m * g->n + n);
}

static void qmatmul_run(const struct pk_cpu_call *call)
{
	const struct qmatmul *s = call->state;
	const struct pk_gemm *g = &s->gemm;
	struct pk_walk_pos pos = {0};
	if (!g->batch.n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(&g->batch); i++) {
			int64_t off[3];
			for (int k = 0; k < 3; k++)
				off[k] = pos.off[k] + i * pk_walk_stride(&g->batch, k);
			for (int64_t j = 0; j < g->m * g->n; j++)
				qmatmul_element(call, off, j / g->n, j % g->n);
		}
	} while (pk_walk_next(&g->batch, &pos));
}

const struct pk_cpu_kernel pk_kernel_qmatmul_ref = {
	.op = PK_OP_QMATMUL,
	.name = "qmatmul_ref",
	.supports = qmatmul_supports,
	.setup = qmatmul_setup,
	.run = qmatmul_run,
};
