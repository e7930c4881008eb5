// SPDX-License-Identifier: Apache-2.0
// From a call of a row to the description of a plan.
#include "engine/cuda/cudnn/fusion.h"

#include <errno.h>
#include <string.h>

#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/epilogue.h"

#define IN_BIAS     2 // operands of conv, conv_transpose and qconv
#define IN_RESIDUAL 3
#define IN_MULT     3
#define IN_X_ZERO   4
#define IN_W_ZERO   5
#define IN_Y_SCALE  6
#define IN_Y_ZERO   7

static const struct pk_cuda_tensor *operand(const struct pk_cuda_call *call, int idx)
{
	bool there = idx < call->node->n_inputs && call->inputs[idx].dtype != PK_DTYPE_NONE;
	return there ? &call->inputs[idx] : NULL;
}

static int data_type(enum pk_dtype dtype)
{
	static const int types[PK_N_DTYPES] = {
		[PK_F32] = PK_CUDNN_DATA_FLOAT + 1,
		[PK_F16] = PK_CUDNN_DATA_HALF + 1,
		[PK_I8] = PK_CUDNN_DATA_INT8 + 1,
		[PK_U8] = PK_CUDNN_DATA_UINT8 + 1,
	};
	return types[dtype] - 1; // -1: none that a plan takes
}

// cuDNN's convolutions take fully packed NHWC only.
static bool is_packed_nhwc(const struct pk_cuda_tensor *t)
{
	const int64_t *d = t->shape.dims, *s = t->strides;
	return t->layout == PK_CUDA_NHWC && t->shape.rank == 4 && data_type(t->dtype) >= 0 &&
	       s[1] == 1 && s[3] == t->channels && s[2] == d[3] * s[3] && s[0] == d[2] * s[2] &&
	       t->elements > 0;
}

static struct pk_cudnn_tensor nhwc(int type, int64_t n, int64_t c, int64_t h, int64_t w)
{
	return (struct pk_cudnn_tensor){
		.type = type,
		.n_dims = 4,
		.dims = {n, c, h, w},
		.strides = {h * w * c, 1, w * c, c},
	};
}

static struct pk_cudnn_tensor activations(const struct pk_cuda_tensor *t)
{
	const int64_t *d = t->shape.dims;
	return nhwc(data_type(t->dtype), d[0], t->channels, d[2], d[3]);
}

static void take_window(const struct pk_node *node, struct pk_cudnn_fusion *out)
{
	const int64_t *pads = pk_node_attr(node, PK_ATTR_PADS)->i;
	for (int i = 0; i < 2; i++) {
		out->strides[i] = pk_node_attr(node, PK_ATTR_STRIDES)->i[i];
		out->dilations[i] = pk_node_attr(node, PK_ATTR_DILATIONS)->i[i];
		out->pre_pads[i] = pads[i];
		out->post_pads[i] = pads[2 + i];
	}
}

static bool has_padding(const struct pk_cudnn_fusion *fusion)
{
	return fusion->pre_pads[0] || fusion->pre_pads[1] || fusion->post_pads[0] ||
	       fusion->post_pads[1];
}

// Channels per group of the filter with those of padding; 0: padding would mix the groups.
static int64_t group_channels(
	int64_t group, int64_t channels, int64_t padded, int64_t other, int64_t other_padded)
{
	if (group == 1)
		return padded;
	if (group == channels && group == other && padded == other_padded)
		return 1; // depthwise: those of padding are groups of their own
	return channels == padded && other == other_padded ? channels / group : 0;
}

static int take_convolution(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_node *node = call->node;
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	if (!is_packed_nhwc(x) || !is_packed_nhwc(y) || node->inputs[1]->shape.rank != 4)
		return pk_fail(err, -ENOTSUP, "not two-dimensional, packed and NHWC");
	if (!node->inputs[1]->data && !node->inputs[1]->elided)
		return pk_fail(err, -ENOTSUP, "the weights are no constant");
	bool transposed = node->op == PK_OP_CONV_TRANSPOSE;
	const int64_t *kernel = &node->inputs[1]->shape.dims[2];
	// Seen from the forward convolution, whose gradient a transposed one is.
	const struct pk_cuda_tensor *in = transposed ? y : x, *of = transposed ? x : y;
	int64_t c = group_channels(pk_node_int(node, PK_ATTR_GROUP), in->shape.dims[1],
		in->channels, of->shape.dims[1], of->channels);
	if (!c)
		return pk_fail(err, -ENOTSUP, "padded channels would mix the groups");
	out->core = transposed ? PK_CUDNN_TRANSPOSED_CONV : PK_CUDNN_CONV;
	out->x = activations(x);
	out->y = activations(y);
	out->w = nhwc(data_type(x->dtype), of->channels, c, kernel[0], kernel[1]);
	out->channels = y->channels;
	out->channel_dim = 1;
	take_window(node, out);
	return 0;
}

static int put_act(const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, bool padded,
	struct pk_err *err)
{
	const struct pk_node *node = call->node;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_ACT);
	double alpha = pk_node_float(node, PK_ATTR_ALPHA), beta = pk_node_float(node, PK_ATTR_BETA);
	if (padded && !pk_cudnn_act_keeps_zero(fn, alpha, beta))
		return pk_fail(
			err, -ENOTSUP, "%s would not leave 0 in padded channels", pk_fn_name(fn));
	if (pk_cudnn_put_act(out, fn, alpha, beta) < 0)
		return pk_fail(err, -ENOTSUP, "no pointwise form of %s", pk_fn_name(fn));
	return 0;
}

static int put_residual(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_cuda_tensor *t = operand(call, IN_RESIDUAL);
	if (!t || !is_packed_nhwc(t) || t->channels != call->outputs[0].channels ||
		!pk_shape_equal(&t->shape, &call->outputs[0].shape))
		return pk_fail(err, -ENOTSUP, "the residual is not laid out like the result");
	out->residual = activations(t);
	pk_cudnn_put_step(out, PK_CUDNN_ADD, PK_CUDNN_RESIDUAL);
	return 0;
}

static int from_conv(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int r = take_convolution(call, out, err);
	if (r < 0)
		return r;
	if (out->x.type == PK_CUDNN_DATA_INT8 || out->x.type == PK_CUDNN_DATA_UINT8 ||
		out->x.type != out->y.type)
		return pk_fail(err, -ENOTSUP, "not float");
	out->compute_type = PK_CUDNN_DATA_FLOAT;
	int64_t when = call->node->op == PK_OP_CONV ? pk_node_int(call->node, PK_ATTR_RESIDUAL)
						    : PK_RESIDUAL_NONE;
	if (operand(call, IN_BIAS))
		pk_cudnn_put_step(out, PK_CUDNN_ADD, PK_CUDNN_BIAS);
	if (when == PK_RESIDUAL_BEFORE_ACT)
		r = put_residual(call, out, err);
	if (r == 0)
		r = put_act(call, out, y->channels != y->shape.dims[1], err);
	if (r == 0 && when == PK_RESIDUAL_AFTER_ACT)
		r = put_residual(call, out, err);
	return r;
}

static int put_requantize(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	if (out->y.type != PK_CUDNN_DATA_INT8 && out->y.type != PK_CUDNN_DATA_UINT8)
		return 0;
	if (!operand(call, IN_Y_SCALE))
		return pk_fail(err, -ENOTSUP, "no scale of the result");
	pk_cudnn_put_scalar(out, PK_CUDNN_MUL, PK_CUDNN_INVERSE_Y_SCALE, 0);
	if (!operand(call, IN_Y_ZERO))
		return 0;
	if (y->channels != y->shape.dims[1])
		return pk_fail(err, -ENOTSUP, "a zero point would fill padded channels");
	pk_cudnn_put_scalar(out, PK_CUDNN_ADD, PK_CUDNN_Y_ZERO, 0);
	return 0;
}

// Sums of i8 products in i32, then floats: act(sum * mult + bias * mult) / y scale + y zero.
static int from_qconv(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int r = take_convolution(call, out, err);
	if (r < 0)
		return r;
	if (out->x.type != PK_CUDNN_DATA_INT8 || call->node->inputs[1]->dtype != PK_I8)
		return pk_fail(err, -ENOTSUP, "not of i8");
	if (pk_node_int(call->node, PK_ATTR_GROUP) != 1)
		return pk_fail(err, -ENOTSUP, "cuDNN has no integer engines for groups");
	if (operand(call, IN_W_ZERO) || (operand(call, IN_X_ZERO) && has_padding(out)))
		return pk_fail(err, -ENOTSUP, "zero points: cuDNN pads with 0");
	if (!operand(call, IN_MULT))
		return pk_fail(err, -ENOTSUP, "plain i32 sums are not NHWC");
	out->compute_type = PK_CUDNN_DATA_INT32;
	pk_cudnn_put_step(out, PK_CUDNN_MUL, PK_CUDNN_SCALE);
	if (operand(call, IN_BIAS) || operand(call, IN_X_ZERO))
		pk_cudnn_put_step(out, PK_CUDNN_ADD, PK_CUDNN_BIAS);
	r = put_act(call, out, y->channels != y->shape.dims[1], err);
	return r < 0 ? r : put_requantize(call, out, err);
}

// The last two dims as a matrix, all before them as the batch.
static struct pk_cudnn_tensor matrix(const struct pk_cuda_tensor *t, bool transposed)
{
	const int64_t *d = t->shape.dims;
	int rank = t->shape.rank;
	int64_t rows = d[rank - 2], columns = d[rank - 1], batch = 1;
	for (int i = 0; i < rank - 2; i++)
		batch *= d[i];
	struct pk_cudnn_tensor out = {
		.type = data_type(t->dtype),
		.n_dims = 3,
		.dims = {batch, rows, columns},
		.strides = {rows * columns, columns, 1},
	};
	if (transposed) {
		out.dims[1] = columns;
		out.dims[2] = rows;
		out.strides[1] = 1;
		out.strides[2] = columns;
	}
	return out;
}

static bool is_matrix(const struct pk_cuda_tensor *t)
{
	return t->layout == PK_CUDA_DENSE && t->shape.rank >= 2 && data_type(t->dtype) >= 0 &&
	       t->dtype != PK_I8 && t->dtype != PK_U8 && t->elements > 0;
}

// Leading dims must be equal, or all 1 on one side: then the batch is one number.
static bool is_batched_alike(const struct pk_cuda_call *call, const struct pk_cudnn_fusion *f)
{
	const struct pk_shape *a = &call->inputs[0].shape, *b = &call->inputs[1].shape;
	if (f->x.dims[0] == 1 || f->w.dims[0] == 1)
		return true;
	return a->rank == b->rank &&
	       memcmp(a->dims, b->dims, (size_t)(a->rank - 2) * sizeof(a->dims[0])) == 0;
}

// One matrix for the whole batch: the batch is more rows.
static void join_batch(struct pk_cudnn_fusion *fusion)
{
	struct pk_cudnn_tensor *both[] = {&fusion->x, &fusion->y};
	for (int i = 0; i < 2; i++) {
		both[i]->dims[1] *= both[i]->dims[0];
		both[i]->strides[0] *= both[i]->dims[0];
		both[i]->dims[0] = 1;
	}
}

static int take_product(const struct pk_cuda_call *call, bool trans_a, bool trans_b,
	struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	if (out->strict)
		return pk_fail(err, -ENOTSUP, "cuDNN's matrix products cut f32 down");
	if (!is_matrix(&call->inputs[0]) || !is_matrix(&call->inputs[1]) || !is_matrix(y))
		return pk_fail(err, -ENOTSUP, "not dense float matrices");
	out->core = PK_CUDNN_MATMUL_CORE;
	out->x = matrix(&call->inputs[0], trans_a);
	out->w = matrix(&call->inputs[1], trans_b);
	out->y = matrix(y, false);
	out->compute_type = PK_CUDNN_DATA_FLOAT;
	out->channels = out->y.dims[2];
	out->channel_dim = 2;
	if (!is_batched_alike(call, out))
		return pk_fail(err, -ENOTSUP, "the batches are broadcast against each other");
	if (out->w.dims[0] == 1 && !trans_a)
		join_batch(out);
	return 0;
}

static int from_matmul(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	return take_product(call, false, false, out, err);
}

static int from_gemm(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	const struct pk_node *node = call->node;
	const struct pk_cuda_tensor *c = operand(call, IN_BIAS);
	int r = take_product(call, pk_node_int(node, PK_ATTR_TRANS_A),
		pk_node_int(node, PK_ATTR_TRANS_B), out, err);
	if (r < 0)
		return r;
	if (pk_node_float(node, PK_ATTR_ALPHA) != 1 || pk_node_float(node, PK_ATTR_BETA) != 1)
		return pk_fail(err, -ENOTSUP, "alpha and beta other than 1");
	if (!c)
		return 0;
	if (c->dtype != PK_F32 || c->elements != out->channels ||
		c->shape.dims[c->shape.rank - 1] != out->channels)
		return pk_fail(err, -ENOTSUP, "c is not one f32 per column");
	pk_cudnn_put_step(out, PK_CUDNN_ADD, PK_CUDNN_BIAS);
	return 0;
}

int pk_cudnn_fusion_from(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err)
{
	static const struct {
		enum pk_op op;
		int (*from)(const struct pk_cuda_call *call, struct pk_cudnn_fusion *out,
			struct pk_err *err);
	} makers[] = {
		{PK_OP_CONV, from_conv},
		{PK_OP_CONV_TRANSPOSE, from_conv},
		{PK_OP_QCONV, from_qconv},
		{PK_OP_MATMUL, from_matmul},
		{PK_OP_GEMM, from_gemm},
	};
	memset(out, 0, sizeof(*out));
	out->strict = call->float_type == PK_F32;
	for (size_t i = 0; i < PK_ARRAY_LEN(makers); i++) {
		if (makers[i].op == call->node->op)
			return makers[i].from(call, out, err);
	}
	return pk_fail(err, -ENOTSUP, "no cuDNN graph for %s", pk_op_info(call->node->op)->name);
}

bool pk_cudnn_fusion_uses(const struct pk_cudnn_fusion *fusion, enum pk_cudnn_operand operand_kind)
{
	for (int i = 0; i < fusion->n_steps; i++) {
		if (fusion->steps[i].operand == operand_kind)
			return true;
	}
	return false;
}

static void put_numbers(struct pk_buf *out, const char *name, const int64_t *v, int n)
{
	pk_buf_printf(out, " %s=", name);
	for (int i = 0; i < n; i++)
		pk_buf_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
}

static void put_tensor(struct pk_buf *out, const char *name, const struct pk_cudnn_tensor *t)
{
	pk_buf_printf(out, " %s:%d", name, t->type);
	put_numbers(out, "dims", t->dims, t->n_dims);
	put_numbers(out, "by", t->strides, t->n_dims);
}

int pk_cudnn_fusion_text(const struct pk_cudnn_fusion *fusion, struct pk_buf *out)
{
	static const char *const cores[] = {"conv", "conv_transpose", "matmul"};
	pk_buf_printf(out, "%s%s", cores[fusion->core], fusion->strict ? " strict" : "");
	put_tensor(out, "x", &fusion->x);
	put_tensor(out, "w", &fusion->w);
	put_tensor(out, "y", &fusion->y);
	if (fusion->core != PK_CUDNN_MATMUL_CORE) {
		put_numbers(out, "strides", fusion->strides, 2);
		put_numbers(out, "dilations", fusion->dilations, 2);
		put_numbers(out, "pre", fusion->pre_pads, 2);
		put_numbers(out, "post", fusion->post_pads, 2);
	}
	for (int i = 0; i < fusion->n_steps; i++) {
		const struct pk_cudnn_step *s = &fusion->steps[i];
		pk_buf_printf(out, " %d(%d", s->mode, s->operand);
		if (s->has_clip)
			pk_buf_printf(out, " %.9g..%.9g", s->lower, s->upper);
		pk_buf_printf(out, " %.9g)", s->alpha);
	}
	return pk_buf_error(out);
}
