// SPDX-License-Identifier: Apache-2.0
// Elements of every stored type, denormals flushed, sizes and ranges checked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "engine/onnx/tensor_data.h"

struct fixture {
	struct pk_arena *arena;
	struct pk_tensor out;
	size_t n_denormals;
	struct pk_err err;
};

static int setup(void **state)
{
	static struct fixture fixture;
	fixture = (struct fixture){.arena = pk_arena_create(1 << 20)};
	*state = &fixture;
	return fixture.arena ? 0 : -1;
}

static int teardown(void **state)
{
	pk_arena_destroy(((struct fixture *)*state)->arena);
	return 0;
}

static int read_tensor(struct fixture *f, struct pk_onnx_tensor *tensor)
{
	tensor->name = (struct pk_onnx_str){"w", 1};
	f->err = (struct pk_err){0};
	return pk_tensor_data_read(tensor, f->arena, &f->out, &f->n_denormals, &f->err);
}

static struct pk_onnx_tensor raw_tensor(
	int type, int64_t *dims, size_t n_dims, const void *raw, size_t n)
{
	return (struct pk_onnx_tensor){.data_type = type,
		.dims = dims,
		.n_dims = n_dims,
		.raw = {raw, n},
		.has_raw = true};
}

static void test_in_place(void **state)
{
	struct fixture *f = *state;
	static const float data[] = {1, -2, 0};
	int64_t dims[] = {3};
	struct pk_onnx_tensor t = raw_tensor(1, dims, 1, data, sizeof(data));
	assert_int_equal(read_tensor(f, &t), 0);
	assert_ptr_equal(f->out.data, data);
	assert_int_equal(f->out.dtype, PK_F32);
	// Not aligned to its elements: copied.
	char shifted[1 + sizeof(data)] __attribute__((aligned(8)));
	memcpy(shifted + 1, data, sizeof(data));
	t.raw.data = shifted + 1;
	assert_int_equal(read_tensor(f, &t), 0);
	assert_int_equal((uintptr_t)f->out.data % 4, 0);
	assert_memory_equal(f->out.data, data, sizeof(data));
}

static void test_denormals(void **state)
{
	struct fixture *f = *state;
	static const uint32_t data[] = {0x00000001, 0x807fffff, 0x00800000, 0x80000000};
	static const uint32_t want[] = {0x00000000, 0x80000000, 0x00800000, 0x80000000};
	int64_t dims[] = {2, 2};
	struct pk_onnx_tensor t = raw_tensor(1, dims, 2, data, sizeof(data));
	assert_int_equal(read_tensor(f, &t), 0);
	assert_int_equal(f->n_denormals, 2);
	assert_ptr_not_equal(f->out.data, data);
	assert_memory_equal(f->out.data, want, sizeof(want));
}

static void test_narrow_floats(void **state)
{
	struct fixture *f = *state;
	static const uint16_t halves[] = {0x3c00, 0xc000};
	static const uint16_t brains[] = {0x3f80, 0xc000};
	static const double doubles[] = {1, -2};
	static const struct {
		int type;
		const void *raw;
		size_t n;
	} cases[] = {{10, halves, 4}, {16, brains, 4}, {11, doubles, 16}};
	int64_t dims[] = {2};
	for (size_t i = 0; i < PK_ARRAY_LEN(cases); i++) {
		struct pk_onnx_tensor t =
			raw_tensor(cases[i].type, dims, 1, cases[i].raw, cases[i].n);
		assert_int_equal(read_tensor(f, &t), 0);
		assert_int_equal(f->out.dtype, PK_F32);
		assert_true(((float *)f->out.data)[0] == 1 && ((float *)f->out.data)[1] == -2);
	}
	// f16 in int32_data: the low 16 bits.
	int64_t ints[] = {0x3c00, 0xc000};
	struct pk_onnx_tensor t = {
		.data_type = 10, .dims = dims, .n_dims = 1, .ints = ints, .n_ints = 2};
	assert_int_equal(read_tensor(f, &t), 0);
	assert_true(((float *)f->out.data)[1] == -2);
}

static void test_typed_ints(void **state)
{
	struct fixture *f = *state;
	int64_t dims[] = {2}, ints[] = {-1, 255};
	struct pk_onnx_tensor t = {
		.data_type = 3, .dims = dims, .n_dims = 1, .ints = ints, .n_ints = 2};
	assert_int_equal(read_tensor(f, &t), 0); // 255 as an i8 that was not sign-extended
	assert_int_equal(((int8_t *)f->out.data)[1], -1);
	t.data_type = 2;
	assert_int_equal(read_tensor(f, &t), -EINVAL);
	assert_string_equal(f->err.text, "tensor `w`: element 0 is -1: no uint8");
	t.data_type = 7;
	assert_int_equal(read_tensor(f, &t), 0);
	assert_int_equal(((int64_t *)f->out.data)[0], -1);
	t.data_type = 9;
	assert_int_equal(read_tensor(f, &t), 0);
	assert_int_equal(((uint8_t *)f->out.data)[1], 1);
}

static void test_raw_bool(void **state)
{
	struct fixture *f = *state;
	int64_t dims[] = {3};
	struct pk_onnx_tensor t = raw_tensor(9, dims, 1, "\x00\x01\x07", 3);
	assert_int_equal(read_tensor(f, &t), 0);
	assert_memory_equal(f->out.data, "\x00\x01\x01", 3);
}

static void test_empty_and_scalar(void **state)
{
	struct fixture *f = *state;
	int64_t dims[] = {0, 4};
	struct pk_onnx_tensor t = {.data_type = 1, .dims = dims, .n_dims = 2};
	assert_int_equal(read_tensor(f, &t), 0); // neither raw nor typed, but nothing is needed
	assert_int_equal(pk_shape_elements(&f->out.shape), 0);
	static const float one = 1;
	t = raw_tensor(1, NULL, 0, &one, 4);
	assert_int_equal(read_tensor(f, &t), 0);
	assert_int_equal(f->out.shape.rank, 0);
}

static void expect_error(struct fixture *f, struct pk_onnx_tensor t, int code, const char *text)
{
	assert_int_equal(read_tensor(f, &t), code);
	assert_string_equal(f->err.text, text);
}

static void test_errors(void **state)
{
	struct fixture *f = *state;
	static const float data[2];
	int64_t two[] = {2}, negative[] = {-1}, huge[] = {1 << 20, 1 << 20};
	int64_t many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct pk_onnx_tensor t = raw_tensor(1, two, 1, data, 4);
	expect_error(f, t, -EINVAL, "tensor `w`: raw data has 4 bytes, the shape needs 8");
	t = (struct pk_onnx_tensor){.data_type = 1, .dims = two, .n_dims = 1};
	expect_error(f, t, -EINVAL, "tensor `w`: 0 float elements, the shape needs 2");
	t = raw_tensor(1, negative, 1, data, 4);
	expect_error(f, t, -EINVAL, "tensor `w`: dimension 0 is -1");
	t = raw_tensor(1, huge, 2, data, 4);
	expect_error(f, t, -EFBIG,
		"tensor `w`: shape [1048576,1048576] has more than 2^31 - 1 elements");
	t = raw_tensor(1, many, 9, data, 4);
	expect_error(f, t, -EINVAL, "tensor `w`: 9 dimensions; 8 are possible");
	t = raw_tensor(8, two, 1, data, 8);
	expect_error(f, t, -ENOTSUP, "tensor `w`: elements of type string are not supported");
	t = raw_tensor(99, two, 1, data, 8);
	expect_error(
		f, t, -ENOTSUP, "tensor `w`: elements of type an unknown type are not supported");
	t = raw_tensor(1, two, 1, data, 8);
	t.n_floats = 2;
	expect_error(f, t, -EINVAL, "tensor `w`: has both raw and typed data");
	t = (struct pk_onnx_tensor){.data_type = 1, .external = true};
	expect_error(f, t, -ENOTSUP,
		"tensor `w`: its data is in another file: save the model with all weights inside");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denormals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_narrow_floats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_typed_ints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_raw_bool, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_and_scalar, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
