// SPDX-License-Identifier: Apache-2.0
// The operator, attribute and function tables hold together.
#include "engine/ir/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/tensor.h"

static void test_ops(void **state)
{
	for (int i = PK_OP_NONE + 1; i < PK_N_OPS; i++) {
		const struct pk_op_info *info = pk_op_info((enum pk_op)i);
		assert_int_equal(pk_op_from_name(info->name), i);
		assert_true(info->n_inputs_max < 0 || info->n_inputs_min <= info->n_inputs_max);
		assert_true(info->n_outputs_min >= 1 && info->n_outputs_max <= 2);
		for (int a = 0; a < info->n_attrs; a++) {
			assert_true(info->attrs[a] > PK_ATTR_NONE && info->attrs[a] < PK_N_ATTRS);
			assert_int_equal(pk_op_attr_index((enum pk_op)i, info->attrs[a]), a);
		}
	}
	assert_int_equal(pk_op_info(PK_OP_CONV)->n_attrs, 8);
	assert_int_equal(pk_op_info(PK_OP_MATMUL)->n_attrs, 0);
	assert_int_equal(pk_op_info(PK_OP_BATCH_NORM)->n_attrs, 1);
	assert_int_equal(pk_op_attr_index(PK_OP_CONV, PK_ATTR_FN), -1);
	assert_int_equal(pk_op_from_name("Conv"), PK_OP_NONE);
}

static void test_attrs(void **state)
{
	for (int i = PK_ATTR_NONE + 1; i < PK_N_ATTRS; i++)
		assert_int_equal(pk_attr_from_name(pk_attr_name((enum pk_attr_id)i)), i);
	assert_int_equal(pk_attr_from_name("?"), PK_ATTR_NONE);
	assert_int_equal(pk_attr_kind(PK_ATTR_PADS), PK_ATTR_KIND_INTS);
	assert_int_equal(pk_attr_kind(PK_ATTR_ACT), PK_ATTR_KIND_FN);
}

static void test_fns(void **state)
{
	for (int i = 0; i < PK_N_FNS; i++)
		assert_int_equal(pk_fn_from_name(pk_fn_name((enum pk_fn)i)), i);
	assert_int_equal(pk_fn_from_name("swish"), PK_N_FNS);
	assert_string_equal(pk_fn_name((enum pk_fn) - 1), "?");
	assert_int_equal(pk_fn_class(PK_FN_ADD), PK_FN_CLASS_B);
	assert_int_equal(pk_fn_class(PK_FN_SOFTMAX), PK_FN_CLASS_P);
}

static void test_words(void **state)
{
	assert_int_equal(pk_enum_value(PK_ATTR_MODE, "reflect"), PK_MODE_REFLECT);
	assert_int_equal(pk_enum_value(PK_ATTR_NEAREST, "floor"), PK_NEAREST_FLOOR);
	assert_int_equal(pk_enum_value(PK_ATTR_MODE, "floor"), -1);
	assert_string_equal(pk_enum_text(PK_ATTR_MODE, PK_MODE_CRD), "crd");
	assert_null(pk_enum_text(PK_ATTR_COORD, PK_MODE_CRD));
	assert_null(pk_enum_text(PK_ATTR_COORD, INT64_MAX));
	assert_string_equal(pk_enum_text(PK_ATTR_TO, PK_I64), "i64");
	assert_null(pk_enum_text(PK_ATTR_TO, PK_DTYPE_NONE));
	assert_null(pk_enum_text(PK_ATTR_TO, PK_N_DTYPES));
	assert_int_equal(pk_enum_value(PK_ATTR_TO, "f16"), PK_F16);
	assert_int_equal(pk_enum_value(PK_ATTR_TO, "f15"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_attrs),
		cmocka_unit_test(test_fns),
		cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
