// SPDX-License-Identifier: Apache-2.0
// Kernels whose operands say where: against plain definitions, and with places that do not exist.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node_case.h"

static int64_t wrapped(int64_t i, int64_t n)
{
	if (i < 0 && i >= -n)
		i += n;
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

// Some indices count from the end, some are far outside.
static void fill_indices(int64_t *at, int64_t n, int64_t dim)
{
	for (int64_t i = 0; i < n; i++)
		at[i] = random_range(-dim, dim - 1);
	if (n > 2) {
		at[0] = INT64_MAX;
		at[n - 1] = INT64_MIN;
	}
}

static void gather_elements(void **state)
{
	(void)state;
	random_seed(51);
	for (int round = 0; round < 60; round++) {
		struct node_case c;
		int64_t n = random_range(1, 6);
		node_case_begin(&c);
		const float *x = node_case_operand(&c, PK_F32, SHAPE(3, 4, 5), false);
		int64_t *at = node_case_operand(&c, PK_I64, SHAPE(2, n, 5), false);
		fill_indices(at, 10 * n, 4);
		pk_node_set_int(node_case_node(&c, PK_OP_GATHER_ELEMENTS), PK_ATTR_AXIS, 1);
		node_case_finish(&c, NULL);
		float *y = node_case_reference(&c);
		for (int64_t i = 0; i < 10 * n; i++) {
			int64_t outer = i / (5 * n), inner = i % 5;
			assert_true(y[i] == x[outer * 20 + wrapped(at[i], 4) * 5 + inner]);
		}
		free(y);
		node_case_end(&c);
	}
}

static void scatter_elements(void **state)
{
	static const enum pk_fn fns[] = {PK_FN_NONE, PK_FN_ADD, PK_FN_MUL, PK_FN_MIN, PK_FN_MAX};
	(void)state;
	random_seed(52);
	for (int round = 0; round < 50; round++) {
		enum pk_fn fn = fns[round % 5];
		int32_t want[12];
		struct node_case c;
		node_case_begin(&c);
		const int32_t *x = node_case_operand(&c, PK_I32, SHAPE(3, 4), false);
		int64_t *at = node_case_operand(&c, PK_I64, SHAPE(2, 4), false);
		const int32_t *u = node_case_operand(&c, PK_I32, SHAPE(2, 4), false);
		fill_indices(at, 8, 3);
		pk_node_set_int(node_case_node(&c, PK_OP_SCATTER_ELEMENTS), PK_ATTR_FN, fn);
		node_case_finish(&c, NULL);
		memcpy(want, x, sizeof(want));
		for (int i = 0; i < 8; i++) {
			int32_t *to = &want[wrapped(at[i], 3) * 4 + i % 4];
			*to = fn == PK_FN_ADD   ? *to + u[i]
			      : fn == PK_FN_MUL ? *to * u[i]
			      : fn == PK_FN_MIN ? (u[i] < *to ? u[i] : *to)
			      : fn == PK_FN_MAX ? (u[i] > *to ? u[i] : *to)
						: u[i];
		}
		void *y = node_case_reference(&c);
		assert_memory_equal(y, want, sizeof(want));
		free(y);
		node_case_end(&c);
	}
}

static void points(void **state)
{
	(void)state;
	random_seed(53);
	for (int round = 0; round < 40; round++) {
		struct node_case c;
		node_case_begin(&c);
		const float *x = node_case_operand(&c, PK_F32, SHAPE(2, 3, 4, 5), false);
		int64_t *at = node_case_operand(&c, PK_I64, SHAPE(2, 6, 2), false);
		fill_indices(at, 24, 3);
		pk_node_set_int(node_case_node(&c, PK_OP_GATHER_ND), PK_ATTR_BATCH_DIMS, 1);
		node_case_finish(&c, NULL);
		float *y = node_case_reference(&c);
		for (int64_t i = 0; i < 12; i++) {
			int64_t row = i / 6 * 3 + wrapped(at[2 * i], 3);
			const float *from = x + (row * 4 + wrapped(at[2 * i + 1], 4)) * 5;
			assert_memory_equal(y + i * 5, from, 5 * sizeof(float));
		}
		free(y);
		node_case_end(&c);
	}
}

static void scatter_points(void **state)
{
	float want[12];
	struct node_case c;
	(void)state;
	random_seed(54);
	node_case_begin(&c);
	const float *x = node_case_operand(&c, PK_F32, SHAPE(3, 4), false);
	int64_t *at = node_case_operand(&c, PK_I64, SHAPE(5, 1), false);
	const float *u = node_case_operand(&c, PK_F32, SHAPE(5, 4), false);
	fill_indices(at, 5, 3);
	pk_node_set_int(node_case_node(&c, PK_OP_SCATTER_ND), PK_ATTR_FN, PK_FN_ADD);
	node_case_finish(&c, NULL);
	memcpy(want, x, sizeof(want));
	for (int64_t i = 0; i < 20; i++)
		want[wrapped(at[i / 4], 3) * 4 + i % 4] += u[i];
	float *y = node_case_reference(&c);
	assert_close(y, want, 12, 1e-6, "scatter_nd");
	free(y);
	node_case_end(&c);
}

static void sums(void **state)
{
	(void)state;
	random_seed(55);
	for (int round = 0; round < 4; round++) {
		bool exclusive = round & 1, reverse = round & 2;
		struct node_case c;
		node_case_begin(&c);
		const int64_t *x = node_case_operand(&c, PK_I64, SHAPE(2, 5, 3), false);
		struct pk_node *node = node_case_node(&c, PK_OP_CUM_SUM);
		pk_node_set_int(node, PK_ATTR_AXIS, 1);
		pk_node_set_int(node, PK_ATTR_EXCLUSIVE, exclusive);
		pk_node_set_int(node, PK_ATTR_REVERSE, reverse);
		node_case_finish(&c, NULL);
		int64_t *y = node_case_reference(&c);
		for (int64_t i = 0; i < 30; i++) {
			int64_t sum = 0, at = i / 3 % 5, line = i - at * 3;
			for (int64_t k = 0; k < 5; k++) {
				bool before = reverse ? k > at : k < at;
				sum += before || (k == at && !exclusive) ? x[line + k * 3] : 0;
			}
			assert_int_equal(y[i], sum);
		}
		free(y);
		node_case_end(&c);
	}
}

static void sample(int64_t mode, int64_t padding, bool align, float gx, float gy, float want)
{
	static const float picture[] = {1, 2, 3, 4, 5, 6};
	struct node_case c;
	node_case_begin(&c);
	memcpy(node_case_operand(&c, PK_F32, SHAPE(1, 1, 2, 3), false), picture, sizeof(picture));
	float *grid = node_case_operand(&c, PK_F32, SHAPE(1, 1, 1, 2), false);
	grid[0] = gx;
	grid[1] = gy;
	struct pk_node *node = node_case_node(&c, PK_OP_GRID_SAMPLE);
	pk_node_set_int(node, PK_ATTR_MODE, mode);
	pk_node_set_int(node, PK_ATTR_PADDING, padding);
	pk_node_set_int(node, PK_ATTR_ALIGN_CORNERS, align);
	node_case_finish(&c, NULL);
	float *y = node_case_reference(&c);
	if (!(fabsf(*y - want) < 1e-5f))
		fail_msg("mode %d at (%g, %g): %g, not %g", (int)mode, (double)gx, (double)gy,
			(double)*y, (double)want);
	free(y);
	node_case_end(&c);
}

static void grids(void **state)
{
	static const int64_t modes[] = {PK_MODE_NEAREST, PK_MODE_LINEAR, PK_MODE_CUBIC};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		sample(modes[i], PK_PADDING_ZEROS, true, -1, -1, 1); // the corners are the corners
		sample(modes[i], PK_PADDING_ZEROS, true, 1, 1, 6);
		sample(modes[i], PK_PADDING_ZEROS, true, 9, 0, 0);
		sample(modes[i], PK_PADDING_ZEROS, false, NAN, 0, 0);
		sample(modes[i], PK_PADDING_ZEROS, false, INFINITY, -INFINITY, 0);
		sample(modes[i], PK_PADDING_BORDER, false, 1e30f, 1e30f, 1); // NaN's place
		sample(modes[i], PK_PADDING_BORDER, false, 99, 99, 6);
		sample(modes[i], PK_PADDING_REFLECTION, true, -1, 3, 1); // folded back to the top
	}
	sample(PK_MODE_LINEAR, PK_PADDING_ZEROS, true, 0, 0, 3.5f);
	sample(PK_MODE_LINEAR, PK_PADDING_ZEROS, false, -1, -1, 0.25f); // a quarter inside
	sample(PK_MODE_NEAREST, PK_PADDING_ZEROS, true, 0.4f, -0.6f, 2);
}

static float align(const float roi[4], int64_t image, int64_t sampling, enum pk_fn fn)
{
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, SHAPE(2, 1, 4, 4), false);
	for (int i = 0; i < 32; i++)
		x[i] = (float)i;
	memcpy(node_case_operand(&c, PK_F32, SHAPE(1, 4), false), roi, 4 * sizeof(float));
	*(int64_t *)node_case_operand(&c, PK_I64, SHAPE(1), false) = image;
	struct pk_node *node = node_case_node(&c, PK_OP_ROI_ALIGN);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_node_set_int(node, PK_ATTR_COORD, PK_COORD_ASYMMETRIC);
	pk_node_set_int(node, PK_ATTR_SAMPLING, sampling);
	node_case_finish(&c, &SHAPE(1, 1, 1, 1));
	float *y = node_case_reference(&c), v = *y;
	free(y);
	node_case_end(&c);
	return v;
}

static void regions(void **state)
{
	static const float whole[] = {0, 0, 3, 3}, one[] = {1, 1, 2, 2};
	static const float hostile[][4] = {{NAN, NAN, NAN, NAN}, {0, 0, INFINITY, INFINITY},
		{-1e30f, -1e30f, 1e30f, 1e30f}, {3, 3, 0, 0}, {1e30f, 1e30f, 1e30f, 1e30f}};
	(void)state;
	assert_true(fabsf(align(whole, 0, 2, PK_FN_POOL_AVG) - 7.5f) < 1e-5f);
	assert_true(fabsf(align(one, 1, 1, PK_FN_POOL_AVG) - 23.5f) < 1e-5f);
	assert_true(fabsf(align(one, INT64_MAX, 1, PK_FN_POOL_AVG) - 23.5f) < 1e-5f);
	assert_true(fabsf(align(one, INT64_MIN, 1, PK_FN_POOL_AVG) - 7.5f) < 1e-5f);
	for (size_t i = 0; i < PK_ARRAY_LEN(hostile); i++) {
		align(hostile[i], 0, 0, PK_FN_POOL_AVG); // ends, and reads its own memory
		align(hostile[i], 0, 0, PK_FN_POOL_MAX);
	}
}

static void pool_indices(void **state)
{
	static const int64_t two[] = {2, 2}, pads[] = {1, 1, 0, 0};
	struct node_case c;
	(void)state;
	random_seed(56);
	for (int padded = 0; padded < 2; padded++) {
		node_case_begin(&c);
		const float *x = node_case_operand(&c, PK_F32, SHAPE(2, 3, 4, 5), false);
		struct pk_node *node = node_case_node(&c, PK_OP_POOL_INDEX);
		pk_node_set_ints(node, PK_ATTR_KERNEL, two, 2);
		pk_node_set_ints(node, PK_ATTR_STRIDES, two, 2);
		if (padded)
			pk_node_set_ints(node, PK_ATTR_PADS, pads, 4);
		node_case_finish(&c, NULL);
		int64_t *y = node_case_reference(&c);
		const struct pk_shape *out = &c.node->outputs[0]->shape;
		for (int64_t i = 0; i < pk_shape_elements(out); i++) {
			int64_t plane = i / (out->dims[2] * out->dims[3]);
			int64_t row = i / out->dims[3] % out->dims[2] * 2 - padded;
			int64_t column = i % out->dims[3] * 2 - padded;
			assert_true(y[i] / 20 == plane);
			for (int64_t k = 0; k < 4; k++) {
				int64_t r = row + k / 2, q = column + k % 2;
				if (r >= 0 && r < 4 && q >= 0 && q < 5)
					assert_true(x[y[i]] >= x[plane * 20 + r * 5 + q]);
			}
		}
		free(y);
		node_case_end(&c);
	}
}

// What the verifier may let pass must still not make a row compute with it.
static void absurd_attributes_are_refused(void **state)
{
	struct node_case c;
	(void)state;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(3, 4), false);
	node_case_operand(&c, PK_I64, SHAPE(2, 4), false);
	struct pk_node *node = node_case_node(&c, PK_OP_GATHER_ELEMENTS);
	node_case_finish(&c, NULL);
	assert_non_null(pk_cpu_kernel_default(node));
	pk_node_set_int(node, PK_ATTR_AXIS, -1);
	assert_null(pk_cpu_kernel_default(node));
	pk_node_set_int(node, PK_ATTR_AXIS, INT64_MAX);
	assert_null(pk_cpu_kernel_default(node));
	pk_node_set_int(node, PK_ATTR_AXIS, 1); // 2 rows fit, but a column more than 4 would not
	assert_non_null(pk_cpu_kernel_default(node));
	node_case_end(&c);
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(2, 3, 4), false);
	node_case_operand(&c, PK_I64, SHAPE(2, 1), false);
	node = node_case_node(&c, PK_OP_GATHER_ND);
	node_case_finish(&c, NULL);
	assert_non_null(pk_cpu_kernel_default(node));
	pk_node_set_int(node, PK_ATTR_BATCH_DIMS, INT64_MIN);
	assert_null(pk_cpu_kernel_default(node));
	pk_node_set_int(node, PK_ATTR_BATCH_DIMS, 2);
	assert_null(pk_cpu_kernel_default(node));
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gather_elements),
		cmocka_unit_test(scatter_elements),
		cmocka_unit_test(points),
		cmocka_unit_test(scatter_points),
		cmocka_unit_test(sums),
		cmocka_unit_test(grids),
		cmocka_unit_test(regions),
		cmocka_unit_test(pool_indices),
		cmocka_unit_test(absurd_attributes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
