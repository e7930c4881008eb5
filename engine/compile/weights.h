// SPDX-License-Identifier: Apache-2.0
// Collects constants and packed weights of a graph into the WEIGHTS section and writes the GRAPH
// section whose '@' point into it. For every runtime that stores its engine as an IR text.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/plan/plan.h"

// Both sections are added to the writer. align: of each constant in the section, a power of two.
// The same bytes are stored once. -ENOMEM, -ENOSPC (above 4 GiB).
int pk_weights_write(const struct pk_graph *graph, size_t align, struct pk_plan_writer *writer,
	struct pk_err *err) pk_must_check;

// The graph of the two sections, parsed again: value ids are those of the text. It refers to the
// writer's bytes.
int pk_weights_reload(const struct pk_plan_writer *writer, struct pk_graph **out,
	struct pk_err *err) pk_must_check;
