// SPDX-License-Identifier: Apache-2.0
// Row of pool.cu.
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

// Entries by type; lanes: channels a thread takes of NHWC tensors.
static const struct {
	enum pk_dtype dtype;
	enum pk_cuda_layout layout;
	int lanes;
	const char *max, *average;
} entries[] = {
	{PK_F16, PK_CUDA_NHWC, 8, "pool_max_f16", "pool_avg_f16"},
	{PK_F32, PK_CUDA_NHWC, 4, "pool_max_f32", "pool_avg_f32"},
	{PK_I8, PK_CUDA_NHWC, 8, "pool_max_i8", NULL},
	{PK_U8, PK_CUDA_NHWC, 8, "pool_max_u8", NULL},
	{PK_F32, PK_CUDA_DENSE, 1, "pool_max_f32_1", "pool_avg_f32_1"},
};

static bool is_average(const struct pk_cuda_call *call)
{
	return pk_node_fn(call->node, PK_ATTR_FN) == PK_FN_POOL_AVG;
}

static int entry_of(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (x->dtype == entries[i].dtype && y->dtype == x->dtype &&
			x->layout == entries[i].layout && y->layout == x->layout)
			return is_average(call) && !entries[i].average ? -1 : (int)i;
	}
	return -1;
}

// Spatial strides as three axes.
static void set_strides(const struct pk_cuda_tensor *t, int *out)
{
	int n = t->shape.rank - 2;
	for (int i = 0; i < n; i++)
		out[3 - n + i] = (int)t->strides[2 + i];
}

static void make(const struct pk_cuda_call *call, int lanes, struct pk_cu_pool *p)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	struct pk_window g;
	pk_window_init(&g, call->node);
	*p = (struct pk_cu_pool){
		.vectors = (int)((lanes > 1 ? y->channels : g.in_c) / lanes),
		.average = is_average(call),
		.count_pad = pk_node_int(call->node, PK_ATTR_COUNT_PAD) != 0,
		.x_n = (int)x->strides[0],
		.x_c = (int)x->strides[1] * lanes,
		.y_n = (int)y->strides[0],
		.y_c = (int)y->strides[1] * lanes,
	};
	for (int i = 0; i < 3; i++) {
		p->in[i] = (int)g.in[i];
		p->out[i] = (int)g.out[i];
		p->kernel[i] = (int)g.kernel[i];
		p->stride[i] = (int)g.stride[i];
		p->dilation[i] = (int)g.dilation[i];
		p->pad[i] = (int)g.pad[i];
		p->pad_end[i] = (int)g.pad_end[i];
	}
	set_strides(x, p->x_s);
	set_strides(y, p->y_s);
	p->n = (int)(g.batch * g.out_plane * p->vectors);
}

// Sizes stay far from an int's end, and every window has a cell: an empty one's maximum (minus
// infinity) would end up in the channels of padding.
static bool window_ok(const struct pk_window *g, int axis)
{
	int64_t d = g->dilation[axis];
	if (g->out[axis] * g->stride[axis] > INT32_MAX / 4 || g->kernel[axis] * d > INT32_MAX / 4 ||
		g->pad[axis] > INT32_MAX / 4 || g->pad[axis] < 0 || g->pad_end[axis] < 0 ||
		g->pad_end[axis] > INT32_MAX / 4)
		return false;
	for (int64_t o = 0; o < g->out[axis]; o++) {
		int64_t base = o * g->stride[axis] - g->pad[axis];
		int64_t k = base < 0 ? (-base + d - 1) / d : 0;
		if (k >= g->kernel[axis] || base + k * d >= g->in[axis])
			return false;
	}
	return true;
}

static bool supports(const struct pk_cuda_call *call)
{
	struct pk_window g;
	if (!pk_cu_node_ok(call) || !pk_window_init(&g, call->node) || entry_of(call) < 0)
		return false;
	return window_ok(&g, 0) && window_ok(&g, 1) && window_ok(&g, 2);
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	int at = entry_of(call);
	struct pk_cu_pool p;
	if (idx > 0)
		return false;
	make(call, entries[at].lanes, &p);
	pk_cu_launch(out, p.average ? entries[at].average : entries[at].max, p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_pool_window = {
	.op = PK_OP_POOL,
	.name = "pool_window",
	.supports = supports,
	.source = "pool.cu",
	.launch = launch,
};
