// SPDX-License-Identifier: Apache-2.0
// Random graphs in the shape of vision networks: what property tests of passes and planner share.
#pragma once

#include <stdint.h>

#include "engine/ir/graph.h"

#define RANDOM_GRAPH_MAX_OUTPUTS 4

// One input %x, f32[1,4,h,w]; 1..4 outputs, some named twice. The same graph for the same seed.
struct pk_graph *random_graph(uint64_t seed);
// A number of the same series of numbers, low..high; steps the seed.
float random_graph_float(uint64_t *seed, float low, float high);
