// SPDX-License-Identifier: Apache-2.0
// Output types of a node from its operands and attributes.
#pragma once

#include "base/err.h"
#include "engine/ir/graph.h"

// Sets dtype and shape of every output of node, or says what does not fit (-EINVAL; -EFBIG when a
// tensor would exceed PK_MAX_ELEMENTS). shape: as in pk_graph_finish_node. One row per op in a
// table.
int pk_infer_node(struct pk_node *node, const struct pk_shape *shape, struct pk_err *err)
	pk_must_check;
