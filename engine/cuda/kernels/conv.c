// SPDX-License-Identifier: Apache-2.0
// Rows of conv.cu, depthwise.cu and stem.cu: geometry, packed weights and entries.
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

#define ALIGN 64 // bytes, of the weights behind the bias

static bool is_constant(const struct pk_value *v)
{
	return v && (v->data || v->elided);
}

// A number of channels that whole vectors of any kernel cover.
static int64_t padded(int64_t channels)
{
	return (channels + 7) / 8 * 8;
}

static bool transposed(const struct pk_cuda_call *call)
{
	return call->node->op == PK_OP_CONV_TRANSPOSE;
}

// Channels that one load takes: whole vectors only where groups begin on one.
static int lanes_of(const struct pk_cuda_call *call, const struct pk_window *g)
{
	const struct pk_cuda_tensor *x = &call->inputs[0];
	int lanes = x->dtype == PK_F16 ? 8 : 4;
	if (x->layout != PK_CUDA_NHWC || (g->group > 1 && g->in_c / g->group % lanes))
		return 1;
	return lanes;
}

static void make(const struct pk_cuda_call *call, struct pk_cu_conv *p)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	const struct pk_node *node = call->node;
	struct pk_window g;
	pk_window_init(&g, node);
	int lanes = lanes_of(call, &g), n = x->shape.rank - 2;
	*p = (struct pk_cu_conv){
		.channels = (int)(y->layout == PK_CUDA_NHWC ? y->channels : g.out_c),
		.out_c = (int)g.out_c,
		.in_c = (int)((g.in_c / g.group + lanes - 1) / lanes * lanes),
		.group_in = (int)(g.in_c / g.group),
		.group_out = (int)(g.out_c / g.group),
		.across = (int)((g.out[2] + PK_CU_PIXELS - 1) / PK_CU_PIXELS),
		.act = (int)pk_node_fn(node, PK_ATTR_ACT),
		.residual = PK_RESIDUAL_NONE,
		.has_bias = pk_cu_input(call, 2) != NULL,
		.alpha = (float)pk_node_float(node, PK_ATTR_ALPHA),
		.beta = (float)pk_node_float(node, PK_ATTR_BETA),
		.weights = (int)((padded(g.out_c) * 4 + ALIGN - 1) / ALIGN * ALIGN),
		.x_n = (int)x->strides[0],
		.x_c = (int)x->strides[1],
		.y_n = (int)y->strides[0],
		.y_c = (int)y->strides[1],
	};
	if (!transposed(call))
		p->residual = (int)pk_node_int(node, PK_ATTR_RESIDUAL);
	for (int i = 0; i < 3; i++) {
		p->in[i] = (int)g.in[i];
		p->out[i] = (int)g.out[i];
		p->kernel[i] = (int)g.kernel[i];
		p->stride[i] = (int)g.stride[i];
		p->dilation[i] = (int)g.dilation[i];
		p->pad[i] = (int)g.pad[i];
	}
	for (int i = 0; i < n; i++) {
		p->x_s[3 - n + i] = (int)x->strides[2 + i];
		p->y_s[3 - n + i] = (int)y->strides[2 + i];
	}
	p->n = (int)(g.batch * g.out[0] * g.out[1] * p->across * p->channels);
}

// Far from an int's end, with the padding that the kernels' additions know.
static bool window_ok(const struct pk_window *g)
{
	int64_t threads = g->batch * g->out[0] * g->out[1] * (g->out[2] + 3) * padded(g->out_c);
	int64_t weights = padded(g->in_c) * padded(g->out_c) * g->kernel_plane;
	for (int i = 0; i < 3; i++) {
		if (g->pad[i] > INT32_MAX / 8 || g->pad[i] < -INT32_MAX / 8 ||
			(g->out[i] + 3) * g->stride[i] > INT32_MAX / 8 ||
			g->kernel[i] * g->dilation[i] > INT32_MAX / 8)
			return false;
	}
	return threads <= INT32_MAX && weights <= INT32_MAX / 4;
}

static bool conv_ok(const struct pk_cuda_call *call, struct pk_window *g)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	const struct pk_cuda_tensor *residual = pk_cu_input(call, 3);
	if (!pk_cu_node_ok(call) || !pk_window_init(g, call->node) || !window_ok(g) ||
		!is_constant(call->node->inputs[1]) || !pk_cu_is_float(x->dtype) ||
		y->dtype != x->dtype || y->layout != x->layout)
		return false;
	if (pk_cu_input(call, 2) && !is_constant(call->node->inputs[2]))
		return false;
	return !residual || (residual->dtype == y->dtype && residual->layout == y->layout);
}

static void put(void *out, enum pk_dtype dtype, int64_t i, float v)
{
	if (dtype == PK_F16)
		((uint16_t *)out)[i] = pk_f32_to_f16(v);
	else
		((float *)out)[i] = v;
}

static void pack_bias(const struct pk_cuda_call *call, const struct pk_cu_conv *p, void *out)
{
	if (p->has_bias)
		memcpy(out, call->node->inputs[2]->data, (size_t)p->out_c * sizeof(float));
}

static size_t direct_bytes(const struct pk_cuda_call *call)
{
	struct pk_cu_conv p;
	make(call, &p);
	int64_t cells = (int64_t)p.kernel[0] * p.kernel[1] * p.kernel[2];
	return (size_t)p.weights +
	       (size_t)(cells * p.in_c * p.out_c) * pk_dtype_bytes(call->inputs[0].dtype);
}

static void direct_pack(const struct pk_cuda_call *call, void *out)
{
	struct pk_cu_conv p;
	const float *w = call->node->inputs[1]->data;
	enum pk_dtype dtype = call->inputs[0].dtype;
	make(call, &p);
	int64_t cells = (int64_t)p.kernel[0] * p.kernel[1] * p.kernel[2];
	memset(out, 0, direct_bytes(call));
	pack_bias(call, &p, out);
	for (int64_t m = 0; m < p.out_c; m++) {
		for (int64_t c = 0; c < p.group_in; c++) {
			int64_t from = m * p.group_in + c;
			if (transposed(call))
				from = (m / p.group_out * p.group_in + c) * p.group_out +
				       m % p.group_out;
			for (int64_t k = 0; k < cells; k++)
				put((char *)out + p.weights, dtype, (k * p.in_c + c) * p.out_c + m,
					w[from * cells + k]);
		}
	}
}

static bool direct_supports(const struct pk_cuda_call *call)
{
	struct pk_window g;
	return conv_ok(call, &g);
}

static const char *direct_entry(const struct pk_cuda_call *call)
{
	static const char *const names[2][2][2] = {
		{{"conv_direct_f32_1", "conv_direct_f32"},
			{"conv_direct_f16_1", "conv_direct_f16"}},
		{{"conv_transpose_f32_1", "conv_transpose_f32"},
			{"conv_transpose_f16_1", "conv_transpose_f16"}},
	};
	struct pk_window g;
	pk_window_init(&g, call->node);
	return names[transposed(call)][call->inputs[0].dtype == PK_F16][lanes_of(call, &g) > 1];
}

static void fill(
	const struct pk_cuda_call *call, const struct pk_cu_conv *p, struct pk_cuda_launch *out)
{
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	if (!transposed(call))
		pk_cu_pointer(out, PK_CUDA_INPUT, p->residual != PK_RESIDUAL_NONE ? 3 : 0);
	pk_cu_pointer(out, PK_CUDA_PACKED, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, p, sizeof(*p));
}

static bool direct_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_conv p;
	if (idx > 0)
		return false;
	make(call, &p);
	pk_cu_launch(out, direct_entry(call), p.n);
	fill(call, &p, out);
	return true;
}

const struct pk_cuda_row pk_cuda_row_conv_direct = {
	.op = PK_OP_CONV,
	.name = "conv_direct",
	.host_inputs = 1 << 1 | 1 << 2,
	.supports = direct_supports,
	.pack_bytes = direct_bytes,
	.pack = direct_pack,
	.source = "conv.cu",
	.launch = direct_launch,
};

const struct pk_cuda_row pk_cuda_row_conv_transpose_direct = {
	.op = PK_OP_CONV_TRANSPOSE,
	.name = "conv_transpose_direct",
	.host_inputs = 1 << 1 | 1 << 2,
	.supports = direct_supports,
	.pack_bytes = direct_bytes,
	.pack = direct_pack,
	.source = "conv.cu",
	.launch = direct_launch,
};

static bool depthwise_supports(const struct pk_cuda_call *call)
{
	struct pk_window g;
	return conv_ok(call, &g) && call->inputs[0].layout == PK_CUDA_NHWC && g.group == g.in_c &&
	       g.group == g.out_c;
}

static size_t depthwise_bytes(const struct pk_cuda_call *call)
{
	struct pk_cu_conv p;
	make(call, &p);
	return (size_t)p.weights + (size_t)p.kernel[1] * (size_t)p.kernel[2] * (size_t)p.channels *
					   pk_dtype_bytes(call->inputs[0].dtype);
}

// Weights [kernel cell][channel], zeros in the channels of padding.
static void depthwise_pack(const struct pk_cuda_call *call, void *out)
{
	struct pk_cu_conv p;
	const float *w = call->node->inputs[1]->data;
	make(call, &p);
	int64_t cells = (int64_t)p.kernel[1] * p.kernel[2];
	memset(out, 0, depthwise_bytes(call));
	pack_bias(call, &p, out);
	for (int64_t c = 0; c < p.out_c; c++) {
		for (int64_t k = 0; k < cells; k++)
			put((char *)out + p.weights, call->inputs[0].dtype, k * p.channels + c,
				w[c * cells + k]);
	}
}

// The unrolled kernel of this geometry; NULL: the general one.
static const char *depthwise_entry(const struct pk_cu_conv *p, bool half)
{
	static const char *const names[2][2][2] = {
		{{"depthwise_3_1_f32", "depthwise_3_1_f16"},
			{"depthwise_3_2_f32", "depthwise_3_2_f16"}},
		{{"depthwise_5_1_f32", "depthwise_5_1_f16"},
			{"depthwise_5_2_f32", "depthwise_5_2_f16"}},
	};
	int side = p->kernel[1], stride = p->stride[1];
	bool square = p->kernel[2] == side && p->stride[2] == stride && p->dilation[1] == 1 &&
		      p->dilation[2] == 1;
	if (!square || (side != 3 && side != 5) || stride > 2)
		return NULL;
	return names[side == 5][stride == 2][half];
}

static bool depthwise_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_conv p;
	bool half = call->inputs[0].dtype == PK_F16;
	if (idx > 0)
		return false;
	make(call, &p);
	const char *entry = depthwise_entry(&p, half);
	int64_t rows = call->outputs[0].shape.dims[0] * p.out[1];
	p.n = (int)(rows * (entry ? p.across : p.out[2]) * (p.channels / (half ? 8 : 4)));
	pk_cu_launch(out, entry ? entry : half ? "depthwise_any_f16" : "depthwise_any_f32", p.n);
	fill(call, &p, out);
	return true;
}

const struct pk_cuda_row pk_cuda_row_conv_depthwise_nhwc = {
	.op = PK_OP_CONV,
	.name = "conv_depthwise_nhwc",
	.rank = 60, // above cuDNN, which has one slow engine for these
	.host_inputs = 1 << 1 | 1 << 2,
	.supports = depthwise_supports,
	.pack_bytes = depthwise_bytes,
	.pack = depthwise_pack,
	.source = "depthwise.cu",
	.launch = depthwise_launch,
};

static bool stem_supports(const struct pk_cuda_call *call)
{
	struct pk_window g;
	return conv_ok(call, &g) && call->inputs[0].layout == PK_CUDA_NHWC && g.group == 1 &&
	       g.in_c <= PK_CU_STEM_IN && g.kernel_plane <= PK_CU_STEM_CELLS &&
	       padded(g.out_c) / PK_CU_STEM_OUT < 65535;
}

static bool stem_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_conv p;
	if (idx > 0)
		return false;
	make(call, &p);
	p.n = (int)(call->outputs[0].shape.dims[0] * p.out[1] * p.out[2]);
	pk_cu_launch(out, call->inputs[0].dtype == PK_F16 ? "stem_f16" : "stem_f32", p.n);
	out->block[0] = PK_CU_STEM_BLOCK;
	out->grid[0] = (uint32_t)((p.n + PK_CU_STEM_BLOCK - 1) / PK_CU_STEM_BLOCK);
	out->grid[1] = (uint32_t)((p.channels + PK_CU_STEM_OUT - 1) / PK_CU_STEM_OUT);
	fill(call, &p, out);
	return true;
}

const struct pk_cuda_row pk_cuda_row_conv_stem = {
	.op = PK_OP_CONV,
	.name = "conv_stem",
	.rank = 60, // above cuDNN, which wants eight channels and more
	.host_inputs = 1 << 1 | 1 << 2,
	.supports = stem_supports,
	.pack_bytes = direct_bytes,
	.pack = direct_pack,
	.source = "stem.cu",
	.launch = stem_launch,
};
