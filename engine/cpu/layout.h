// SPDX-License-Identifier: Apache-2.0
// The cpu runtime's last rewrite: which values are blocked by channels.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"

// Convolutions take and give pictures in blocks of so many channels, and what stands between them
// follows where a kernel for it exists; reorder nodes stand at the edges. Graph inputs and outputs
// stay plain; the first convolution reads its plain input. block: 4, 8 or 16, of rows that this
// processor can run. -ENOMEM.
int pk_cpu_layout(struct pk_graph *graph, int block, struct pk_err *err) pk_must_check;
