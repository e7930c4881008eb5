// SPDX-License-Identifier: Apache-2.0
// Which buffer each value of a graph lives in: lifetimes, views sharing one buffer, placement, and
// the MEMPLAN section.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/graph.h"

#define PK_NO_BUFFER SIZE_MAX

struct pk_memory_plan {
	size_t *offsets; // by value id; PK_NO_BUFFER for constants and dead values
	int *roots;      // by value id: the value whose buffer it shares (itself, mostly)
	int n_values;
	size_t arena_bytes;
	size_t lower_bound_bytes;
};

// Graph inputs are live from before the first node, graph outputs until after the last.
int pk_memory_plan_make(const struct pk_graph *graph, size_t align, struct pk_memory_plan *out,
	struct pk_err *err) pk_must_check;
void pk_memory_plan_finish(struct pk_memory_plan *plan); // safe on a zeroed struct

// The section: u64 arena bytes, u64 lower bound, u64 number of values, u64 offset per value.
int pk_memory_plan_write(const struct pk_memory_plan *plan, struct pk_buf *out);
// Checks everything against the graph: alignment, bounds, no overlap of what is live together.
int pk_memory_plan_read(const struct pk_graph *graph, size_t align, const void *bytes, size_t n,
	struct pk_memory_plan *out, struct pk_err *err) pk_must_check;
