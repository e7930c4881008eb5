// SPDX-License-Identifier: Apache-2.0
// F22: products of dequantized operands are computed in integers, and a quantize behind one goes
// into it. A residual stays outside: the sum is the same whichever branch was quantised.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/qdq.h"
#include "engine/passes/rewrite.h"

// Sums stay far from the ends of i32.
#define PK_QDQ_MAX_BIAS (double)(1 << 30)

enum { PK_Q_BIAS = 2, PK_Q_MULT, PK_Q_X_ZERO, PK_Q_W_ZERO, PK_Q_Y_SCALE, PK_Q_Y_ZERO, PK_N_Q };

// A product that can be computed in integers.
struct pk_qdq_product {
	enum pk_op op;
	struct pk_node *node, *x, *w; // dequantize nodes of both operands
	struct pk_value *w_quantized; // turned over where the gemm wants it
	struct pk_value *bias;        // float or NULL
	double beta;
	int64_t n; // channels
};

static bool pk_qdq_weights_axis(const struct pk_node *w, int64_t axis)
{
	return w && (pk_qdq_is_whole(w) || pk_node_int(w, PK_ATTR_AXIS) == axis);
}

static struct pk_value *pk_node_operand(const struct pk_node *node, int idx)
{
	return idx < node->n_inputs ? node->inputs[idx] : NULL;
}

static bool pk_qdq_conv(struct pk_qdq_product *p, struct pk_node *node)
{
	if (pk_node_int(node, PK_ATTR_RESIDUAL) != PK_RESIDUAL_NONE)
		return false;
	p->op = PK_OP_QCONV;
	p->n = node->inputs[1]->shape.dims[0];
	p->bias = pk_node_operand(node, 2);
	return pk_qdq_weights_axis(p->w, 0);
}

static bool pk_qdq_matmul(struct pk_qdq_product *p, struct pk_node *node)
{
	const struct pk_shape *b = &node->inputs[1]->shape;
	p->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
	return pk_qdq_weights_axis(p->w, b->rank - 1) &&
	       (pk_qdq_is_whole(p->w) || p->w->inputs[0]->data);
}

static bool pk_qdq_gemm(struct pk_qdq_product *p, struct pk_node *node)
{
	int64_t trans_b = pk_node_int(node, PK_ATTR_TRANS_B);
	p->n = node->inputs[1]->shape.dims[1 - trans_b];
	p->bias = pk_node_operand(node, 2);
	p->beta = pk_node_float(node, PK_ATTR_BETA);
	if (p->bias &&
		(p->bias->shape.rank < 1 || p->bias->shape.dims[p->bias->shape.rank - 1] != p->n))
		return false;
	return !pk_node_int(node, PK_ATTR_TRANS_A) && pk_node_float(node, PK_ATTR_ALPHA) == 1 &&
	       pk_qdq_weights_axis(p->w, 1 - trans_b) && (!trans_b || p->w->inputs[0]->data);
}

// Left out, or nothing but zeros.
static bool pk_qdq_zero_is_none(const struct pk_value *zero)
{
	if (!zero)
		return true;
	int64_t n = zero->data ? pk_shape_elements(&zero->shape) : -1;
	for (int64_t i = 0; i < n; i++)
		if (pk_element_get_int(zero->dtype, zero->data, (size_t)i) != 0)
			return false;
	return n >= 0;
}

// Constant of one number per channel, or a dequantize of one.
static bool pk_qdq_bias_known(const struct pk_value *bias, int64_t n)
{
	if (!bias || pk_shape_elements(&bias->shape) != n)
		return !bias;
	const struct pk_node *source = bias->producer;
	if (bias->data)
		return bias->dtype == PK_F32;
	return source && source->op == PK_OP_DEQUANTIZE && source->inputs[0]->data &&
	       source->inputs[0]->dtype == PK_I32 && source->inputs[1]->data &&
	       pk_qdq_zero_is_none(pk_node_operand(source, 2));
}

static double pk_qdq_bias_at(const struct pk_value *bias, int64_t i)
{
	if (bias->data)
		return (double)((const float *)bias->data)[i];
	const struct pk_node *source = bias->producer;
	return (double)((const int32_t *)source->inputs[0]->data)[i] *
	       (double)pk_qdq_scale(source, i);
}

static bool pk_qdq_product_of(struct pk_qdq_product *p, struct pk_node *node)
{
	*p = (struct pk_qdq_product){.op = PK_OP_QMATMUL, .node = node, .beta = 1};
	p->x = pk_qdq_source(node->inputs[0]);
	p->w = p->x ? pk_qdq_source(node->inputs[1]) : NULL;
	if (!p->w || !pk_qdq_is_whole(p->x))
		return false;
	p->w_quantized = p->w->inputs[0];
	bool suits = node->op == PK_OP_CONV   ? pk_qdq_conv(p, node)
		     : node->op == PK_OP_GEMM ? pk_qdq_gemm(p, node)
					      : pk_qdq_matmul(p, node);
	return suits && pk_qdq_bias_known(p->bias, p->n);
}

// The factor from sums to numbers, and the bias in units of it. 0: a bias is too large.
static int pk_qdq_constants(
	struct pk_graph *graph, const struct pk_qdq_product *p, struct pk_value *operands[PK_N_Q])
{
	struct pk_shape shape = {1, {p->n}};
	float *mult = pk_graph_alloc(graph, (size_t)p->n * sizeof(*mult) + 1);
	int32_t *bias = pk_graph_alloc(graph, (size_t)p->n * sizeof(*bias) + 1);
	if (!mult || !bias)
		return -ENOMEM;
	for (int64_t i = 0; i < p->n; i++) {
		mult[i] = pk_qdq_scale(p->x, 0) * pk_qdq_scale(p->w, i);
		double v = p->bias ? p->beta * pk_qdq_bias_at(p->bias, i) / (double)mult[i] : 0;
		if (!(mult[i] > 0) || !(fabs(v) <= PK_QDQ_MAX_BIAS))
			return 0;
		bias[i] = (int32_t)nearbyint(v);
	}
	operands[PK_Q_MULT] = pk_graph_add_const(graph, "mult", PK_F32, &shape, mult);
	if (p->bias)
		operands[PK_Q_BIAS] = pk_graph_add_const(graph, "bias", PK_I32, &shape, bias);
	return operands[PK_Q_MULT] && (!p->bias || operands[PK_Q_BIAS]) ? 1 : -ENOMEM;
}

// w[n,k] as [k,n].
static struct pk_value *pk_qdq_turn(struct pk_graph *graph, const struct pk_value *w)
{
	struct pk_shape shape = {2, {w->shape.dims[1], w->shape.dims[0]}};
	uint8_t *data = pk_graph_alloc(graph, pk_tensor_bytes(w->dtype, &w->shape) + 1);
	const uint8_t *from = w->data;
	for (int64_t i = 0; data && i < shape.dims[0]; i++)
		for (int64_t j = 0; j < shape.dims[1]; j++)
			data[i * shape.dims[1] + j] = from[j * shape.dims[0] + i];
	return data ? pk_graph_add_const(graph, w->name, w->dtype, &shape, data) : NULL;
}

static int pk_qdq_n_operands(struct pk_value *const operands[PK_N_Q])
{
	int n = PK_N_Q;
	while (!operands[n - 1])
		n--;
	return n;
}

static void pk_qdq_copy_attrs(struct pk_node *to, const struct pk_node *from)
{
	const struct pk_op_info *info = pk_op_info(from->op);
	for (int i = 0; i < info->n_attrs; i++) {
		int at = pk_op_attr_index(to->op, info->attrs[i]);
		bool gemm = from->op == PK_OP_GEMM; // its alpha and beta mean something else
		if (at >= 0 && !gemm)
			to->attrs[at] = from->attrs[i];
	}
}

// node, which does what `from` did, takes the place of `old`.
static int pk_qdq_put(struct pk_graph *graph, const struct pk_node *from, struct pk_node *old,
	struct pk_node *node, struct pk_err *err)
{
	const char *name = old->outputs[0]->name;
	int r = pk_graph_finish_node(graph, node, &name, 1, NULL, err);
	if (r == 0 && from != old)
		r = pk_rewrite_join_name(graph, node, old, false);
	if (r == 0)
		r = pk_rewrite_replace(graph, old->outputs[0], node->outputs[0], NULL);
	return r < 0 ? r : 1;
}

static int pk_qdq_fold_product(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	struct pk_qdq_product p;
	if (!pk_qdq_product_of(&p, node))
		return 0;
	struct pk_value *operands[PK_N_Q] = {p.x->inputs[0], p.w_quantized};
	int r = pk_qdq_constants(graph, &p, operands);
	if (r <= 0)
		return r;
	if (node->op == PK_OP_GEMM && pk_node_int(node, PK_ATTR_TRANS_B))
		operands[1] = pk_qdq_turn(graph, p.w_quantized);
	operands[PK_Q_X_ZERO] = pk_node_operand(p.x, 2);
	operands[PK_Q_W_ZERO] = pk_node_operand(p.w, 2);
	struct pk_node *product = operands[1] ? pk_graph_new_node(graph, p.op, node->name, operands,
							pk_qdq_n_operands(operands), node)
					      : NULL;
	if (!product)
		return -ENOMEM;
	pk_qdq_copy_attrs(product, node);
	pk_node_set_int(product, PK_ATTR_TO, PK_F32);
	return pk_qdq_put(graph, node, node, product, err);
}

// f(k * x) = k * f(x) for k > 0, with clip's bounds taken along.
static bool pk_qdq_is_linear(enum pk_fn fn)
{
	return fn == PK_FN_NONE || fn == PK_FN_RELU || fn == PK_FN_LEAKY_RELU || fn == PK_FN_CLIP;
}

// mult / y scale, for functions that allow it. NULL: no memory.
static struct pk_value *pk_qdq_divide(
	struct pk_graph *graph, const struct pk_value *mult, float scale)
{
	int64_t n = pk_shape_elements(&mult->shape);
	float *data = pk_graph_alloc(graph, (size_t)n * sizeof(*data) + 1);
	for (int64_t i = 0; data && i < n; i++)
		data[i] = ((const float *)mult->data)[i] / scale;
	return data ? pk_graph_add_const(graph, "mult", PK_F32, &mult->shape, data) : NULL;
}

static bool pk_qdq_takes_quantize(const struct pk_node *product, const struct pk_node *quantize)
{
	if (!product || (product->op != PK_OP_QCONV && product->op != PK_OP_QMATMUL))
		return false;
	const struct pk_value *mult = pk_node_operand(product, PK_Q_MULT);
	return product->outputs[0]->dtype == PK_F32 && mult && mult->data &&
	       pk_qdq_is_whole(quantize);
}

static int pk_qdq_fold_quantize(
	struct pk_graph *graph, struct pk_node *quantize, struct pk_err *err)
{
	struct pk_node *from = pk_match_inner(quantize->inputs[0]);
	struct pk_value *operands[PK_N_Q] = {NULL};
	if (!pk_qdq_takes_quantize(from, quantize))
		return 0;
	memcpy(operands, from->inputs, (size_t)from->n_inputs * sizeof(*operands));
	enum pk_fn act = pk_node_fn(from, PK_ATTR_ACT);
	float scale = pk_qdq_scale(quantize, 0);
	if (pk_qdq_is_linear(act))
		operands[PK_Q_MULT] = pk_qdq_divide(graph, operands[PK_Q_MULT], scale);
	else
		operands[PK_Q_Y_SCALE] = quantize->inputs[1];
	operands[PK_Q_Y_ZERO] = pk_node_operand(quantize, 2);
	struct pk_node *node = operands[PK_Q_MULT]
				       ? pk_graph_new_node(graph, from->op, from->name, operands,
						 pk_qdq_n_operands(operands), quantize)
				       : NULL;
	if (!node)
		return -ENOMEM;
	pk_qdq_copy_attrs(node, from);
	pk_node_set_int(node, PK_ATTR_TO, pk_node_int(quantize, PK_ATTR_TO));
	if (act == PK_FN_CLIP) {
		pk_node_set_float(
			node, PK_ATTR_ALPHA, pk_node_float(from, PK_ATTR_ALPHA) / (double)scale);
		pk_node_set_float(
			node, PK_ATTR_BETA, pk_node_float(from, PK_ATTR_BETA) / (double)scale);
	}
	return pk_qdq_put(graph, from, quantize, node, err);
}

static int pk_qdq_fold_any_quantize(
	struct pk_graph *graph, struct pk_node *quantize, struct pk_pass_ctx *ctx)
{
	int r = pk_qdq_fold_quantize(graph, quantize, ctx->err);
	if (r == 0)
		r = pk_qdq_to_lookup(graph, quantize, ctx);
	return r == 0 ? pk_qdq_to_binary(graph, quantize, ctx->err) : r;
}

int pk_pass_fold_qdq(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = pk_qdq_move(graph, node, ctx);
		if (r == 0 && (node->op == PK_OP_CONV || node->op == PK_OP_GEMM ||
				      node->op == PK_OP_MATMUL))
			r = pk_qdq_fold_product(graph, node, ctx->err);
		else if (r == 0 && pk_qdq_is_quantize(node))
			r = pk_qdq_fold_any_quantize(graph, node, ctx);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
