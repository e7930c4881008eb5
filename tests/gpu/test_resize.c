// SPDX-License-Identifier: Apache-2.0
// resize.cu and copy.cu's tables and gathers against the reference.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

static struct pk_shape random_shape(int rank, int64_t most)
{
	struct pk_shape s = {.rank = rank};
	for (int i = 0; i < rank; i++)
		s.dims[i] = random_range(1, most);
	return s;
}

struct modes {
	int64_t mode, coord;
	bool antialias, exclude;
};

static bool resize(struct node_case *c, const struct modes *m, int rank, bool byte)
{
	struct pk_shape x = random_shape(rank, 9), y = x;
	double scales[PK_MAX_RANK] = {1, 1}, roi[2 * PK_MAX_RANK] = {0};
	for (int i = 0; i < rank; i++) {
		roi[rank + i] = 1;
		if (i >= 2) {
			y.dims[i] = random_range(1, 20);
			scales[i] = (double)y.dims[i] / (double)x.dims[i];
			roi[i] = -0.125;
		}
	}
	node_case_begin(c);
	node_case_operand(c, byte ? PK_U8 : PK_F32, x, false);
	struct pk_node *node = node_case_node(c, PK_OP_RESIZE);
	pk_node_set_int(node, PK_ATTR_MODE, m->mode);
	pk_node_set_int(node, PK_ATTR_COORD, m->coord);
	pk_node_set_int(
		node, PK_ATTR_NEAREST, PK_NEAREST_ROUND_PREFER_FLOOR + (int64_t)(random_u32() % 4));
	pk_node_set_floats(node, PK_ATTR_SCALES, scales, rank);
	pk_node_set_floats(node, PK_ATTR_ROI, roi, 2 * rank);
	pk_node_set_float(node, PK_ATTR_CUBIC, -0.75);
	pk_node_set_float(node, PK_ATTR_VALUE, 0.25);
	pk_node_set_int(node, PK_ATTR_EXCLUDE_OUTSIDE, m->exclude);
	pk_node_set_int(node, PK_ATTR_ANTIALIAS, m->antialias);
	node_case_finish(c, &y);
	if (pk_cpu_kernel_reference(c->node))
		return true;
	node_case_end(c); // modes that exclude each other
	return false;
}

static void resizes(void **state)
{
	static const int64_t modes[] = {PK_MODE_LINEAR, PK_MODE_CUBIC, PK_MODE_NEAREST};
	static const int64_t coords[] = {PK_COORD_HALF_PIXEL, PK_COORD_HALF_PIXEL_SYMMETRIC,
		PK_COORD_PYTORCH_HALF_PIXEL, PK_COORD_ALIGN_CORNERS, PK_COORD_ASYMMETRIC,
		PK_COORD_TF_HALF_PIXEL_FOR_NN, PK_COORD_TF_CROP_AND_RESIZE};
	int n = 0;
	(void)state;
	random_seed(81);
	for (int round = 0; round < 168; round++) {
		struct modes m = {
			modes[round % 3], coords[round / 3 % 7], round / 21 % 2, round / 42 % 2};
		bool nearest = m.mode == PK_MODE_NEAREST, half = round / 84 % 2;
		struct node_case c;
		if (!resize(&c, &m, round % 4 == 3 ? 3 : 4, nearest && round % 2))
			continue;
		gpu_case_check(&c, nearest ? "resize_map" : "resize_taps", half ? PK_F16 : PK_F32,
			nearest ? half ? 5e-4 : 0
			: half  ? 1e-3
				: 2e-6);
		node_case_end(&c);
		n++;
	}
	assert_true(n > 120);
}

static void pads(void **state)
{
	static const int64_t modes[] = {
		PK_MODE_CONSTANT, PK_MODE_REFLECT, PK_MODE_EDGE, PK_MODE_WRAP};
	static const enum pk_dtype dtypes[] = {PK_F32, PK_I64, PK_U8};
	(void)state;
	random_seed(82);
	for (int round = 0; round < 60; round++) {
		struct pk_shape x = random_shape(round % 2 ? 4 : (int)random_range(1, 5), 9);
		int64_t pads[2 * PK_MAX_RANK];
		struct node_case c;
		for (int i = 0; i < x.rank; i++) {
			x.dims[i] += 2;
			pads[i] = random_range(-1, x.dims[i] - 3);
			pads[x.rank + i] = random_range(-1, x.dims[i] - 3);
		}
		node_case_begin(&c);
		node_case_operand(&c, dtypes[round % 3], x, false);
		struct pk_node *node = node_case_node(&c, PK_OP_PAD);
		pk_node_set_int(node, PK_ATTR_MODE, modes[round / 3 % 4]);
		pk_node_set_ints(node, PK_ATTR_PADS, pads, 2 * x.rank);
		pk_node_set_float(node, PK_ATTR_VALUE, 3);
		node_case_finish(&c, NULL);
		gpu_case_check(
			&c, "pad_map", round / 12 % 2 ? PK_F16 : PK_F32, round % 3 ? 0 : 5e-4);
		node_case_end(&c);
	}
}

// Indices from both ends, and some that are out of range.
static void fill_indices(void *data, enum pk_dtype dtype, int64_t n, int64_t n_axis)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t idx = random_range(-n_axis - 1, n_axis);
		if (dtype == PK_I32)
			((int32_t *)data)[i] = (int32_t)idx;
		else
			((int64_t *)data)[i] = idx;
	}
}

static void gathers(void **state)
{
	static const enum pk_dtype dtypes[] = {PK_F32, PK_I64, PK_U8, PK_F32};
	(void)state;
	random_seed(83);
	for (int round = 0; round < 100; round++) {
		struct pk_shape x = random_shape((int)random_range(1, 4), 9), idx = x;
		enum pk_dtype dtype = round % 2 ? PK_I32 : PK_I64;
		int axis = (int)random_range(0, x.rank - 1);
		bool elements = round % 4 == 3;
		struct node_case c;
		if (elements)
			idx.dims[axis] = random_range(1, 12);
		else
			idx = random_shape((int)random_range(0, 3), 4);
		node_case_begin(&c);
		node_case_operand(&c, dtypes[round % 4], x, false);
		fill_indices(node_case_operand(&c, dtype, idx, false), dtype,
			pk_shape_elements(&idx), x.dims[axis]);
		pk_node_set_int(node_case_node(&c, elements ? PK_OP_GATHER_ELEMENTS : PK_OP_GATHER),
			PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, elements ? "gather_elements_index" : "gather_index",
			round / 8 % 2 ? PK_F16 : PK_F32, 5e-4);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resizes),
		cmocka_unit_test(pads),
		cmocka_unit_test(gathers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
