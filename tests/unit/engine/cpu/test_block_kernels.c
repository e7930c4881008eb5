// SPDX-License-Identifier: Apache-2.0
// Kernels on pictures in blocks of channels: each against the plain reference, for every block that
// this processor has rows for, with NaN in the lanes beyond the channels.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node_case.h"

struct conv_case {
	int64_t batch, in_c, out_c, group;
	int64_t in[2], kernel[2], stride[2], dilation[2], pad[4];
	enum pk_fn act;
	int64_t residual;
	bool bias;
};

static int64_t out_size(const struct conv_case *v, int i)
{
	int64_t reach = (v->kernel[i] - 1) * v->dilation[i] + 1;
	return (v->in[i] + v->pad[i] + v->pad[2 + i] - reach) / v->stride[i] + 1;
}

// Number of blocked runs that agree with the reference.
static int check_conv(const struct conv_case *v, double tolerance)
{
	struct node_case c;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(v->batch, v->in_c, v->in[0], v->in[1]), false);
	node_case_operand(
		&c, PK_F32, SHAPE(v->out_c, v->in_c / v->group, v->kernel[0], v->kernel[1]), true);
	if (v->bias)
		node_case_operand(&c, PK_F32, SHAPE(v->out_c), true);
	else if (v->residual != PK_RESIDUAL_NONE)
		node_case_omit(&c);
	if (v->residual != PK_RESIDUAL_NONE)
		node_case_operand(&c, PK_F32,
			SHAPE(v->batch, v->out_c, out_size(v, 0), out_size(v, 1)), false);
	struct pk_node *node = node_case_node(&c, PK_OP_CONV);
	pk_node_set_ints(node, PK_ATTR_STRIDES, v->stride, 2);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, v->dilation, 2);
	pk_node_set_ints(node, PK_ATTR_PADS, v->pad, 4);
	pk_node_set_int(node, PK_ATTR_GROUP, v->group);
	pk_node_set_int(node, PK_ATTR_ACT, v->act);
	pk_node_set_float(node, PK_ATTR_ALPHA, v->act == PK_FN_CLIP ? -0.25 : 0.2);
	pk_node_set_float(node, PK_ATTR_BETA, 0.5);
	pk_node_set_int(node, PK_ATTR_RESIDUAL, v->residual);
	node_case_finish(&c, NULL);
	int n = node_case_check_blocks(&c, tolerance);
	node_case_end(&c);
	return n;
}

static struct conv_case random_conv(void)
{
	static const enum pk_fn acts[] = {PK_FN_NONE, PK_FN_RELU, PK_FN_SILU, PK_FN_LEAKY_RELU,
		PK_FN_CLIP, PK_FN_HARD_SWISH, PK_FN_SIGMOID};
	struct conv_case v = {.batch = random_range(1, 2), .group = 1};
	v.in_c = random_range(1, 35);
	v.out_c = random_range(1, 60);
	for (int i = 0; i < 2; i++) {
		v.kernel[i] = random_range(1, 5);
		v.stride[i] = random_range(1, 3);
		v.dilation[i] = random_range(0, 3) ? 1 : random_range(2, 9);
		v.pad[i] = random_range(0, 3);
		v.pad[2 + i] = random_range(0, 3);
		if (v.dilation[i] > 1) // cells that are always outside
			v.pad[i] = v.pad[2 + i] = v.dilation[i] * (v.kernel[i] / 2);
		int64_t reach = (v.kernel[i] - 1) * v.dilation[i] + 1 - v.pad[i] - v.pad[2 + i];
		int64_t least = reach > 1 ? reach : 1;
		v.in[i] = random_range(least, least + 22);
	}
	v.act = acts[random_range(0, (int)(sizeof(acts) / sizeof(acts[0])) - 1)];
	v.residual = PK_RESIDUAL_NONE + random_range(0, 2);
	v.bias = random_range(0, 1);
	return v;
}

static void direct_convolutions(void **state)
{
	(void)state;
	int n = 0;
	random_seed(5);
	for (int round = 0; round < 120; round++) {
		struct conv_case v = random_conv();
		if (round % 4 == 0)
			v.in_c = random_range(1, 4); // the source may be plain
		n += check_conv(&v, 1e-5);
	}
	assert_true(n >= 120);
}

static void pointwise_convolutions(void **state)
{
	(void)state;
	random_seed(6);
	for (int round = 0; round < 60; round++) {
		struct conv_case v = random_conv();
		for (int i = 0; i < 2; i++)
			v.kernel[i] = v.stride[i] = v.dilation[i] = 1, v.pad[i] = v.pad[2 + i] = 0;
		assert_true(check_conv(&v, 1e-5) >= 1);
	}
}

static void grouped_convolutions(void **state)
{
	(void)state;
	int n = 0;
	random_seed(7);
	for (int round = 0; round < 40; round++) {
		struct conv_case v = random_conv();
		v.group = random_range(2, 3);
		v.in_c = v.group * 16 * random_range(1, 2);
		v.out_c = v.group * 16 * random_range(1, 3);
		n += check_conv(&v, 1e-5);
	}
	assert_true(n >= 40);
}

static void depthwise_convolutions(void **state)
{
	(void)state;
	int n = 0;
	random_seed(8);
	for (int round = 0; round < 120; round++) {
		static const int64_t kernels[] = {3, 3, 5, 5, 7, 2, 4};
		struct conv_case v = random_conv();
		v.group = v.out_c = v.in_c;
		v.kernel[0] = v.kernel[1] = kernels[round % 7];
		for (int i = 0; i < 2; i++) {
			v.stride[i] = random_range(1, 2);
			v.dilation[i] = random_range(0, 3) ? 1 : 2;
			v.pad[i] = random_range(0, v.kernel[i]);
			v.pad[2 + i] = random_range(0, v.kernel[i]);
			v.in[i] = random_range((v.kernel[i] - 1) * v.dilation[i] + 1, 30);
		}
		n += check_conv(&v, 1e-5);
	}
	assert_true(n >= 120);
}

// Looser: the transforms cost a digit.
static void winograd_convolutions(void **state)
{
	(void)state;
	int n = 0;
	random_seed(9);
	for (int round = 0; round < 60; round++) {
		struct conv_case v = random_conv();
		v.in_c = random_range(8, 45);
		v.out_c = random_range(8, 60);
		// The error is that of the sums, whatever is left of them.
		if (v.act == PK_FN_CLIP || v.act == PK_FN_SIGMOID)
			v.act = PK_FN_SILU;
		for (int i = 0; i < 2; i++) {
			v.kernel[i] = 3;
			v.stride[i] = v.dilation[i] = 1;
			v.pad[i] = random_range(0, 2);
			v.pad[2 + i] = random_range(0, 2);
			v.in[i] = random_range(7, 31);
		}
		n += check_conv(&v, 4e-5);
	}
	assert_true(n >= 120); // direct and by tiles
}

// Several bands, chunks and panels.
static void large_convolutions(void **state)
{
	(void)state;
	static const struct conv_case cases[] = {
		{1, 64, 64, 1, {60, 50}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, PK_FN_SILU,
			PK_RESIDUAL_AFTER_ACT, true},
		{1, 3, 24, 1, {200, 161}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, PK_FN_RELU,
			PK_RESIDUAL_NONE, true},
		{1, 400, 40, 1, {33, 31}, {1, 1}, {1, 1}, {1, 1}, {0}, PK_FN_NONE,
			PK_RESIDUAL_BEFORE_ACT, true},
		{1, 96, 96, 96, {80, 77}, {5, 5}, {2, 2}, {1, 1}, {1, 2, 2, 1}, PK_FN_HARD_SWISH,
			PK_RESIDUAL_NONE, false},
		{2, 32, 40, 1, {65, 64}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}, PK_FN_LEAKY_RELU,
			PK_RESIDUAL_NONE, true},
	};
	random_seed(10);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(check_conv(&cases[i], 4e-5) >= 1);
}

static void pools(void **state)
{
	(void)state;
	random_seed(11);
	for (int round = 0; round < 80; round++) {
		struct node_case c;
		int64_t kernel[2], stride[2], dilation[2], pad[4], in[2];
		for (int i = 0; i < 2; i++) {
			kernel[i] = random_range(1, 5);
			stride[i] = random_range(1, 3);
			dilation[i] = random_range(1, 2);
			pad[i] = random_range(0, kernel[i] - 1);
			pad[2 + i] = random_range(0, kernel[i] - 1);
			in[i] = random_range((kernel[i] - 1) * dilation[i] + 1, 14);
		}
		node_case_begin(&c);
		node_case_operand(&c, PK_F32,
			SHAPE(random_range(1, 2), random_range(1, 35), in[0], in[1]), false);
		struct pk_node *node = node_case_node(&c, PK_OP_POOL);
		pk_node_set_int(node, PK_ATTR_FN, round & 1 ? PK_FN_POOL_MAX : PK_FN_POOL_AVG);
		pk_node_set_int(node, PK_ATTR_COUNT_PAD, (round & 3) == 2);
		pk_node_set_ints(node, PK_ATTR_KERNEL, kernel, 2);
		pk_node_set_ints(node, PK_ATTR_STRIDES, stride, 2);
		pk_node_set_ints(node, PK_ATTR_DILATIONS, dilation, 2);
		pk_node_set_ints(node, PK_ATTR_PADS, pad, 4);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_blocks(&c, 1e-6) >= 1);
		node_case_end(&c);
	}
}

static void check_resize(int64_t mode, int64_t coord, const int64_t in[2], const int64_t out[2])
{
	struct node_case c;
	int64_t channels = random_range(1, 35);
	struct pk_shape y = SHAPE(2, channels, out[0], out[1]);
	double scales[4] = {1, 1, (double)out[0] / (double)in[0], (double)out[1] / (double)in[1]};
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(2, channels, in[0], in[1]), false);
	struct pk_node *node = node_case_node(&c, PK_OP_RESIZE);
	pk_node_set_int(node, PK_ATTR_MODE, mode);
	pk_node_set_int(node, PK_ATTR_COORD, coord);
	pk_node_set_int(node, PK_ATTR_NEAREST, PK_NEAREST_FLOOR);
	pk_node_set_floats(node, PK_ATTR_SCALES, scales, 4);
	pk_node_set_float(node, PK_ATTR_CUBIC, -0.75);
	node_case_finish(&c, &y);
	assert_true(node_case_check_blocks(&c, 1e-5) >= 1);
	node_case_end(&c);
}

static void resizes(void **state)
{
	(void)state;
	static const int64_t modes[] = {PK_MODE_NEAREST, PK_MODE_LINEAR, PK_MODE_CUBIC};
	static const int64_t coords[] = {
		PK_COORD_ASYMMETRIC, PK_COORD_HALF_PIXEL, PK_COORD_ALIGN_CORNERS};
	random_seed(12);
	for (int round = 0; round < 45; round++) {
		int64_t in[2] = {random_range(1, 12), random_range(1, 12)};
		int64_t out[2] = {random_range(1, 25), random_range(1, 25)};
		if (round % 3 == 0)
			out[0] = in[0] * 2, out[1] = in[1] * 2;
		check_resize(modes[round % 3], coords[round / 3 % 3], in, out);
	}
}

static void reductions(void **state)
{
	(void)state;
	static const enum pk_fn fns[] = {PK_FN_REDUCE_MEAN, PK_FN_REDUCE_SUM, PK_FN_REDUCE_MAX};
	random_seed(13);
	for (int round = 0; round < 24; round++) {
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32,
			SHAPE(random_range(1, 2), random_range(1, 40), random_range(1, 9),
				random_range(1, 9)),
			false);
		struct pk_node *node = node_case_node(&c, PK_OP_REDUCE);
		pk_node_set_int(node, PK_ATTR_FN, fns[round % 3]);
		pk_node_set_ints(node, PK_ATTR_AXES, (int64_t[]){2, 3}, 2);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, round & 1);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_blocks(&c, 1e-5) >= 1);
		node_case_end(&c);
	}
}

// Full, per channel and single operands, on either side.
static void arithmetic(void **state)
{
	(void)state;
	static const enum pk_fn fns[] = {
		PK_FN_ADD, PK_FN_SUB, PK_FN_MUL, PK_FN_DIV, PK_FN_MIN, PK_FN_MAX, PK_FN_NONE};
	random_seed(14);
	for (int round = 0; round < 84; round++) {
		struct node_case c;
		enum pk_fn fn = fns[round % 7];
		int64_t n = random_range(1, 2), channels = random_range(1, 3) * 16;
		struct pk_shape full = SHAPE(n, channels, random_range(1, 6), random_range(1, 6));
		struct pk_shape others[] = {
			full, SHAPE(n, channels, 1, 1), SHAPE(channels, 1, 1), SHAPE(1)};
		struct pk_shape other = others[round / 7 % 4];
		bool swap = fn != PK_FN_NONE && round / 28 == 1, constant = round / 28 == 2;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, swap ? other : full, false);
		node_case_operand(&c, PK_F32, swap ? full : other, constant);
		struct pk_node *node =
			node_case_node(&c, fn == PK_FN_NONE ? PK_OP_PRELU : PK_OP_BINARY);
		if (fn != PK_FN_NONE)
			pk_node_set_int(node, PK_ATTR_FN, fn);
		node_case_finish(&c, NULL);
		int n_runs = node_case_check_blocks(&c, 1e-6);
		assert_true(constant || n_runs >= 1);
		node_case_end(&c);
	}
}

static void reorders(void **state)
{
	(void)state;
	random_seed(15);
	for (int round = 0; round < 40; round++) {
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32,
			SHAPE(random_range(1, 2), random_range(1, 40), random_range(1, 9),
				random_range(1, 9)),
			false);
		node_case_node(&c, PK_OP_REORDER);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_blocks(&c, 0) >= 6);
		node_case_end(&c);
	}
}

// A node of a damaged engine file: layouts that its kernel was not made for.
static void other_layouts_are_refused(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(1, 16, 8, 8), false);
	node_case_operand(&c, PK_F32, SHAPE(16, 16, 3, 3), true);
	struct pk_node *node = node_case_node(&c, PK_OP_CONV);
	node_case_finish(&c, NULL);
	node->outputs[0]->block = 8;
	assert_null(pk_cpu_kernel_default(node)); // 16 channels: too many to be read plain
	node->inputs[0]->block = 4;
	assert_null(pk_cpu_kernel_default(node));
	node->inputs[0]->block = 8;
	node->outputs[0]->block = 0;
	assert_null(pk_cpu_kernel_default(node));
	node->inputs[0]->block = 0;
	assert_non_null(pk_cpu_kernel_default(node));
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_convolutions),
		cmocka_unit_test(pointwise_convolutions),
		cmocka_unit_test(grouped_convolutions),
		cmocka_unit_test(depthwise_convolutions),
		cmocka_unit_test(winograd_convolutions),
		cmocka_unit_test(large_convolutions),
		cmocka_unit_test(pools),
		cmocka_unit_test(resizes),
		cmocka_unit_test(reductions),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(reorders),
		cmocka_unit_test(other_layouts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
