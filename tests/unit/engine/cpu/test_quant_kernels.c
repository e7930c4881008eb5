// SPDX-License-Identifier: Apache-2.0
// Quantised kernels: rounding and saturation by hand-made numbers, products against plain loops,
// every faster row against the reference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node_case.h"

// quantize over [2, 4] with scale and zero point per row.
static void test_quantize_rounds_and_saturates(void **state)
{
	static const float x[8] = {0.5F, 1.5F, -2.5F, 1000, -0.25F, 0.75F, INFINITY, -INFINITY};
	static const float scales[2] = {1, 0.5F};
	static const int8_t zeros[2] = {0, 100};
	static const int8_t wanted[8] = {0, 2, -2, 127, 100, 102, 127, -128};
	struct node_case c;
	node_case_begin(&c);
	memcpy(node_case_operand(&c, PK_F32, SHAPE(2, 4), false), x, sizeof(x));
	memcpy(node_case_operand(&c, PK_F32, SHAPE(2), true), scales, sizeof(scales));
	memcpy(node_case_operand(&c, PK_I8, SHAPE(2), true), zeros, sizeof(zeros));
	pk_node_set_int(node_case_node(&c, PK_OP_QUANTIZE), PK_ATTR_TO, PK_I8);
	node_case_finish(&c, NULL);
	int8_t *y = node_case_reference(&c);
	assert_memory_equal(y, wanted, sizeof(wanted));
	free(y);
	node_case_end(&c);
}

static void test_quantize_types(void **state)
{
	static const float x[4] = {-1, 255.5F, 256.5F, 70000};
	static const uint8_t wanted8[4] = {0, 255, 255, 255};
	static const uint16_t wanted16[4] = {0, 256, 256, 65535};
	const struct {
		enum pk_dtype to;
		const void *wanted;
		size_t bytes;
	} rows[] = {{PK_U8, wanted8, sizeof(wanted8)}, {PK_U16, wanted16, sizeof(wanted16)}};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct node_case c;
		node_case_begin(&c);
		memcpy(node_case_operand(&c, PK_F32, SHAPE(4), false), x, sizeof(x));
		*(float *)node_case_operand(&c, PK_F32, (struct pk_shape){0}, true) = 1;
		pk_node_set_int(node_case_node(&c, PK_OP_QUANTIZE), PK_ATTR_TO, rows[i].to);
		node_case_finish(&c, NULL);
		void *y = node_case_reference(&c);
		assert_memory_equal(y, rows[i].wanted, rows[i].bytes);
		free(y);
		node_case_check_rows(&c, 0);
		node_case_end(&c);
	}
}

static void test_dequantize(void **state)
{
	static const int32_t x[3] = {INT32_MAX, -3, 5};
	struct node_case c;
	node_case_begin(&c);
	memcpy(node_case_operand(&c, PK_I32, SHAPE(3), false), x, sizeof(x));
	*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 0.5F;
	*(int32_t *)node_case_operand(&c, PK_I32, SHAPE(1), true) = -1;
	node_case_node(&c, PK_OP_DEQUANTIZE);
	node_case_finish(&c, NULL);
	float *y = node_case_reference(&c);
	assert_true(y[0] == 0x1p30F && y[1] == -1 && y[2] == 3); // the difference does not wrap
	free(y);
	node_case_end(&c);
}

// Every row of quantize and dequantize over lengths around the vector's.
static void test_line_rows(void **state)
{
	for (int64_t n = 0; n < 70; n += 1 + n / 8) {
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(n), false);
		for (int64_t i = 0; i < n; i++)
			x[i] *= 300;
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 1.5F;
		*(int8_t *)node_case_operand(&c, PK_I8, SHAPE(1), true) = (int8_t)(n - 30);
		pk_node_set_int(node_case_node(&c, PK_OP_QUANTIZE), PK_ATTR_TO, PK_I8);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_rows(&c, 0) >= 1);
		node_case_end(&c);
		node_case_begin(&c);
		node_case_operand(&c, PK_U8, SHAPE(n), false);
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 1.5F;
		*(uint8_t *)node_case_operand(&c, PK_U8, SHAPE(1), true) = 3;
		node_case_node(&c, PK_OP_DEQUANTIZE);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_rows(&c, 0) >= 1);
		node_case_end(&c);
	}
}

struct qconv_case {
	int64_t in_c, out_c, group, h, w, kernel, stride, dilation, pad;
	enum pk_dtype x, weights, to;
	enum pk_fn act;
	bool bias, w_zero_per_channel, zeros;
};

static void random_bytes(void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		((uint8_t *)data)[i] = (uint8_t)random_u32();
}

static void build_qconv(struct node_case *c, const struct qconv_case *v)
{
	int64_t w_shape[4] = {v->out_c, v->in_c / v->group, v->kernel, v->kernel};
	int64_t two[2] = {v->stride, v->stride}, dilations[2] = {v->dilation, v->dilation};
	int64_t pads[4] = {v->pad, v->pad, v->pad, v->pad};
	node_case_begin(c);
	random_bytes(node_case_operand(c, v->x, SHAPE(2, v->in_c, v->h, v->w), false),
		2 * v->in_c * v->h * v->w);
	random_bytes(node_case_operand(c, v->weights,
			     SHAPE(w_shape[0], w_shape[1], w_shape[2], w_shape[3]), true),
		w_shape[0] * w_shape[1] * w_shape[2] * w_shape[3]);
	if (v->bias)
		node_case_operand(c, PK_I32, SHAPE(v->out_c), true);
	else
		node_case_omit(c);
	float *mult = node_case_operand(c, PK_F32, SHAPE(v->out_c), true);
	for (int64_t i = 0; i < v->out_c; i++)
		mult[i] = 0x1p-9F * (1 + (float)(i % 3));
	if (v->zeros) {
		node_case_operand(c, v->x, SHAPE(1), true);
		node_case_operand(
			c, v->weights, v->w_zero_per_channel ? SHAPE(v->out_c) : SHAPE(1), true);
	}
	struct pk_node *node = node_case_node(c, PK_OP_QCONV);
	pk_node_set_ints(node, PK_ATTR_STRIDES, two, 2);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, dilations, 2);
	pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
	pk_node_set_int(node, PK_ATTR_GROUP, v->group);
	pk_node_set_int(node, PK_ATTR_ACT, v->act);
	pk_node_set_float(node, PK_ATTR_ALPHA, v->act == PK_FN_CLIP ? -20 : 0.125);
	pk_node_set_float(node, PK_ATTR_BETA, 40);
	pk_node_set_int(node, PK_ATTR_TO, v->to);
	node_case_finish(c, NULL);
}

// The formula of the operator, one output cell at a time.
static int64_t plain_sum(const struct node_case *c, const struct qconv_case *v, const int64_t at[4])
{
	int64_t per_group = v->in_c / v->group, first = at[1] / (v->out_c / v->group) * per_group;
	const uint8_t *x = c->data[0], *w = c->data[1];
	int32_t x_zero = 0, w_zero = 0;
	int64_t w_at = v->w_zero_per_channel ? at[1] : 0, sum = 0;
	if (v->zeros) {
		x_zero = v->x == PK_I8 ? *(int8_t *)c->data[4] : *(uint8_t *)c->data[4];
		w_zero = v->weights == PK_I8 ? ((int8_t *)c->data[5])[w_at]
					     : ((uint8_t *)c->data[5])[w_at];
	}
	for (int64_t i = 0; i < per_group * v->kernel * v->kernel; i++) {
		int64_t ch = i / (v->kernel * v->kernel), kh = i / v->kernel % v->kernel;
		int64_t ih = at[2] * v->stride + kh * v->dilation - v->pad;
		int64_t iw = at[3] * v->stride + i % v->kernel * v->dilation - v->pad;
		if (ih < 0 || iw < 0 || ih >= v->h || iw >= v->w)
			continue;
		uint8_t xb = x[((at[0] * v->in_c + first + ch) * v->h + ih) * v->w + iw];
		uint8_t wb = w[at[1] * per_group * v->kernel * v->kernel + i];
		sum += (int64_t)((v->x == PK_I8 ? (int8_t)xb : xb) - x_zero) *
		       ((v->weights == PK_I8 ? (int8_t)wb : wb) - w_zero);
	}
	return sum + (v->bias ? ((int32_t *)c->data[2])[at[1]] : 0);
}

static void check_sums(struct node_case *c, const struct qconv_case *v)
{
	int32_t *y = node_case_reference(c);
	const int64_t *dims = c->node->outputs[0]->shape.dims;
	for (int64_t i = 0; i < dims[0] * dims[1] * dims[2] * dims[3]; i++) {
		int64_t at[4] = {i / (dims[1] * dims[2] * dims[3]),
			i / (dims[2] * dims[3]) % dims[1], i / dims[3] % dims[2], i % dims[3]};
		assert_int_equal(y[i], plain_sum(c, v, at));
	}
	free(y);
}

static void test_qconv_sums(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct qconv_case v = {
			.group = 1 + i % 2,
			.h = random_range(3, 9),
			.w = random_range(3, 20),
			.kernel = random_range(1, 3),
			.stride = random_range(1, 2),
			.dilation = 1,
			.pad = random_range(0, 1),
			.x = i % 3 ? PK_I8 : PK_U8,
			.weights = i % 5 ? PK_I8 : PK_U8,
			.to = PK_I32,
			.bias = i % 4 == 1,
			.zeros = i % 2,
			.w_zero_per_channel = i % 8 > 3,
		};
		v.in_c = v.group * random_range(1, 5);
		v.out_c = v.group * random_range(1, 7);
		struct node_case c;
		build_qconv(&c, &v);
		check_sums(&c, &v);
		node_case_check_rows(&c, 0);
		node_case_end(&c);
	}
}

// Requantised outputs of every row are the reference's to the bit where no transcendental function
// is between, else to one step.
static void test_qconv_rows(void **state)
{
	static const enum pk_fn acts[] = {
		PK_FN_NONE, PK_FN_RELU, PK_FN_CLIP, PK_FN_LEAKY_RELU, PK_FN_NONE};
	static const enum pk_dtype outs[] = {PK_I8, PK_U8, PK_F32};
	int n = 0;
	for (int i = 0; i < 60; i++) {
		struct qconv_case v = {
			.group = i % 7 == 0 ? 3 : 1,
			.h = random_range(3, 9),
			.w = random_range(3, 40),
			.kernel = i % 3 ? 3 : 1,
			.stride = random_range(1, 2),
			.dilation = random_range(1, 2),
			.pad = random_range(1, 2),
			.x = i % 3 ? PK_I8 : PK_U8,
			.weights = PK_I8,
			.to = outs[i % 3],
			.act = acts[i % 5],
			.bias = i % 4 == 1,
			.zeros = i % 2,
		};
		v.in_c = v.group * random_range(1, 9);
		v.out_c = v.group * random_range(1, 11);
		struct node_case c;
		build_qconv(&c, &v);
		n += node_case_check_rows(&c, 1e-6);
		node_case_end(&c);
	}
	assert_true(n >= 60);
}

static void test_qconv_transcendental(void **state)
{
	struct qconv_case v = {.group = 1,
		.in_c = 5,
		.out_c = 6,
		.h = 9,
		.w = 21,
		.kernel = 3,
		.stride = 1,
		.dilation = 1,
		.pad = 1,
		.x = PK_I8,
		.weights = PK_I8,
		.to = PK_I8,
		.act = PK_FN_SILU,
		.bias = true};
	struct node_case c;
	build_qconv(&c, &v);
	int64_t n = pk_shape_elements(&c.node->outputs[0]->shape);
	int8_t *wanted = node_case_reference(&c);
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		void *got[2] = {NULL};
		if ((*k)->op != PK_OP_QCONV || !(*k)->supports(c.node))
			continue;
		node_case_run(&c, *k, got);
		for (int64_t i = 0; i < n; i++)
			assert_true(abs(((int8_t *)got[0])[i] - wanted[i]) <= 1);
		free(got[0]);
	}
	free(wanted);
	node_case_end(&c);
}

static void test_qmatmul(void **state)
{
	struct node_case c;
	node_case_begin(&c);
	int8_t *a = node_case_operand(&c, PK_I8, SHAPE(3, 2, 4), false);
	uint8_t *b = node_case_operand(&c, PK_U8, SHAPE(4, 5), true);
	int32_t *bias = node_case_operand(&c, PK_I32, SHAPE(5), true);
	*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 0.25F;
	*(int8_t *)node_case_operand(&c, PK_I8, SHAPE(1), true) = -3;
	uint8_t *zeros = node_case_operand(&c, PK_U8, SHAPE(5), true);
	node_case_omit(&c);
	*(int8_t *)node_case_operand(&c, PK_I8, SHAPE(1), true) = 5;
	pk_node_set_int(node_case_node(&c, PK_OP_QMATMUL), PK_ATTR_TO, PK_I8);
	node_case_finish(&c, NULL);
	int8_t *y = node_case_reference(&c);
	for (int i = 0; i < 30; i++) {
		int row = i / 5, col = i % 5, sum = bias[col];
		for (int k = 0; k < 4; k++)
			sum += (a[row * 4 + k] + 3) * (b[k * 5 + col] - zeros[col]);
		double v = nearbyint(sum * 0.25) + 5;
		assert_int_equal(y[i], v < -128 ? -128 : v > 127 ? 127 : (int)v);
	}
	free(y);
	node_case_check_rows(&c, 0);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantize_rounds_and_saturates),
		cmocka_unit_test(test_quantize_types),
		cmocka_unit_test(test_dequantize),
		cmocka_unit_test(test_line_rows),
		cmocka_unit_test(test_qconv_sums),
		cmocka_unit_test(test_qconv_rows),
		cmocka_unit_test(test_qconv_transcendental),
		cmocka_unit_test(test_qmatmul),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
