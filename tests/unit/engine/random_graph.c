// SPDX-License-Identifier: Apache-2.0
// Random graphs in the shape of vision networks.
#include "tests/unit/engine/random_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/checked.h"

#define MAX_VALUES   64
#define MAX_CHANNELS 16

struct builder {
	struct pk_graph *graph;
	uint64_t seed;
	struct pk_value *values[MAX_VALUES]; // all f32[1,c,h,w]
	int n_values;
	int n_names;
};

static uint32_t next(struct builder *b)
{
	b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(b->seed >> 33);
}

static int pick(struct builder *b, int n)
{
	return (int)(next(b) % (uint32_t)n);
}

static float number(struct builder *b, float low, float high)
{
	return low + (high - low) * (float)(next(b) & 0xffff) / 65535.0f;
}

static struct pk_value *any(struct builder *b)
{
	// Young values more often, so that chains grow.
	int back = pick(b, 3) ? pick(b, PK_MIN(b->n_values, 3)) : pick(b, b->n_values);
	return b->values[b->n_values - 1 - back];
}

static struct pk_value *constant(
	struct builder *b, int rank, const int64_t *dims, float low, float high)
{
	struct pk_shape shape = {.rank = rank};
	for (int i = 0; i < rank; i++)
		shape.dims[i] = dims[i];
	int64_t n = pk_shape_elements(&shape);
	float *data = pk_graph_alloc(b->graph, (size_t)n * sizeof(float));
	assert_non_null(data);
	for (int64_t i = 0; i < n; i++)
		data[i] = number(b, low, high);
	return pk_graph_add_const(b->graph, "c", PK_F32, &shape, data);
}

static struct pk_value *scalar(struct builder *b, float v)
{
	return constant(b, 0, NULL, v, v);
}

static struct pk_node *begin(
	struct builder *b, enum pk_op op, struct pk_value *const *inputs, int n_inputs)
{
	char name[16];
	snprintf(name, sizeof(name), "n%d", b->n_names++);
	struct pk_node *node = pk_graph_new_node(b->graph, op, name, inputs, n_inputs, NULL);
	assert_non_null(node);
	return node;
}

static struct pk_value *end(struct builder *b, struct pk_node *node, const struct pk_shape *shape)
{
	struct pk_err err = {0};
	if (pk_graph_finish_node(b->graph, node, NULL, 1, shape, &err) < 0)
		fail_msg("%s", err.text);
	return node->outputs[0];
}

static struct pk_value *unary(
	struct builder *b, enum pk_fn fn, struct pk_value *x, double alpha, double beta)
{
	struct pk_node *node = begin(b, PK_OP_UNARY, &x, 1);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_node_set_float(node, PK_ATTR_ALPHA, alpha);
	pk_node_set_float(node, PK_ATTR_BETA, beta);
	return end(b, node, NULL);
}

static struct pk_value *binary(
	struct builder *b, enum pk_fn fn, struct pk_value *x, struct pk_value *y)
{
	bool swap = (fn == PK_FN_ADD || fn == PK_FN_MUL) && pick(b, 2);
	struct pk_value *operands[] = {swap ? y : x, swap ? x : y};
	struct pk_node *node = begin(b, PK_OP_BINARY, operands, 2);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	return end(b, node, NULL);
}

static struct pk_value *make_conv(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1], k = pick(b, 2) && x->shape.dims[2] > 2 ? 3 : 1;
	int64_t m = pick(b, 2) ? c : 4, group = c == m && pick(b, 2) ? 2 : 1;
	float span = 1.0f / (float)(k * c);
	struct pk_value *operands[] = {x,
		constant(b, 4, (int64_t[]){m, c / group, k, k}, -span, span),
		pick(b, 2) ? constant(b, 1, &m, -1, 1) : NULL};
	struct pk_node *node = begin(b, PK_OP_CONV, operands, 3);
	int64_t pads[4] = {k / 2, k / 2, k / 2, k / 2};
	pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
	return end(b, node, NULL);
}

static struct pk_value *make_conv_transpose(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1], group = pick(b, 2) ? 2 : 1, per_group = 4 / group;
	struct pk_value *operands[] = {
		x, constant(b, 4, (int64_t[]){c, per_group, 1, 1}, -0.3f, 0.3f)};
	struct pk_node *node = begin(b, PK_OP_CONV_TRANSPOSE, operands, 2);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
	return end(b, node, NULL);
}

static struct pk_value *make_batch_norm(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1];
	struct pk_value *operands[] = {x, constant(b, 1, &c, -2, 2), constant(b, 1, &c, -1, 1),
		constant(b, 1, &c, -1, 1), constant(b, 1, &c, 0.5f, 2)};
	return end(b, begin(b, PK_OP_BATCH_NORM, operands, 5), NULL);
}

static struct pk_value *make_scale(struct builder *b, struct pk_value *x)
{
	static const enum pk_fn fns[] = {PK_FN_ADD, PK_FN_SUB, PK_FN_MUL, PK_FN_DIV};
	int64_t c = x->shape.dims[1], w = x->shape.dims[3];
	struct pk_value *k;
	switch (pick(b, 4)) {
	case 0:
		k = scalar(b, pick(b, 3) ? number(b, 0.5f, 2) : 1);
		break;
	case 1:
		k = constant(b, 4, (int64_t[]){1, c, 1, 1}, 0.5f, 2);
		break;
	case 2:
		k = constant(b, 3, (int64_t[]){c, 1, 1}, 0.5f, 2);
		break;
	default:
		k = constant(b, 1, &w, 0.5f, 2); // along the last axis: no pass may fold it
	}
	return binary(b, fns[pick(b, 4)], x, k);
}

static struct pk_value *make_act(struct builder *b, struct pk_value *x)
{
	struct pk_value *y;
	switch (pick(b, 9)) {
	case 0:
		return binary(b, PK_FN_MUL, x, unary(b, PK_FN_SIGMOID, x, 0, 0));
	case 1:
		return unary(b, PK_FN_RELU, x, 0, 0);
	case 2:
		return unary(b, PK_FN_CLIP, x, number(b, -1, 0), number(b, 0, 3));
	case 3:
		y = unary(b, PK_FN_CLIP, binary(b, PK_FN_ADD, x, scalar(b, 3)), 0, 6);
		return binary(b, PK_FN_DIV, binary(b, PK_FN_MUL, x, y), scalar(b, 6));
	case 4:
		y = unary(b, PK_FN_CLIP, binary(b, PK_FN_ADD, x, scalar(b, 3)), 0, 6);
		return binary(b, PK_FN_MUL, x, binary(b, PK_FN_DIV, y, scalar(b, 6)));
	case 5:
		y = unary(b, PK_FN_TANH, unary(b, PK_FN_SOFTPLUS, x, 0, 0), 0, 0);
		return binary(b, PK_FN_MUL, x, y);
	case 6:
		y = unary(b, PK_FN_ERF, binary(b, PK_FN_DIV, x, scalar(b, 1.41421356f)), 0, 0);
		y = binary(b, PK_FN_ADD, y, scalar(b, 1));
		return binary(b, PK_FN_MUL, binary(b, PK_FN_MUL, x, y), scalar(b, 0.5f));
	case 7:
		y = binary(
			b, PK_FN_MUL, scalar(b, 0.044715f), binary(b, PK_FN_POW, x, scalar(b, 3)));
		y = binary(b, PK_FN_MUL, scalar(b, 0.79788456f), binary(b, PK_FN_ADD, x, y));
		y = binary(b, PK_FN_ADD, unary(b, PK_FN_TANH, y, 0, 0), scalar(b, 1));
		return binary(b, PK_FN_MUL, binary(b, PK_FN_MUL, x, scalar(b, 0.5f)), y);
	default:
		return unary(b, PK_FN_LEAKY_RELU, x, 0.1, 0);
	}
}

static struct pk_value *make_add(struct builder *b, struct pk_value *x)
{
	for (int tries = 0; tries < 8; tries++) {
		struct pk_value *y = any(b);
		if (pk_shape_equal(&x->shape, &y->shape))
			return binary(b, PK_FN_ADD, x, y);
	}
	return binary(b, PK_FN_ADD, x, x);
}

static struct pk_value *make_pad_and_window(struct builder *b, struct pk_value *x)
{
	struct pk_node *pad = begin(b, PK_OP_PAD, &x, 1);
	int64_t pads[8] = {0, 0, pick(b, 2), pick(b, 2), 0, 0, pick(b, 2), 1};
	bool max = pick(b, 2), open = max && pick(b, 2); // open: no window may see padding alone
	pk_node_set_ints(pad, PK_ATTR_PADS, pads, 8);
	pk_node_set_float(pad, PK_ATTR_VALUE, open ? -INFINITY : 0);
	struct pk_value *y = end(b, pad, NULL);
	if (!max && pick(b, 2))
		return make_conv(b, y);
	struct pk_node *pool = begin(b, PK_OP_POOL, &y, 1);
	pk_node_set_int(pool, PK_ATTR_FN, max ? PK_FN_POOL_MAX : PK_FN_POOL_AVG);
	pk_node_set_ints(pool, PK_ATTR_KERNEL, (int64_t[]){2, 2}, 2);
	pk_node_set_int(pool, PK_ATTR_COUNT_PAD, pick(b, 2));
	if (!open && pick(b, 2))
		pk_node_set_ints(pool, PK_ATTR_PADS, (int64_t[]){1, 1, 0, 0}, 4);
	return end(b, pool, NULL);
}

static struct pk_value *make_transposes(struct builder *b, struct pk_value *x)
{
	static const int64_t perms[3][2][4] = {
		{{0, 2, 3, 1}, {0, 3, 1, 2}}, // there and back
		{{1, 0, 2, 3}, {1, 0, 2, 3}},
		{{0, 1, 3, 2}, {0, 1, 3, 2}},
	};
	int which = pick(b, 3);
	struct pk_value *y = x;
	for (int i = 0; i < 2; i++) {
		struct pk_node *node = begin(b, PK_OP_TRANSPOSE, &y, 1);
		pk_node_set_ints(node, PK_ATTR_PERM, perms[which][i], 4);
		y = end(b, node, NULL);
		if (i == 0 && which != 1 && pick(b, 3) == 0)
			y = unary(b, PK_FN_TANH, y, 0, 0);
	}
	return y;
}

static struct pk_value *make_reshapes(struct builder *b, struct pk_value *x)
{
	struct pk_shape flat = {
		2, {x->shape.dims[0] * x->shape.dims[1], x->shape.dims[2] * x->shape.dims[3]}};
	struct pk_shape back = x->shape;
	struct pk_value *y = end(b, begin(b, PK_OP_RESHAPE, &x, 1), &flat);
	if (pick(b, 2)) { // a matrix product in between
		int64_t k = flat.dims[1];
		struct pk_value *operands[] = {y, constant(b, 2, (int64_t[]){k, k}, -0.2f, 0.2f)};
		y = end(b, begin(b, PK_OP_MATMUL, operands, 2), NULL);
		y = binary(b, PK_FN_ADD, y, constant(b, 1, &k, -1, 1));
	}
	return end(b, begin(b, PK_OP_RESHAPE, &y, 1), &back);
}

static struct pk_value *make_noop(struct builder *b, struct pk_value *x)
{
	static const enum pk_op ops[] = {
		PK_OP_IDENTITY, PK_OP_SLICE, PK_OP_EXPAND, PK_OP_TILE, PK_OP_PAD, PK_OP_CONCAT};
	return end(b, begin(b, ops[pick(b, PK_ARRAY_LEN(ops))], &x, 1), &x->shape);
}

static struct pk_value *make_const_chain(struct builder *b, struct pk_value *x)
{
	int64_t c = x->shape.dims[1];
	struct pk_value *k = constant(b, 3, (int64_t[]){c, 1, 1}, 0.5f, 1);
	k = unary(b, PK_FN_SQRT, k, 0, 0);
	return binary(b, PK_FN_MUL, x, binary(b, PK_FN_ADD, k, scalar(b, 0.1f)));
}

static struct pk_value *make_concat(struct builder *b, struct pk_value *x)
{
	struct pk_value *parts[3] = {x};
	int n = 1;
	int64_t channels = x->shape.dims[1];
	for (int tries = 0; tries < 8 && n < 3; tries++) {
		struct pk_value *y = any(b);
		if (y->shape.dims[0] != x->shape.dims[0] || y->shape.dims[2] != x->shape.dims[2] ||
			y->shape.dims[3] != x->shape.dims[3] ||
			channels + y->shape.dims[1] > MAX_CHANNELS)
			continue;
		channels += y->shape.dims[1];
		parts[n++] = y;
	}
	struct pk_node *node = begin(b, PK_OP_CONCAT, parts, n);
	pk_node_set_int(node, PK_ATTR_AXIS, 1);
	return end(b, node, NULL);
}

static struct pk_value *channels_of(
	struct builder *b, struct pk_value *x, int64_t first, int64_t n_channels)
{
	struct pk_shape shape = x->shape;
	shape.dims[1] = n_channels;
	struct pk_node *node = begin(b, PK_OP_SLICE, &x, 1);
	pk_node_set_ints(node, PK_ATTR_STARTS, (int64_t[]){0, first, 0, 0}, 4);
	pk_node_set_ints(node, PK_ATTR_STEPS, (int64_t[]){1, 1, 1, 1}, 4);
	return end(b, node, &shape);
}

// Halves of the channels, one worked on and added to, all joined again.
static struct pk_value *make_split_block(struct builder *b, struct pk_value *x)
{
	int64_t half = x->shape.dims[1] / 2;
	if (half < 2 || half % 2 != 0 || 3 * half > MAX_CHANNELS)
		return make_concat(b, x);
	struct pk_value *halves[] = {channels_of(b, x, 0, half), channels_of(b, x, half, half)};
	struct pk_value *m = halves[pick(b, 2)];
	m = pick(b, 2) ? make_conv(b, m) : make_scale(b, m);
	m = pick(b, 2) ? make_act(b, m) : m;
	if (pick(b, 2) && pk_shape_equal(&m->shape, &halves[1]->shape))
		m = binary(b, PK_FN_ADD, halves[1], m);
	if (pick(b, 3) == 0)
		halves[0] = make_act(b, halves[0]);
	struct pk_value *parts[] = {halves[0], halves[1], m};
	if (pick(b, 3) == 0) { // not in their own order
		parts[0] = halves[1];
		parts[1] = halves[0];
	}
	struct pk_node *node = begin(b, PK_OP_CONCAT, parts, 3);
	pk_node_set_int(node, PK_ATTR_AXIS, 1);
	return end(b, node, NULL);
}

static struct pk_value *make_channel_shuffle(struct builder *b, struct pk_value *x)
{
	struct pk_shape back = x->shape,
			wide = {5, {back.dims[0], 2, back.dims[1] / 2, back.dims[2], back.dims[3]}};
	if (back.dims[1] % 2 != 0)
		return make_act(b, x);
	struct pk_value *y = end(b, begin(b, PK_OP_RESHAPE, &x, 1), &wide);
	struct pk_node *node = begin(b, PK_OP_TRANSPOSE, &y, 1);
	pk_node_set_ints(node, PK_ATTR_PERM, (int64_t[]){0, 2, 1, 3, 4}, 5);
	y = end(b, node, NULL);
	return end(b, begin(b, PK_OP_RESHAPE, &y, 1), &back);
}

static struct pk_value *plane_average(struct builder *b, struct pk_value *x)
{
	bool pool = pick(b, 2);
	struct pk_node *node = begin(b, pool ? PK_OP_POOL : PK_OP_REDUCE, &x, 1);
	pk_node_set_int(node, PK_ATTR_FN, pool ? PK_FN_POOL_AVG : PK_FN_REDUCE_MEAN);
	if (pool) {
		pk_node_set_ints(node, PK_ATTR_KERNEL, &x->shape.dims[2], 2);
	} else {
		pk_node_set_ints(node, PK_ATTR_AXES, (int64_t[]){2, 3}, 2);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, 1);
	}
	return end(b, node, NULL);
}

static struct pk_value *make_gate(struct builder *b, struct pk_value *x)
{
	struct pk_value *y = plane_average(b, x);
	return binary(b, PK_FN_MUL, x, unary(b, PK_FN_SIGMOID, y, 0, 0));
}

// Every second pixel four times, side by side in the channels; then a conv.
static struct pk_value *make_focus(struct builder *b, struct pk_value *x)
{
	struct pk_shape shape = x->shape;
	if (shape.dims[2] % 2 != 0 || shape.dims[3] % 2 != 0 || shape.dims[1] > 4)
		return make_conv(b, x);
	shape.dims[2] /= 2;
	shape.dims[3] /= 2;
	struct pk_value *parts[4];
	int first = pick(b, 4);
	for (int i = 0; i < 4; i++) {
		int at = (first + i) % 4;
		struct pk_node *node = begin(b, PK_OP_SLICE, &x, 1);
		pk_node_set_ints(node, PK_ATTR_STARTS, (int64_t[]){0, 0, at / 2, at % 2}, 4);
		pk_node_set_ints(node, PK_ATTR_STEPS, (int64_t[]){1, 1, 2, 2}, 4);
		parts[i] = end(b, node, &shape);
	}
	struct pk_node *concat = begin(b, PK_OP_CONCAT, parts, 4);
	pk_node_set_int(concat, PK_ATTR_AXIS, 1);
	return make_conv(b, end(b, concat, NULL));
}

static struct pk_value *(*const makers[])(struct builder *b, struct pk_value *x) = {
	make_conv,
	make_conv,
	make_conv_transpose,
	make_batch_norm,
	make_scale,
	make_act,
	make_act,
	make_add,
	make_pad_and_window,
	make_transposes,
	make_reshapes,
	make_noop,
	make_const_chain,
	make_concat,
	make_split_block,
	make_channel_shuffle,
	make_gate,
	make_focus,
};

struct pk_graph *random_graph(uint64_t seed)
{
	struct builder b = {.graph = pk_graph_create(0), .seed = seed * 77 + 5};
	struct pk_shape shape = {4, {1, 4, 3 + pick(&b, 3), 4}};
	b.values[b.n_values++] = pk_graph_add_input(b.graph, "x", PK_F32, &shape);
	int n_steps = 4 + pick(&b, 12);
	for (int i = 0; i < n_steps; i++) {
		struct pk_value *y = makers[pick(&b, PK_ARRAY_LEN(makers))](&b, any(&b));
		b.values[b.n_values++] = y;
	}
	int n_outputs = 1 + pick(&b, RANDOM_GRAPH_MAX_OUTPUTS);
	for (int i = 0; i < n_outputs; i++) {
		struct pk_value *y = i ? any(&b) : b.values[b.n_values - 1];
		assert_int_equal(pk_graph_add_output(b.graph, y), 0);
	}
	return b.graph;
}

float random_graph_float(uint64_t *seed, float low, float high)
{
	struct builder b = {.seed = *seed};
	float v = number(&b, low, high);
	*seed = b.seed;
	return v;
}
