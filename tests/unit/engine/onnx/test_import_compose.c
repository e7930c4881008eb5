// SPDX-License-Identifier: Apache-2.0
// Operators that become several nodes, or none: Einsum, unrolled loops, what only folds; refusals.
// Values are compared with ONNX Runtime by tests/onnx.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/engine/onnx/import_fixture.h"

enum {
	F32 = 1,
	I64 = 7,
	BOOL = 9,
};

static struct imported einsum(const char *equation, const char *a, const char *b)
{
	struct pk_buf g = new_buf(), attrs = new_buf();
	onnx_attr_str(&attrs, "equation", equation);
	onnx_input(&g, "a", F32, a);
	if (b)
		onnx_input(&g, "b", F32, b);
	onnx_node(&g, "n", "Einsum", b ? "a,b" : "a", "y", &attrs);
	onnx_output(&g, "y");
	return import_graph(&g, 12, NULL);
}

static void test_einsum(void **state)
{
	(void)state;
	expect_text(einsum("ij->ji", "2,3", NULL), ": f32[3,2] = transpose(%a)");
	expect_text(einsum("bij , bjk -> bik", "2,3,4", "2,4,5"), "matmul(%a, %b)");
	expect_text(einsum("...ii->...i", "2,3,3", NULL), ": f32[2,3] = slice(");
	expect_text(einsum("ij", "2,3", NULL), "output %y");
	expect_text(einsum("ba", "2,3", NULL), ": f32[3,2] = transpose(%a)"); // sorted
	expect_text(einsum("i,j->ij", "2", "3"), "fn=mul");
	expect_text(einsum("ij,ij->", "2,3", "2,3"), "matmul");
}

#define EINSUM_ERROR(equation, what) "node `n` (Einsum-12): equation `" equation "`: " what

static void test_hostile_einsum(void **state)
{
	(void)state;
	expect_error(einsum("ij,jk", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("ij,jk", "it has more terms than operands"));
	expect_error(einsum("ij", "2,3", "3"), -EINVAL,
		EINSUM_ERROR("ij", "it has fewer terms than operands"));
	expect_error(einsum("ijk->i", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("ijk->i", "it does not fit the ranks of its operands"));
	expect_error(einsum("...ijk", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("...ijk", "it does not fit the ranks of its operands"));
	expect_error(einsum("ij->k", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("ij->k", "a letter of the output occurs twice, or in no operand"));
	expect_error(einsum("ij->ii", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("ij->ii", "a letter of the output occurs twice, or in no operand"));
	expect_error(einsum("ij,jk->ik", "2,3", "4,5"), -EINVAL,
		EINSUM_ERROR("ij,jk->ik", "operands differ in the length of an axis"));
	expect_error(einsum("i1", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("i1", "only letters, `...`, `,` and one `->` may stand there"));
	expect_error(einsum("ij->i->j", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("ij->i->j", "only letters, `...`, `,` and one `->` may stand there"));
	expect_error(einsum("", "2,3", NULL), -EINVAL,
		EINSUM_ERROR("", "it does not fit the ranks of its operands"));
}

// The body adds x to what it carries and gives every sum.
static struct imported loop(int64_t trips, bool is_constant, int64_t opset)
{
	static const uint8_t yes = 1;
	struct pk_buf g = new_buf(), body = new_buf(), attrs = new_buf();
	onnx_input(&body, "i", I64, "");
	onnx_input(&body, "on", BOOL, "");
	onnx_input(&body, "v", F32, "2");
	onnx_node(&body, "add", "Add", "v,x", "next", NULL);
	onnx_node(&body, "same", "Identity", "on", "still", NULL);
	onnx_node(&body, "scan", "Neg", "next", "seen", NULL);
	onnx_output(&body, "still");
	onnx_output(&body, "next");
	onnx_output(&body, "seen");
	onnx_attr_graph(&attrs, "body", &body);
	onnx_input(&g, "x", F32, "2");
	if (is_constant)
		onnx_initializer(&g, "m", I64, "", &trips, 8);
	else
		onnx_input(&g, "m", I64, "");
	onnx_initializer(&g, "c", BOOL, "", &yes, 1);
	onnx_node(&g, "l", "Loop", "m,c,x", "y,z", &attrs);
	onnx_output(&g, "y");
	onnx_output(&g, "z");
	return import_graph(&g, opset, NULL);
}

static void test_loop(void **state)
{
	(void)state;
	expect_text(loop(3, true, 13), "%z: f32[3,2] = concat(");
	expect_nodes(loop(3, true, 13), 11); // 3 × (add, neg, reshape), concat, identity to `y`
	expect_error(loop(0, true, 13), -ENOTSUP,
		"node `l` (Loop-13): scan outputs of a loop that never runs are not supported");
	expect_error(loop(-5, true, 13), -ENOTSUP,
		"node `l` (Loop-13): scan outputs of a loop that never runs are not supported");
	expect_error(loop(INT64_MAX, true, 13), -ENOTSUP,
		"node `l` (Loop-13): unrolling it is not supported beyond 4096 iterations");
	expect_error(loop(3, false, 13), -ENOTSUP,
		"node `l` (Loop-13): its trip count or condition is computed at run time; both "
		"must follow from constants and shapes (export the model without control flow)");
}

static void test_loop_without_operands(void **state)
{
	struct pk_buf g = new_buf(), body = new_buf(), attrs = new_buf();
	(void)state;
	onnx_attr_graph(&attrs, "body", &body);
	onnx_node(&g, "l", "Loop", "", "y", &attrs);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `l` (Loop-13): the body takes 0 values and gives 0, with 0 loop-carried "
		"ones");
}

static void test_folded_only(void **state)
{
	static const float x[] = {0, 3, 0, 4, 5, 0};
	static const float boxes[] = {0, 0, 1, 1, 0, 0, 1, 1.1f, 2, 2, 3, 3};
	static const float scores[] = {0.5f, 0.9f, 0.1f};
	static const int64_t limit = 9;
	struct pk_buf g = new_buf();
	(void)state;
	onnx_initializer(&g, "x", F32, "2,3", x, sizeof(x));
	onnx_node(&g, "n", "NonZero", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, NULL), "i64[2,3]");
	g = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_node(&g, "n", "NonZero", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"node `n` (NonZero-13): its output has as many columns as elements are not zero, "
		"and those are computed at run time; shapes must be fixed (use a mask with Where, "
		"or cut the model before it)");
	g = new_buf();
	onnx_initializer(&g, "b", F32, "1,3,4", boxes, sizeof(boxes));
	onnx_initializer(&g, "s", F32, "1,1,3", scores, sizeof(scores));
	onnx_initializer(&g, "n", I64, "", &limit, 8);
	onnx_node(&g, "nms", "NonMaxSuppression", "b,s,n", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 11, NULL), "i64[2,3]"); // iou 0: boxes 1 and 2
}

static struct imported two_inputs(
	const char *op, int64_t opset, const char *a, int type, const char *b, struct pk_buf *attrs)
{
	struct pk_buf g = new_buf();
	onnx_input(&g, "a", F32, a);
	onnx_input(&g, "b", type, b);
	onnx_node(&g, "n", op, "a,b", "y", attrs);
	onnx_output(&g, "y");
	return import_graph(&g, opset, NULL);
}

static void test_words(void **state)
{
	struct pk_buf attrs = new_buf();
	(void)state;
	onnx_attr_str(&attrs, "mode", "bilinear");
	expect_text(two_inputs("GridSample", 16, "1,1,2,2", F32, "1,3,3,2", &attrs),
		"grid_sample(%a, %b)");
	attrs = new_buf();
	onnx_attr_str(&attrs, "mode", "linear");
	expect_text(two_inputs("GridSample", 20, "1,1,2,2", F32, "1,3,3,2", &attrs),
		"grid_sample(%a, %b)");
	attrs = new_buf();
	onnx_attr_str(&attrs, "mode", "bilinear");
	expect_error(two_inputs("GridSample", 20, "1,1,2,2", F32, "1,3,3,2", &attrs), -ENOTSUP,
		"node `n` (GridSample-20): mode `bilinear` is not supported; it may be: linear, "
		"nearest, cubic");
	expect_error(two_inputs("GridSample", 20, "1,1,2,2,2", F32, "1,3,3,3,3", NULL), -ENOTSUP,
		"node `n` (GridSample-20): input of rank 5; only pictures [n,c,h,w] are supported");
	attrs = new_buf();
	onnx_attr_int(&attrs, "batch_dims", -1);
	expect_error(two_inputs("GatherND", 12, "2,2", I64, "2,1", &attrs), -EINVAL,
		"node `n` (GatherND-12): batch_dims is -1");
	expect_error(two_inputs("CumSum", 11, "2,2", I64, "", NULL), -ENOTSUP,
		"node `n` (CumSum-11): its axis is computed at run time; it must be constant");
}

// f(v) = inner(v) twice, in the domain `own`.
static struct imported call_function(const char *inner)
{
	struct pk_buf g = new_buf(), model, f = new_buf(), opset = new_buf();
	onnx_input(&g, "x", F32, "2");
	onnx_node_in(&g, "own", "f", "x", "y");
	onnx_output(&g, "y");
	onnx_model(&model, &g, 13);
	onnx_put_str(&f, 1, "f");
	onnx_put_str(&f, 4, "v");
	onnx_put_str(&f, 5, "w");
	onnx_put_str(&f, 10, "own");
	for (int i = 0; i < 2; i++) {
		struct pk_buf node = new_buf();
		onnx_put_str(&node, 1, i ? "u" : "v");
		onnx_put_str(&node, 2, i ? "w" : "u");
		onnx_put_str(&node, 4, inner);
		onnx_put_str(&node, 7, *inner == 'f' ? "own" : "");
		onnx_put_sub(&f, 7, &node);
	}
	onnx_put_str(&opset, 1, "");
	onnx_put_int(&opset, 2, 13);
	onnx_put_sub(&f, 9, &opset);
	onnx_put_sub(&model, 25, &f);
	return import_bytes(&model, NULL);
}

static void test_functions(void **state)
{
	(void)state;
	expect_text(call_function("Relu"), "%y: f32[2] = identity(%w)");
	struct imported got = call_function("f"); // calls itself without end
	assert_int_equal(got.rc, -ENOTSUP);
	assert_non_null(
		strstr(got.err.text, "node `y` (f-0, domain `own`): node `u` (f-0")); // located
	pk_buf_finish(&got.text);
}

static void test_hostile_depth(void **state)
{
	static const int64_t depth = INT64_MAX, k = INT64_MIN;
	static const float values[] = {0, 1};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", I64, "2");
	onnx_initializer(&g, "d", I64, "", &depth, 8);
	onnx_initializer(&g, "v", F32, "2", values, sizeof(values));
	onnx_node(&g, "n", "OneHot", "x,d,v", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 11, NULL), -EINVAL,
		"node `n` (OneHot-11): depth must be one number, 0 or more");
	g = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_initializer(&g, "k", I64, "", &k, 8);
	onnx_node(&g, "n", "Trilu", "x,k", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 14, NULL), "where(");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_einsum),
		cmocka_unit_test(test_hostile_einsum),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_loop_without_operands),
		cmocka_unit_test(test_folded_only),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_hostile_depth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
