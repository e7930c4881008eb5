// SPDX-License-Identifier: Apache-2.0
// The list of rows of our own GPU kernels: rows of one operator together, best first.
#pragma once

#include "engine/cuda/row.h"

// X(name): the row is `pk_cuda_row_<name>` in one of the files of this folder.
#define PK_CUDA_ROW_LIST(X)                                                                        \
	X(unary_chain)                                                                             \
	X(binary_chain)                                                                            \
	X(where_chain)                                                                             \
	X(prelu_chain)                                                                             \
	X(cast_chain)                                                                              \
	X(slice_copy)                                                                              \
	X(transpose_copy)                                                                          \
	X(expand_copy)                                                                             \
	X(tile_copy)                                                                               \
	X(depth_to_space_copy)                                                                     \
	X(space_to_depth_copy)                                                                     \
	X(concat_copy)                                                                             \
	X(reshape_nhwc)                                                                            \
	X(reshape_copy)                                                                            \
	X(identity_copy)                                                                           \
	X(gather_index)                                                                            \
	X(gather_elements_index)                                                                   \
	X(pad_map)                                                                                 \
	X(resize_map)                                                                              \
	X(resize_taps)                                                                             \
	X(pool_window)                                                                             \
	X(conv_depthwise_nhwc)                                                                     \
	X(conv_stem)                                                                               \
	X(conv_direct)                                                                             \
	X(conv_transpose_direct)                                                                   \
	X(qconv_direct)                                                                            \
	X(gemm_tile)                                                                               \
	X(matmul_tile)                                                                             \
	X(softmax_rows)                                                                            \
	X(layer_norm_rows)                                                                         \
	X(instance_norm_rows)                                                                      \
	X(batch_norm_rows)                                                                         \
	X(reduce_rows)                                                                             \
	X(arg_reduce_rows)                                                                         \
	X(top_k_count)                                                                             \
	X(quantize_element)                                                                        \
	X(dequantize_element)                                                                      \
	X(qbinary_element)                                                                         \
	X(lookup_table)

#define X(name) extern const struct pk_cuda_row pk_cuda_row_##name;
PK_CUDA_ROW_LIST(X)
#undef X
