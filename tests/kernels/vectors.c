// SPDX-License-Identifier: Apache-2.0
// Random nodes over vectors and matrices.
#include "tests/kernels/shapes.h"

void make_gemm(struct node_case *c)
{
	int64_t m = random_range(1, 30), k = random_range(1, 70), n = random_range(1, 50);
	bool ta = random_range(0, 1), tb = random_range(0, 1);
	node_case_operand(c, PK_F32, ta ? SHAPE(k, m) : SHAPE(m, k), false);
	node_case_operand(c, PK_F32, tb ? SHAPE(n, k) : SHAPE(k, n), random_range(0, 1));
	if (random_range(0, 2))
		node_case_operand(c, PK_F32, random_range(0, 1) ? SHAPE(n) : SHAPE(m, 1), true);
	struct pk_node *node = node_case_node(c, PK_OP_GEMM);
	pk_node_set_int(node, PK_ATTR_TRANS_A, ta);
	pk_node_set_int(node, PK_ATTR_TRANS_B, tb);
	pk_node_set_float(node, PK_ATTR_ALPHA, random_range(0, 1) ? 1 : 0.5);
	pk_node_set_float(node, PK_ATTR_BETA, random_range(0, 1) ? 1 : 0.25);
	node_case_finish(c, NULL);
}

void make_matmul(struct node_case *c)
{
	int64_t b = random_range(1, 3), m = random_range(1, 30), k = random_range(1, 70);
	int64_t n = random_range(1, 50);
	bool one_matrix = random_range(0, 1);
	node_case_operand(c, PK_F32, SHAPE(b, m, k), false);
	node_case_operand(c, PK_F32, one_matrix ? SHAPE(k, n) : SHAPE(b, k, n),
		one_matrix && random_range(0, 1));
	node_case_node(c, PK_OP_MATMUL);
	node_case_finish(c, NULL);
}

static void scale_up(struct node_case *c, float by)
{
	float *x = c->data[0];
	for (int64_t i = 0; i < pk_shape_elements(&c->values[0]->shape); i++)
		x[i] *= by;
}

void make_unary(struct node_case *c)
{
	static const enum pk_fn fns[] = {PK_FN_RELU, PK_FN_LEAKY_RELU, PK_FN_CLIP, PK_FN_SIGMOID,
		PK_FN_TANH, PK_FN_SILU, PK_FN_HARD_SIGMOID, PK_FN_HARD_SWISH, PK_FN_ELU, PK_FN_GELU,
		PK_FN_MISH, PK_FN_SOFTPLUS, PK_FN_EXP, PK_FN_ABS, PK_FN_NEG, PK_FN_ERF};
	node_case_operand(c, PK_F32, SHAPE(random_range(1, 3), random_range(1, 90)), false);
	scale_up(c, 6);
	struct pk_node *node = node_case_node(c, PK_OP_UNARY);
	pk_node_set_int(node, PK_ATTR_FN, fns[random_range(0, (int64_t)PK_ARRAY_LEN(fns) - 1)]);
	pk_node_set_float(node, PK_ATTR_ALPHA, 0.1);
	pk_node_set_float(node, PK_ATTR_BETA, 0.5);
	node_case_finish(c, NULL);
}

// b like a, one number, per channel or per column.
static struct pk_shape partner(const struct pk_shape *a)
{
	struct pk_shape shapes[] = {*a, SHAPE(1), SHAPE(a->dims[1], 1, 1), SHAPE(a->dims[3])};
	return shapes[random_range(0, 3)];
}

void make_binary(struct node_case *c)
{
	static const enum pk_fn fns[] = {
		PK_FN_ADD, PK_FN_SUB, PK_FN_MUL, PK_FN_DIV, PK_FN_MIN, PK_FN_MAX};
	struct pk_shape a = SHAPE(1, random_range(1, 20), random_range(1, 9), random_range(1, 40));
	struct pk_shape b = partner(&a);
	bool swap = random_range(0, 1);
	node_case_operand(c, PK_F32, swap ? b : a, false);
	node_case_operand(c, PK_F32, swap ? a : b, random_range(0, 1));
	pk_node_set_int(node_case_node(c, PK_OP_BINARY), PK_ATTR_FN, fns[random_range(0, 5)]);
	node_case_finish(c, NULL);
}

void make_prelu(struct node_case *c)
{
	struct pk_shape a = SHAPE(1, random_range(1, 20), random_range(1, 9), random_range(1, 40));
	node_case_operand(c, PK_F32, a, false);
	node_case_operand(c, PK_F32, partner(&a), true);
	node_case_node(c, PK_OP_PRELU);
	node_case_finish(c, NULL);
}

void make_softmax(struct node_case *c)
{
	node_case_operand(c, PK_F32,
		SHAPE(random_range(1, 3), random_range(1, 30), random_range(1, 70)), false);
	scale_up(c, 8);
	struct pk_node *node = node_case_node(c, PK_OP_SOFTMAX);
	pk_node_set_int(node, PK_ATTR_FN, PK_FN_SOFTMAX);
	pk_node_set_int(node, PK_ATTR_AXIS, random_range(0, 2));
	node_case_finish(c, NULL);
}

void make_reduce(struct node_case *c)
{
	static const enum pk_fn fns[] = {PK_FN_REDUCE_SUM, PK_FN_REDUCE_MEAN, PK_FN_REDUCE_MAX,
		PK_FN_REDUCE_MIN, PK_FN_REDUCE_L1, PK_FN_REDUCE_L2};
	static const int64_t axes[][2] = {{2, 3}, {3}, {1}, {2}};
	static const int n_axes[] = {2, 1, 1, 1};
	int64_t which = random_range(0, 3);
	node_case_operand(c, PK_F32,
		SHAPE(1, random_range(1, 20), random_range(1, 20), random_range(1, 40)), false);
	struct pk_node *node = node_case_node(c, PK_OP_REDUCE);
	pk_node_set_int(node, PK_ATTR_FN, fns[random_range(0, 5)]);
	pk_node_set_ints(node, PK_ATTR_AXES, axes[which], n_axes[which]);
	pk_node_set_int(node, PK_ATTR_KEEPDIMS, random_range(0, 1));
	node_case_finish(c, NULL);
}

void make_quantize(struct node_case *c)
{
	enum pk_dtype to = random_range(0, 1) ? PK_I8 : PK_U8;
	node_case_operand(c, PK_F32, SHAPE(random_range(1, 3), random_range(1, 90)), false);
	scale_up(c, 300);
	*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 1.5F;
	node_case_operand(c, to, SHAPE(1), true);
	pk_node_set_int(node_case_node(c, PK_OP_QUANTIZE), PK_ATTR_TO, to);
	node_case_finish(c, NULL);
}

void make_dequantize(struct node_case *c)
{
	enum pk_dtype from = random_range(0, 1) ? PK_I8 : PK_U8;
	node_case_operand(c, from, SHAPE(random_range(1, 3), random_range(1, 90)), false);
	*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 1.5F;
	node_case_operand(c, from, SHAPE(1), true);
	node_case_node(c, PK_OP_DEQUANTIZE);
	node_case_finish(c, NULL);
}

static enum pk_dtype byte_type(void)
{
	return random_range(0, 1) ? PK_I8 : PK_U8;
}

static void random_bytes(void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		((uint8_t *)data)[i] = (uint8_t)random_u32();
}

void make_qbinary(struct node_case *c)
{
	static const enum pk_fn fns[] = {PK_FN_ADD, PK_FN_SUB, PK_FN_MUL};
	static const enum pk_fn acts[] = {PK_FN_NONE, PK_FN_RELU, PK_FN_CLIP};
	struct pk_shape a = SHAPE(1, random_range(1, 20), random_range(1, 9), random_range(1, 40));
	struct pk_shape b = partner(&a);
	enum pk_dtype types[] = {byte_type(), byte_type(), byte_type()};
	random_bytes(node_case_operand(c, types[0], a, false), pk_shape_elements(&a));
	random_bytes(node_case_operand(c, types[1], b, false), pk_shape_elements(&b));
	*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 0.75F;
	*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 3.25F;
	for (int i = 0; i < 3; i++) {
		if (random_range(0, 1))
			node_case_operand(c, types[i], SHAPE(1), true);
		else
			node_case_omit(c);
	}
	struct pk_node *node = node_case_node(c, PK_OP_QBINARY);
	pk_node_set_int(node, PK_ATTR_FN, fns[random_range(0, 2)]);
	pk_node_set_int(node, PK_ATTR_ACT, acts[random_range(0, 2)]);
	pk_node_set_float(node, PK_ATTR_ALPHA, -4.5);
	pk_node_set_float(node, PK_ATTR_BETA, 31);
	pk_node_set_int(node, PK_ATTR_TO, types[2]);
	node_case_finish(c, NULL);
}

void make_lookup(struct node_case *c)
{
	// Not the table's length: that must not lie over the output.
	struct pk_shape x = SHAPE(2, random_range(1, 250));
	random_bytes(node_case_operand(c, byte_type(), x, false), pk_shape_elements(&x));
	random_bytes(node_case_operand(c, byte_type(), SHAPE(256), true), 256);
	node_case_node(c, PK_OP_LOOKUP);
	node_case_finish(c, NULL);
}

void make_norm(struct node_case *c)
{
	bool layer = random_range(0, 1);
	struct pk_shape x = SHAPE(random_range(1, 3), random_range(1, 6), random_range(1, 300));
	int64_t n = x.dims[layer ? 2 : 1];
	node_case_operand(c, PK_F32, x, false);
	node_case_operand(c, PK_F32, SHAPE(n), true);
	if (!layer || random_range(0, 1))
		node_case_operand(c, PK_F32, SHAPE(n), true);
	struct pk_node *node = node_case_node(c, layer ? PK_OP_LAYER_NORM : PK_OP_INSTANCE_NORM);
	pk_node_set_float(node, PK_ATTR_EPSILON, 1e-3);
	if (layer)
		pk_node_set_int(node, PK_ATTR_AXIS, 2);
	node_case_finish(c, NULL);
}
