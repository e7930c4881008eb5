// SPDX-License-Identifier: Apache-2.0
// Puts quantize and dequantize nodes into a float graph by a calibration record.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/calibrate/calibration.h"
#include "engine/ir/graph.h"

// Convolutions and gemms of constant weights that may become integer: all but those behind which
// no other one follows (the last ones of heads: what comes after them wants full precision).
// Named by their output.
bool pk_calibration_is_layer(const struct pk_graph *graph, const struct pk_node *node);

// Around every such layer that is not listed as float: the activation gets a symmetric i8 pair by
// its range (values that only pass on each other's numbers share the largest), the weights one
// scale per output channel. fold_qdq then makes the layer integer. *n: layers treated; nullable.
// -EINVAL: no range fits any layer; -ENOMEM. The graph must be optimised, without fuse_residual.
int pk_calibration_insert(struct pk_graph *graph, const struct pk_calibration *calibration, int *n,
	struct pk_err *err) pk_must_check;

// Whether the range of this value is worth collecting: a float activation.
bool pk_calibration_wants(const struct pk_value *value);
