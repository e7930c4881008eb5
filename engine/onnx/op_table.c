// SPDX-License-Identifier: Apache-2.0
// The operator table. Rows of one operator stand together, older opsets first.
#include "engine/onnx/op_table.h"

#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "engine/ir/op.h"
#include "engine/onnx/handlers.h"

#define MAX PK_ONNX_MAX_OPSET
#define ANY (-1)

#define LEGACY "consumed_inputs:I"
#define WINDOW "auto_pad:s kernel_shape:I pads:I strides:I"
#define POOL   "auto_pad:s kernel_shape:I! pads:I strides:I"
#define RESIZE                                                                                     \
	"coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i "                      \
	"extrapolation_value:f mode:s nearest_mode:s"

#define RUN_TIME "what decides the shape must be constant"

#define UNARY(op, since, fn)                                                                       \
	{                                                                                          \
		op, "", since, MAX, 1, 1, "", pk_import_unary, fn, NULL                            \
	}
#define UNARY_1(op, fn)                                                                            \
	{op, "", 1, 5, 1, 1, LEGACY, pk_import_unary, fn, NULL},                                   \
	{                                                                                          \
		op, "", 6, MAX, 1, 1, "", pk_import_unary, fn, NULL                                \
	}
#define BINARY(op, since, fn)                                                                      \
	{                                                                                          \
		op, "", since, MAX, 2, 2, "", pk_import_binary, fn, NULL                           \
	}
#define BINARY_1(op, fn)                                                                           \
	{op, "", 1, 6, 2, 2, "axis:i broadcast:i " LEGACY, pk_import_binary, fn, NULL},            \
	{                                                                                          \
		op, "", 7, MAX, 2, 2, "", pk_import_binary, fn, NULL                               \
	}
#define VARIADIC(op, handler, fn)                                                                  \
	{op, "", 1, 5, 1, ANY, LEGACY, handler, fn, NULL},                                         \
	{                                                                                          \
		op, "", 6, MAX, 1, ANY, "", handler, fn, NULL                                      \
	}
// moved: the opset at which axes became an input
#define REDUCE(op, moved, handler, fn)                                                             \
	{op, "", 1, (moved)-1, 1, 1, "axes:I keepdims:i", handler, fn, NULL},                      \
	{                                                                                          \
		op, "", moved, MAX, 1, 2, "keepdims:i noop_with_empty_axes:i", handler, fn,        \
			"axes must be constant"                                                    \
	}
#define ARG_REDUCE(op, fn)                                                                         \
	{op, "", 1, 11, 1, 1, "axis:i keepdims:i", pk_import_arg_reduce, fn, NULL},                \
	{                                                                                          \
		op, "", 12, MAX, 1, 1, "axis:i keepdims:i select_last_index:i",                    \
			pk_import_arg_reduce, fn, NULL                                             \
	}

const struct pk_op_row pk_op_table[] = {
	// windows
	{"Conv", "", 1, MAX, 2, 3, WINDOW " dilations:I group:i", pk_import_conv, 0, NULL},
	{"ConvTranspose", "", 1, MAX, 2, 3,
		WINDOW " dilations:I group:i output_padding:I output_shape:I",
		pk_import_conv_transpose, 0, NULL},
	{"MaxPool", "", 1, 7, 1, 1, POOL, pk_import_pool, PK_FN_POOL_MAX, NULL},
	{"MaxPool", "", 8, 9, 1, 1, POOL " storage_order:i", pk_import_pool, PK_FN_POOL_MAX, NULL},
	{"MaxPool", "", 10, MAX, 1, 1, POOL " ceil_mode:i dilations:I storage_order:i",
		pk_import_pool, PK_FN_POOL_MAX, NULL},
	{"AveragePool", "", 1, 6, 1, 1, POOL, pk_import_pool, PK_FN_POOL_AVG, NULL},
	{"AveragePool", "", 7, 9, 1, 1, POOL " count_include_pad:i", pk_import_pool, PK_FN_POOL_AVG,
		NULL},
	{"AveragePool", "", 10, 18, 1, 1, POOL " ceil_mode:i count_include_pad:i", pk_import_pool,
		PK_FN_POOL_AVG, NULL},
	{"AveragePool", "", 19, MAX, 1, 1, POOL " ceil_mode:i count_include_pad:i dilations:I",
		pk_import_pool, PK_FN_POOL_AVG, NULL},
	{"GlobalAveragePool", "", 1, MAX, 1, 1, "", pk_import_global_pool, PK_FN_REDUCE_MEAN, NULL},
	{"GlobalMaxPool", "", 1, MAX, 1, 1, "", pk_import_global_pool, PK_FN_REDUCE_MAX, NULL},

	// normalisation
	{"BatchNormalization", "", 1, 5, 5, 5, LEGACY "! epsilon:f is_test:i momentum:f spatial:i",
		pk_import_batch_norm, 0, NULL},
	{"BatchNormalization", "", 6, 6, 5, 5, "epsilon:f is_test:i momentum:f spatial:i",
		pk_import_batch_norm, 0, NULL},
	{"BatchNormalization", "", 7, 8, 5, 5, "epsilon:f momentum:f spatial:i",
		pk_import_batch_norm, 0, NULL},
	{"BatchNormalization", "", 9, 13, 5, 5, "epsilon:f momentum:f", pk_import_batch_norm, 0,
		NULL},
	{"BatchNormalization", "", 14, MAX, 5, 5, "epsilon:f momentum:f training_mode:i",
		pk_import_batch_norm, 0, "inference only"},
	{"InstanceNormalization", "", 1, 5, 3, 3, "epsilon:f " LEGACY, pk_import_instance_norm, 0,
		NULL},
	{"InstanceNormalization", "", 6, MAX, 3, 3, "epsilon:f", pk_import_instance_norm, 0, NULL},
	{"GroupNormalization", "", 18, 20, 3, 3, "epsilon:f num_groups:i!", pk_import_group_norm, 0,
		NULL},
	{"GroupNormalization", "", 21, MAX, 3, 3, "epsilon:f num_groups:i! stash_type:i",
		pk_import_group_norm, 0, NULL},
	{"LayerNormalization", "", 17, MAX, 2, 3, "axis:i epsilon:f stash_type:i",
		pk_import_layer_norm, 0, NULL},
	{"LRN", "", 1, MAX, 1, 1, "alpha:f beta:f bias:f size:i!", pk_import_lrn, 0, NULL},

	{"MeanVarianceNormalization", "", 9, MAX, 1, 1, "axes:I", pk_import_mean_variance_norm, 0,
		NULL},
	{"LpNormalization", "", 1, MAX, 1, 1, "axis:i p:i", pk_import_lp_norm, 0, NULL},

	// matrices
	{"Gemm", "", 1, 6, 3, 3, "alpha:f beta:f broadcast:i transA:i transB:i", pk_import_gemm, 0,
		NULL},
	{"Gemm", "", 7, 10, 3, 3, "alpha:f beta:f transA:i transB:i", pk_import_gemm, 0, NULL},
	{"Gemm", "", 11, MAX, 2, 3, "alpha:f beta:f transA:i transB:i", pk_import_gemm, 0, NULL},
	{"MatMul", "", 1, MAX, 2, 2, "", pk_import_matmul, 0, NULL},
	{"Einsum", "", 12, MAX, 1, ANY, "equation:s!", pk_import_einsum, 0, NULL},

	// quantised
	{"QuantizeLinear", "", 10, 12, 2, 3, "", pk_import_quantize, 0, NULL},
	{"QuantizeLinear", "", 13, 18, 2, 3, "axis:i", pk_import_quantize, 0, NULL},
	{"QuantizeLinear", "", 19, 20, 2, 3, "axis:i saturate:i", pk_import_quantize, 0, NULL},
	{"QuantizeLinear", "", 21, MAX, 2, 3, "axis:i block_size:i output_dtype:i saturate:i",
		pk_import_quantize, 0, "int8, uint8, int16, uint16; no blocks"},
	{"DequantizeLinear", "", 10, 12, 2, 3, "", pk_import_dequantize, 0, NULL},
	{"DequantizeLinear", "", 13, 20, 2, 3, "axis:i", pk_import_dequantize, 0, NULL},
	{"DequantizeLinear", "", 21, MAX, 2, 3, "axis:i block_size:i", pk_import_dequantize, 0,
		"int8, uint8, int16, uint16, int32; no blocks"},
	{"DynamicQuantizeLinear", "", 11, MAX, 1, 1, "", pk_import_dynamic_quantize, 0, NULL},
	{"QLinearConv", "", 10, MAX, 8, 9, WINDOW " dilations:I group:i", pk_import_qlinear_conv, 0,
		NULL},
	{"ConvInteger", "", 10, MAX, 2, 4, WINDOW " dilations:I group:i", pk_import_conv_integer, 0,
		NULL},
	{"QLinearMatMul", "", 10, MAX, 8, 8, "", pk_import_qlinear_matmul, 0,
		"a's scale and zero point must be one number"},
	{"MatMulInteger", "", 10, MAX, 2, 4, "", pk_import_matmul_integer, 0,
		"a's zero point must be one number"},

	// one operand
	UNARY_1("Relu", PK_FN_RELU),
	UNARY_1("Sigmoid", PK_FN_SIGMOID),
	UNARY_1("Tanh", PK_FN_TANH),
	UNARY_1("Exp", PK_FN_EXP),
	UNARY_1("Log", PK_FN_LOG),
	UNARY_1("Sqrt", PK_FN_SQRT),
	UNARY_1("Reciprocal", PK_FN_RECIPROCAL),
	UNARY_1("Abs", PK_FN_ABS),
	UNARY_1("Neg", PK_FN_NEG),
	UNARY_1("Floor", PK_FN_FLOOR),
	UNARY_1("Ceil", PK_FN_CEIL),
	UNARY("Softplus", 1, PK_FN_SOFTPLUS),
	UNARY("Softsign", 1, PK_FN_SOFTSIGN),
	UNARY("Not", 1, PK_FN_NOT),
	UNARY("Sin", 7, PK_FN_SIN),
	UNARY("Cos", 7, PK_FN_COS),
	UNARY("Sign", 9, PK_FN_SIGN),
	UNARY("Erf", 9, PK_FN_ERF),
	UNARY("Round", 11, PK_FN_ROUND),
	UNARY("HardSwish", 14, PK_FN_HARD_SWISH),
	UNARY("Mish", 18, PK_FN_MISH),
	{"Gelu", "", 20, MAX, 1, 1, "approximate:s", pk_import_gelu, 0, NULL},
	{"LeakyRelu", "", 1, 5, 1, 1, "alpha:f " LEGACY, pk_import_alpha_beta, PK_FN_LEAKY_RELU,
		NULL},
	{"LeakyRelu", "", 6, MAX, 1, 1, "alpha:f", pk_import_alpha_beta, PK_FN_LEAKY_RELU, NULL},
	{"Elu", "", 1, 5, 1, 1, "alpha:f " LEGACY, pk_import_alpha_beta, PK_FN_ELU, NULL},
	{"Elu", "", 6, MAX, 1, 1, "alpha:f", pk_import_alpha_beta, PK_FN_ELU, NULL},
	{"Selu", "", 6, MAX, 1, 1, "alpha:f gamma:f", pk_import_alpha_beta, PK_FN_SELU, NULL},
	{"HardSigmoid", "", 1, 5, 1, 1, "alpha:f beta:f " LEGACY, pk_import_alpha_beta,
		PK_FN_HARD_SIGMOID, NULL},
	{"HardSigmoid", "", 6, MAX, 1, 1, "alpha:f beta:f", pk_import_alpha_beta,
		PK_FN_HARD_SIGMOID, NULL},
	{"Celu", "", 12, MAX, 1, 1, "alpha:f", pk_import_celu, 0, NULL},
	{"ThresholdedRelu", "", 10, MAX, 1, 1, "alpha:f", pk_import_thresholded_relu, 0, NULL},
	{"Shrink", "", 9, MAX, 1, 1, "bias:f lambd:f", pk_import_shrink, 0, "floats only"},
	{"IsNaN", "", 9, MAX, 1, 1, "", pk_import_is_nan, 0, NULL},
	{"IsInf", "", 10, MAX, 1, 1, "detect_negative:i detect_positive:i", pk_import_is_inf, 0,
		NULL},
	{"Clip", "", 1, 5, 1, 1, "max:f min:f " LEGACY, pk_import_clip, 0, NULL},
	{"Clip", "", 6, 10, 1, 1, "max:f min:f", pk_import_clip, 0, NULL},
	{"Clip", "", 11, MAX, 1, 3, "", pk_import_clip, 0, NULL},
	{"Cast", "", 6, 18, 1, 1, "to:i!", pk_import_cast, 0, NULL},
	{"Cast", "", 19, MAX, 1, 1, "saturate:i to:i!", pk_import_cast, 0,
		"float16, bfloat16 and double are computed in float"},
	{"CastLike", "", 15, 18, 2, 2, "", pk_import_cast_like, 0, NULL},
	{"CastLike", "", 19, MAX, 2, 2, "saturate:i", pk_import_cast_like, 0, NULL},

	// two operands and more
	BINARY_1("Add", PK_FN_ADD),
	BINARY_1("Sub", PK_FN_SUB),
	BINARY_1("Mul", PK_FN_MUL),
	BINARY_1("Div", PK_FN_DIV),
	BINARY_1("And", PK_FN_AND),
	BINARY_1("Or", PK_FN_OR),
	BINARY_1("Xor", PK_FN_XOR),
	BINARY_1("Equal", PK_FN_EQUAL),
	BINARY_1("Less", PK_FN_LESS),
	BINARY_1("Greater", PK_FN_GREATER),
	BINARY("LessOrEqual", 12, PK_FN_LESS_EQUAL),
	BINARY("GreaterOrEqual", 12, PK_FN_GREATER_EQUAL),
	{"Mod", "", 10, MAX, 2, 2, "fmod:i", pk_import_mod, 0, NULL},
	{"Pow", "", 1, 6, 2, 2, "axis:i broadcast:i", pk_import_pow, 0, NULL},
	{"Pow", "", 7, MAX, 2, 2, "", pk_import_pow, 0, NULL},
	VARIADIC("Sum", pk_import_variadic, PK_FN_ADD),
	VARIADIC("Min", pk_import_variadic, PK_FN_MIN),
	VARIADIC("Max", pk_import_variadic, PK_FN_MAX),
	VARIADIC("Mean", pk_import_mean, 0),
	{"PRelu", "", 1, 5, 2, 2, LEGACY, pk_import_prelu, 0, NULL},
	{"PRelu", "", 6, MAX, 2, 2, "", pk_import_prelu, 0, NULL},
	{"Where", "", 9, MAX, 3, 3, "", pk_import_where, 0, NULL},

	// along axes
	{"Softmax", "", 1, MAX, 1, 1, "axis:i", pk_import_softmax, PK_FN_SOFTMAX, NULL},
	{"LogSoftmax", "", 1, MAX, 1, 1, "axis:i", pk_import_softmax, PK_FN_LOG_SOFTMAX, NULL},
	{"Hardmax", "", 1, MAX, 1, 1, "axis:i", pk_import_hardmax, 0, NULL},
	{"CumSum", "", 11, MAX, 2, 2, "exclusive:i reverse:i", pk_import_cum_sum, 0,
		"the axis must be constant"},
	REDUCE("ReduceSum", 13, pk_import_reduce, PK_FN_REDUCE_SUM),
	REDUCE("ReduceMean", 18, pk_import_reduce, PK_FN_REDUCE_MEAN),
	REDUCE("ReduceMax", 18, pk_import_reduce, PK_FN_REDUCE_MAX),
	REDUCE("ReduceMin", 18, pk_import_reduce, PK_FN_REDUCE_MIN),
	REDUCE("ReduceProd", 18, pk_import_reduce, PK_FN_REDUCE_PROD),
	REDUCE("ReduceL1", 18, pk_import_reduce, PK_FN_REDUCE_L1),
	REDUCE("ReduceL2", 18, pk_import_reduce, PK_FN_REDUCE_L2),
	REDUCE("ReduceSumSquare", 18, pk_import_reduce_sum_square, 0),
	REDUCE("ReduceLogSum", 18, pk_import_reduce_log_sum, 0),
	REDUCE("ReduceLogSumExp", 18, pk_import_reduce_log_sum_exp, 0),
	ARG_REDUCE("ArgMax", PK_FN_REDUCE_MAX),
	ARG_REDUCE("ArgMin", PK_FN_REDUCE_MIN),
	{"TopK", "", 1, 9, 1, 1, "axis:i k:i!", pk_import_top_k, 0, NULL},
	{"TopK", "", 10, 10, 2, 2, "axis:i", pk_import_top_k, 0, NULL},
	{"TopK", "", 11, MAX, 2, 2, "axis:i largest:i sorted:i", pk_import_top_k, 0,
		"k must be constant"},

	// shape and order
	{"Reshape", "", 1, 4, 1, 1, LEGACY " shape:I!", pk_import_reshape, 0, NULL},
	{"Reshape", "", 5, 13, 2, 2, "", pk_import_reshape, 0, NULL},
	{"Reshape", "", 14, MAX, 2, 2, "allowzero:i", pk_import_reshape, 0, RUN_TIME},
	{"Flatten", "", 1, MAX, 1, 1, "axis:i", pk_import_flatten, 0, NULL},
	{"Squeeze", "", 1, 12, 1, 1, "axes:I", pk_import_squeeze, 0, NULL},
	{"Squeeze", "", 13, MAX, 1, 2, "", pk_import_squeeze, 0, RUN_TIME},
	{"Unsqueeze", "", 1, 12, 1, 1, "axes:I!", pk_import_unsqueeze, 0, NULL},
	{"Unsqueeze", "", 13, MAX, 2, 2, "", pk_import_unsqueeze, 0, RUN_TIME},
	{"Transpose", "", 1, MAX, 1, 1, "perm:I", pk_import_transpose, 0, NULL},
	{"Expand", "", 8, MAX, 2, 2, "", pk_import_expand, 0, RUN_TIME},
	{"Tile", "", 6, MAX, 2, 2, "", pk_import_tile, 0, RUN_TIME},
	{"DepthToSpace", "", 1, 10, 1, 1, "blocksize:i!", pk_import_depth_to_space, 0, NULL},
	{"DepthToSpace", "", 11, MAX, 1, 1, "blocksize:i! mode:s", pk_import_depth_to_space, 0,
		NULL},
	{"SpaceToDepth", "", 1, MAX, 1, 1, "blocksize:i!", pk_import_space_to_depth, 0, NULL},
	{"Identity", "", 1, MAX, 1, 1, "", pk_import_identity, 0, NULL},
	{"Dropout", "", 1, 5, 1, 1, LEGACY " is_test:i ratio:f", pk_import_dropout, 0, NULL},
	{"Dropout", "", 6, 6, 1, 1, "is_test:i ratio:f", pk_import_dropout, 0, NULL},
	{"Dropout", "", 7, 11, 1, 1, "ratio:f", pk_import_dropout, 0, NULL},
	{"Dropout", "", 12, MAX, 1, 3, "seed:i", pk_import_dropout, 0, "inference only"},

	// parts
	{"Concat", "", 1, 3, 1, ANY, "axis:i", pk_import_concat, 0, NULL},
	{"Concat", "", 4, MAX, 1, ANY, "axis:i!", pk_import_concat, 0, NULL},
	{"Split", "", 2, 12, 1, 1, "axis:i split:I", pk_import_split, 0, NULL},
	{"Split", "", 13, 17, 1, 2, "axis:i", pk_import_split, 0, NULL},
	{"Split", "", 18, MAX, 1, 2, "axis:i num_outputs:i", pk_import_split, 0, RUN_TIME},
	{"Slice", "", 1, 9, 1, 1, "axes:I ends:I! starts:I!", pk_import_slice, 0, NULL},
	{"Slice", "", 10, MAX, 3, 5, "", pk_import_slice, 0, RUN_TIME},
	{"Gather", "", 1, MAX, 2, 2, "axis:i", pk_import_gather, 0, NULL},
	{"GatherElements", "", 11, MAX, 2, 2, "axis:i", pk_import_gather_elements, 0, NULL},
	{"GatherND", "", 11, 11, 2, 2, "", pk_import_gather_nd, 0, NULL},
	{"GatherND", "", 12, MAX, 2, 2, "batch_dims:i", pk_import_gather_nd, 0, NULL},
	{"Scatter", "", 9, 10, 3, 3, "axis:i", pk_import_scatter_elements, 0, NULL},
	{"ScatterElements", "", 11, 15, 3, 3, "axis:i", pk_import_scatter_elements, 0, NULL},
	{"ScatterElements", "", 16, MAX, 3, 3, "axis:i reduction:s", pk_import_scatter_elements, 0,
		NULL},
	{"ScatterND", "", 11, 15, 3, 3, "", pk_import_scatter_nd, 0, NULL},
	{"ScatterND", "", 16, MAX, 3, 3, "reduction:s", pk_import_scatter_nd, 0, NULL},
	{"OneHot", "", 9, MAX, 3, 3, "axis:i", pk_import_one_hot, 0, "depth must be constant"},
	{"Trilu", "", 14, MAX, 1, 2, "upper:i", pk_import_trilu, 0, "k must be constant"},
	{"Compress", "", 9, MAX, 2, 2, "axis:i", pk_import_compress, 0,
		"the condition must be constant"},
	{"NonZero", "", 9, MAX, 1, 1, "", pk_import_non_zero, 0, "of constants only"},
	{"NonMaxSuppression", "", 10, MAX, 2, 5, "center_point_box:i",
		pk_import_non_max_suppression, 0,
		"of constants only: models are cut before it, the card says how boxes are "
		"suppressed"},
	{"Pad", "", 2, 10, 1, 1, "mode:s pads:I! value:f", pk_import_pad, 0, NULL},
	{"Pad", "", 11, 17, 2, 3, "mode:s", pk_import_pad, 0, NULL},
	{"Pad", "", 18, MAX, 2, 4, "mode:s", pk_import_pad, 0, RUN_TIME},

	// resampling
	{"Upsample", "", 7, 8, 1, 1, "mode:s scales:F!", pk_import_upsample, 0, NULL},
	{"Upsample", "", 9, 9, 2, 2, "mode:s", pk_import_upsample, 0, RUN_TIME},
	{"Resize", "", 10, 10, 2, 2, "mode:s", pk_import_upsample, 0, NULL},
	{"Resize", "", 11, 17, 1, 4, RESIZE, pk_import_resize, 0, NULL},
	{"Resize", "", 18, MAX, 1, 4, RESIZE " antialias:i axes:I keep_aspect_ratio_policy:s",
		pk_import_resize, 0, RUN_TIME},

	{"GridSample", "", 16, 19, 2, 2, "align_corners:i mode:s padding_mode:s",
		pk_import_grid_sample, 0, NULL},
	{"GridSample", "", 20, MAX, 2, 2, "align_corners:i mode:s padding_mode:s",
		pk_import_grid_sample, 0, "rank 4 only"},
	{"RoiAlign", "", 10, 15, 3, 3,
		"mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f",
		pk_import_roi_align, 0, NULL},
	{"RoiAlign", "", 16, MAX, 3, 3,
		"coordinate_transformation_mode:s mode:s output_height:i output_width:i "
		"sampling_ratio:i spatial_scale:f",
		pk_import_roi_align, 0, NULL},

	// constants
	{"Constant", "", 1, 10, 0, 0, "value:t", pk_import_constant, 0, NULL},
	{"Constant", "", 11, 11, 0, 0, "sparse_value:x value:t", pk_import_constant, 0, NULL},
	{"Constant", "", 12, MAX, 0, 0,
		"sparse_value:x value:t value_float:f value_floats:F value_int:i value_ints:I "
		"value_string:x value_strings:x",
		pk_import_constant, 0, "no strings, no sparse tensors"},
	{"ConstantOfShape", "", 9, MAX, 1, 1, "value:t", pk_import_constant_of_shape, 0, RUN_TIME},
	{"EyeLike", "", 9, MAX, 1, 1, "dtype:i k:i", pk_import_eye_like, 0, NULL},
	{"Shape", "", 1, 14, 1, 1, "", pk_import_shape, 0, NULL},
	{"Shape", "", 15, MAX, 1, 1, "end:i start:i", pk_import_shape, 0, NULL},
	{"Size", "", 1, MAX, 1, 1, "", pk_import_size, 0, NULL},
	{"Range", "", 11, MAX, 3, 3, "", pk_import_range, 0, "its bounds must be constant"},

	// control flow
	{"If", "", 1, MAX, 1, 1, "else_branch:g! then_branch:g!", pk_import_if, 0,
		"the condition must be constant"},
	{"Loop", "", 1, MAX, 0, 66, "body:g!", pk_import_loop, 0,
		"trip count and condition must be constant; it is unrolled"},
};
const size_t pk_op_table_n = PK_ARRAY_LEN(pk_op_table);

struct pk_onnx_str pk_onnx_domain(struct pk_onnx_str domain)
{
	return pk_onnx_str_is(domain, "ai.onnx") ? (struct pk_onnx_str){"", 0} : domain;
}

const struct pk_op_row *pk_op_table_find(struct pk_onnx_str op_type, struct pk_onnx_str domain,
	int64_t opset, const struct pk_op_row **other)
{
	domain = pk_onnx_domain(domain);
	*other = NULL;
	for (size_t i = 0; i < pk_op_table_n; i++) {
		const struct pk_op_row *row = &pk_op_table[i];
		if (!pk_onnx_str_is(op_type, row->op_type) || !pk_onnx_str_is(domain, row->domain))
			continue;
		if (opset >= row->since && opset <= row->until)
			return row;
		*other = row;
	}
	return NULL;
}

static const char *notes_of(size_t i, size_t n)
{
	for (size_t k = i + n; k-- > i;)
		if (pk_op_table[k].notes)
			return pk_op_table[k].notes;
	return "";
}

void pk_onnx_list_operators(struct pk_buf *out)
{
	pk_buf_str(out, "| operator | opsets | notes |\n|---|---|---|\n");
	for (size_t i = 0, n = 1; i < pk_op_table_n; i += n) {
		const struct pk_op_row *first = &pk_op_table[i];
		for (n = 1; i + n < pk_op_table_n; n++)
			if (strcmp(pk_op_table[i + n].op_type, first->op_type) != 0)
				break;
		pk_buf_printf(out, "| %s | %d–%d | %s |\n", first->op_type, first->since,
			pk_op_table[i + n - 1].until, notes_of(i, n));
	}
}
