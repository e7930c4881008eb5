// SPDX-License-Identifier: Apache-2.0
// A check on the memory plan: dead memory is filled with NaN, so that whoever reads it shows.
#pragma once

#include "base/attr.h"
#include "engine/compile/memory_plan.h"
#include "engine/ir/graph.h"

#define PK_POISON_BYTE 0xff // all bits set: NaN in every float type, -1 in integers

struct pk_poison;

// Finds what is live before each node. graph and plan must outlive it. NULL: no memory.
struct pk_poison *pk_poison_create(const struct pk_graph *graph, const struct pk_memory_plan *plan)
	pk_must_check;
void pk_poison_destroy(struct pk_poison *poison);

// Fills all of the arena that holds nothing which node `at` or a later one reads (graph outputs
// always count). at = number of nodes: after the last. Allocates nothing.
void pk_poison_fill(struct pk_poison *poison, int at, unsigned char *arena);
