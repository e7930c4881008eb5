// SPDX-License-Identifier: Apache-2.0
// Folding a per-channel scale and shift into the node that makes the channels.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "engine/ir/graph.h"

// y' = scale[c] * y + shift[c] over the channels (axis 1) of a node's output.
struct pk_affine {
	int64_t n;
	double *scale, *shift;
};

// Conv, conv_transpose or gemm with constant float weights and addend, and nothing fused behind.
bool pk_affine_takes(const struct pk_node *node);
// Room for the node's channels, scale 1 and shift 0. 0 or -ENOMEM.
int pk_affine_init(struct pk_affine *affine, const struct pk_node *node) pk_must_check;
// What a batch norm of constant parameters does. 1: done; 0: it has others, or a channel has no
// finite scale; -ENOMEM.
int pk_affine_from_bn(struct pk_affine *affine, const struct pk_node *bn) pk_must_check;
void pk_affine_finish(struct pk_affine *affine);
// Computes in double and rounds once. 1: done; 0: left alone, as a weight would not be finite in
// its type; -ENOMEM. Weights shared with other nodes stay as they are for those.
int pk_affine_apply(struct pk_graph *graph, struct pk_node *node, const struct pk_affine *affine)
	pk_must_check;
