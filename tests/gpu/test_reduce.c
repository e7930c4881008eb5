// SPDX-License-Identifier: Apache-2.0
// reduce.cu and topk.cu against the reference: every function, any axes, both layouts.
#include <math.h>
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

static void reductions(void **state)
{
	(void)state;
	random_seed(71);
	for (int round = 0; round < 70; round++) {
		enum pk_fn fn = PK_FN_REDUCE_SUM + (enum pk_fn)(round % 7);
		struct pk_shape x = random_shape(round / 7 % 2 ? 4 : (int)random_range(1, 5), 6);
		int64_t axes[PK_MAX_RANK];
		int n = 0;
		for (int i = 0; i < x.rank; i++) {
			if (random_range(0, 1))
				axes[n++] = i;
		}
		if (!n)
			axes[n++] = 0;
		struct node_case c;
		node_case_begin(&c);
		float *data = node_case_operand(&c, PK_F32, x, false);
		for (int64_t i = 0; fn == PK_FN_REDUCE_PROD && i < pk_shape_elements(&x); i++)
			data[i] = 1 + data[i] / 64;
		struct pk_node *node = node_case_node(&c, PK_OP_REDUCE);
		pk_node_set_int(node, PK_ATTR_FN, fn);
		pk_node_set_ints(node, PK_ATTR_AXES, axes, n);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, round / 14 % 2);
		node_case_finish(&c, NULL);
		bool half = round % 2;
		gpu_case_check(&c, "reduce_rows", half ? PK_F16 : PK_F32, half ? 6e-4 : 1e-5);
		node_case_end(&c);
	}
}

// A global pool as big as the first layers have.
static void global_pool(void **state)
{
	(void)state;
	random_seed(72);
	for (int half = 0; half < 2; half++) {
		int64_t axes[] = {2, 3};
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, SHAPE(1, 24, 40, 40), false);
		struct pk_node *node = node_case_node(&c, PK_OP_REDUCE);
		pk_node_set_int(node, PK_ATTR_FN, PK_FN_REDUCE_MEAN);
		pk_node_set_ints(node, PK_ATTR_AXES, axes, 2);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, 1);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "reduce_rows", half ? PK_F16 : PK_F32, half ? 6e-4 : 2e-5);
		node_case_end(&c);
	}
}

// Few values, so that most are equal to others; NaN ranks as the largest.
static void coarse(float *x, int64_t n, bool nan)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = nan && random_range(0, 30) == 0 ? NAN : roundf(x[i] * 8);
}

static void arg_reductions(void **state)
{
	(void)state;
	random_seed(73);
	for (int round = 0; round < 36; round++) {
		struct pk_shape x = random_shape(round / 2 % 2 ? 4 : (int)random_range(1, 5), 9);
		int axis = (int)random_range(0, x.rank - 1);
		x.dims[axis] = random_range(1, 90);
		struct node_case c;
		node_case_begin(&c);
		coarse(node_case_operand(&c, PK_F32, x, false), pk_shape_elements(&x),
			round % 3 == 0);
		struct pk_node *node = node_case_node(&c, PK_OP_ARG_REDUCE);
		pk_node_set_int(
			node, PK_ATTR_FN, round % 5 < 3 ? PK_FN_REDUCE_MAX : PK_FN_REDUCE_MIN);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, round / 3 % 2);
		pk_node_set_int(node, PK_ATTR_SELECT_LAST, round / 6 % 2);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "arg_reduce_rows", round % 2 ? PK_F16 : PK_F32, 0);
		node_case_end(&c);
	}
}

static void arg_barrier(void **state)
{
	struct node_case c;
	(void)state;
	random_seed(74);
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(9, 90), false);
	struct pk_node *node = node_case_node(&c, PK_OP_ARG_REDUCE);
	pk_node_set_int(node, PK_ATTR_FN, PK_FN_REDUCE_MAX);
	pk_node_set_int(node, PK_ATTR_AXIS, 1);
	node_case_finish(&c, NULL);
	gpu_case_check_barriers(&c, "arg_reduce_rows", PK_F32, 0);
	node_case_end(&c);
}

static void top_k(void **state)
{
	(void)state;
	random_seed(75);
	for (int round = 0; round < 50; round++) {
		struct pk_shape x = random_shape(round / 2 % 2 ? 4 : (int)random_range(1, 3), 6);
		int axis = (int)random_range(0, x.rank - 1);
		x.dims[axis] = random_range(1, 80);
		struct node_case c;
		node_case_begin(&c);
		coarse(node_case_operand(&c, PK_F32, x, false), pk_shape_elements(&x),
			round % 3 == 0);
		struct pk_node *node = node_case_node(&c, PK_OP_TOP_K);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_int(node, PK_ATTR_K, random_range(1, x.dims[axis]));
		pk_node_set_int(node, PK_ATTR_LARGEST, round % 5 < 3);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "top_k_count", round % 2 ? PK_F16 : PK_F32, 0);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reductions),
		cmocka_unit_test(global_pool),
		cmocka_unit_test(arg_reductions),
		cmocka_unit_test(arg_barrier),
		cmocka_unit_test(top_k),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
