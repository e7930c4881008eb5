// SPDX-License-Identifier: Apache-2.0
// What Picket uses of the cuDNN backend API's constants, declared by ourselves. All of them exist
// with these values from cuDNN 8.9 on, but for those marked. tests/gpu holds them against the real
// header. Source: cuDNN backend API reference.
#pragma once

// X(our name, name in cudnn_graph.h, value)
#define PK_CUDNN_CONSTANT_LIST(X)                                                                  \
	X(PK_CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 0)                                                \
	X(PK_CUDNN_DATA_HALF, CUDNN_DATA_HALF, 2)                                                  \
	X(PK_CUDNN_DATA_INT8, CUDNN_DATA_INT8, 3)                                                  \
	X(PK_CUDNN_DATA_INT32, CUDNN_DATA_INT32, 4)                                                \
	X(PK_CUDNN_DATA_UINT8, CUDNN_DATA_UINT8, 6)                                                \
	X(PK_CUDNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION, 1)                                  \
	X(PK_CUDNN_ADD, CUDNN_POINTWISE_ADD, 0)                                                    \
	X(PK_CUDNN_MUL, CUDNN_POINTWISE_MUL, 1)                                                    \
	X(PK_CUDNN_RELU, CUDNN_POINTWISE_RELU_FWD, 100)                                            \
	X(PK_CUDNN_TANH, CUDNN_POINTWISE_TANH_FWD, 101)                                            \
	X(PK_CUDNN_SIGMOID, CUDNN_POINTWISE_SIGMOID_FWD, 102)                                      \
	X(PK_CUDNN_ELU, CUDNN_POINTWISE_ELU_FWD, 103)                                              \
	X(PK_CUDNN_GELU, CUDNN_POINTWISE_GELU_FWD, 104)                                            \
	X(PK_CUDNN_SOFTPLUS, CUDNN_POINTWISE_SOFTPLUS_FWD, 105)                                    \
	X(PK_CUDNN_SWISH, CUDNN_POINTWISE_SWISH_FWD, 106)                                          \
	X(PK_CUDNN_GELU_TANH, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, 107)                           \
	X(PK_CUDNN_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MODE, 0)                                   \
	X(PK_CUDNN_POINTWISE_MATH_PREC, CUDNN_ATTR_POINTWISE_MATH_PREC, 1)                         \
	X(PK_CUDNN_RELU_LOWER_CLIP, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 3)                       \
	X(PK_CUDNN_RELU_UPPER_CLIP, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 4)                       \
	X(PK_CUDNN_RELU_LOWER_SLOPE, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 5)                \
	X(PK_CUDNN_ELU_ALPHA, CUDNN_ATTR_POINTWISE_ELU_ALPHA, 6)                                   \
	X(PK_CUDNN_SOFTPLUS_BETA, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 7)                           \
	X(PK_CUDNN_SWISH_BETA, CUDNN_ATTR_POINTWISE_SWISH_BETA, 8)                                 \
	X(PK_CUDNN_CONV_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100)                          \
	X(PK_CUDNN_CONV_MODE, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 101)                               \
	X(PK_CUDNN_CONV_DILATIONS, CUDNN_ATTR_CONVOLUTION_DILATIONS, 102)                          \
	X(PK_CUDNN_CONV_STRIDES, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 103)                       \
	X(PK_CUDNN_CONV_POST_PADS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 104)                      \
	X(PK_CUDNN_CONV_PRE_PADS, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 105)                        \
	X(PK_CUDNN_CONV_SPATIAL_DIMS, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                    \
	X(PK_CUDNN_HEUR_MODE, CUDNN_ATTR_ENGINEHEUR_MODE, 200)                                     \
	X(PK_CUDNN_HEUR_GRAPH, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                         \
	X(PK_CUDNN_HEUR_RESULTS, CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                               \
	/* cuDNN 9.8 and later */                                                                  \
	X(PK_CUDNN_HEUR_DEVICEPROP, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, 204)                         \
	X(PK_CUDNN_CONFIG_ENGINE, CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                \
	X(PK_CUDNN_CONFIG_KNOBS, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, 302)                           \
	X(PK_CUDNN_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400)                             \
	X(PK_CUDNN_PLAN_CONFIG, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                      \
	X(PK_CUDNN_PLAN_WORKSPACE, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                  \
	X(PK_CUDNN_PLAN_JSON, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, 405)                  \
	/* cuDNN 9.8 and later */                                                                  \
	X(PK_CUDNN_PLAN_DEVICEPROP, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                     \
	X(PK_CUDNN_KNOB_TYPE, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 600)                               \
	X(PK_CUDNN_KNOB_VALUE, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 601)                             \
	X(PK_CUDNN_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)             \
	X(PK_CUDNN_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)               \
	X(PK_CUDNN_FORWARD_CONV, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)          \
	X(PK_CUDNN_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                     \
	X(PK_CUDNN_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                     \
	X(PK_CUDNN_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                     \
	X(PK_CUDNN_DGRAD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)              \
	X(PK_CUDNN_DGRAD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                \
	X(PK_CUDNN_DGRAD_CONV, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)           \
	X(PK_CUDNN_DGRAD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                      \
	X(PK_CUDNN_DGRAD_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                    \
	X(PK_CUDNN_DGRAD_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                    \
	X(PK_CUDNN_POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                   \
	X(PK_CUDNN_POINTWISE_X, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751)                         \
	X(PK_CUDNN_POINTWISE_B, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752)                         \
	X(PK_CUDNN_POINTWISE_Y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753)                         \
	X(PK_CUDNN_GRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800)                            \
	X(PK_CUDNN_GRAPH_OPS, CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                  \
	X(PK_CUDNN_TENSOR_ALIGNMENT, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900)                        \
	X(PK_CUDNN_TENSOR_TYPE, CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                  \
	X(PK_CUDNN_TENSOR_DIMS, CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                 \
	X(PK_CUDNN_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_STRIDES, 903)                                 \
	X(PK_CUDNN_TENSOR_UID, CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                   \
	X(PK_CUDNN_TENSOR_VIRTUAL, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907)                              \
	X(PK_CUDNN_TENSOR_BY_VALUE, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908)                            \
	X(PK_CUDNN_PACK_UIDS, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                            \
	X(PK_CUDNN_PACK_POINTERS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                     \
	X(PK_CUDNN_PACK_WORKSPACE, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003)                        \
	X(PK_CUDNN_ENGINE_INDEX, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1301)                             \
	X(PK_CUDNN_ENGINE_NOTES, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 1303)                           \
	X(PK_CUDNN_MATMUL_COMP_TYPE, CUDNN_ATTR_MATMUL_COMP_TYPE, 1500)                            \
	X(PK_CUDNN_MATMUL_A, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520)                              \
	X(PK_CUDNN_MATMUL_B, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521)                              \
	X(PK_CUDNN_MATMUL_C, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522)                              \
	X(PK_CUDNN_MATMUL, CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523)                                 \
	/* cuDNN 9.8 and later */                                                                  \
	X(PK_CUDNN_DEVICEPROP_JSON, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)               \
	X(PK_CUDNN_TYPE_HANDLE, CUDNN_TYPE_HANDLE, 0)                                              \
	X(PK_CUDNN_TYPE_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1)                                        \
	X(PK_CUDNN_TYPE_BOOLEAN, CUDNN_TYPE_BOOLEAN, 2)                                            \
	X(PK_CUDNN_TYPE_INT64, CUDNN_TYPE_INT64, 3)                                                \
	X(PK_CUDNN_TYPE_FLOAT, CUDNN_TYPE_FLOAT, 4)                                                \
	X(PK_CUDNN_TYPE_DOUBLE, CUDNN_TYPE_DOUBLE, 5)                                              \
	X(PK_CUDNN_TYPE_VOID_PTR, CUDNN_TYPE_VOID_PTR, 6)                                          \
	X(PK_CUDNN_TYPE_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 7)                                 \
	X(PK_CUDNN_TYPE_HEUR_MODE, CUDNN_TYPE_HEUR_MODE, 8)                                        \
	X(PK_CUDNN_TYPE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 9)                                        \
	X(PK_CUDNN_TYPE_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 11)                                       \
	X(PK_CUDNN_TYPE_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 14)                             \
	X(PK_CUDNN_TYPE_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)                             \
	X(PK_CUDNN_TYPE_CHAR, CUDNN_TYPE_CHAR, 24)                                                 \
	X(PK_CUDNN_NEW_POINTWISE, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0)                           \
	X(PK_CUDNN_NEW_CONVOLUTION, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1)                       \
	X(PK_CUDNN_NEW_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                 \
	X(PK_CUDNN_NEW_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                              \
	X(PK_CUDNN_NEW_HEURISTICS, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                         \
	X(PK_CUDNN_NEW_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                           \
	X(PK_CUDNN_NEW_KNOB_CHOICE, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 7)                       \
	X(PK_CUDNN_NEW_FORWARD, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)        \
	X(PK_CUDNN_NEW_DGRAD, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)    \
	X(PK_CUDNN_NEW_POINTWISE_OP, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)             \
	X(PK_CUDNN_NEW_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                         \
	X(PK_CUDNN_NEW_PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                            \
	X(PK_CUDNN_NEW_TENSOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                \
	X(PK_CUDNN_NEW_MATMUL, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18)                                \
	X(PK_CUDNN_NEW_MATMUL_OP, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                   \
	/* cuDNN 9.8 and later */                                                                  \
	X(PK_CUDNN_NEW_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 38)                        \
	X(PK_CUDNN_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0)                          \
	X(PK_CUDNN_NOTE_DOWN_CONVERT, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                 \
	X(PK_CUDNN_NOTE_REDUCED_SUM, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2)          \
	X(PK_CUDNN_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 4)                \
	X(PK_CUDNN_MODE_B, CUDNN_HEUR_MODE_B, 1)                                                   \
	X(PK_CUDNN_MODE_FALLBACK, CUDNN_HEUR_MODE_FALLBACK, 2)                                     \
	X(PK_CUDNN_MODE_A, CUDNN_HEUR_MODE_A, 3)

enum pk_cudnn_constant {
#define X(name, header_name, value) name = value,
	PK_CUDNN_CONSTANT_LIST(X)
#undef X
};

#define PK_CUDNN_DEVICEPROP_VERSION 90800 // from here on plans can be made without a device
