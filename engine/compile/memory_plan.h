// SPDX-License-Identifier: Apache-2.0
// Where each value of a graph lies in the arena: shared buffers, their placement, and the MEMPLAN
// section.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/compile/sharing.h"
#include "engine/ir/graph.h"

#define PK_NO_BUFFER SIZE_MAX

struct pk_memory_plan {
	size_t *offsets; // by value id; PK_NO_BUFFER for constants and dead values
	struct pk_sharing sharing;
	int n_values;
	size_t arena_bytes;
	size_t lower_bound_bytes; // of any placement of these buffers
};

// Graph inputs are live from before the first node, graph outputs until after the last.
int pk_memory_plan_make(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	struct pk_memory_plan *out, struct pk_err *err) pk_must_check;
void pk_memory_plan_finish(struct pk_memory_plan *plan); // safe on a zeroed struct

// The section: u64 arena bytes, u64 lower bound, u64 number of values, u64 offset per value. Only
// the offsets of buffers count; what shares a buffer is found anew from graph and rules.
int pk_memory_plan_write(const struct pk_memory_plan *plan, struct pk_buf *out);
struct pk_section_bytes {
	const void *data;
	size_t n;
};
// Checks everything against the graph: alignment, bounds, no overlap of what is live together.
int pk_memory_plan_read(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	const struct pk_section_bytes *section, struct pk_memory_plan *out, struct pk_err *err)
	pk_must_check;
