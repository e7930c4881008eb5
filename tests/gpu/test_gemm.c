// SPDX-License-Identifier: Apache-2.0
// gemm.cu against the reference: transposes, batches, layouts, tiles that are not whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

static void check(struct node_case *c, const char *row, int round)
{
	gpu_case_check(c, row, round % 2 ? PK_F16 : PK_F32, round % 2 ? 1e-3 : 3e-6);
	node_case_end(c);
}

static void gemms(void **state)
{
	(void)state;
	random_seed(51);
	for (int round = 0; round < 40; round++) {
		int64_t m = random_range(1, 70), n = random_range(1, 70), k = random_range(1, 40);
		bool ta = round % 2, tb = round / 2 % 2;
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, ta ? SHAPE(k, m) : SHAPE(m, k), false);
		node_case_operand(&c, PK_F32, tb ? SHAPE(n, k) : SHAPE(k, n), false);
		if (round % 5 < 3)
			node_case_operand(&c, PK_F32,
				round % 5 == 0   ? SHAPE(m, n)
				: round % 5 == 1 ? SHAPE(n)
						 : SHAPE(m, 1),
				false);
		struct pk_node *node = node_case_node(&c, PK_OP_GEMM);
		pk_node_set_int(node, PK_ATTR_TRANS_A, ta);
		pk_node_set_int(node, PK_ATTR_TRANS_B, tb);
		pk_node_set_float(node, PK_ATTR_ALPHA, 0.5);
		pk_node_set_float(node, PK_ATTR_BETA, -2);
		node_case_finish(&c, NULL);
		check(&c, "gemm_tile", 0);
	}
}

// Rank 4 is NHWC and may be f16, others are dense f32: all mixtures.
static void matmuls(void **state)
{
	(void)state;
	random_seed(52);
	for (int round = 0; round < 60; round++) {
		int64_t m = random_range(1, 40), n = random_range(1, 40), k = random_range(1, 40);
		int ra = round % 3 + 2, rb = round / 3 % 3 + 2;
		struct pk_shape a = {.rank = ra}, b = {.rank = rb};
		struct node_case c;
		for (int i = 0; i < 2; i++) { // batch axes from the right
			int64_t d = random_range(1, 5);
			if (ra - 3 - i >= 0)
				a.dims[ra - 3 - i] = random_range(0, 2) ? d : 1;
			if (rb - 3 - i >= 0)
				b.dims[rb - 3 - i] = random_range(0, 2) ? d : 1;
		}
		a.dims[ra - 2] = m;
		a.dims[ra - 1] = b.dims[rb - 2] = k;
		b.dims[rb - 1] = n;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, a, false);
		node_case_operand(&c, PK_F32, b, false);
		node_case_node(&c, PK_OP_MATMUL);
		node_case_finish(&c, NULL);
		check(&c, "matmul_tile", round);
	}
}

static void barriers(void **state)
{
	struct node_case c;
	(void)state;
	random_seed(53);
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(30, 50), false);
	node_case_operand(&c, PK_F32, SHAPE(50, 20), false);
	node_case_node(&c, PK_OP_MATMUL);
	node_case_finish(&c, NULL);
	gpu_case_check_barriers(&c, "matmul_tile", PK_F32, 3e-6);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gemms),
		cmocka_unit_test(matmuls),
		cmocka_unit_test(barriers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
