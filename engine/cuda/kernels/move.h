// SPDX-License-Identifier: Apache-2.0
// A copy along strides, and the kernel of copy.cu that does it best.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cuda/row.h"

#define PK_CU_MOVE_AXES 16

// Strides and offsets in elements, in any order of axes.
struct pk_cu_move {
	int n_axes;
	int64_t dims[PK_CU_MOVE_AXES], src[PK_CU_MOVE_AXES], dst[PK_CU_MOVE_AXES];
	int64_t src_offset, dst_offset;
	enum pk_dtype from, to; // equal, or f16 and f32
};

void pk_cu_move_axis(struct pk_cu_move *move, int64_t dim, int64_t src, int64_t dst);
// Drops axes of one step, puts the others in the order of dst, merges what moves in one stride.
void pk_cu_move_fold(struct pk_cu_move *move);
// The launch for a folded move, without its two pointers; false: no kernel does it.
bool pk_cu_move_launch(const struct pk_cu_move *move, struct pk_cuda_launch *out);
// "b4", "f16_f32", … of a pair of types: the end of an entry's name; NULL: no kernel.
const char *pk_cu_move_suffix(enum pk_dtype from, enum pk_dtype to);
