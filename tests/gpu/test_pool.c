// SPDX-License-Identifier: Apache-2.0
// pool.cu against the reference: windows, types, layouts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

static void set_window(struct pk_node *node, int n)
{
	int64_t kernel[3], strides[3], pads[6], dilations[3];
	for (int i = 0; i < n; i++) {
		kernel[i] = random_range(1, 4);
		strides[i] = random_range(1, 3);
		dilations[i] = random_range(1, 2);
		pads[i] = random_range(0, kernel[i] - 1);
		pads[n + i] = random_range(0, kernel[i] - 1);
	}
	pk_node_set_ints(node, PK_ATTR_KERNEL, kernel, n);
	pk_node_set_ints(node, PK_ATTR_STRIDES, strides, n);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, dilations, n);
	pk_node_set_ints(node, PK_ATTR_PADS, pads, 2 * n);
}

// Ranks 3 and 5 are dense, 4 is NHWC.
static void windows(void **state)
{
	int n = 0;
	(void)state;
	random_seed(21);
	for (int round = 0; round < 150; round++) {
		int rank = round % 5 == 0 ? 3 : round % 5 == 1 ? 5 : 4;
		bool average = round % 2, byte = !average && round % 3 == 2;
		enum pk_dtype float_type = round % 4 < 2 ? PK_F16 : PK_F32;
		struct pk_shape shape = {rank, {2, random_range(1, 19), 8, random_range(7, 12), 9}};
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, byte && rank == 4 ? PK_U8 : PK_F32, shape, false);
		struct pk_node *node = node_case_node(&c, PK_OP_POOL);
		pk_node_set_int(node, PK_ATTR_FN, average ? PK_FN_POOL_AVG : PK_FN_POOL_MAX);
		pk_node_set_int(node, PK_ATTR_COUNT_PAD, round % 3 == 0);
		set_window(node, rank - 2);
		node_case_finish(&c, NULL);
		if (gpu_case_supported(&c, "pool_window", float_type)) {
			gpu_case_check(&c, "pool_window", float_type,
				!average               ? 0
				: float_type == PK_F16 ? 5e-4
						       : 1e-6);
			n++;
		}
		node_case_end(&c);
	}
	assert_true(n > 120);
}

// Windows of ceil mode reach beyond the padded input.
static void ceil_mode(void **state)
{
	(void)state;
	random_seed(22);
	for (int size = 4; size < 10; size++) {
		struct pk_shape shape = SHAPE(1, 8, size, size);
		int64_t two[] = {2, 2}, three[] = {3, 3}, out = (size - 3 + 1) / 2 + 1;
		struct pk_shape y = SHAPE(1, 8, out, out);
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, shape, false);
		struct pk_node *node = node_case_node(&c, PK_OP_POOL);
		pk_node_set_int(node, PK_ATTR_FN, size % 2 ? PK_FN_POOL_AVG : PK_FN_POOL_MAX);
		pk_node_set_int(node, PK_ATTR_COUNT_PAD, 1);
		pk_node_set_ints(node, PK_ATTR_KERNEL, three, 2);
		pk_node_set_ints(node, PK_ATTR_STRIDES, two, 2);
		node_case_finish(&c, &y);
		gpu_case_check(&c, "pool_window", PK_F32, 1e-6);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows),
		cmocka_unit_test(ceil_mode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
