// SPDX-License-Identifier: Apache-2.0
// The kernel table: order, names, and what default and reference look-ups answer.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "node_case.h"

static void rows_are_in_order(void **state)
{
	(void)state;
	bool seen[PK_N_OPS] = {false};
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		const struct pk_cpu_kernel *next = k[1];
		assert_true((*k)->supports && (*k)->run && (*k)->rank >= 0);
		assert_ptr_equal(pk_cpu_kernel_by_name((*k)->name), *k); // names are unique
		assert_int_equal(!(*k)->pack, !(*k)->pack_bytes);
		if (next && next->op == (*k)->op) {
			assert_true(next->rank < (*k)->rank);
		} else {
			assert_int_equal((*k)->rank, 0); // the reference ends its operator
			assert_false(seen[(*k)->op]);
			seen[(*k)->op] = true;
		}
	}
	for (int op = 1; op < PK_N_OPS; op++) {
		if (!seen[op])
			fail_msg("%s has no reference row", pk_op_info((enum pk_op)op)->name);
	}
}

static void look_ups(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(1, 4, 8, 8), false);
	node_case_operand(&c, PK_F32, SHAPE(6, 4, 1, 1), true);
	pk_node_set_int(node_case_node(&c, PK_OP_CONV), PK_ATTR_GROUP, 1);
	node_case_finish(&c, NULL);
	assert_string_equal(pk_cpu_kernel_reference(c.node)->name, "conv_ref");
	assert_non_null(strstr(pk_cpu_kernel_default(c.node)->name, "conv_direct"));
	assert_null(pk_cpu_kernel_by_name("no_such_row"));
	node_case_end(&c);
}

// Attributes that a verifier could let pass must still not make a row compute with them.
static void absurd_attributes_are_refused(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, SHAPE(1, 4, 8, 8), false);
	node_case_operand(&c, PK_F32, SHAPE(6, 4, 3, 3), true);
	struct pk_node *node = node_case_node(&c, PK_OP_CONV);
	node_case_finish(&c, NULL);
	static const struct {
		enum pk_attr_id id;
		int64_t v[4];
		int n;
	} cases[] = {
		{PK_ATTR_STRIDES, {0, 1}, 2},
		{PK_ATTR_STRIDES, {INT64_MAX, 1}, 2},
		{PK_ATTR_DILATIONS, {1, INT64_MAX}, 2},
		{PK_ATTR_DILATIONS, {-1, 1}, 2},
		{PK_ATTR_PADS, {INT64_MIN, 0, 0, 0}, 4},
		{PK_ATTR_PADS, {0, 0}, 2},
		{PK_ATTR_GROUP, {0}, 1},
		{PK_ATTR_GROUP, {3}, 1},
	};
	assert_non_null(pk_cpu_kernel_default(node));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pk_attr_value kept = *pk_node_attr(node, cases[i].id);
		pk_node_set_ints(node, cases[i].id, cases[i].v, cases[i].n);
		assert_null(pk_cpu_kernel_default(node));
		*pk_node_attr(node, cases[i].id) = kept;
	}
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_in_order),
		cmocka_unit_test(look_ups),
		cmocka_unit_test(absurd_attributes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
