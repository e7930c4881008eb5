// SPDX-License-Identifier: Apache-2.0
// The operator table is well formed: ranges, attribute lists, what handlers expect of their rows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "engine/ir/op.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/import.h"
#include "engine/onnx/op_table.h"

static const struct pk_op_row *find(const char *op, const char *domain, int64_t opset)
{
	const struct pk_op_row *other;
	return pk_op_table_find((struct pk_onnx_str){op, strlen(op)},
		(struct pk_onnx_str){domain, strlen(domain)}, opset, &other);
}

static void test_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < pk_op_table_n; i++) {
		const struct pk_op_row *row = &pk_op_table[i];
		assert_true(row->since >= 1 && row->since <= row->until);
		assert_true(row->until <= PK_ONNX_MAX_OPSET);
		assert_true(row->n_inputs_max < 0 || row->n_inputs_min <= row->n_inputs_max);
		for (size_t k = i + 1; k < pk_op_table_n; k++) {
			if (strcmp(pk_op_table[k].op_type, row->op_type) != 0)
				continue;
			// Rows of one operator stand together, oldest first, without a gap.
			assert_string_equal(pk_op_table[i + 1].op_type, row->op_type);
			assert_int_equal(pk_op_table[i + 1].since, row->until + 1);
			break;
		}
	}
}

static void test_attribute_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < pk_op_table_n; i++) {
		for (const char *at = pk_op_table[i].attrs; *at;) {
			size_t n = strcspn(at, ":");
			if (n == 0 || n > 60 || at[n] != ':' || !strchr("fistgFISx", at[n + 1]))
				fail_msg("%s: `%s`", pk_op_table[i].op_type, at);
			const char *end = at + n + 2;
			end += *end == '!';
			if (*end && *end != ' ')
				fail_msg("%s: `%s`", pk_op_table[i].op_type, at);
			at = *end ? end + 1 : end;
		}
	}
}

static void test_handler_arguments(void **state)
{
	static const enum pk_fn with_parameters[] = {
		PK_FN_LEAKY_RELU, PK_FN_ELU, PK_FN_SELU, PK_FN_HARD_SIGMOID};
	(void)state;
	for (size_t i = 0; i < pk_op_table_n; i++) {
		const struct pk_op_row *row = &pk_op_table[i];
		bool found = row->import != pk_import_alpha_beta;
		for (size_t k = 0; k < PK_ARRAY_LEN(with_parameters); k++)
			found |= (int)with_parameters[k] == row->arg;
		assert_true(found);
		if (row->import == pk_import_reduce || row->import == pk_import_global_pool)
			assert_int_equal(pk_fn_class((enum pk_fn)row->arg), PK_FN_CLASS_R);
		if (row->import == pk_import_pool || row->import == pk_import_softmax)
			assert_int_equal(pk_fn_class((enum pk_fn)row->arg), PK_FN_CLASS_P);
	}
}

static void test_find(void **state)
{
	const struct pk_op_row *other;
	(void)state;
	assert_int_equal(find("Clip", "", 10)->since, 6);
	assert_int_equal(find("Clip", "ai.onnx", 11)->since, 11);
	assert_null(find("Clip", "com.example", 11));
	assert_null(find("Upsample", "", 10));
	assert_null(find("Cli", "", 10));
	assert_null(pk_op_table_find(
		(struct pk_onnx_str){"Upsample", 8}, (struct pk_onnx_str){NULL, 0}, 10, &other));
	assert_int_equal(other->until, 9);
}

static void test_list(void **state)
{
	struct pk_buf out;
	(void)state;
	pk_buf_init(&out, 1 << 16);
	pk_onnx_list_operators(&out);
	assert_int_equal(pk_buf_error(&out), 0);
	assert_non_null(strstr(out.data, "| Conv | 1–22 |  |\n"));
	assert_non_null(strstr(out.data, "| Upsample | 7–9 | "));
	pk_buf_finish(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_attribute_lists),
		cmocka_unit_test(test_handler_arguments),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
