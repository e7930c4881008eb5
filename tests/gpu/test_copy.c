// SPDX-License-Identifier: Apache-2.0
// copy.cu against the reference: every operator that moves elements, layouts in and out.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

static const enum pk_dtype dtypes[] = {PK_F32, PK_F32, PK_I64, PK_U8, PK_BOOL, PK_I32};

// Results between f16 and f32 tensors are rounded once, others move as they are.
static double tolerance_of(const struct node_case *c)
{
	return c->node->outputs[0]->dtype == PK_F32 ? 5e-4 : 0;
}

static struct pk_shape random_shape(int rank, int64_t most)
{
	struct pk_shape s = {.rank = rank};
	for (int i = 0; i < rank; i++)
		s.dims[i] = random_range(1, most);
	return s;
}

static void check(struct node_case *c, const char *row, int round)
{
	gpu_case_check(c, row, round % 2 ? PK_F16 : PK_F32, tolerance_of(c));
	node_case_end(c);
}

static struct pk_node *begin(struct node_case *c, enum pk_op op, struct pk_shape shape, int round)
{
	node_case_begin(c);
	node_case_operand(c, dtypes[round % 6], shape, false);
	return node_case_node(c, op);
}

static void slices(void **state)
{
	(void)state;
	random_seed(31);
	for (int round = 0; round < 60; round++) {
		struct pk_shape x = random_shape((int)random_range(1, 5), 17), y = x;
		int64_t starts[PK_MAX_RANK], steps[PK_MAX_RANK];
		struct node_case c;
		struct pk_node *node = begin(&c, PK_OP_SLICE, x, round);
		for (int i = 0; i < x.rank; i++) {
			int64_t step = random_range(1, 2), n = x.dims[i];
			bool back = random_range(0, 3) == 0;
			y.dims[i] = random_range(1, (n + step - 1) / step);
			int64_t span = (y.dims[i] - 1) * step;
			starts[i] = random_range(0, n - 1 - span) + (back ? span : 0);
			steps[i] = back ? -step : step;
		}
		pk_node_set_ints(node, PK_ATTR_STARTS, starts, x.rank);
		pk_node_set_ints(node, PK_ATTR_STEPS, steps, x.rank);
		node_case_finish(&c, &y);
		check(&c, "slice_copy", round);
	}
}

static void transposes(void **state)
{
	(void)state;
	random_seed(32);
	for (int round = 0; round < 80; round++) {
		struct pk_shape x = random_shape((int)random_range(2, 5), round % 4 ? 9 : 4);
		int64_t perm[PK_MAX_RANK];
		struct node_case c;
		for (int i = 0; i < x.rank; i++)
			perm[i] = i;
		for (int i = x.rank - 1; i > 0; i--) {
			int64_t j = random_range(0, i), t = perm[i];
			perm[i] = perm[j];
			perm[j] = t;
		}
		if (round % 4 == 0) { // more than one tile
			x.dims[0] = random_range(30, 70);
			x.dims[1] = random_range(30, 70);
		}
		struct pk_node *node = begin(&c, PK_OP_TRANSPOSE, x, round);
		pk_node_set_ints(node, PK_ATTR_PERM, perm, x.rank);
		node_case_finish(&c, NULL);
		check(&c, "transpose_copy", round);
	}
}

static void transpose_barrier(void **state)
{
	int64_t perm[] = {1, 0};
	struct node_case c;
	(void)state;
	random_seed(33);
	pk_node_set_ints(begin(&c, PK_OP_TRANSPOSE, SHAPE(40, 50), 0), PK_ATTR_PERM, perm, 2);
	node_case_finish(&c, NULL);
	gpu_case_check_barriers(&c, "transpose_copy", PK_F32, 0);
	node_case_end(&c);
}

static void expands_and_tiles(void **state)
{
	(void)state;
	random_seed(34);
	for (int round = 0; round < 60; round++) {
		struct pk_shape y = random_shape((int)random_range(1, 5), 10);
		struct pk_shape x = {.rank = (int)random_range(0, y.rank)};
		struct node_case c;
		for (int i = 0; i < x.rank; i++)
			x.dims[i] = random_range(0, 1) ? y.dims[y.rank - x.rank + i] : 1;
		begin(&c, PK_OP_EXPAND, x, round);
		node_case_finish(&c, &y);
		check(&c, "expand_copy", round);
		x = random_shape((int)random_range(1, 4), 9);
		y = x;
		for (int i = 0; i < x.rank; i++)
			y.dims[i] *= random_range(1, 3);
		begin(&c, PK_OP_TILE, x, round);
		node_case_finish(&c, &y);
		check(&c, "tile_copy", round);
	}
}

static void blocks(void **state)
{
	(void)state;
	random_seed(35);
	for (int round = 0; round < 40; round++) {
		int64_t block = random_range(1, 3);
		struct pk_shape x = random_shape(4, 5);
		struct node_case c;
		x.dims[1] *= block * block;
		struct pk_node *node = begin(&c, PK_OP_DEPTH_TO_SPACE, x, round);
		pk_node_set_int(node, PK_ATTR_BLOCK, block);
		pk_node_set_int(node, PK_ATTR_MODE, round % 3 ? PK_MODE_DCR : PK_MODE_CRD);
		node_case_finish(&c, NULL);
		check(&c, "depth_to_space_copy", round);
		x = random_shape(4, 5);
		x.dims[2] *= block;
		x.dims[3] *= block;
		pk_node_set_int(begin(&c, PK_OP_SPACE_TO_DEPTH, x, round), PK_ATTR_BLOCK, block);
		node_case_finish(&c, NULL);
		check(&c, "space_to_depth_copy", round);
	}
}

static void concats(void **state)
{
	(void)state;
	random_seed(36);
	for (int round = 0; round < 60; round++) {
		struct pk_shape x = random_shape(round % 3 ? 4 : (int)random_range(1, 5), 9);
		int axis = round % 3 ? round % 4 : (int)random_range(0, x.rank - 1);
		int n = (int)random_range(1, 4);
		struct node_case c;
		node_case_begin(&c);
		for (int i = 0; i < n; i++) {
			x.dims[axis] = random_range(1, 3) * (round % 2 ? 8 : 1);
			node_case_operand(&c, dtypes[round % 6], x, false);
		}
		pk_node_set_int(node_case_node(&c, PK_OP_CONCAT), PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		check(&c, "concat_copy", round);
	}
}

// Between layouts and, of rank 4, between shapes.
static void reshapes(void **state)
{
	int n_other = 0;
	(void)state;
	random_seed(37);
	for (int round = 0; round < 120; round++) {
		int rank = round % 2 ? 4 : (int)random_range(1, 5);
		struct pk_shape x = random_shape(rank, 12), y = {.rank = 0};
		struct node_case c;
		int64_t left = pk_shape_elements(&x);
		for (y.rank = 0; y.rank < round / 2 % 5; y.rank++) {
			int64_t d = random_range(1, 12);
			y.dims[y.rank] = left % d ? 1 : d;
			left /= y.dims[y.rank];
		}
		y.dims[y.rank++] = left;
		begin(&c, PK_OP_RESHAPE, x, round);
		node_case_finish(&c, &y);
		bool plain = gpu_case_supported(&c, "reshape_copy", PK_F16);
		n_other += !plain;
		check(&c, plain ? "reshape_copy" : "reshape_nhwc", round);
		begin(&c, PK_OP_IDENTITY, x, round);
		node_case_finish(&c, NULL);
		check(&c, "identity_copy", round);
	}
	assert_true(n_other > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices),
		cmocka_unit_test(transposes),
		cmocka_unit_test(transpose_barrier),
		cmocka_unit_test(expands_and_tiles),
		cmocka_unit_test(blocks),
		cmocka_unit_test(concats),
		cmocka_unit_test(reshapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
