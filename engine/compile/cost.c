// SPDX-License-Identifier: Apache-2.0
// A row per operator: its arithmetic as a function of shapes. In double: products of sizes overflow
// integers before they stop to be of interest.
#include "engine/compile/cost.h"

#include "base/checked.h"

#define NORM_FLOPS    8 // per element: mean, variance, scale, shift
#define SOFTMAX_FLOPS 5 // per element: maximum, subtract, exp, sum, divide

static double elements(const struct pk_value *value)
{
	return value ? (double)pk_shape_elements(&value->shape) : 0;
}

static double out_elements(const struct pk_node *node)
{
	return elements(node->outputs[0]);
}

static bool has_input(const struct pk_node *node, int idx)
{
	return idx < node->n_inputs && node->inputs[idx];
}

// What is done to each output element of a convolution after its sum.
static double epilogue(const struct pk_node *node)
{
	int n = has_input(node, 2) + has_input(node, 3);
	n += pk_node_fn(node, PK_ATTR_ACT) != PK_FN_NONE;
	return n * out_elements(node);
}

static double conv_flops(const struct pk_node *node)
{
	const struct pk_value *w = node->inputs[1];
	double per_output = elements(w) / (double)PK_MAX(w->shape.dims[0], (int64_t)1);
	return 2 * out_elements(node) * per_output + epilogue(node);
}

static double conv_transpose_flops(const struct pk_node *node)
{
	const struct pk_value *w = node->inputs[1];
	double per_input = elements(w) / (double)PK_MAX(w->shape.dims[0], (int64_t)1);
	return 2 * elements(node->inputs[0]) * per_input + epilogue(node);
}

static double gemm_flops(const struct pk_node *node)
{
	const struct pk_shape *a = &node->inputs[0]->shape;
	int64_t k = pk_node_int(node, PK_ATTR_TRANS_A) ? a->dims[0] : a->dims[1];
	return 2 * out_elements(node) * (double)k + has_input(node, 2) * out_elements(node);
}

static double matmul_flops(const struct pk_node *node)
{
	const struct pk_shape *a = &node->inputs[0]->shape;
	return 2 * out_elements(node) * (double)(a->rank ? a->dims[a->rank - 1] : 1);
}

static double pool_flops(const struct pk_node *node)
{
	const struct pk_attr_value *kernel = pk_node_attr(node, PK_ATTR_KERNEL);
	double cells = 1;
	for (int i = 0; i < kernel->n; i++)
		cells *= (double)kernel->i[i];
	return cells * out_elements(node);
}

static double affine_flops(const struct pk_node *node)
{
	return 2 * out_elements(node);
}

static double norm_flops(const struct pk_node *node)
{
	return NORM_FLOPS * out_elements(node);
}

static double softmax_flops(const struct pk_node *node)
{
	return SOFTMAX_FLOPS * out_elements(node);
}

static double reading_flops(const struct pk_node *node)
{
	return elements(node->inputs[0]);
}

// Two operations per source value that an output mixes.
static double resize_flops(const struct pk_node *node)
{
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	int per_axis = mode == PK_MODE_CUBIC ? 4 : mode == PK_MODE_LINEAR ? 2 : 0;
	double taps = per_axis ? 1 : 0;
	const struct pk_shape *in = &node->inputs[0]->shape, *out = &node->outputs[0]->shape;
	for (int i = 0; per_axis && i < out->rank; i++)
		taps *= in->dims[i] != out->dims[i] ? per_axis : 1;
	return 2 * taps * out_elements(node);
}

static double (*const rows[PK_N_OPS])(const struct pk_node *node) = {
	[PK_OP_CONV] = conv_flops,
	[PK_OP_CONV_TRANSPOSE] = conv_transpose_flops,
	[PK_OP_POOL] = pool_flops,
	[PK_OP_BATCH_NORM] = affine_flops,
	[PK_OP_INSTANCE_NORM] = norm_flops,
	[PK_OP_LAYER_NORM] = norm_flops,
	[PK_OP_GEMM] = gemm_flops,
	[PK_OP_MATMUL] = matmul_flops,
	[PK_OP_UNARY] = out_elements,
	[PK_OP_BINARY] = out_elements,
	[PK_OP_PRELU] = out_elements,
	[PK_OP_WHERE] = out_elements,
	[PK_OP_CAST] = out_elements,
	[PK_OP_SOFTMAX] = softmax_flops,
	[PK_OP_REDUCE] = reading_flops,
	[PK_OP_ARG_REDUCE] = reading_flops,
	[PK_OP_TOP_K] = reading_flops,
	[PK_OP_RESIZE] = resize_flops,
	[PK_OP_QCONV] = conv_flops,
	[PK_OP_QMATMUL] = matmul_flops,
};

static int64_t saturate(double v)
{
	return v < 9.2e18 ? (int64_t)v : INT64_MAX;
}

static double value_bytes(const struct pk_value *value)
{
	return elements(value) * (value ? (double)pk_dtype_bytes(value->dtype) : 0);
}

struct pk_cost pk_cost_of_node(const struct pk_node *node)
{
	struct pk_cost cost = {0};
	if (rows[node->op])
		cost.flops = saturate(rows[node->op](node));
	if (pk_op_info(node->op)->flags & PK_OP_VIEW)
		return cost;
	double bytes = 0;
	for (int i = 0; i < node->n_inputs; i++)
		bytes += value_bytes(node->inputs[i]);
	for (int i = 0; i < node->n_outputs; i++)
		bytes += value_bytes(node->outputs[i]);
	cost.bytes = saturate(bytes);
	return cost;
}

void pk_cost_of_graph(const struct pk_graph *graph, struct pk_cost *sum)
{
	double flops = 0, bytes = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		struct pk_cost cost = pk_cost_of_node(node);
		flops += (double)cost.flops;
		bytes += (double)cost.bytes;
	}
	*sum = (struct pk_cost){saturate(flops), saturate(bytes)};
}
