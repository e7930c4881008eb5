// SPDX-License-Identifier: Apache-2.0
// quant.cu, qconv.cu and qelement.cu against the reference: exact integers.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

static void random_bytes(void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		((uint8_t *)data)[i] = (uint8_t)random_u32();
}

static struct pk_shape random_shape(int rank)
{
	struct pk_shape s = {.rank = rank};
	for (int i = 0; i < rank; i++)
		s.dims[i] = random_range(1, 9);
	return s;
}

static void quantise(void **state)
{
	(void)state;
	random_seed(91);
	for (int round = 0; round < 60; round++) {
		struct pk_shape x = random_shape(round % 2 ? 4 : 2);
		enum pk_dtype byte = round / 2 % 2 ? PK_I8 : PK_U8;
		bool back = round / 4 % 2, each = round / 8 % 2, zero = round / 16 % 2;
		struct pk_shape scale = each ? SHAPE(x.dims[1]) : SHAPE(1);
		struct node_case c;
		node_case_begin(&c);
		void *data = node_case_operand(&c, back ? byte : PK_F32, x, false);
		for (int64_t i = 0; !back && i < pk_shape_elements(&x); i++)
			((float *)data)[i] *= 100;
		float *s = node_case_operand(&c, PK_F32, scale, true);
		for (int64_t i = 0; i < pk_shape_elements(&scale); i++)
			s[i] = 0.5F + s[i] * s[i];
		if (zero)
			node_case_operand(&c, byte, scale, true);
		struct pk_node *node = node_case_node(&c, back ? PK_OP_DEQUANTIZE : PK_OP_QUANTIZE);
		pk_node_set_int(node, PK_ATTR_AXIS, 1);
		if (!back)
			pk_node_set_int(node, PK_ATTR_TO, byte);
		node_case_finish(&c, NULL);
		bool half = round / 32 % 2;
		gpu_case_check(&c, back ? "dequantize_element" : "quantize_element",
			half ? PK_F16 : PK_F32, half ? 5e-4 : 0);
		node_case_end(&c);
	}
}

// Sums of a bias, whose layout and type differ from those of activations.
static void dequantise_i32(void **state)
{
	(void)state;
	random_seed(92);
	for (int half = 0; half < 2; half++) {
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_I32, SHAPE(2, 5, 3, 4), false);
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 0.25F;
		node_case_node(&c, PK_OP_DEQUANTIZE);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "dequantize_element", half ? PK_F16 : PK_F32, 0);
		node_case_end(&c);
	}
}

static void qconv(struct node_case *c, int round)
{
	static const enum pk_dtype outputs[] = {PK_I8, PK_U8, PK_I32, PK_F32};
	enum pk_dtype x_type = round % 2 ? PK_I8 : PK_U8, w_type = round % 3 ? PK_I8 : PK_U8;
	enum pk_dtype to = outputs[round / 2 % 4];
	int64_t group = round % 5 ? 1 : 2, in_c = group * random_range(1, 9);
	int64_t out_c = group * random_range(1, 9), k = random_range(1, 3), at = random_range(0, 1);
	int64_t strides[] = {random_range(1, 2), 1}, pads[] = {at, 0, at, at};
	bool byte = to == PK_I8 || to == PK_U8, zeros = round % 7 < 4;
	pads[0] = pads[0] < k ? pads[0] : 0;
	node_case_begin(c);
	random_bytes(node_case_operand(c, x_type, SHAPE(2, in_c, 7, 9), false), 2 * in_c * 63);
	random_bytes(node_case_operand(c, w_type, SHAPE(out_c, in_c / group, k, k), true),
		out_c * in_c / group * k * k);
	node_case_operand(c, PK_I32, SHAPE(out_c), true);
	float *mult = node_case_operand(c, PK_F32, SHAPE(out_c), true);
	for (int64_t i = 0; i < out_c; i++)
		mult[i] = 0x1p-9F * (1 + (float)(i % 3));
	if (zeros || byte) {
		node_case_operand(c, x_type, SHAPE(1), true);
		node_case_operand(c, w_type, round % 2 ? SHAPE(out_c) : SHAPE(1), true);
	}
	if (byte) {
		*(float *)node_case_operand(c, PK_F32, SHAPE(1), true) = 0.75F;
		node_case_operand(c, to, SHAPE(1), true);
	}
	struct pk_node *node = node_case_node(c, PK_OP_QCONV);
	pk_node_set_ints(node, PK_ATTR_STRIDES, strides, 2);
	pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
	pk_node_set_int(node, PK_ATTR_GROUP, group);
	pk_node_set_int(node, PK_ATTR_ACT, round % 3 ? PK_FN_RELU : PK_FN_NONE);
	pk_node_set_int(node, PK_ATTR_TO, to);
	node_case_finish(c, NULL);
}

static void integer_convolutions(void **state)
{
	(void)state;
	random_seed(93);
	for (int round = 0; round < 60; round++) {
		bool half = round / 8 % 2;
		struct node_case c;
		qconv(&c, round);
		gpu_case_check(&c, "qconv_direct", half ? PK_F16 : PK_F32, half ? 5e-4 : 0);
		node_case_end(&c);
	}
}

static void byte_sums(void **state)
{
	static const enum pk_fn fns[] = {PK_FN_ADD, PK_FN_SUB, PK_FN_MUL};
	(void)state;
	random_seed(94);
	for (int round = 0; round < 48; round++) {
		struct pk_shape x = random_shape(round % 2 ? 4 : 3), other = x;
		enum pk_dtype types[3];
		struct node_case c;
		for (int i = 0; i < x.rank; i++)
			other.dims[i] = round % 3 ? x.dims[i] : 1;
		for (int i = 0; i < 3; i++)
			types[i] = round >> i & 1 ? PK_I8 : PK_U8;
		node_case_begin(&c);
		random_bytes(node_case_operand(&c, types[0], x, false), pk_shape_elements(&x));
		random_bytes(
			node_case_operand(&c, types[1], other, false), pk_shape_elements(&other));
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 0.7F;
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = 0.3F;
		for (int i = 0; i < 3 && round % 4; i++)
			node_case_operand(&c, types[i], SHAPE(1), true);
		struct pk_node *node = node_case_node(&c, PK_OP_QBINARY);
		pk_node_set_int(node, PK_ATTR_FN, fns[round / 3 % 3]);
		pk_node_set_int(node, PK_ATTR_ACT, round / 8 % 2 ? PK_FN_RELU : PK_FN_NONE);
		pk_node_set_int(node, PK_ATTR_TO, types[2]);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "qbinary_element", PK_F16, 0);
		node_case_end(&c);
	}
}

static void lookups(void **state)
{
	(void)state;
	random_seed(95);
	for (int round = 0; round < 16; round++) {
		struct pk_shape x = random_shape(round % 2 ? 4 : 3);
		struct node_case c;
		node_case_begin(&c);
		random_bytes(node_case_operand(&c, round / 2 % 2 ? PK_I8 : PK_U8, x, false),
			pk_shape_elements(&x));
		random_bytes(node_case_operand(&c, round / 4 % 2 ? PK_I8 : PK_U8, SHAPE(256), true),
			256);
		node_case_node(&c, PK_OP_LOOKUP);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "lookup_table", PK_F16, 0);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantise),
		cmocka_unit_test(dequantise_i32),
		cmocka_unit_test(integer_convolutions),
		cmocka_unit_test(byte_sums),
		cmocka_unit_test(lookups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
