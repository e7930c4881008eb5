// SPDX-License-Identifier: Apache-2.0
// Builds operation graphs. Call order and rules (the result so far is the first operand, virtual
// tensors are float, NHWC strides): cuDNN developer guide, "Graph API" and "Supported patterns".
#include "engine/cuda/cudnn/graph.h"

#include <errno.h>
#include <stdbool.h>

#include "engine/cuda/cudnn/constants.h"

#define ALIGNMENT 16 // of every address that a run binds

struct builder {
	struct pk_cudnn_pool *pool;
	const struct pk_cudnn_fusion *fusion;
	struct pk_err *err;
	int error;
	void *ops[PK_CUDNN_MAX_STEPS + 1];
	int n_ops, n_virtual;
};

static struct pk_cudnn_maker begin(struct builder *b, int type, const char *what)
{
	if (b->error < 0)
		return (struct pk_cudnn_maker){.error = b->error};
	return pk_cudnn_begin(b->pool, type, what, b->err);
}

static void *end(struct builder *b, struct pk_cudnn_maker *maker)
{
	void *descriptor = pk_cudnn_end(maker);
	if (b->error == 0)
		b->error = maker->error;
	return descriptor;
}

static void *make_tensor(struct builder *b, const struct pk_cudnn_tensor *t, int64_t uid)
{
	struct pk_cudnn_maker maker = begin(b, PK_CUDNN_NEW_TENSOR, "tensor");
	bool is_virtual = uid >= PK_CUDNN_UID_VIRTUAL;
	pk_cudnn_set_type(&maker, PK_CUDNN_TENSOR_TYPE, t->type);
	pk_cudnn_set(&maker, PK_CUDNN_TENSOR_DIMS, PK_CUDNN_TYPE_INT64, t->n_dims, t->dims);
	pk_cudnn_set(&maker, PK_CUDNN_TENSOR_STRIDES, PK_CUDNN_TYPE_INT64, t->n_dims, t->strides);
	pk_cudnn_set_int64(&maker, PK_CUDNN_TENSOR_UID, uid);
	pk_cudnn_set_int64(&maker, PK_CUDNN_TENSOR_ALIGNMENT, ALIGNMENT);
	if (is_virtual)
		pk_cudnn_set(
			&maker, PK_CUDNN_TENSOR_VIRTUAL, PK_CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	return end(b, &maker);
}

// Where the next operation writes: y itself when it is the last one, else a tensor between.
static void *make_result(struct builder *b, bool is_last)
{
	struct pk_cudnn_tensor t = b->fusion->y;
	if (is_last)
		return make_tensor(b, &t, PK_CUDNN_UID_Y);
	t.type = b->n_ops == 0 && b->fusion->compute_type == PK_CUDNN_DATA_INT32
			 ? PK_CUDNN_DATA_INT32
			 : PK_CUDNN_DATA_FLOAT;
	return make_tensor(b, &t, PK_CUDNN_UID_VIRTUAL + b->n_virtual++);
}

static void *make_convolution(struct builder *b)
{
	const struct pk_cudnn_fusion *f = b->fusion;
	int mode = PK_CUDNN_CROSS_CORRELATION;
	struct pk_cudnn_maker maker = begin(b, PK_CUDNN_NEW_CONVOLUTION, "convolution");
	const struct {
		int attribute;
		const int64_t *values;
	} pairs[] = {
		{PK_CUDNN_CONV_DILATIONS, f->dilations},
		{PK_CUDNN_CONV_STRIDES, f->strides},
		{PK_CUDNN_CONV_PRE_PADS, f->pre_pads},
		{PK_CUDNN_CONV_POST_PADS, f->post_pads},
	};
	pk_cudnn_set_int64(&maker, PK_CUDNN_CONV_SPATIAL_DIMS, 2);
	pk_cudnn_set_type(&maker, PK_CUDNN_CONV_COMP_TYPE, f->compute_type);
	pk_cudnn_set(&maker, PK_CUDNN_CONV_MODE, PK_CUDNN_TYPE_CONV_MODE, 1, &mode);
	for (size_t i = 0; i < PK_ARRAY_LEN(pairs); i++)
		pk_cudnn_set(&maker, pairs[i].attribute, PK_CUDNN_TYPE_INT64, 2, pairs[i].values);
	return end(b, &maker);
}

static void *make_matmul(struct builder *b)
{
	struct pk_cudnn_maker maker = begin(b, PK_CUDNN_NEW_MATMUL, "matrix product");
	pk_cudnn_set_type(&maker, PK_CUDNN_MATMUL_COMP_TYPE, b->fusion->compute_type);
	return end(b, &maker);
}

// Attributes by which the three cores take the same four descriptors.
static const struct core {
	int type;
	const char *what;
	void *(*make)(struct builder *b);
	int descriptor, x, w, y;
	int alpha, beta; // -1: none
} cores[] = {
	[PK_CUDNN_CONV] = {PK_CUDNN_NEW_FORWARD, "convolution operation", make_convolution,
		PK_CUDNN_FORWARD_CONV, PK_CUDNN_FORWARD_X, PK_CUDNN_FORWARD_W, PK_CUDNN_FORWARD_Y,
		PK_CUDNN_FORWARD_ALPHA, PK_CUDNN_FORWARD_BETA},
	[PK_CUDNN_TRANSPOSED_CONV] = {PK_CUDNN_NEW_DGRAD, "transposed convolution operation",
		make_convolution, PK_CUDNN_DGRAD_CONV, PK_CUDNN_DGRAD_DY, PK_CUDNN_DGRAD_W,
		PK_CUDNN_DGRAD_DX, PK_CUDNN_DGRAD_ALPHA, PK_CUDNN_DGRAD_BETA},
	[PK_CUDNN_MATMUL_CORE] = {PK_CUDNN_NEW_MATMUL_OP, "matrix product operation", make_matmul,
		PK_CUDNN_MATMUL, PK_CUDNN_MATMUL_A, PK_CUDNN_MATMUL_B, PK_CUDNN_MATMUL_C, -1, -1},
};

static void set_descriptor(struct pk_cudnn_maker *maker, int attribute, void *descriptor)
{
	pk_cudnn_set(maker, attribute, PK_CUDNN_TYPE_DESCRIPTOR, 1, &descriptor);
}

// Returns the tensor it writes.
static void *put_core(struct builder *b)
{
	const struct core *core = &cores[b->fusion->core];
	void *descriptor = core->make(b);
	void *x = make_tensor(b, &b->fusion->x, PK_CUDNN_UID_X);
	void *w = make_tensor(b, &b->fusion->w, PK_CUDNN_UID_W);
	void *y = make_result(b, b->fusion->n_steps == 0);
	struct pk_cudnn_maker maker = begin(b, core->type, core->what);
	set_descriptor(&maker, core->descriptor, descriptor);
	set_descriptor(&maker, core->x, x);
	set_descriptor(&maker, core->w, w);
	set_descriptor(&maker, core->y, y);
	if (core->alpha >= 0) {
		pk_cudnn_set_float(&maker, core->alpha, 1);
		pk_cudnn_set_float(&maker, core->beta, 0);
	}
	b->ops[b->n_ops++] = end(b, &maker);
	return y;
}

// Along the channels of y, one of everything else.
static void *make_channel_operand(struct builder *b, int64_t uid)
{
	const struct pk_cudnn_fusion *f = b->fusion;
	struct pk_cudnn_tensor t = {.type = PK_CUDNN_DATA_FLOAT, .n_dims = f->y.n_dims};
	for (int i = 0; i < t.n_dims; i++) {
		t.dims[i] = i == f->channel_dim ? f->channels : 1;
		t.strides[i] = i == f->channel_dim ? 1 : f->channels;
	}
	return make_tensor(b, &t, uid);
}

static void *make_scalar(struct builder *b, int idx)
{
	struct pk_cudnn_tensor t = {.type = PK_CUDNN_DATA_FLOAT, .n_dims = b->fusion->y.n_dims};
	for (int i = 0; i < t.n_dims; i++)
		t.dims[i] = t.strides[i] = 1;
	return make_tensor(b, &t, PK_CUDNN_UID_SCALAR + idx);
}

static void *make_operand(struct builder *b, const struct pk_cudnn_step *step, void *saved)
{
	switch (step->operand) {
	case PK_CUDNN_SCALE:
		return make_channel_operand(b, PK_CUDNN_UID_SCALE);
	case PK_CUDNN_BIAS:
		return make_channel_operand(b, PK_CUDNN_UID_BIAS);
	case PK_CUDNN_RESIDUAL:
		return make_tensor(b, &b->fusion->residual, PK_CUDNN_UID_RESIDUAL);
	case PK_CUDNN_SCALAR:
		return make_scalar(b, step->scalar);
	case PK_CUDNN_SAVED:
		return saved;
	default:
		return NULL;
	}
}

static void *make_pointwise(struct builder *b, const struct pk_cudnn_step *step)
{
	struct pk_cudnn_maker maker = begin(b, PK_CUDNN_NEW_POINTWISE, "pointwise");
	pk_cudnn_set(&maker, PK_CUDNN_POINTWISE_MODE, PK_CUDNN_TYPE_POINTWISE_MODE, 1, &step->mode);
	pk_cudnn_set_type(&maker, PK_CUDNN_POINTWISE_MATH_PREC, PK_CUDNN_DATA_FLOAT);
	if (step->has_clip) {
		pk_cudnn_set_double(&maker, PK_CUDNN_RELU_LOWER_CLIP, step->lower);
		pk_cudnn_set_double(&maker, PK_CUDNN_RELU_UPPER_CLIP, step->upper);
	}
	if (step->mode == PK_CUDNN_RELU && step->alpha != 0)
		pk_cudnn_set_double(&maker, PK_CUDNN_RELU_LOWER_SLOPE, step->alpha);
	if (step->mode == PK_CUDNN_ELU)
		pk_cudnn_set_double(&maker, PK_CUDNN_ELU_ALPHA, step->alpha);
	if (step->mode == PK_CUDNN_SWISH)
		pk_cudnn_set_double(&maker, PK_CUDNN_SWISH_BETA, 1);
	if (step->mode == PK_CUDNN_SOFTPLUS)
		pk_cudnn_set_double(&maker, PK_CUDNN_SOFTPLUS_BETA, 1);
	return end(b, &maker);
}

static void *put_step(struct builder *b, int idx, void *x, void *saved)
{
	const struct pk_cudnn_step *step = &b->fusion->steps[idx];
	void *pointwise = make_pointwise(b, step);
	void *operand = make_operand(b, step, saved);
	void *y = make_result(b, idx == b->fusion->n_steps - 1);
	struct pk_cudnn_maker maker = begin(b, PK_CUDNN_NEW_POINTWISE_OP, "pointwise operation");
	set_descriptor(&maker, PK_CUDNN_POINTWISE, pointwise);
	set_descriptor(&maker, PK_CUDNN_POINTWISE_X, x);
	if (operand)
		set_descriptor(&maker, PK_CUDNN_POINTWISE_B, operand);
	set_descriptor(&maker, PK_CUDNN_POINTWISE_Y, y);
	b->ops[b->n_ops++] = end(b, &maker);
	return y;
}

int pk_cudnn_graph_init(struct pk_cudnn_graph *graph, const struct pk_cudnn_device *device,
	const struct pk_cudnn_fusion *fusion, struct pk_err *err)
{
	*graph = (struct pk_cudnn_graph){.pool.fn = device->fn};
	struct builder b = {.pool = &graph->pool, .fusion = fusion, .err = err};
	void *result = put_core(&b), *saved = NULL;
	for (int i = 0; b.error == 0 && i < fusion->n_steps; i++) {
		if (fusion->steps[i].saves)
			saved = result;
		result = put_step(&b, i, result, saved);
	}
	struct pk_cudnn_maker maker = begin(&b, PK_CUDNN_NEW_GRAPH, "operation graph");
	// cuDNN 8 cannot do without; later ones warn of it.
	if (device->handle)
		pk_cudnn_set(
			&maker, PK_CUDNN_GRAPH_HANDLE, PK_CUDNN_TYPE_HANDLE, 1, &device->handle);
	pk_cudnn_set(&maker, PK_CUDNN_GRAPH_OPS, PK_CUDNN_TYPE_DESCRIPTOR, b.n_ops, b.ops);
	graph->descriptor = end(&b, &maker);
	if (b.error < 0)
		pk_cudnn_graph_finish(graph);
	return b.error;
}

void pk_cudnn_graph_finish(struct pk_cudnn_graph *graph)
{
	pk_cudnn_pool_finish(&graph->pool);
	graph->descriptor = NULL;
}
