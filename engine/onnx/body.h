// SPDX-License-Identifier: Apache-2.0
// Imports the nodes of a graph body: the main graph, or an If branch that was chosen.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/onnx/importer.h"

// names: built for body; its `value`s are filled. Nodes are appended to the graph in an order that
// runs. With a report, unsupported nodes are listed there and poison what depends on them.
int pk_body_import(struct pk_import_state *state, const struct pk_onnx_graph *body,
	struct pk_names *names, struct pk_err *err) pk_must_check;

// The value of a name in scope; constants are made when first asked for. 0 with *value NULL when it
// is poisoned. -EINVAL: nobody defines it; -ENOTSUP: an output that its producer's handler leaves
// out.
int pk_body_resolve(struct pk_import_state *state, const struct pk_names *names,
	struct pk_onnx_str text, struct pk_value **value, struct pk_err *err) pk_must_check;

// Opset of a domain ("" and "ai.onnx" are one), or 0 when the model does not import it.
int64_t pk_body_opset(const struct pk_onnx_model *model, struct pk_onnx_str domain);
