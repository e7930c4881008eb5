// SPDX-License-Identifier: Apache-2.0
// The layout rule, and conversion there and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/layout.h"

#define H 2
#define W 3
#define C 5

static const struct pk_value value = {.dtype = PK_F32, .shape = {.rank = 4, .dims = {1, C, H, W}}};

static void test_rule(void **state)
{
	struct pk_cuda_tensor t;
	struct pk_value v = value;
	(void)state;
	pk_cuda_tensor_of(&v, PK_F16, &t);
	assert_int_equal(t.layout, PK_CUDA_NHWC);
	assert_int_equal(t.dtype, PK_F16);
	assert_int_equal(t.channels, 8);
	assert_int_equal(t.strides[1], 1);
	assert_int_equal(t.strides[3], 8);
	assert_int_equal(t.strides[2], 8 * W);
	assert_int_equal(pk_cuda_tensor_bytes(&t), 2 * 8 * H * W);
	v.is_output = true; // the border is dense and of its own type
	pk_cuda_tensor_of(&v, PK_F16, &t);
	assert_int_equal(t.layout, PK_CUDA_DENSE);
	assert_int_equal(t.dtype, PK_F32);
	assert_int_equal(t.strides[1], H * W);
	v = value;
	v.dtype = PK_I64;
	pk_cuda_tensor_of(&v, PK_F16, &t);
	assert_int_equal(t.layout, PK_CUDA_DENSE);
	v.dtype = PK_I8;
	pk_cuda_tensor_of(&v, PK_F16, &t);
	assert_int_equal(t.layout, PK_CUDA_NHWC);
	assert_int_equal(t.dtype, PK_I8);
	v.dtype = PK_F32;
	v.shape.rank = 3;
	pk_cuda_tensor_of(&v, PK_F16, &t);
	assert_int_equal(t.layout, PK_CUDA_DENSE);
	assert_int_equal(t.dtype, PK_F32);
}

static void test_there_and_back(void **state)
{
	float dense[C * H * W], back[C * H * W];
	uint16_t form[8 * H * W];
	struct pk_cuda_tensor t;
	(void)state;
	for (int i = 0; i < C * H * W; i++)
		dense[i] = (float)i - 7;
	pk_cuda_tensor_of(&value, PK_F16, &t);
	memset(form, 0xff, sizeof(form));
	pk_cuda_to_device_form(&value, &t, dense, form);
	for (int y = 0; y < H; y++) {
		for (int x = 0; x < W; x++) {
			for (int c = 0; c < 8; c++) {
				float found = pk_f16_to_f32(form[(y * W + x) * 8 + c]);
				float wanted = c < C ? dense[(c * H + y) * W + x] : 0;
				assert_true(found == wanted);
			}
		}
	}
	pk_cuda_to_host_form(&value, &t, form, back);
	assert_memory_equal(back, dense, sizeof(dense));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_there_and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
