// SPDX-License-Identifier: Apache-2.0
// The table of IR operators and their attributes. One line here, one inference row, one kernel row.
#pragma once

// X(id, text name, kind): attributes, shared by name between operators.
#define PK_ATTR_LIST(X)                                                                            \
	X(STRIDES, "strides", INTS)     /* per spatial axis */                                     \
	X(DILATIONS, "dilations", INTS) /* per spatial axis */                                     \
	X(PADS, "pads", INTS)           /* all begins, then all ends */                            \
	X(OUTPUT_PADDING, "output_padding", INTS)                                                  \
	X(KERNEL, "kernel", INTS) /* pool window */                                                \
	X(GROUP, "group", INT)                                                                     \
	X(ACT, "act", FN)        /* fused activation, fn none = absent */                          \
	X(ALPHA, "alpha", FLOAT) /* parameters of fn or act: see pk_fn */                          \
	X(BETA, "beta", FLOAT)                                                                     \
	X(RESIDUAL, "residual", ENUM) /* what conv input 3 is added to */                          \
	X(FN, "fn", FN)               /* elementwise, pool and reduce function */                  \
	X(AXIS, "axis", INT)          /* always >= 0 */                                            \
	X(AXES, "axes", INTS)         /* sorted, >= 0 */                                           \
	X(KEEPDIMS, "keepdims", INT)                                                               \
	X(PERM, "perm", INTS)                                                                      \
	X(STARTS, "starts", INTS)   /* per axis of the input, in range */                          \
	X(STEPS, "steps", INTS)     /* per axis, never 0, may be negative */                       \
	X(MODE, "mode", ENUM)       /* pad and resize mode */                                      \
	X(COORD, "coord", ENUM)     /* resize coordinate transformation */                         \
	X(NEAREST, "nearest", ENUM) /* resize rounding */                                          \
	X(SCALES, "scales", FLOATS) /* resize: per axis, output/input as ONNX defines it */        \
	X(ROI, "roi", FLOATS)       /* resize tf_crop_and_resize: starts then ends */              \
	X(CUBIC, "cubic", FLOAT)    /* resize cubic coefficient */                                 \
	X(EXCLUDE_OUTSIDE, "exclude_outside", INT)                                                 \
	X(ANTIALIAS, "antialias", INT)                                                             \
	X(VALUE, "value", FLOAT)       /* pad constant, resize extrapolation */                    \
	X(COUNT_PAD, "count_pad", INT) /* avg pool counts padded cells */                          \
	X(TRANS_A, "trans_a", INT)                                                                 \
	X(TRANS_B, "trans_b", INT)                                                                 \
	X(EPSILON, "epsilon", FLOAT)                                                               \
	X(TO, "to", ENUM) /* cast target dtype */                                                  \
	X(K, "k", INT)                                                                             \
	X(LARGEST, "largest", INT)                                                                 \
	X(BLOCK, "block", INT)                                                                     \
	X(SELECT_LAST, "select_last", INT)                                                         \
	X(BATCH_DIMS, "batch_dims", INT) /* gather_nd: leading axes that indices share */          \
	X(PADDING, "padding", ENUM)      /* grid_sample: what lies outside of the input */         \
	X(ALIGN_CORNERS, "align_corners", INT)                                                     \
	X(SAMPLING, "sampling", INT) /* roi_align: samples per bin and axis, 0 adapts */           \
	X(SPATIAL_SCALE, "spatial_scale", FLOAT) /* roi_align: input cells per roi unit */         \
	X(EXCLUSIVE, "exclusive", INT)           /* cum_sum: element i leaves out itself */        \
	X(REVERSE, "reverse", INT)

// X(id, text name, inputs min, inputs max, outputs min, outputs max, flags, attributes)
// Semantics are those of the newest ONNX opset of the like-named operator, shapes are static, axes
// are normalised, nothing is implicit. -1 as max: any number.
#define PK_OP_LIST(X)                                                                              \
	/* x, w[m,c/g,k…], bias[m]?, residual? */                                                \
	X(CONV, "conv", 2, 4, 1, 1, 0,                                                             \
		(PK_ATTR_STRIDES, PK_ATTR_DILATIONS, PK_ATTR_PADS, PK_ATTR_GROUP, PK_ATTR_ACT,     \
			PK_ATTR_ALPHA, PK_ATTR_BETA, PK_ATTR_RESIDUAL))                            \
	/* x, w[c,m/g,k…], bias[m]? */                                                           \
	X(CONV_TRANSPOSE, "conv_transpose", 2, 3, 1, 1, 0,                                         \
		(PK_ATTR_STRIDES, PK_ATTR_DILATIONS, PK_ATTR_PADS, PK_ATTR_OUTPUT_PADDING,         \
			PK_ATTR_GROUP, PK_ATTR_ACT, PK_ATTR_ALPHA, PK_ATTR_BETA))                  \
	X(POOL, "pool", 1, 1, 1, 1, 0,                                                             \
		(PK_ATTR_FN, PK_ATTR_KERNEL, PK_ATTR_STRIDES, PK_ATTR_DILATIONS, PK_ATTR_PADS,     \
			PK_ATTR_COUNT_PAD))                                                        \
	/* x, scale[c], bias[c], mean[c], var[c] */                                                \
	X(BATCH_NORM, "batch_norm", 5, 5, 1, 1, 0, (PK_ATTR_EPSILON))                              \
	/* x, scale[c], bias[c] */                                                                 \
	X(INSTANCE_NORM, "instance_norm", 3, 3, 1, 1, 0, (PK_ATTR_EPSILON))                        \
	/* x, scale, bias?: over axis.. to the end */                                              \
	X(LAYER_NORM, "layer_norm", 2, 3, 1, 1, 0, (PK_ATTR_AXIS, PK_ATTR_EPSILON))                \
	/* a, b, c?: alpha * a' * b' + beta * c */                                                 \
	X(GEMM, "gemm", 2, 3, 1, 1, 0,                                                             \
		(PK_ATTR_TRANS_A, PK_ATTR_TRANS_B, PK_ATTR_ALPHA, PK_ATTR_BETA))                   \
	X(MATMUL, "matmul", 2, 2, 1, 1, 0, (PK_ATTR_NONE))                                         \
	X(UNARY, "unary", 1, 1, 1, 1, PK_OP_ELEMENTWISE,                                           \
		(PK_ATTR_FN, PK_ATTR_ALPHA, PK_ATTR_BETA))                                         \
	X(BINARY, "binary", 2, 2, 1, 1, PK_OP_ELEMENTWISE, (PK_ATTR_FN))                           \
	X(PRELU, "prelu", 2, 2, 1, 1, PK_OP_ELEMENTWISE, (PK_ATTR_NONE))                           \
	X(WHERE, "where", 3, 3, 1, 1, PK_OP_ELEMENTWISE, (PK_ATTR_NONE))                           \
	X(CAST, "cast", 1, 1, 1, 1, PK_OP_ELEMENTWISE, (PK_ATTR_TO))                               \
	X(SOFTMAX, "softmax", 1, 1, 1, 1, 0, (PK_ATTR_FN, PK_ATTR_AXIS))                           \
	X(REDUCE, "reduce", 1, 1, 1, 1, 0, (PK_ATTR_FN, PK_ATTR_AXES, PK_ATTR_KEEPDIMS))           \
	X(ARG_REDUCE, "arg_reduce", 1, 1, 1, 1, 0,                                                 \
		(PK_ATTR_FN, PK_ATTR_AXIS, PK_ATTR_KEEPDIMS, PK_ATTR_SELECT_LAST))                 \
	X(TOP_K, "top_k", 1, 1, 2, 2, 0, (PK_ATTR_AXIS, PK_ATTR_K, PK_ATTR_LARGEST))               \
	X(CONCAT, "concat", 1, -1, 1, 1, 0, (PK_ATTR_AXIS))                                        \
	/* one output; its shape says how far; Split becomes several of these */                   \
	X(SLICE, "slice", 1, 1, 1, 1, 0, (PK_ATTR_STARTS, PK_ATTR_STEPS))                          \
	/* Flatten, Squeeze, Unsqueeze too: the target is the output's shape */                    \
	X(RESHAPE, "reshape", 1, 1, 1, 1, PK_OP_VIEW, (PK_ATTR_NONE))                              \
	X(TRANSPOSE, "transpose", 1, 1, 1, 1, 0, (PK_ATTR_PERM))                                   \
	X(PAD, "pad", 1, 1, 1, 1, 0, (PK_ATTR_MODE, PK_ATTR_PADS, PK_ATTR_VALUE))                  \
	X(RESIZE, "resize", 1, 1, 1, 1, 0,                                                         \
		(PK_ATTR_MODE, PK_ATTR_COORD, PK_ATTR_NEAREST, PK_ATTR_SCALES, PK_ATTR_ROI,        \
			PK_ATTR_CUBIC, PK_ATTR_EXCLUDE_OUTSIDE, PK_ATTR_ANTIALIAS, PK_ATTR_VALUE)) \
	X(EXPAND, "expand", 1, 1, 1, 1, 0, (PK_ATTR_NONE))                                         \
	X(TILE, "tile", 1, 1, 1, 1, 0, (PK_ATTR_NONE))                                             \
	X(GATHER, "gather", 2, 2, 1, 1, 0, (PK_ATTR_AXIS))                                         \
	/* x, indices: y takes x along axis; shaped like indices */                                \
	X(GATHER_ELEMENTS, "gather_elements", 2, 2, 1, 1, 0, (PK_ATTR_AXIS))                       \
	/* x, indices[…,k]: k coordinates from batch_dims on */                                  \
	X(GATHER_ND, "gather_nd", 2, 2, 1, 1, 0, (PK_ATTR_BATCH_DIMS))                             \
	/* x, indices, updates; fn: none replaces, else add, mul, min, max */                      \
	X(SCATTER_ELEMENTS, "scatter_elements", 3, 3, 1, 1, 0, (PK_ATTR_AXIS, PK_ATTR_FN))         \
	/* x, indices[…,k], updates */                                                           \
	X(SCATTER_ND, "scatter_nd", 3, 3, 1, 1, 0, (PK_ATTR_FN))                                   \
	X(CUM_SUM, "cum_sum", 1, 1, 1, 1, 0, (PK_ATTR_AXIS, PK_ATTR_EXCLUSIVE, PK_ATTR_REVERSE))   \
	/* x[n,c,h,w], grid[n,oh,ow,2] of (x, y) in -1..1 */                                       \
	X(GRID_SAMPLE, "grid_sample", 2, 2, 1, 1, 0,                                               \
		(PK_ATTR_MODE, PK_ATTR_PADDING, PK_ATTR_ALIGN_CORNERS))                            \
	/* x[n,c,h,w], rois[r,4] of x1 y1 x2 y2, batch_indices[r]: [r,c,oh,ow], which are given */ \
	X(ROI_ALIGN, "roi_align", 3, 3, 1, 1, 0,                                                   \
		(PK_ATTR_FN, PK_ATTR_COORD, PK_ATTR_SAMPLING, PK_ATTR_SPATIAL_SCALE))              \
	/* where in x (flat over all of it) each maximum of the like max pool stands */            \
	X(POOL_INDEX, "pool_index", 1, 1, 1, 1, 0,                                                 \
		(PK_ATTR_KERNEL, PK_ATTR_STRIDES, PK_ATTR_DILATIONS, PK_ATTR_PADS))                \
	X(DEPTH_TO_SPACE, "depth_to_space", 1, 1, 1, 1, 0, (PK_ATTR_BLOCK, PK_ATTR_MODE))          \
	X(SPACE_TO_DEPTH, "space_to_depth", 1, 1, 1, 1, 0, (PK_ATTR_BLOCK))                        \
	X(IDENTITY, "identity", 1, 1, 1, 1, PK_OP_VIEW, (PK_ATTR_NONE))                            \
	/* the same tensor in another layout (engine/ir/layout.h) */                               \
	X(REORDER, "reorder", 1, 1, 1, 1, 0, (PK_ATTR_NONE))                                       \
	/* x, scale, zero point?: one number or one per index of axis; half to even, saturated */  \
	X(QUANTIZE, "quantize", 2, 3, 1, 1, 0, (PK_ATTR_AXIS, PK_ATTR_TO))                         \
	X(DEQUANTIZE, "dequantize", 2, 3, 1, 1, 0, (PK_ATTR_AXIS))                                 \
	/* x, w, bias i32[m]?, mult f32 (one or [m])?, x zero?, w zero (one or [m])?, y scale?,    \
	   y zero?. acc = sum (x - x zero) * (w - w zero) + bias in i32; to i32: acc; to f32:      \
	   act(acc * mult); to i8, u8: round(act(acc * mult) / y scale) + y zero, saturated.       \
	   Floats are f32, each step rounded; a cell of padding is x zero */                       \
	X(QCONV, "qconv", 2, 8, 1, 1, 0,                                                           \
		(PK_ATTR_STRIDES, PK_ATTR_DILATIONS, PK_ATTR_PADS, PK_ATTR_GROUP, PK_ATTR_ACT,     \
			PK_ATTR_ALPHA, PK_ATTR_BETA, PK_ATTR_TO))                                  \
	/* the same operands for a[…,m,k], b[…,k,n]; bias, mult and w zero per column n */     \
	X(QMATMUL, "qmatmul", 2, 8, 1, 1, 0,                                                       \
		(PK_ATTR_ACT, PK_ATTR_ALPHA, PK_ATTR_BETA, PK_ATTR_TO))                            \
	/* a, b, a scale, b scale, a zero?, b zero?, y zero?, y scale?: fn (add, sub, mul) of      \
	   (a - a zero) * a scale and (b - b zero) * b scale, through act, / y scale, rounded,     \
	   + y zero, saturated; floats are f32, each step rounded */                               \
	X(QBINARY, "qbinary", 4, 8, 1, 1, PK_OP_ELEMENTWISE,                                       \
		(PK_ATTR_FN, PK_ATTR_ACT, PK_ATTR_ALPHA, PK_ATTR_BETA, PK_ATTR_TO))                \
	/* x, table[256]: y = table[x], i8 by its bits */                                          \
	X(LOOKUP, "lookup", 2, 2, 1, 1, PK_OP_ELEMENTWISE, (PK_ATTR_NONE))

// X(id, text name, class): functions for the fn and act attributes.
// Class U: y = f(x; alpha, beta) of one value, B: of two values (broadcast), C: comparison (bool
// out), L: logic on bool, R: reduction, P: pooling (max, avg, and the two softmax forms).
#define PK_FN_LIST(X)                                                                              \
	X(NONE, "none", U)                                                                         \
	X(RELU, "relu", U)                                                                         \
	X(LEAKY_RELU, "leaky_relu", U) /* alpha: slope below 0 */                                  \
	X(CLIP, "clip", U)             /* alpha: low, beta: high */                                \
	X(SIGMOID, "sigmoid", U)                                                                   \
	X(TANH, "tanh", U)                                                                         \
	X(SILU, "silu", U)                 /* x * sigmoid(x) */                                    \
	X(HARD_SIGMOID, "hard_sigmoid", U) /* clip(alpha * x + beta, 0, 1) */                      \
	X(HARD_SWISH, "hard_swish", U)     /* x * clip(x / 6 + 0.5, 0, 1) */                       \
	X(ELU, "elu", U)                   /* alpha * (exp(x) - 1) below 0 */                      \
	X(SELU, "selu", U)                 /* beta * elu(x; alpha) */                              \
	X(GELU, "gelu", U)                 /* exact, by erf */                                     \
	X(GELU_TANH, "gelu_tanh", U)                                                               \
	X(MISH, "mish", U) /* x * tanh(softplus(x)) */                                             \
	X(SOFTPLUS, "softplus", U)                                                                 \
	X(SOFTSIGN, "softsign", U)                                                                 \
	X(EXP, "exp", U)                                                                           \
	X(LOG, "log", U)                                                                           \
	X(SQRT, "sqrt", U)                                                                         \
	X(RECIPROCAL, "reciprocal", U)                                                             \
	X(ABS, "abs", U)                                                                           \
	X(NEG, "neg", U)                                                                           \
	X(SIGN, "sign", U)                                                                         \
	X(FLOOR, "floor", U)                                                                       \
	X(CEIL, "ceil", U)                                                                         \
	X(ROUND, "round", U) /* half to even */                                                    \
	X(ERF, "erf", U)                                                                           \
	X(SIN, "sin", U)                                                                           \
	X(COS, "cos", U)                                                                           \
	X(NOT, "not", L)                                                                           \
	X(ADD, "add", B)                                                                           \
	X(SUB, "sub", B)                                                                           \
	X(MUL, "mul", B)                                                                           \
	X(DIV, "div", B) /* integers truncate; x / 0 gives 0 */                                    \
	X(POW, "pow", B)                                                                           \
	X(MOD, "mod", B)   /* sign of the divisor (Python) */                                      \
	X(FMOD, "fmod", B) /* sign of the dividend (C) */                                          \
	X(MIN, "min", B)                                                                           \
	X(MAX, "max", B)                                                                           \
	X(EQUAL, "equal", C)                                                                       \
	X(LESS, "less", C)                                                                         \
	X(LESS_EQUAL, "less_equal", C)                                                             \
	X(GREATER, "greater", C)                                                                   \
	X(GREATER_EQUAL, "greater_equal", C)                                                       \
	X(AND, "and", L)                                                                           \
	X(OR, "or", L)                                                                             \
	X(XOR, "xor", L)                                                                           \
	X(REDUCE_SUM, "reduce_sum", R)                                                             \
	X(REDUCE_MEAN, "reduce_mean", R)                                                           \
	X(REDUCE_MAX, "reduce_max", R)                                                             \
	X(REDUCE_MIN, "reduce_min", R)                                                             \
	X(REDUCE_PROD, "reduce_prod", R)                                                           \
	X(REDUCE_L1, "reduce_l1", R)                                                               \
	X(REDUCE_L2, "reduce_l2", R)                                                               \
	X(POOL_MAX, "max_pool", P)                                                                 \
	X(POOL_AVG, "avg_pool", P)                                                                 \
	X(SOFTMAX, "softmax", P)                                                                   \
	X(LOG_SOFTMAX, "log_softmax", P)

// X(attribute, value, text): words of the ENUM attributes, value 0 is never "unset".
#define PK_ENUM_LIST(X)                                                                            \
	X(RESIDUAL, PK_RESIDUAL_NONE, "none")                                                      \
	X(RESIDUAL, PK_RESIDUAL_BEFORE_ACT, "before_act")                                          \
	X(RESIDUAL, PK_RESIDUAL_AFTER_ACT, "after_act")                                            \
	X(MODE, PK_MODE_CONSTANT, "constant")                                                      \
	X(MODE, PK_MODE_REFLECT, "reflect")                                                        \
	X(MODE, PK_MODE_EDGE, "edge")                                                              \
	X(MODE, PK_MODE_WRAP, "wrap")                                                              \
	X(MODE, PK_MODE_NEAREST, "nearest")                                                        \
	X(MODE, PK_MODE_LINEAR, "linear")                                                          \
	X(MODE, PK_MODE_CUBIC, "cubic")                                                            \
	X(MODE, PK_MODE_DCR, "dcr")                                                                \
	X(MODE, PK_MODE_CRD, "crd")                                                                \
	X(COORD, PK_COORD_HALF_PIXEL, "half_pixel")                                                \
	X(COORD, PK_COORD_HALF_PIXEL_SYMMETRIC, "half_pixel_symmetric")                            \
	X(COORD, PK_COORD_PYTORCH_HALF_PIXEL, "pytorch_half_pixel")                                \
	X(COORD, PK_COORD_ALIGN_CORNERS, "align_corners")                                          \
	X(COORD, PK_COORD_ASYMMETRIC, "asymmetric")                                                \
	X(COORD, PK_COORD_TF_HALF_PIXEL_FOR_NN, "tf_half_pixel_for_nn")                            \
	X(COORD, PK_COORD_TF_CROP_AND_RESIZE, "tf_crop_and_resize")                                \
	X(PADDING, PK_PADDING_ZEROS, "zeros")                                                      \
	X(PADDING, PK_PADDING_BORDER, "border")                                                    \
	X(PADDING, PK_PADDING_REFLECTION, "reflection")                                            \
	X(NEAREST, PK_NEAREST_ROUND_PREFER_FLOOR, "round_prefer_floor")                            \
	X(NEAREST, PK_NEAREST_ROUND_PREFER_CEIL, "round_prefer_ceil")                              \
	X(NEAREST, PK_NEAREST_FLOOR, "floor")                                                      \
	X(NEAREST, PK_NEAREST_CEIL, "ceil")
