// SPDX-License-Identifier: Apache-2.0
// The frame of the import: names, order, shapes, constants, outputs, reports, bounds.
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
	STRING = 8,
	BOOL = 9,
	F16 = 10,
};

static void test_out_of_order(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "c", "Neg", "b", "y", NULL);
	onnx_node(&g, "b", "Exp", "a", "b", NULL);
	onnx_node(&g, "a", "Relu", "x", "a", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, NULL), "  %a: f32[2] = unary(%x) {fn=relu} \"a\"\n"
						"  %b: f32[2] = unary(%a) {fn=exp} \"b\"\n"
						"  %y: f32[2] = unary(%b) {fn=neg} \"c\"\n");
}

static void test_cycle(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "a", "Add", "x,c", "b", NULL);
	onnx_node(&g, "b", "Relu", "b", "c", NULL);
	onnx_output(&g, "c");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `a` (Add): its output is needed for its own input");
}

static void test_names(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "a", "Relu", "x", "y", NULL);
	onnx_node(&g, "b", "Exp", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL, "the name `y` is defined twice");
	g = new_buf();
	onnx_node(&g, "", "Relu", "q", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `y` (Relu-13): input 0: `q` is not defined");
	g = new_buf();
	onnx_output(&g, "z");
	expect_error(import_graph(&g, 13, NULL), -EINVAL, "output `z`: `z` is not defined");
}

static void test_initializer_as_input(void **state)
{
	static const float w[] = {1, 2};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_input(&g, "w", F32, "2");
	onnx_initializer(&g, "w", F32, "2", w, sizeof(w));
	onnx_node(&g, "a", "Add", "x,w", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, NULL), "graph {\n"
						"  input %x: f32[2]\n"
						"  const %w: f32[2] = {1, 2}\n");
}

static void test_unknown_operators(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "n", "Foo", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 11, NULL), -ENOTSUP,
		"node `n` (Foo-11): not supported by Picket; replace the operator in the model, or "
		"cut the model before it (`picketctl engine check` lists every such node)");
	g = new_buf();
	onnx_input(&g, "x", F32, "2");
	onnx_node_in(&g, "com.example", "Foo", "x", "y");
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 11, NULL), -EINVAL,
		"node `y` (Foo-0, domain `com.example`): the model does not say which opset of "
		"`com.example` it uses");
	g = new_buf();
	onnx_input(&g, "x", F32, "1,1,2,2");
	onnx_node(&g, "n", "Upsample", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"node `n` (Upsample-13): not supported by Picket at this opset, only at 9 to 9; "
		"export the model with another opset");
	g = new_buf();
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 23, NULL), -ENOTSUP,
		"opset 23 is newer than what Picket knows; export the model with opset 22 or "
		"lower");
}

// A node that no output needs may be anything.
static void test_unneeded_nodes(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "n", "Foo", "x", "unused", NULL);
	onnx_node(&g, "a", "Relu", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_nodes(import_graph(&g, 11, NULL), 1);
}

static void test_attributes(void **state)
{
	struct pk_buf g = new_buf(), attrs = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2,3");
	onnx_attr_int(&attrs, "axes", 1);
	onnx_node(&g, "n", "Softmax", "x", "y", &attrs);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Softmax-13): attribute `axes` is not one of this operator");
	g = new_buf(), attrs = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_attr_float(&attrs, "axis", 1);
	onnx_node(&g, "n", "Softmax", "x", "y", &attrs);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Softmax-13): attribute `axis` must be an int");
	g = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_node(&g, "n", "Concat", "x,x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Concat-13): attribute `axis` is missing");
	g = new_buf(), attrs = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_attr_int(&attrs, "axis", 1);
	onnx_attr_int(&attrs, "axis", 0);
	onnx_node(&g, "n", "Softmax", "x", "y", &attrs);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Softmax-13): attribute `axis` is given twice");
}

static void test_arity(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "n", "Add", "x,x,x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Add-13): 3 inputs; it takes at most 2");
	g = new_buf();
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "n", "Add", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Add-13): 1 inputs; it takes at least 2");
	g = new_buf();
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "n", "Add", ",x", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Add-13): input 0 is left out but required");
}

static struct pk_buf relu_of(const char *dims)
{
	struct pk_buf g = new_buf();
	onnx_input(&g, "x", F32, dims);
	onnx_node(&g, "n", "Relu", "x", "y", NULL);
	onnx_output(&g, "y");
	return g;
}

static struct imported import_bound(
	const char *dims, const char *name, const struct pk_shape *shape)
{
	const struct pk_shape_binding binding = {name, *shape};
	const struct pk_import_options options = {.bindings = &binding, .n_bindings = 1};
	struct pk_buf g = relu_of(dims);
	return import_graph(&g, 13, &options);
}

static void test_dynamic_dims(void **state)
{
	struct pk_buf g = relu_of("N,3,H,?");
	(void)state;
	expect_error(import_graph(&g, 13, NULL), -EDOM,
		"input `x`: dimension 2 (`H`) is dynamic; fix it with `--shape x=1x3xHxD3`");
	g = relu_of("2,3,?");
	expect_error(import_graph(&g, 13, NULL), -EDOM,
		"input `x`: dimension 2 is dynamic; fix it with `--shape x=2x3xD2`");
	g = relu_of("N,3,4"); // a batch is 1
	expect_text(import_graph(&g, 13, NULL), "input %x: f32[1,3,4]\n");
	g = relu_of("-1,3"); // written by some exporters
	expect_text(import_graph(&g, 13, NULL), "input %x: f32[1,3]\n");
	g = relu_of("N"); // no batch
	expect_error(import_graph(&g, 13, NULL), -EDOM,
		"input `x`: dimension 0 (`N`) is dynamic; fix it with `--shape x=N`");
}

static void test_bindings(void **state)
{
	(void)state;
	const struct pk_shape all = {3, {2, 3, 5}}, one = {1, {7}}, flat = {2, {2, 3}};
	expect_text(import_bound("N,3,H", "x", &all), "input %x: f32[2,3,5]\n");
	expect_text(import_bound("N,3,H", "H", &one), "input %x: f32[1,3,7]\n");
	expect_error(import_bound("N,4,H", "x", &all), -EINVAL,
		"input `x`: dimension 1 is 4 in the model, [2,3,5] does not fit");
	expect_error(import_bound("N,3,H", "x", &flat), -EINVAL,
		"input `x` has 3 dimensions, not those of [2,3]");
	expect_error(import_bound("N,3,H", "W", &one), -EINVAL,
		"the model has no input and no dimension named `W`");
	expect_error(
		import_bound("N,3,H", "H", &flat), -EINVAL, "`H` is a dimension: give one number");
	expect_error(
		import_bound("K,3,K", "x", &all), -EINVAL, "dimension `K` is bound to 2 and to 5");
}

// A dim_param that one input's binding fixes is fixed for all.
static void test_shared_symbol(void **state)
{
	const struct pk_shape_binding binding = {"x", {2, {3, 8}}};
	const struct pk_import_options options = {.bindings = &binding, .n_bindings = 1};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "N,W");
	onnx_input(&g, "z", F32, "W");
	onnx_node(&g, "n", "Add", "x,z", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, &options), "input %z: f32[8]\n");
}

static void test_input_types(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", STRING, "2");
	onnx_output(&g, "x");
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"input `x`: elements of type string are not supported");
	g = new_buf();
	onnx_input(&g, "x", F16, "2");
	onnx_node(&g, "n", "Relu", "x", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, NULL), "input %x: f32[2]\n");
}

static void test_outputs_keep_their_names(void **state)
{
	static const float w[] = {1, 2};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_initializer(&g, "w", F32, "2", w, sizeof(w));
	onnx_node(&g, "n", "Identity", "x", "y", NULL);
	onnx_node(&g, "m", "Identity", "y", "z", NULL);
	onnx_output(&g, "y");
	onnx_output(&g, "z");
	onnx_output(&g, "x");
	onnx_output(&g, "w");
	expect_text(import_graph(&g, 13, NULL), "  const %w: f32[2] = {1, 2}\n"
						"  %y: f32[2] = identity(%x) \"y\"\n"
						"  %z: f32[2] = identity(%x) \"z\"\n"
						"  output %y\n"
						"  output %z\n"
						"  output %x\n"
						"  output %w\n");
}

// Shape → Gather → Concat → Reshape vanishes, and so does what only Shape looked at.
static void test_shape_arithmetic_folds(void **state)
{
	static const int64_t zero = 0, rest[] = {-1};
	struct pk_buf g = new_buf(), concat = new_buf(), unsqueeze = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2,3,4");
	onnx_initializer(&g, "zero", I64, "", &zero, 8);
	onnx_initializer(&g, "rest", I64, "1", rest, 8);
	onnx_attr_ints(&unsqueeze, "axes", &zero, 1);
	onnx_attr_int(&concat, "axis", 0);
	onnx_node(&g, "r", "Relu", "x", "r", NULL);
	onnx_node(&g, "s", "Shape", "r", "s", NULL);
	onnx_node(&g, "g", "Gather", "s,zero", "b", NULL);
	onnx_node(&g, "u", "Unsqueeze", "b", "u", &unsqueeze);
	onnx_node(&g, "c", "Concat", "u,rest", "c", &concat);
	onnx_node(&g, "n", "Reshape", "x,c", "y", NULL);
	onnx_output(&g, "y");
	struct imported got = import_graph(&g, 11, NULL);
	assert_int_equal(got.n_nodes, 1);
	expect_text(got, "  %y: f32[2,12] = reshape(%x) \"n\"\n");
}

static void test_report(void **state)
{
	struct pk_buf g = new_buf(), report = new_buf();
	const struct pk_import_options options = {.report = &report};
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_node(&g, "a", "Foo", "x", "a", NULL);
	onnx_node(&g, "b", "Relu", "a", "b", NULL); // needs Foo: not listed
	onnx_node(&g, "c", "Bar", "x", "c", NULL);
	onnx_node(&g, "d", "Add", "b,c", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, &options), -ENOTSUP, "2 nodes are not supported");
	assert_non_null(strstr(report.data, "node `a` (Foo-13): not supported by Picket;"));
	assert_non_null(strstr(report.data, "\nnode `c` (Bar-13): not supported by Picket;"));
	assert_null(strstr(report.data, "Relu"));
	pk_buf_finish(&report);
}

static struct pk_buf branch(const char *op_type, const char *input, const char *output)
{
	struct pk_buf g = new_buf();
	onnx_node(&g, "same", op_type, input, output, NULL);
	onnx_output(&g, output);
	return g;
}

static struct pk_buf if_graph(bool constant, bool condition)
{
	struct pk_buf g = new_buf(), attrs = new_buf();
	struct pk_buf yes = branch("Exp", "a", "inner"), no = branch("Neg", "a", "inner");
	onnx_input(&g, "x", F32, "2");
	if (constant)
		onnx_initializer(&g, "c", BOOL, "", &condition, 1);
	else
		onnx_input(&g, "c", BOOL, "1");
	onnx_attr_graph(&attrs, "then_branch", &yes);
	onnx_attr_graph(&attrs, "else_branch", &no);
	// The branches see a value of the outer graph, whose producer stands after the If.
	onnx_node(&g, "if", "If", "c", "y", &attrs);
	onnx_node(&g, "r", "Relu", "x", "a", NULL);
	onnx_output(&g, "y");
	return g;
}

static void test_if(void **state)
{
	struct pk_buf g = if_graph(true, true);
	(void)state;
	expect_text(import_graph(&g, 13, NULL), "  %inner: f32[2] = unary(%a) {fn=exp} \"same\"\n");
	g = if_graph(true, false);
	expect_text(import_graph(&g, 13, NULL), "  %inner: f32[2] = unary(%a) {fn=neg} \"same\"\n");
	g = if_graph(false, false);
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"node `if` (If-13): its condition is computed at run time; it must follow from "
		"constants and shapes (export the model without control flow)");
}

static void test_denormals_are_counted(void **state)
{
	static const uint32_t w[] = {1, 0x3f800000};
	size_t n = 0;
	const struct pk_import_options options = {.n_denormals = &n};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2");
	onnx_initializer(&g, "w", F32, "2", w, sizeof(w));
	onnx_node(&g, "a", "Add", "x,w", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, &options), "const %w: f32[2] = {0, 1}\n");
	assert_int_equal(n, 1);
}

static struct pk_buf filled(int64_t a, int64_t b)
{
	const int64_t dims[] = {a, b};
	struct pk_buf g = new_buf();
	onnx_initializer(&g, "dims", I64, "2", dims, sizeof(dims));
	onnx_node(&g, "n", "ConstantOfShape", "dims", "y", NULL);
	onnx_output(&g, "y");
	return g;
}

static void test_bombs(void **state)
{
	struct pk_buf g = filled(2, 3);
	const struct pk_import_options tight = {.max_folded_bytes = 16},
				       tiny = {.max_graph_bytes = 4096};
	(void)state;
	expect_nodes(import_graph(&g, 13, NULL), 0);
	g = filled(2, 3); // above the bound of folding: stays a node
	expect_nodes(import_graph(&g, 13, &tight), 1);
	g = filled(1 << 20, 1 << 20);
	expect_error(import_graph(&g, 13, NULL), -EFBIG,
		"node `n` (ConstantOfShape-13): the shape is negative or too large");
	g = filled(100, 100);
	expect_error(import_graph(&g, 13, &tiny), -ENOMEM,
		"node `n` (ConstantOfShape-13): no memory, or the model needs more than it may");
}

static void test_model_refusals(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	expect_error(import_graph(&g, 13, NULL), -EINVAL, "the graph has no outputs");
	g = new_buf();
	struct pk_buf sparse = new_buf();
	onnx_output(&g, "y");
	onnx_put_sub(&g, 15, &sparse);
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"the model has sparse weights; export it with dense ones");
}

static void test_hostile_names(void **state)
{
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x\n\"\x01", F32, "2");
	onnx_node(&g, "n", "Relu", "x\n\"\x01", "y", NULL);
	onnx_output(&g, "y");
	expect_nodes(import_graph(&g, 13, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_order),
		cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_initializer_as_input),
		cmocka_unit_test(test_unknown_operators),
		cmocka_unit_test(test_unneeded_nodes),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_arity),
		cmocka_unit_test(test_dynamic_dims),
		cmocka_unit_test(test_bindings),
		cmocka_unit_test(test_shared_symbol),
		cmocka_unit_test(test_input_types),
		cmocka_unit_test(test_outputs_keep_their_names),
		cmocka_unit_test(test_shape_arithmetic_folds),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_if),
		cmocka_unit_test(test_denormals_are_counted),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_model_refusals),
		cmocka_unit_test(test_hostile_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
