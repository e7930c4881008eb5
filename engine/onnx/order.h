// SPDX-License-Identifier: Apache-2.0
// An execution order for the nodes of a graph body, whatever order the file has.
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/onnx/model.h"
#include "engine/onnx/names.h"

// Indices of the nodes that the outputs need, producers first; the file's order where it is one.
// In the arena. -EINVAL on cycles.
int pk_order_nodes(const struct pk_onnx_graph *body, const struct pk_names *names,
	struct pk_arena *arena, int **order, size_t *n_order, struct pk_err *err) pk_must_check;
