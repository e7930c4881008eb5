// SPDX-License-Identifier: Apache-2.0
// Operators whose meaning changed between opsets, and attributes that are made explicit. Values are
// compared with ONNX Runtime by tests/onnx; here stands what the IR must look like.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "tests/unit/engine/onnx/import_fixture.h"

enum {
	F32 = 1,
	I64 = 7,
};

// One node over input x.
static struct imported import_one(
	const char *op, int64_t opset, const char *dims, struct pk_buf *attrs)
{
	struct pk_buf g = new_buf();
	onnx_input(&g, "x", F32, dims);
	onnx_node(&g, "n", op, "x", "y", attrs);
	onnx_output(&g, "y");
	return import_graph(&g, opset, NULL);
}

static void test_softmax(void **state)
{
	struct pk_buf attrs = new_buf();
	(void)state;
	// Before 13: a matrix, split before axis 1.
	expect_text(import_one("Softmax", 11, "2,3,4,5", NULL),
		": f32[2,60] = softmax(%y:tmp) {fn=softmax, axis=1}");
	expect_text(import_one("Softmax", 13, "2,3,4,5", NULL),
		"%y: f32[2,3,4,5] = softmax(%x) {fn=softmax, axis=3}");
	onnx_attr_int(&attrs, "axis", 3); // the last axis: the same in both
	expect_nodes(import_one("Softmax", 11, "2,3,4,5", &attrs), 1);
}

static void test_clip(void **state)
{
	struct pk_buf attrs = new_buf(), g = new_buf();
	static const float high = 2;
	(void)state;
	onnx_attr_float(&attrs, "max", 6);
	onnx_attr_float(&attrs, "min", 0);
	expect_text(import_one("Clip", 6, "2", &attrs), "{fn=clip, beta=6}");
	onnx_input(&g, "x", F32, "2");
	onnx_initializer(&g, "high", F32, "", &high, 4);
	onnx_node(&g, "n", "Clip", "x,,high", "y", NULL);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 13, NULL), "{fn=clip, alpha=-3.4028234663852886e+38, beta=2}");
	attrs = new_buf();
	onnx_attr_float(&attrs, "max", 6);
	expect_error(import_one("Clip", 13, "2", &attrs), -EINVAL,
		"node `n` (Clip-13): attribute `max` is not one of this operator");
}

static struct imported import_conv(const char *auto_pad, const char *dims)
{
	static const float w[9];
	static const int64_t two[] = {2, 2};
	struct pk_buf g = new_buf(), attrs = new_buf();
	onnx_attr_str(&attrs, "auto_pad", auto_pad);
	onnx_attr_ints(&attrs, "dilations", two, 2);
	onnx_attr_ints(&attrs, "strides", two, 2);
	onnx_input(&g, "x", F32, dims);
	onnx_initializer(&g, "w", F32, "1,1,3,3", w, sizeof(w));
	onnx_node(&g, "n", "Conv", "x,w", "y", &attrs);
	onnx_output(&g, "y");
	return import_graph(&g, 11, NULL);
}

// out = ceil(in / 2); total = (out - 1) * 2 + 5 - in: 3 for 8, 4 for 7.
static void test_auto_pad(void **state)
{
	(void)state;
	expect_text(import_conv("SAME_UPPER", "1,1,8,7"),
		"f32[1,1,4,4] = conv(%x, %w) {strides=[2,2], dilations=[2,2], pads=[1,2,2,2]}");
	expect_text(import_conv("SAME_LOWER", "1,1,8,7"), "pads=[2,2,1,2]");
	expect_text(import_conv("VALID", "1,1,8,7"),
		"f32[1,1,2,2] = conv(%x, %w) {strides=[2,2], dilations=[2,2]}");
	expect_error(import_conv("SAME", "1,1,8,7"), -ENOTSUP,
		"node `n` (Conv-11): auto_pad `SAME` is not supported; it may be: NOTSET, "
		"SAME_UPPER, SAME_LOWER, VALID");
}

static struct imported import_deconv(const char *auto_pad)
{
	static const float w[9];
	static const int64_t two[] = {2, 2};
	struct pk_buf g = new_buf(), attrs = new_buf();
	onnx_attr_str(&attrs, "auto_pad", auto_pad);
	onnx_attr_ints(&attrs, "strides", two, 2);
	onnx_input(&g, "x", F32, "1,1,4,4");
	onnx_initializer(&g, "w", F32, "1,1,3,3", w, sizeof(w));
	onnx_node(&g, "n", "ConvTranspose", "x,w", "y", &attrs);
	onnx_output(&g, "y");
	return import_graph(&g, 11, NULL);
}

// SAME doubles the size; total = 2 * 3 + 3 - 8 = 1, and it is cut at the end for UPPER.
static void test_conv_transpose_auto_pad(void **state)
{
	(void)state;
	expect_text(import_deconv("SAME_UPPER"),
		"f32[1,1,8,8] = conv_transpose(%x, %w) {strides=[2,2], pads=[0,0,1,1]}");
	expect_text(import_deconv("SAME_LOWER"), "pads=[1,1,0,0]");
}

static struct imported import_ceil_pool(int64_t opset)
{
	static const int64_t two[] = {2, 2}, one[] = {1, 1, 1, 1};
	struct pk_buf attrs = new_buf();
	onnx_attr_int(&attrs, "ceil_mode", 1);
	onnx_attr_ints(&attrs, "kernel_shape", two, 2);
	onnx_attr_ints(&attrs, "strides", two, 2);
	onnx_attr_ints(&attrs, "pads", one, 4);
	return import_one("MaxPool", opset, "1,1,5,4", &attrs);
}

// Height 5: ceil((5 + 2 - 2) / 2) + 1 = 4 windows, but the last would start at 6, in the padding.
static void test_ceil_mode(void **state)
{
	(void)state;
	expect_text(import_ceil_pool(10), "%y: f32[1,1,3,3] = pool(%x)");
	expect_text(import_ceil_pool(22), "%y: f32[1,1,3,3] = pool(%x)");
	expect_error(import_ceil_pool(9), -EINVAL,
		"node `n` (MaxPool-9): attribute `ceil_mode` is not one of this operator");
}

static struct imported import_reduce(const char *op, int64_t opset)
{
	static const int64_t axes[] = {-1};
	struct pk_buf g = new_buf(), attrs = new_buf();
	onnx_attr_ints(&attrs, "axes", axes, 1);
	onnx_input(&g, "x", F32, "2,3");
	onnx_node(&g, "n", op, "x", "y", &attrs);
	onnx_output(&g, "y");
	return import_graph(&g, opset, NULL);
}

static void test_reduce_axes_moved(void **state)
{
	(void)state;
	expect_text(import_reduce("ReduceSum", 12), "{fn=reduce_sum, axes=[1]}");
	expect_error(import_reduce("ReduceSum", 13), -EINVAL,
		"node `n` (ReduceSum-13): attribute `axes` is not one of this operator");
	expect_text(import_reduce("ReduceMean", 17), "{fn=reduce_mean, axes=[1]}");
	expect_error(import_reduce("ReduceMean", 18), -EINVAL,
		"node `n` (ReduceMean-18): attribute `axes` is not one of this operator");
}

static void test_batch_norm_modes(void **state)
{
	static const float v[] = {1, 1};
	struct pk_buf g = new_buf(), attrs = new_buf();
	(void)state;
	onnx_attr_int(&attrs, "training_mode", 1);
	onnx_input(&g, "x", F32, "1,2,3");
	onnx_initializer(&g, "v", F32, "2", v, sizeof(v));
	onnx_node(&g, "n", "BatchNormalization", "x,v,v,v,v", "y", &attrs);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 14, NULL), -ENOTSUP,
		"node `n` (BatchNormalization-14): it is in training mode; export the model for "
		"inference (eval mode)");
	// Old exporters name the outputs of training; nobody looks at them.
	g = new_buf();
	onnx_input(&g, "x", F32, "1,2,3");
	onnx_initializer(&g, "v", F32, "2", v, sizeof(v));
	onnx_node(&g, "n", "BatchNormalization", "x,v,v,v,v", "y,mean,var", NULL);
	onnx_output(&g, "y");
	expect_nodes(import_graph(&g, 9, NULL), 1);
}

static struct imported import_upsample(float scale, const char *mode, int64_t opset)
{
	const float scales[] = {1, 1, scale, scale};
	struct pk_buf g = new_buf(), attrs = new_buf();
	onnx_attr_str(&attrs, "mode", mode);
	onnx_input(&g, "x", F32, "1,1,5,5");
	onnx_initializer(&g, "scales", F32, "4", scales, sizeof(scales));
	if (opset < 11)
		onnx_node(&g, "n", "Resize", "x,scales", "y", &attrs);
	else
		onnx_node(&g, "n", "Resize", "x,,scales", "y", &attrs);
	onnx_output(&g, "y");
	return import_graph(&g, opset, NULL);
}

static void test_resize_rules(void **state)
{
	(void)state;
	expect_text(import_upsample(2, "nearest", 10),
		"f32[1,1,10,10] = resize(%x) {coord=asymmetric, nearest=floor, scales=[1,1,2,2]}");
	expect_text(import_upsample(2, "nearest", 11),
		"f32[1,1,10,10] = resize(%x) {scales=[1,1,2,2]}"); // half_pixel, prefers floor
	expect_text(import_upsample(0.5f, "linear", 13), "f32[1,1,2,2] = resize(%x)");
	expect_nodes(import_upsample(1, "linear", 13), 1); // itself; a node for its name
	expect_error(import_upsample(2, "bilinear", 13), -ENOTSUP,
		"node `n` (Resize-13): mode `bilinear` is not supported; it may be: nearest, "
		"linear, cubic");
	expect_error(import_upsample(-2, "linear", 13), -EINVAL,
		"node `n` (Resize-13): scale -2 on axis 2");
}

static struct imported import_slice(int64_t start, int64_t end, int64_t step)
{
	static const int64_t axis = 0;
	struct pk_buf g = new_buf();
	onnx_input(&g, "x", F32, "10");
	onnx_initializer(&g, "s", I64, "1", &start, 8);
	onnx_initializer(&g, "e", I64, "1", &end, 8);
	onnx_initializer(&g, "a", I64, "1", &axis, 8);
	onnx_initializer(&g, "t", I64, "1", &step, 8);
	onnx_node(&g, "n", "Slice", "x,s,e,a,t", "y", NULL);
	onnx_output(&g, "y");
	return import_graph(&g, 13, NULL);
}

static void test_slice_clamps(void **state)
{
	(void)state;
	expect_text(import_slice(2, INT64_MAX, 1), "%y: f32[8] = slice(%x) {starts=[2]}");
	expect_text(
		import_slice(-1, INT64_MIN, -3), "%y: f32[4] = slice(%x) {starts=[9], steps=[-3]}");
	expect_text(import_slice(INT64_MIN, -2, INT64_MAX),
		"%y: f32[1] = slice(%x) {steps=[2147483647]}");
	expect_text(import_slice(7, 3, 1), "%y: f32[0] = slice(%x)");
	expect_error(import_slice(0, 5, 0), -EINVAL, "node `n` (Slice-13): step is 0");
}

static void test_reshape_errors(void **state)
{
	static const int64_t dims[] = {-1, -1};
	struct pk_buf g = new_buf();
	(void)state;
	onnx_input(&g, "x", F32, "2,3");
	onnx_initializer(&g, "dims", I64, "2", dims, sizeof(dims));
	onnx_node(&g, "n", "Reshape", "x,dims", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -EINVAL,
		"node `n` (Reshape-13): dimension 1 of the target shape is -1");
	g = new_buf();
	onnx_input(&g, "x", F32, "2,3");
	onnx_input(&g, "dims", I64, "2");
	onnx_node(&g, "n", "Reshape", "x,dims", "y", NULL);
	onnx_output(&g, "y");
	expect_error(import_graph(&g, 13, NULL), -ENOTSUP,
		"node `n` (Reshape-13): the target shape is computed at run time; it must follow "
		"from constants and shapes (simplify the model, or export it with fixed shapes)");
}

// Before opset 7 a second operand was lined up with an axis of the first.
static void test_legacy_broadcast(void **state)
{
	struct pk_buf g = new_buf(), attrs = new_buf();
	(void)state;
	onnx_attr_int(&attrs, "broadcast", 1);
	onnx_attr_int(&attrs, "axis", 1);
	onnx_input(&g, "x", F32, "2,3,4");
	onnx_input(&g, "b", F32, "3");
	onnx_node(&g, "n", "Add", "x,b", "y", &attrs);
	onnx_output(&g, "y");
	expect_text(import_graph(&g, 6, NULL), ": f32[3,1] = reshape(%b)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_clip),
		cmocka_unit_test(test_auto_pad),
		cmocka_unit_test(test_conv_transpose_auto_pad),
		cmocka_unit_test(test_ceil_mode),
		cmocka_unit_test(test_reduce_axes_moved),
		cmocka_unit_test(test_batch_norm_modes),
		cmocka_unit_test(test_resize_rules),
		cmocka_unit_test(test_slice_clamps),
		cmocka_unit_test(test_reshape_errors),
		cmocka_unit_test(test_legacy_broadcast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
