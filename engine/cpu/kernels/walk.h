// SPDX-License-Identifier: Apache-2.0
// Strided loops over up to four tensors at once: the broadcasts, slices and permutations.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor.h"

#define PK_WALK_RANK         (2 * PK_MAX_RANK) // tile and depth-to-space split axes in two
#define PK_WALK_MAX_OPERANDS 4

// Axes from the outermost to the innermost; operand k moves by strides[k][axis] elements.
struct pk_walk {
	int rank; // >= 1
	int64_t dims[PK_WALK_RANK];
	int n_operands;
	int64_t strides[PK_WALK_MAX_OPERANDS][PK_WALK_RANK];
	int64_t n; // steps in all; 0: nothing to do
};

struct pk_walk_pos {
	int64_t idx[PK_WALK_RANK];
	int64_t off[PK_WALK_MAX_OPERANDS]; // elements, at the start of the innermost axis
};

// A walk over shape without operands yet.
void pk_walk_init(struct pk_walk *walk, const struct pk_shape *shape);
// Adds an operand of explicit strides (walk->rank of them).
void pk_walk_add(struct pk_walk *walk, const int64_t *strides);
// Adds a dense operand whose shape broadcasts (numpy rules) to the walk's shape.
void pk_walk_add_shape(struct pk_walk *walk, const struct pk_shape *shape);
// Drops axes of one step and merges those that every operand takes in one stride.
void pk_walk_fold(struct pk_walk *walk);
// Moves on to the next run of the innermost axis; false after the last.
bool pk_walk_next(const struct pk_walk *walk, struct pk_walk_pos *pos);

// Strides in elements of a dense tensor.
void pk_walk_dense_strides(const struct pk_shape *shape, int64_t *strides);

// n elements of `bytes` (1, 2, 4 or 8) from src to dst; strides in elements.
void pk_walk_copy_run(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n,
	size_t bytes);

static inline int64_t pk_walk_inner(const struct pk_walk *walk)
{
	return walk->dims[walk->rank - 1];
}
static inline int64_t pk_walk_stride(const struct pk_walk *walk, int operand)
{
	return walk->strides[operand][walk->rank - 1];
}
