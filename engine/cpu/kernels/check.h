// SPDX-License-Identifier: Apache-2.0
// What supports() of the kernels asks of a node, and short cuts to its operands.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ir/graph.h"

// Operand idx, or NULL when it is left out.
static inline const struct pk_value *pk_check_input(const struct pk_node *node, int idx)
{
	return idx < node->n_inputs ? node->inputs[idx] : NULL;
}
static inline const struct pk_shape *pk_check_in_shape(const struct pk_node *node, int idx)
{
	return &node->inputs[idx]->shape;
}
static inline const struct pk_shape *pk_check_out_shape(const struct pk_node *node)
{
	return &node->outputs[0]->shape;
}

// Every operand that is there and every output is of this type.
bool pk_check_all_dtype(const struct pk_node *node, enum pk_dtype dtype);
// Same, of any one floating point type.
bool pk_check_all_float(const struct pk_node *node);
// Operand 0 and output 0 have the same type, of a known size.
bool pk_check_same_dtype(const struct pk_node *node);

// Geometry of conv, conv_transpose and pool, always as three spatial axes (missing ones in front
// are 1). Field names: size of input, output and kernel; pad in front.
struct pk_window {
	int64_t batch, in_c, out_c, group;
	int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
	int64_t in_plane, out_plane, kernel_plane; // products of the three
};

// Fills geom from a node of one of those ops, with every number checked against the shapes and
// small enough that index arithmetic in int64 cannot overflow. False: not such a node.
bool pk_window_init(struct pk_window *geom, const struct pk_node *node);

// Conv operands 2 (bias, one per output channel) and 3 (residual, as the attribute says, shaped
// like the output).
bool pk_check_conv_bias(const struct pk_node *node);
bool pk_check_conv_residual(const struct pk_node *node);
