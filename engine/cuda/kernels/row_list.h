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
	X(reshape_copy)                                                                            \
	X(reshape_nhwc)                                                                            \
	X(identity_copy)                                                                           \
	X(pool_window)

#define X(name) extern const struct pk_cuda_row pk_cuda_row_##name;
PK_CUDA_ROW_LIST(X)
#undef X
