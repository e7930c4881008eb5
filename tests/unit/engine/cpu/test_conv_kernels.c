// SPDX-License-Identifier: Apache-2.0
// Convolutions: the reference against the plain formula, every faster row against the reference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node_case.h"

struct conv_case {
	int n_axes;
	int64_t batch, in_c, out_c, group;
	int64_t in[3], kernel[3], stride[3], dilation[3], pad[6];
	enum pk_fn act;
	int64_t residual;
	bool bias;
};

static void set_attrs(struct pk_node *node, const struct conv_case *v)
{
	pk_node_set_ints(node, PK_ATTR_STRIDES, v->stride, v->n_axes);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, v->dilation, v->n_axes);
	pk_node_set_ints(node, PK_ATTR_PADS, v->pad, 2 * v->n_axes);
	pk_node_set_int(node, PK_ATTR_GROUP, v->group);
	pk_node_set_int(node, PK_ATTR_ACT, v->act);
	pk_node_set_float(node, PK_ATTR_ALPHA, v->act == PK_FN_CLIP ? -0.25 : 0.2);
	pk_node_set_float(node, PK_ATTR_BETA, 0.5);
}

static struct pk_shape shape_of(
	const struct conv_case *v, int64_t c0, int64_t c1, const int64_t *dims)
{
	struct pk_shape s = {.rank = v->n_axes + 2, .dims = {c0, c1}};
	for (int i = 0; i < v->n_axes; i++)
		s.dims[2 + i] = dims[i];
	return s;
}

static struct pk_shape out_shape(const struct conv_case *v)
{
	int64_t out[3] = {1, 1, 1};
	for (int i = 0; i < v->n_axes; i++)
		out[i] = (v->in[i] + v->pad[i] + v->pad[v->n_axes + i] -
				 ((v->kernel[i] - 1) * v->dilation[i] + 1)) /
				 v->stride[i] +
			 1;
	return shape_of(v, v->batch, v->out_c, out);
}

static void build_conv(struct node_case *c, const struct conv_case *v)
{
	node_case_begin(c);
	node_case_operand(c, PK_F32, shape_of(v, v->batch, v->in_c, v->in), false);
	node_case_operand(c, PK_F32, shape_of(v, v->out_c, v->in_c / v->group, v->kernel), true);
	if (v->bias)
		node_case_operand(c, PK_F32, SHAPE(v->out_c), true);
	else if (v->residual != PK_RESIDUAL_NONE)
		node_case_omit(c);
	if (v->residual != PK_RESIDUAL_NONE)
		node_case_operand(c, PK_F32, out_shape(v), false);
	struct pk_node *node = node_case_node(c, PK_OP_CONV);
	set_attrs(node, v);
	pk_node_set_int(node, PK_ATTR_RESIDUAL, v->residual);
	node_case_finish(c, NULL);
}

static struct conv_case random_case(int n_axes)
{
	static const enum pk_fn acts[] = {PK_FN_NONE, PK_FN_RELU, PK_FN_SILU, PK_FN_LEAKY_RELU,
		PK_FN_CLIP, PK_FN_HARD_SWISH, PK_FN_GELU};
	struct conv_case v = {.n_axes = n_axes};
	v.batch = random_range(1, 2);
	v.group = random_range(0, 2) ? 1 : random_range(1, 4);
	v.in_c = v.group * random_range(1, 7);
	v.out_c = v.group * random_range(1, 19);
	if (random_range(0, 3) == 0) // depthwise
		v.group = v.in_c = random_range(1, 9), v.out_c = v.in_c * random_range(1, 2);
	for (int i = 0; i < n_axes; i++) {
		v.kernel[i] = random_range(1, n_axes == 3 ? 3 : 5);
		v.stride[i] = random_range(1, 3);
		v.dilation[i] = random_range(1, 2);
		v.pad[i] = random_range(0, 3);
		v.pad[n_axes + i] = random_range(0, 3);
		int64_t extent = (v.kernel[i] - 1) * v.dilation[i] + 1;
		v.in[i] = random_range(extent, extent + (n_axes == 3 ? 5 : 37));
	}
	if (random_range(0, 2) == 0) { // pointwise, read in place
		for (int i = 0; i < n_axes; i++)
			v.kernel[i] = v.stride[i] = v.dilation[i] = 1,
			v.pad[i] = v.pad[n_axes + i] = 0;
	}
	v.act = acts[random_range(0, (int)(sizeof(acts) / sizeof(acts[0])) - 1)];
	v.residual = PK_RESIDUAL_NONE + random_range(0, 2);
	v.bias = random_range(0, 1);
	return v;
}

// The formula of the ONNX operator, element by element, without activation and residual.
static double formula(
	struct node_case *c, const struct conv_case *v, int64_t n, int64_t m, const int64_t out[3])
{
	const float *x = c->data[0], *w = c->data[1], *b = c->data[2];
	int64_t per_group = v->in_c / v->group, c0 = m / (v->out_c / v->group) * per_group;
	int64_t cells = 1, plane = 1;
	double sum = v->bias ? (double)b[m] : 0;
	for (int i = 0; i < v->n_axes; i++) {
		cells *= v->kernel[i];
		plane *= v->in[i];
	}
	for (int64_t k = 0; k < per_group * cells; k++) {
		int64_t rest = k % cells, at = 0, tap[3];
		bool inside = true;
		for (int i = v->n_axes - 1; i >= 0; i--) {
			tap[i] = rest % v->kernel[i];
			rest /= v->kernel[i];
		}
		for (int i = 0; i < v->n_axes; i++) {
			int64_t p = out[i] * v->stride[i] + tap[i] * v->dilation[i] - v->pad[i];
			inside = inside && p >= 0 && p < v->in[i];
			at = at * v->in[i] + p;
		}
		if (inside)
			sum += (double)x[(n * v->in_c + c0 + k / cells) * plane + at] *
			       (double)w[m * per_group * cells + k];
	}
	return sum;
}

static void reference_is_the_formula(void **test_state)
{
	(void)test_state;
	random_seed(7);
	for (int round = 0; round < 60; round++) {
		struct conv_case v = random_case(1 + round % 3);
		struct node_case c;
		v.act = PK_FN_NONE;
		v.residual = PK_RESIDUAL_NONE;
		build_conv(&c, &v);
		const struct pk_shape *y = &c.node->outputs[0]->shape;
		float *got = node_case_reference(&c);
		int64_t plane = 1, idx = 0;
		for (int i = 0; i < v.n_axes; i++)
			plane *= y->dims[2 + i];
		for (int64_t i = 0; i < v.batch * v.out_c * plane; i++, idx++) {
			int64_t out[3] = {0}, rest = i % plane, channel = i / plane;
			for (int axis = v.n_axes - 1; axis >= 0; axis--) {
				out[axis] = rest % y->dims[2 + axis];
				rest /= y->dims[2 + axis];
			}
			double expected =
				formula(&c, &v, channel / v.out_c, channel % v.out_c, out);
			assert_true(fabs((double)got[idx] - expected) < 1e-5);
		}
		free(got);
		node_case_end(&c);
	}
}

static void known_values(void **test_state)
{
	(void)test_state;
	struct conv_case v = {.n_axes = 2,
		.batch = 1,
		.in_c = 1,
		.out_c = 1,
		.group = 1,
		.in = {3, 3},
		.kernel = {2, 2},
		.stride = {1, 1},
		.dilation = {1, 1},
		.bias = true,
		.act = PK_FN_RELU,
		.residual = PK_RESIDUAL_AFTER_ACT};
	struct node_case c;
	build_conv(&c, &v);
	for (int i = 0; i < 9; i++)
		((float *)c.data[0])[i] = (float)(i + 1);
	for (int i = 0; i < 4; i++) {
		((float *)c.data[1])[i] = i == 0   ? 1
					  : i == 3 ? -1
						   : 0; // x[i][j] - x[i+1][j+1] = -4
		((float *)c.data[3])[i] = 0.5F;
	}
	((float *)c.data[2])[0] = 6;
	float *got = node_case_reference(&c);
	for (int i = 0; i < 4; i++)
		assert_true(got[i] == 2.5F);
	free(got);
	assert_true(node_case_check_rows(&c, 1e-6) >= 2);
	node_case_end(&c);
}

static void rows_agree(void **test_state)
{
	(void)test_state;
	int n = 0;
	random_seed(99);
	for (int round = 0; round < 250; round++) {
		struct conv_case v = random_case(1 + round % 2);
		struct node_case c;
		build_conv(&c, &v);
		n += node_case_check_rows(&c, 1e-5);
		node_case_end(&c);
	}
	assert_true(n >= 500);
}

// Large enough for several blocks and panels.
static void rows_agree_large(void **test_state)
{
	(void)test_state;
	static const struct conv_case cases[] = {
		{2, 1, 32, 50, 1, {40, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, PK_FN_SILU,
			PK_RESIDUAL_BEFORE_ACT, true},
		{2, 1, 3, 16, 1, {96, 128}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, PK_FN_RELU,
			PK_RESIDUAL_NONE, true},
		{2, 1, 130, 64, 1, {33, 31}, {1, 1}, {1, 1}, {1, 1}, {0}, PK_FN_SIGMOID,
			PK_RESIDUAL_AFTER_ACT, true},
		{2, 1, 24, 24, 24, {80, 77}, {5, 5}, {2, 2}, {1, 1}, {1, 2, 2, 1}, PK_FN_NONE,
			PK_RESIDUAL_NONE, false},
		{2, 1, 16, 32, 1, {64, 64}, {1, 1}, {2, 2}, {1, 1}, {0}, PK_FN_NONE,
			PK_RESIDUAL_NONE, true},
		{1, 1, 8, 12, 1, {1000}, {9}, {1}, {3}, {12, 12}, PK_FN_TANH, PK_RESIDUAL_NONE,
			true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node_case c;
		build_conv(&c, &cases[i]);
		assert_true(node_case_check_rows(&c, 1e-5) >= 2);
		node_case_end(&c);
	}
}

static void build_transpose(struct node_case *c, const struct conv_case *v, const int64_t *extra)
{
	node_case_begin(c);
	node_case_operand(c, PK_F32, shape_of(v, v->batch, v->in_c, v->in), false);
	node_case_operand(c, PK_F32, shape_of(v, v->in_c, v->out_c / v->group, v->kernel), true);
	if (v->bias)
		node_case_operand(c, PK_F32, SHAPE(v->out_c), true);
	struct pk_node *node = node_case_node(c, PK_OP_CONV_TRANSPOSE);
	set_attrs(node, v);
	pk_node_set_ints(node, PK_ATTR_OUTPUT_PADDING, extra, v->n_axes);
	node_case_finish(c, NULL);
}

// y[o] gathers every (i, k) with i * stride + k * dilation - pad == o.
static void transpose_is_the_adjoint(void **test_state)
{
	(void)test_state;
	random_seed(3);
	for (int round = 0; round < 60; round++) {
		struct conv_case v = random_case(2);
		int64_t extra[2] = {
			random_range(0, v.stride[0] - 1), random_range(0, v.stride[1] - 1)};
		struct node_case c;
		v.act = PK_FN_NONE;
		for (int i = 0; i < 4; i++)
			v.pad[i] = 0;
		for (int i = 0; i < 2; i++)
			v.in[i] = random_range(1, 9);
		v.pad[random_range(0, 3)] = v.kernel[0] > 1 && v.kernel[1] > 1;
		build_transpose(&c, &v, extra);
		const float *x = c.data[0], *w = c.data[1];
		const int64_t *out = c.node->outputs[0]->shape.dims + 2;
		float *got = node_case_reference(&c);
		int64_t mg = v.out_c / v.group, cg = v.in_c / v.group;
		for (int64_t i = 0; i < v.batch * v.out_c * out[0] * out[1]; i++) {
			int64_t ow = i % out[1], oh = i / out[1] % out[0];
			int64_t m = i / (out[0] * out[1]) % v.out_c,
				n = i / (out[0] * out[1] * v.out_c);
			double sum = v.bias ? (double)((float *)c.data[2])[m] : 0;
			for (int64_t k = 0; k < cg * v.in[0] * v.in[1]; k++) {
				int64_t iw = k % v.in[1], ih = k / v.in[1] % v.in[0];
				int64_t ch = m / mg * cg + k / (v.in[0] * v.in[1]);
				int64_t dh = oh + v.pad[0] - ih * v.stride[0];
				int64_t dw = ow + v.pad[1] - iw * v.stride[1];
				if (dh < 0 || dw < 0 || dh % v.dilation[0] || dw % v.dilation[1] ||
					dh / v.dilation[0] >= v.kernel[0] ||
					dw / v.dilation[1] >= v.kernel[1])
					continue;
				int64_t tap = dh / v.dilation[0] * v.kernel[1] + dw / v.dilation[1];
				sum += (double)x[((n * v.in_c + ch) * v.in[0] + ih) * v.in[1] +
						 iw] *
				       (double)w[(ch * mg + m % mg) * v.kernel[0] * v.kernel[1] +
						 tap];
			}
			assert_true(fabs((double)got[i] - sum) < 1e-5);
		}
		free(got);
		node_case_check_rows(&c, 1e-5);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(reference_is_the_formula),
		cmocka_unit_test(rows_agree),
		cmocka_unit_test(rows_agree_large),
		cmocka_unit_test(transpose_is_the_adjoint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
