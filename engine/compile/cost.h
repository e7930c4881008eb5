// SPDX-License-Identifier: Apache-2.0
// What a node must do, whatever kernel does it: arithmetic and memory traffic. Pure.
#pragma once

#include <stdint.h>

#include "engine/ir/graph.h"

struct pk_cost {
	int64_t flops; // a multiply-add counts 2, any function of one value 1; movement 0
	int64_t bytes; // operands read and results written once; 0 for views
};

// Conventions: convolution and products 2 per multiply-add, bias, residual and activation 1 per
// output element each; pooling 1 per window cell; normalisation and softmax a few per element;
// comparison and casts 1. Saturates at INT64_MAX. Operators without a row count as movement.
struct pk_cost pk_cost_of_node(const struct pk_node *node);
void pk_cost_of_graph(const struct pk_graph *graph, struct pk_cost *sum);
