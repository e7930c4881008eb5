// SPDX-License-Identifier: Apache-2.0
// Which values of a graph lie in one buffer, and where in it: views, slices, parts of a concat,
// results written over a dead operand. A pure function of graph and rules, so that a loaded engine
// computes it anew instead of trusting its file.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"

// What the runtime's kernels bear.
struct pk_memory_rules {
	size_t align; // bytes, a power of two: every operand's address
	// The node's kernel may write element i of its output where element i of an equally long
	// operand lies, and a concat's operands may already lie at their place. NULL: none may.
	bool (*in_place)(const struct pk_node *node);
};

struct pk_sharing {
	int n_values, n_nodes;
	int *buffers;      // by value id: its buffer, which is a value id too; -1: it needs none
	size_t *offsets;   // by value id: bytes from the start of the buffer
	size_t *bytes;     // by buffer
	int *first, *last; // by value id: positions of nodes, both included; -1 is before the first
			   // node (graph inputs), n_nodes after the last (graph outputs)
	bool *moves_nothing; // by position of a node: all it would write lies there already
};

// 0 or -ENOMEM. An operand of a concat lies in the concat's buffer unless it is a graph input or
// output, a constant, there already (in this or another concat), or its place is not aligned.
int pk_sharing_find(const struct pk_graph *graph, const struct pk_memory_rules *rules,
	struct pk_sharing *out, struct pk_err *err) pk_must_check;
void pk_sharing_finish(struct pk_sharing *sharing); // safe on a zeroed struct
