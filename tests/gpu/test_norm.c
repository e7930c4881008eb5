// SPDX-License-Identifier: Apache-2.0
// norm.cu against the reference: every axis, both layouts.
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

static void check(struct node_case *c, const char *row, int round)
{
	gpu_case_check(c, row, round % 2 ? PK_F16 : PK_F32, round % 2 ? 6e-4 : 5e-6);
	node_case_end(c);
}

static void softmaxes(void **state)
{
	(void)state;
	random_seed(61);
	for (int round = 0; round < 40; round++) {
		int64_t most = round % 5 ? 5 : 2;
		struct pk_shape x = random_shape(round / 2 % 2 ? 4 : (int)random_range(1, 5), most);
		int axis = (int)random_range(0, x.rank - 1);
		x.dims[axis] = random_range(1, round % 5 ? 30 : 700);
		struct node_case c;
		node_case_begin(&c);
		float *data = node_case_operand(&c, PK_F32, x, false);
		for (int64_t i = 0; i < pk_shape_elements(&x); i++)
			data[i] *= 8;
		struct pk_node *node = node_case_node(&c, PK_OP_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_FN, round % 3 ? PK_FN_SOFTMAX : PK_FN_LOG_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		check(&c, "softmax_rows", round);
	}
}

static void layer_norms(void **state)
{
	(void)state;
	random_seed(62);
	for (int round = 0; round < 24; round++) {
		struct pk_shape x = random_shape(round / 2 % 2 ? 4 : (int)random_range(2, 5), 6);
		int axis = (int)random_range(x.rank > 3 ? x.rank - 3 : 0, x.rank - 1);
		struct pk_shape scale = {.rank = x.rank - axis};
		for (int i = axis; i < x.rank; i++)
			scale.dims[i - axis] = x.dims[i];
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, x, false);
		node_case_operand(&c, PK_F32, scale, true);
		if (round % 3)
			node_case_operand(&c, PK_F32, scale, true);
		struct pk_node *node = node_case_node(&c, PK_OP_LAYER_NORM);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		pk_node_set_float(node, PK_ATTR_EPSILON, 1e-3);
		node_case_finish(&c, NULL);
		if (scale.rank == 4)
			node_case_end(&c); // a scale that is NHWC: another row's, or an island's
		else
			check(&c, "layer_norm_rows", round);
	}
}

static void channel_norms(void **state)
{
	(void)state;
	random_seed(63);
	for (int round = 0; round < 24; round++) {
		bool batch = round / 2 % 2;
		struct pk_shape x = random_shape(round / 4 % 2 ? 4 : (int)random_range(3, 5), 6);
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, x, false);
		for (int i = 0; i < (batch ? 4 : 2); i++) {
			float *v = node_case_operand(&c, PK_F32, SHAPE(x.dims[1]), true);
			for (int64_t k = 0; i == 3 && k < x.dims[1]; k++)
				v[k] = 0.5F + v[k] * v[k]; // a variance
		}
		struct pk_node *node =
			node_case_node(&c, batch ? PK_OP_BATCH_NORM : PK_OP_INSTANCE_NORM);
		pk_node_set_float(node, PK_ATTR_EPSILON, 1e-2);
		node_case_finish(&c, NULL);
		check(&c, batch ? "batch_norm_rows" : "instance_norm_rows", round);
	}
}

// Along rows and across them.
static void barriers(void **state)
{
	(void)state;
	random_seed(64);
	for (int axis = 1; axis < 3; axis++) {
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, SHAPE(3, 20, 40), false);
		struct pk_node *node = node_case_node(&c, PK_OP_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_FN, PK_FN_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		gpu_case_check_barriers(&c, "softmax_rows", PK_F32, 1e-5);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(softmaxes),
		cmocka_unit_test(layer_norms),
		cmocka_unit_test(channel_norms),
		cmocka_unit_test(barriers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
