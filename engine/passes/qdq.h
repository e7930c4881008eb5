// SPDX-License-Identifier: Apache-2.0
// Questions about quantize and dequantize nodes; private to engine/passes.
#pragma once

#include <stdbool.h>

#include "engine/ir/graph.h"
#include "engine/passes/pass_impl.h"

// value's producer when it is a dequantize of i8 or u8 whose scales (above 0, finite) and zero
// points are constants; else NULL.
struct pk_node *pk_qdq_source(const struct pk_value *value);
// The same for a quantize node itself: is it one with constants of i8 or u8?
bool pk_qdq_is_quantize(const struct pk_node *node);
// One scale for the whole tensor.
bool pk_qdq_is_whole(const struct pk_node *node);
float pk_qdq_scale(const struct pk_node *node, int64_t channel); // of one or many
// Both nodes (of either kind) go between the same numbers and the same integers.
bool pk_qdq_equal(const struct pk_node *a, const struct pk_node *b);

// Moves of dequantize down and quantize up through operators that only pass numbers on, and the
// removal of quantize(dequantize(x)) where both are equal. Number of rewrites or -ENOMEM.
int pk_qdq_move(struct pk_graph *graph, struct pk_node *node, struct pk_pass_ctx *ctx);

// quantize(f(dequantize(x), …)) of one byte x becomes a lookup; quantize(a + b) of dequantized
// bytes becomes qbinary. 1 when rewritten, 0 when it is not of that form, or an error.
int pk_qdq_to_lookup(struct pk_graph *graph, struct pk_node *quantize, struct pk_pass_ctx *ctx);
int pk_qdq_to_binary(struct pk_graph *graph, struct pk_node *quantize, struct pk_err *err);
