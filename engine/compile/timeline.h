// SPDX-License-Identifier: Apache-2.0
// How many bytes of activations are live at each step of a graph, however they are placed.
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "engine/ir/graph.h"

// live: graph->n_nodes entries; live[i] is the sum over tensors that exist while node i runs, what
// it writes included, views counted with what they view. Inputs exist from the start, outputs to
// the end. Returns the peak, or -ENOMEM.
int64_t pk_timeline_make(const struct pk_graph *graph, int64_t *live) pk_must_check;
