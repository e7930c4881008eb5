// SPDX-License-Identifier: Apache-2.0
// How the bytes of a value lie: plain (dense, row-major), or a picture whose channels come in
// blocks: f32[n,c,h,w] with block b is [n][ceil(c / b)][h][w][b]. Lanes beyond c hold anything, NaN
// too. Only results of nodes that are no graph outputs are ever blocked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ir/graph.h"

// A tensor of this type may be blocked so: f32, rank 4, blocks of 4, 8 or 16, not too large.
bool pk_layout_block_fits(enum pk_dtype dtype, const struct pk_shape *shape, int64_t block);

// Bytes of a value in its layout; SIZE_MAX: too large.
size_t pk_layout_bytes(const struct pk_value *value);

// The node does with the bytes of its operands what it would do if all of them were plain, so that
// any of its kernels is right: all are plain; or all share one block that divides their channels,
// and it is elementwise without broadcast, or a concat or slice along channels by whole blocks.
bool pk_layout_is_transparent(const struct pk_node *node);
