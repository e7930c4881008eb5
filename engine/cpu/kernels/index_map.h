// SPDX-License-Identifier: Apache-2.0
// Copies a tensor through one index table per axis: padding and nearest resizing.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "engine/ir/graph.h"
#include "engine/tensor.h"

struct pk_index_map {
	struct pk_shape out;
	int64_t src_strides[PK_MAX_RANK];
	int64_t *maps[PK_MAX_RANK]; // per output index: index in the input, or -1: fill
	size_t bytes;               // of one element
	uint8_t fill[8];            // one element
	int64_t n;                  // output elements
};

// Tables (to be filled by the caller) for node's output 0 read from input 0. NULL: no memory.
struct pk_index_map *pk_index_map_create(
	const struct pk_node *node, struct pk_arena *arena, double fill);
void pk_index_map_run(const struct pk_index_map *map, const void *x, void *y);

// Padding by PK_MODE_*: index i (of the input, maybe outside) brought into [low, high), or -1:
// constant.
int64_t pk_pad_source(int64_t mode, int64_t i, int64_t low, int64_t high);
