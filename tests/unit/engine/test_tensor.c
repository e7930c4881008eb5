// SPDX-License-Identifier: Apache-2.0
// Element types, shape arithmetic, 16-bit floats.
#include "engine/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint32_t bits_of(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void test_dtypes(void **state)
{
	for (int i = PK_DTYPE_NONE + 1; i < PK_N_DTYPES; i++) {
		enum pk_dtype dtype = (enum pk_dtype)i;
		assert_int_equal(pk_dtype_from_name(pk_dtype_name(dtype)), dtype);
		assert_int_equal(pk_dtype_from_onnx(pk_dtype_to_onnx(dtype)), dtype);
		assert_true(pk_dtype_bytes(dtype) >= 1 && pk_dtype_bytes(dtype) <= 8);
	}
	assert_int_equal(pk_dtype_from_name("f33"), PK_DTYPE_NONE);
	assert_int_equal(pk_dtype_from_onnx(8), PK_DTYPE_NONE); // STRING
	assert_int_equal(pk_dtype_from_onnx(-1), PK_DTYPE_NONE);
	assert_int_equal(pk_dtype_bytes((enum pk_dtype)99), 0);
	assert_string_equal(pk_dtype_name((enum pk_dtype) - 1), "?");
}

static void test_elements(void **state)
{
	struct row {
		struct pk_shape shape;
		int64_t want;
	};
	static const struct row rows[] = {
		{{0, {0}}, 1},
		{{3, {2, 3, 4}}, 24},
		{{2, {5, 0}}, 0},
		{{2, {-1, 0}}, -1},
		{{1, {INT64_C(0x7fffffff)}}, INT64_C(0x7fffffff)},
		{{1, {INT64_C(0x80000000)}}, -1},
		{{2, {65536, 65536}}, -1},
		{{2, {0, INT64_MAX}}, -1}, // strides would overflow
		{{3, {65536, 0, 65536}}, -1},
		{{8, {2, 2, 2, 2, 2, 2, 2, 2}}, 256},
		{{9, {1}}, -1},
		{{-1, {1}}, -1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		assert_int_equal(pk_shape_elements(&rows[i].shape), rows[i].want);
	assert_int_equal(pk_tensor_bytes(PK_I64, &rows[1].shape), 192);
	assert_true(pk_tensor_bytes(PK_F32, &rows[5].shape) == SIZE_MAX);
	assert_true(pk_tensor_bytes(PK_DTYPE_NONE, &rows[1].shape) == SIZE_MAX);
}

static void test_format(void **state)
{
	char text[PK_SHAPE_TEXT_MAX];
	struct pk_shape shape = {4, {1, 3, 192, 256}};
	pk_shape_format(&shape, text);
	assert_string_equal(text, "[1,3,192,256]");
	shape.rank = 0;
	pk_shape_format(&shape, text);
	assert_string_equal(text, "[]");
	shape.rank = 8;
	for (int i = 0; i < 8; i++)
		shape.dims[i] = i % 2 ? INT64_MIN : -PK_MAX_ELEMENTS;
	pk_shape_format(&shape, text);
	assert_string_equal(text, "[-2147483647,?,-2147483647,?,-2147483647,?,-2147483647,?]");
}

static void test_broadcast(void **state)
{
	struct pk_shape out, a = {3, {4, 1, 3}}, b = {2, {5, 1}}, want = {3, {4, 5, 3}};
	assert_true(pk_shape_broadcast(&a, &b, &out));
	assert_true(pk_shape_equal(&out, &want));
	struct pk_shape scalar = {0, {0}}, empty = {1, {0}}, two = {1, {2}};
	assert_true(pk_shape_broadcast(&scalar, &a, &out));
	assert_true(pk_shape_equal(&out, &a));
	struct pk_shape bad = {1, {2}};
	assert_false(pk_shape_broadcast(&a, &bad, &out));
	struct pk_shape one = {1, {1}};
	assert_true(pk_shape_broadcast(&one, &empty, &out));
	assert_int_equal(out.dims[0], 0);
	assert_false(pk_shape_broadcast(&two, &empty, &out));
	// The result may overwrite an operand.
	assert_true(pk_shape_broadcast(&a, &b, &a));
	assert_true(pk_shape_equal(&a, &want));
}

// Every f16 is exact in f32 and comes back as itself; NaNs stay NaNs.
static void test_f16_round_trip(void **state)
{
	for (uint32_t h = 0; h < 65536; h++) {
		float v = pk_f16_to_f32((uint16_t)h);
		if (isnan(v))
			assert_true((h & 0x7c00) == 0x7c00 && (h & 0x3ff) &&
				    isnan(pk_f16_to_f32(pk_f32_to_f16(v))));
		else
			assert_int_equal(pk_f32_to_f16(v), h);
	}
	assert_true(pk_f16_to_f32(0x3c00) == 1.0f && pk_f16_to_f32(0x0001) == 0x1p-24f);
	assert_true(pk_f16_to_f32(0x7bff) == 65504.0f && isinf(pk_f16_to_f32(0xfc00)));
}

// Between two neighbours the nearer one is taken, and the even one from the middle.
static void test_f16_rounding(void **state)
{
	for (uint32_t h = 0; h < 0x7bff; h++) {
		float low = pk_f16_to_f32((uint16_t)h), high = pk_f16_to_f32((uint16_t)(h + 1));
		float middle = low + (high - low) / 2; // exact in f32
		assert_int_equal(pk_f32_to_f16(middle), h & 1 ? h + 1 : h);
		assert_int_equal(pk_f32_to_f16(nextafterf(middle, 0)), h);
		assert_int_equal(pk_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(pk_f32_to_f16(-middle), (h & 1 ? h + 1 : h) | 0x8000);
	}
	assert_int_equal(pk_f32_to_f16(65519.996f), 0x7bff);
	assert_int_equal(pk_f32_to_f16(65520.0f), 0x7c00);
	assert_int_equal(pk_f32_to_f16(1e30f), 0x7c00);
	assert_int_equal(pk_f32_to_f16(1e-30f), 0);
}

static void test_bf16(void **state)
{
	for (uint32_t h = 0; h < 65536; h++) {
		float v = pk_bf16_to_f32((uint16_t)h);
		if (!isnan(v))
			assert_int_equal(pk_f32_to_bf16(v), h);
		else
			assert_true(isnan(pk_bf16_to_f32(pk_f32_to_bf16(v))));
	}
	assert_int_equal(bits_of(pk_bf16_to_f32(0x3f80)), 0x3f800000);
	assert_int_equal(pk_f32_to_bf16(1.00390625f), 0x3f80); // half way: to even
	assert_int_equal(pk_f32_to_bf16(1.01171875f), 0x3f82); // half way: to even
	assert_int_equal(pk_f32_to_bf16(3.4e38f), 0x7f80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_f16_round_trip),
		cmocka_unit_test(test_f16_rounding),
		cmocka_unit_test(test_bf16),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
