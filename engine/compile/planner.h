// SPDX-License-Identifier: Apache-2.0
// Places buffers with lifetimes in one arena. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

// A buffer is live at every step in first..last, both included.
struct pk_placement {
	size_t bytes;
	int first, last;
	size_t offset; // result
};

// Greedy by size and greedy by breadth (conflicts), then orders in which what stuck out goes first
// and random swaps, while the arena is above the lower bound; the smallest is kept. Deterministic.
// lower_bound: the largest sum of bytes that are live at once. align: a power of two.
// 0 or -ENOMEM / -EOVERFLOW.
int pk_planner_place(struct pk_placement *items, size_t n, size_t align, size_t *peak_bytes,
	size_t *lower_bound_bytes) pk_must_check;

// True when no two buffers that are live at once overlap and all lie within arena_bytes.
bool pk_planner_holds(const struct pk_placement *items, size_t n, size_t arena_bytes);
