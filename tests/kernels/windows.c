// SPDX-License-Identifier: Apache-2.0
// Random nodes with windows over pictures: convolutions, pools, resizes.
#include <string.h>

#include "tests/kernels/shapes.h"

struct window {
	int64_t batch, in_c, out_c, group;
	int64_t in[2], kernel[2], stride[2], dilation[2], pad[4];
};

static enum pk_fn random_act(void)
{
	static const enum pk_fn acts[] = {PK_FN_NONE, PK_FN_RELU, PK_FN_SILU, PK_FN_LEAKY_RELU,
		PK_FN_CLIP, PK_FN_HARD_SWISH, PK_FN_GELU, PK_FN_SIGMOID, PK_FN_TANH,
		PK_FN_HARD_SIGMOID, PK_FN_MISH};
	return acts[random_range(0, (int64_t)PK_ARRAY_LEN(acts) - 1)];
}

// Sides that leave the window room, in every remainder of a vector.
static void random_sides(struct window *w, int64_t spread)
{
	for (int i = 0; i < 2; i++) {
		int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
		int64_t padded = extent - w->pad[i] - w->pad[2 + i];
		w->in[i] = random_range(padded < 1 ? 1 : padded, extent + spread);
	}
}

static void set_window(struct pk_node *node, const struct window *w)
{
	pk_node_set_ints(node, PK_ATTR_STRIDES, w->stride, 2);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, w->dilation, 2);
	pk_node_set_ints(node, PK_ATTR_PADS, w->pad, 4);
}

static void set_act(struct pk_node *node, enum pk_fn act)
{
	pk_node_set_int(node, PK_ATTR_ACT, act);
	pk_node_set_float(node, PK_ATTR_ALPHA, act == PK_FN_CLIP ? -0.25 : 0.2);
	pk_node_set_float(node, PK_ATTR_BETA, 0.5);
}

static int64_t out_side(const struct window *w, int i)
{
	int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
	return (w->in[i] + w->pad[i] + w->pad[2 + i] - extent) / w->stride[i] + 1;
}

static void build_conv(struct node_case *c, const struct window *w)
{
	int64_t residual = PK_RESIDUAL_NONE + random_range(0, 2);
	node_case_operand(c, PK_F32, SHAPE(w->batch, w->in_c, w->in[0], w->in[1]), false);
	node_case_operand(
		c, PK_F32, SHAPE(w->out_c, w->in_c / w->group, w->kernel[0], w->kernel[1]), true);
	if (random_range(0, 3))
		node_case_operand(c, PK_F32, SHAPE(w->out_c), true);
	else if (residual != PK_RESIDUAL_NONE)
		node_case_omit(c);
	if (residual != PK_RESIDUAL_NONE)
		node_case_operand(c, PK_F32,
			SHAPE(w->batch, w->out_c, out_side(w, 0), out_side(w, 1)), false);
	struct pk_node *node = node_case_node(c, PK_OP_CONV);
	set_window(node, w);
	set_act(node, random_act());
	pk_node_set_int(node, PK_ATTR_GROUP, w->group);
	pk_node_set_int(node, PK_ATTR_RESIDUAL, residual);
	node_case_finish(c, NULL);
}

static struct window square(int64_t kernel, int64_t stride, int64_t pad)
{
	return (struct window){.batch = 1,
		.group = 1,
		.kernel = {kernel, kernel},
		.stride = {stride, stride},
		.dilation = {1, 1},
		.pad = {pad, pad, pad, pad}};
}

void make_conv(struct node_case *c)
{
	struct window w = square(1, 1, 0);
	w.batch = random_range(1, 2);
	w.group = random_range(0, 2) ? 1 : random_range(1, 4);
	w.in_c = w.group * random_range(1, 20);
	w.out_c = w.group * random_range(1, 37);
	for (int i = 0; i < 2; i++) {
		w.kernel[i] = random_range(1, 5);
		w.stride[i] = random_range(1, 3);
		w.dilation[i] = random_range(1, 2);
		w.pad[i] = random_range(0, 2);
		w.pad[2 + i] = random_range(0, 2);
	}
	random_sides(&w, 37);
	build_conv(c, &w);
}

void make_pointwise(struct node_case *c)
{
	struct window w = square(1, 1, 0);
	w.batch = random_range(1, 2);
	w.in_c = random_range(1, 70);
	w.out_c = random_range(1, 70);
	random_sides(&w, 30);
	build_conv(c, &w);
}

void make_3x3(struct node_case *c)
{
	struct window w = square(3, random_range(0, 3) ? 1 : 2, random_range(0, 1));
	w.in_c = random_range(1, 40);
	w.out_c = random_range(1, 40);
	random_sides(&w, 33);
	build_conv(c, &w);
}

void make_depthwise(struct node_case *c)
{
	int64_t kernel = random_range(0, 1) ? 3 : 5;
	struct window w = square(kernel, random_range(1, 2), random_range(0, kernel / 2));
	w.batch = random_range(1, 2);
	w.in_c = w.group = random_range(1, 40);
	w.out_c = w.in_c * (random_range(0, 4) ? 1 : 2);
	random_sides(&w, 33);
	build_conv(c, &w);
}

// The first layer of a model: three planes, a large window, stride two.
void make_stem(struct node_case *c)
{
	int64_t kernel = 2 * random_range(1, 3) + 1;
	struct window w = square(kernel, 2, kernel / 2);
	w.in_c = 3;
	w.out_c = 8 * random_range(1, 8);
	random_sides(&w, 40);
	build_conv(c, &w);
}

void make_conv_transpose(struct node_case *c)
{
	struct window w = square(random_range(1, 4), random_range(1, 3), 0);
	int64_t none[2] = {0, 0};
	w.group = random_range(0, 3) ? 1 : 2;
	w.in_c = w.group * random_range(1, 12);
	w.out_c = w.group * random_range(1, 12);
	for (int i = 0; i < 2; i++)
		w.in[i] = random_range(3, 20);
	for (int i = 0; i < 4; i++)
		w.pad[i] = random_range(0, 1);
	node_case_operand(c, PK_F32, SHAPE(1, w.in_c, w.in[0], w.in[1]), false);
	node_case_operand(
		c, PK_F32, SHAPE(w.in_c, w.out_c / w.group, w.kernel[0], w.kernel[1]), true);
	if (random_range(0, 1))
		node_case_operand(c, PK_F32, SHAPE(w.out_c), true);
	struct pk_node *node = node_case_node(c, PK_OP_CONV_TRANSPOSE);
	set_window(node, &w);
	set_act(node, random_act());
	pk_node_set_ints(node, PK_ATTR_OUTPUT_PADDING, none, 2);
	pk_node_set_int(node, PK_ATTR_GROUP, w.group);
	node_case_finish(c, NULL);
}

static void build_pool(struct node_case *c, enum pk_dtype dtype, enum pk_fn fn)
{
	struct window w = square(1, 1, 0);
	for (int i = 0; i < 2; i++) {
		w.kernel[i] = random_range(1, 5);
		w.stride[i] = random_range(1, 3);
		w.dilation[i] = random_range(0, 4) ? 1 : 2;
		w.pad[i] = random_range(0, w.kernel[i] / 2);
		w.pad[2 + i] = random_range(0, w.kernel[i] / 2);
	}
	w.in_c = random_range(1, 40);
	random_sides(&w, 30);
	node_case_operand(c, dtype, SHAPE(random_range(1, 2), w.in_c, w.in[0], w.in[1]), false);
	struct pk_node *node = node_case_node(c, PK_OP_POOL);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_node_set_ints(node, PK_ATTR_KERNEL, w.kernel, 2);
	set_window(node, &w);
	pk_node_set_int(node, PK_ATTR_COUNT_PAD, random_range(0, 1));
	node_case_finish(c, NULL);
}

void make_pool(struct node_case *c)
{
	build_pool(c, PK_F32, random_range(0, 1) ? PK_FN_POOL_MAX : PK_FN_POOL_AVG);
}

void make_byte_pool(struct node_case *c)
{
	build_pool(c, random_range(0, 1) ? PK_I8 : PK_U8, PK_FN_POOL_MAX);
}

void make_resize(struct node_case *c)
{
	static const int64_t coords[] = {PK_COORD_HALF_PIXEL, PK_COORD_PYTORCH_HALF_PIXEL,
		PK_COORD_ALIGN_CORNERS, PK_COORD_ASYMMETRIC};
	bool doubled = random_range(0, 1);
	int64_t h = random_range(1, 20), w = random_range(1, 20);
	int64_t out_h = doubled ? 2 * h : random_range(1, 40);
	int64_t out_w = doubled ? 2 * w : random_range(1, 40);
	double scales[4] = {1, 1, (double)out_h / (double)h, (double)out_w / (double)w};
	double roi[8] = {0, 0, 0, 0, 1, 1, 1, 1};
	struct pk_shape y = SHAPE(1, random_range(1, 20), out_h, out_w);
	node_case_operand(c, PK_F32, SHAPE(1, y.dims[1], h, w), false);
	struct pk_node *node = node_case_node(c, PK_OP_RESIZE);
	pk_node_set_int(node, PK_ATTR_MODE, random_range(0, 1) ? PK_MODE_NEAREST : PK_MODE_LINEAR);
	pk_node_set_int(node, PK_ATTR_COORD, coords[random_range(0, 3)]);
	pk_node_set_int(node, PK_ATTR_NEAREST, PK_NEAREST_FLOOR);
	pk_node_set_floats(node, PK_ATTR_SCALES, scales, 4);
	pk_node_set_floats(node, PK_ATTR_ROI, roi, 8);
	pk_node_set_float(node, PK_ATTR_CUBIC, -0.75);
	pk_node_set_int(node, PK_ATTR_EXCLUDE_OUTSIDE, 0);
	pk_node_set_int(node, PK_ATTR_ANTIALIAS, 0);
	pk_node_set_float(node, PK_ATTR_VALUE, 0);
	node_case_finish(c, &y);
}

static void random_bytes(void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		((uint8_t *)data)[i] = (uint8_t)random_u32();
}

static enum pk_dtype random_byte_type(void)
{
	return random_range(0, 1) ? PK_I8 : PK_U8;
}

// Operands 2 to 7 of an integer product with n output channels.
static void quant_operands(
	struct node_case *c, int64_t n, const enum pk_dtype types[2], enum pk_dtype to)
{
	if (random_range(0, 1))
		node_case_operand(c, PK_I32, SHAPE(n), true);
	else
		node_case_omit(c);
	float *mult = node_case_operand(c, PK_F32, SHAPE(n), true);
	for (int64_t i = 0; i < n; i++)
		mult[i] = 0x1p-9F * (1 + (float)(i % 3));
	node_case_operand(c, types[0], SHAPE(1), true);
	node_case_operand(c, types[1], random_range(0, 1) ? SHAPE(n) : SHAPE(1), true);
	if (random_range(0, 1)) // symmetric weights, as most are
		memset(c->data[5], 0, (size_t)pk_shape_elements(&c->values[5]->shape));
	if (to != PK_I8 && to != PK_U8)
		return;
	*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 0x1p-4F;
	node_case_operand(c, to, SHAPE(1), true);
}

static enum pk_dtype random_result_type(void)
{
	static const enum pk_dtype types[] = {PK_I32, PK_F32, PK_I8, PK_U8};
	return types[random_range(0, 3)];
}

static void set_quant_act(struct pk_node *node, enum pk_dtype to)
{
	enum pk_fn act = random_range(0, 1) ? PK_FN_RELU : PK_FN_NONE;
	pk_node_set_int(node, PK_ATTR_ACT, to == PK_I32 ? PK_FN_NONE : act);
	pk_node_set_float(node, PK_ATTR_ALPHA, 0.125);
	pk_node_set_float(node, PK_ATTR_BETA, 40);
	pk_node_set_int(node, PK_ATTR_TO, to);
}

void make_qconv(struct node_case *c)
{
	enum pk_dtype types[2] = {random_byte_type(), random_byte_type()};
	enum pk_dtype to = random_result_type();
	int64_t kernel = random_range(0, 2) ? 3 : 1;
	struct window w = square(kernel, random_range(1, 2), random_range(0, kernel / 2));
	w.group = random_range(0, 3) ? 1 : 2;
	w.in_c = w.group * random_range(1, 40);
	w.out_c = w.group * random_range(1, 40);
	random_sides(&w, 20);
	int64_t dims[4] = {w.out_c, w.in_c / w.group, kernel, kernel};
	random_bytes(node_case_operand(c, types[0], SHAPE(1, w.in_c, w.in[0], w.in[1]), false),
		w.in_c * w.in[0] * w.in[1]);
	random_bytes(
		node_case_operand(c, types[1], SHAPE(dims[0], dims[1], dims[2], dims[3]), true),
		dims[0] * dims[1] * dims[2] * dims[3]);
	quant_operands(c, w.out_c, types, to);
	struct pk_node *node = node_case_node(c, PK_OP_QCONV);
	set_window(node, &w);
	pk_node_set_int(node, PK_ATTR_GROUP, w.group);
	set_quant_act(node, to);
	node_case_finish(c, NULL);
}

// Weights that are mostly small and rarely as large as a byte, of every size of sum.
void make_small_qconv(struct node_case *c)
{
	enum pk_dtype types[2] = {random_range(0, 1) ? PK_I8 : PK_U8, PK_I8};
	enum pk_dtype to = random_result_type();
	int64_t kernel = random_range(0, 1) ? 3 : 1;
	struct window w = square(kernel, random_range(1, 2), random_range(0, kernel / 2));
	w.in_c = random_range(1, 90);
	w.out_c = random_range(1, 20);
	random_sides(&w, 30);
	int64_t dims[4] = {w.out_c, w.in_c, kernel, kernel};
	int64_t n = dims[0] * dims[1] * dims[2] * dims[3];
	random_bytes(node_case_operand(c, types[0], SHAPE(1, w.in_c, w.in[0], w.in[1]), false),
		w.in_c * w.in[0] * w.in[1]);
	int8_t *weights =
		node_case_operand(c, types[1], SHAPE(dims[0], dims[1], dims[2], dims[3]), true);
	for (int64_t i = 0; i < n; i++)
		weights[i] = (int8_t)(random_range(0, 20) ? random_range(-40, 40)
							  : random_range(-128, 127));
	quant_operands(c, w.out_c, (enum pk_dtype[2]){types[0], PK_I8}, to);
	struct pk_node *node = node_case_node(c, PK_OP_QCONV);
	set_window(node, &w);
	set_quant_act(node, to);
	node_case_finish(c, NULL);
}

void make_qmatmul(struct node_case *c)
{
	enum pk_dtype types[2] = {random_byte_type(), random_byte_type()};
	enum pk_dtype to = random_result_type();
	int64_t m = random_range(1, 30), k = random_range(1, 70), n = random_range(1, 40);
	random_bytes(node_case_operand(c, types[0], SHAPE(m, k), false), m * k);
	random_bytes(node_case_operand(c, types[1], SHAPE(k, n), true), k * n);
	quant_operands(c, n, types, to);
	set_quant_act(node_case_node(c, PK_OP_QMATMUL), to);
	node_case_finish(c, NULL);
}
