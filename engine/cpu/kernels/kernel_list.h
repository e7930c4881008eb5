// SPDX-License-Identifier: Apache-2.0
// The list of kernel rows: rows of one operator together, best first, reference last.
#pragma once

#include "engine/cpu/kernel.h"

#if defined(__x86_64__)
#define PK_KERNEL_AVX2(X, name) X(name)
#else
#define PK_KERNEL_AVX2(X, name)
#endif

#define PK_KERNEL_BLOCK(X, name)                                                                   \
	PK_KERNEL_AVX2(X, name##_avx512) PK_KERNEL_AVX2(X, name##_avx2) X(name)

// X(name): the row is `pk_kernel_<name>` in one of the files of this folder.
#define PK_KERNEL_LIST(X)                                                                          \
	PK_KERNEL_BLOCK(X, block_depthwise)                                                        \
	PK_KERNEL_BLOCK(X, block_wino)                                                             \
	PK_KERNEL_BLOCK(X, block_conv)                                                             \
	PK_KERNEL_AVX2(X, conv_depthwise_avx2)                                                     \
	PK_KERNEL_AVX2(X, conv_direct_avx2)                                                        \
	PK_KERNEL_AVX2(X, conv_gemm_avx2)                                                          \
	X(conv_depthwise)                                                                          \
	X(conv_direct)                                                                             \
	X(conv_gemm)                                                                               \
	X(conv_ref)                                                                                \
	PK_KERNEL_AVX2(X, conv_transpose_gemm_avx2)                                                \
	X(conv_transpose_gemm)                                                                     \
	X(conv_transpose_ref)                                                                      \
	PK_KERNEL_BLOCK(X, block_pool)                                                             \
	X(pool_line)                                                                               \
	X(pool_bytes)                                                                              \
	X(pool_ref)                                                                                \
	X(pool_index_ref)                                                                          \
	X(batch_norm_ref)                                                                          \
	X(instance_norm_rows)                                                                      \
	X(instance_norm_ref)                                                                       \
	X(layer_norm_rows)                                                                         \
	X(layer_norm_ref)                                                                          \
	PK_KERNEL_AVX2(X, gemm_tile_avx2)                                                          \
	X(gemm_tile)                                                                               \
	X(gemm_ref)                                                                                \
	PK_KERNEL_AVX2(X, matmul_tile_avx2)                                                        \
	X(matmul_tile)                                                                             \
	X(matmul_ref)                                                                              \
	PK_KERNEL_AVX2(X, unary_vec_avx2)                                                          \
	X(unary_vec)                                                                               \
	X(unary_ref)                                                                               \
	PK_KERNEL_BLOCK(X, block_binary)                                                           \
	X(binary_run)                                                                              \
	X(binary_ref)                                                                              \
	PK_KERNEL_BLOCK(X, block_prelu)                                                            \
	X(prelu_run)                                                                               \
	X(prelu_ref)                                                                               \
	X(where_ref)                                                                               \
	X(cast_ref)                                                                                \
	PK_KERNEL_AVX2(X, softmax_vec_avx2)                                                        \
	X(softmax_vec)                                                                             \
	X(softmax_ref)                                                                             \
	PK_KERNEL_BLOCK(X, block_reduce)                                                           \
	X(reduce_rows)                                                                             \
	X(reduce_ref)                                                                              \
	X(arg_reduce_ref)                                                                          \
	X(top_k_ref)                                                                               \
	X(concat_ref)                                                                              \
	X(slice_ref)                                                                               \
	X(reshape_ref)                                                                             \
	X(transpose_ref)                                                                           \
	X(pad_ref)                                                                                 \
	PK_KERNEL_BLOCK(X, block_resize)                                                           \
	X(resize_rows)                                                                             \
	X(resize_ref)                                                                              \
	X(expand_ref)                                                                              \
	X(tile_ref)                                                                                \
	X(gather_ref)                                                                              \
	X(gather_elements_ref)                                                                     \
	X(gather_nd_ref)                                                                           \
	X(scatter_elements_ref)                                                                    \
	X(scatter_nd_ref)                                                                          \
	X(cum_sum_ref)                                                                             \
	X(grid_sample_ref)                                                                         \
	X(roi_align_ref)                                                                           \
	X(depth_to_space_ref)                                                                      \
	X(space_to_depth_ref)                                                                      \
	PK_KERNEL_BLOCK(X, block_reorder)                                                          \
	X(reorder_ref)                                                                             \
	X(identity_ref)                                                                            \
	PK_KERNEL_AVX2(X, quantize_line_avx2)                                                      \
	X(quantize_line)                                                                           \
	X(quantize_ref)                                                                            \
	PK_KERNEL_AVX2(X, dequantize_line_avx2)                                                    \
	X(dequantize_line)                                                                         \
	X(dequantize_ref)                                                                          \
	PK_KERNEL_AVX2(X, qconv_direct_avx2)                                                       \
	X(qconv_direct)                                                                            \
	PK_KERNEL_AVX2(X, qconv_gemm_avx2)                                                         \
	X(qconv_gemm)                                                                              \
	X(qconv_ref)                                                                               \
	PK_KERNEL_AVX2(X, qmatmul_pairs_avx2)                                                      \
	X(qmatmul_pairs)                                                                           \
	X(qmatmul_ref)                                                                             \
	PK_KERNEL_AVX2(X, qbinary_line_avx2)                                                       \
	X(qbinary_line)                                                                            \
	X(qbinary_ref)                                                                             \
	PK_KERNEL_AVX2(X, lookup_line_avx2)                                                        \
	X(lookup_ref)

#define X(name) extern const struct pk_cpu_kernel pk_kernel_##name;
PK_KERNEL_LIST(X)
#undef X
