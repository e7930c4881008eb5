// SPDX-License-Identifier: Apache-2.0
// Maximum pooling of byte pictures in two steps: rows of the window into one line, then columns.
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

// gcc vectorises loops of unknown length from -O3 on only.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

// Signed bytes are compared as unsigned ones with the top bit turned.
struct pool {
	struct pk_window geom;
	uint8_t flip;
};

static bool supports(const struct pk_node *node)
{
	struct pk_window g;
	enum pk_dtype dtype = node->inputs[0]->dtype;
	return (dtype == PK_I8 || dtype == PK_U8) && pk_check_all_dtype(node, dtype) &&
	       pk_check_in_shape(node, 0)->rank <= 4 &&
	       pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_MAX && pk_window_init(&g, node);
}

static size_t workspace(const struct pk_node *node)
{
	struct pk_window g;
	pk_window_init(&g, node);
	return (size_t)g.in[2];
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pool *s = pk_arena_new(arena, struct pool);
	if (!s)
		return -ENOMEM;
	pk_window_init(&s->geom, node);
	s->flip = node->inputs[0]->dtype == PK_I8 ? 0x80 : 0;
	*state = s;
	return 0;
}

// line[i] = max(line[i], x[i * stride] ^ flip)
static void merge(uint8_t *restrict line, const uint8_t *x, int64_t n, int64_t stride, uint8_t flip)
{
	if (stride == 1) {
		for (int64_t i = 0; i < n; i++) {
			uint8_t v = x[i] ^ flip;
			line[i] = v > line[i] ? v : line[i];
		}
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		uint8_t v = x[i * stride] ^ flip;
		line[i] = v > line[i] ? v : line[i];
	}
}

static void merge_rows(const struct pool *s, const uint8_t *x, int64_t oh, uint8_t *line)
{
	const struct pk_window *g = &s->geom;
	memset(line, 0, (size_t)g->in[2]);
	for (int64_t k = 0; k < g->kernel[1]; k++) {
		int64_t ih = oh * g->stride[1] + k * g->dilation[1] - g->pad[1];
		if (ih >= 0 && ih < g->in[1])
			merge(line, x + ih * g->in[2], g->in[2], 1, s->flip);
	}
}

static void merge_column(const struct pk_window *g, const uint8_t *line, int64_t k, uint8_t *y)
{
	int64_t stride = g->stride[2], base = k * g->dilation[2] - g->pad[2];
	int64_t first = base < 0 ? (-base + stride - 1) / stride : 0;
	int64_t end = g->in[2] <= base ? 0 : (g->in[2] - 1 - base) / stride + 1;
	end = PK_MIN(end, g->out[2]);
	if (first < end)
		merge(y + first, line + base + first * stride, end - first, stride, 0);
}

static void run(const struct pk_cpu_call *call)
{
	const struct pool *s = call->state;
	const struct pk_window *g = &s->geom;
	const uint8_t *x = call->inputs[0];
	uint8_t *y = call->outputs[0], *line = call->workspace;
	for (int64_t plane = 0; plane < g->batch * g->in_c; plane++, x += g->in_plane) {
		for (int64_t oh = 0; oh < g->out[1]; oh++, y += g->out[2]) {
			merge_rows(s, x, oh, line);
			memset(y, 0, (size_t)g->out[2]);
			for (int64_t k = 0; k < g->kernel[2]; k++)
				merge_column(g, line, k, y);
			for (int64_t i = 0; s->flip && i < g->out[2]; i++)
				y[i] ^= s->flip;
		}
	}
}

const struct pk_cpu_kernel pk_kernel_pool_bytes = {
	.op = PK_OP_POOL,
	.name = "pool_bytes",
	.rank = 9,
	.supports = supports,
	.workspace = workspace,
	.setup = setup,
	.run = run,
};
