// SPDX-License-Identifier: Apache-2.0
// ONNX model → IR: opset differences raised to the newest semantics, shapes made static, constants
// folded where shapes depend on them.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/evaluator.h"
#include "engine/ir/graph.h"
#include "engine/onnx/model.h"

struct pk_shape_binding {
	const char *name;      // input name, or dim_param name
	struct pk_shape shape; // of the input; for a dim_param: rank 1, the value
};

struct pk_import_options {
	const struct pk_shape_binding *bindings;
	size_t n_bindings;
	const struct pk_evaluator *evaluator; // required
	size_t max_folded_bytes;              // bound of one folded constant; 0: 64 MiB
	size_t max_graph_bytes;               // bound of the graph's arena; 0: 16 x file + 64 MiB
	// Support report for `engine check`: every unsupported node is listed here ("node `x`
	// (Foo-11): why") and import goes on as far as it can; NULL: the first one is the error.
	struct pk_buf *report;
	// When set: how many denormal weights were flushed to zero (they make CPUs slow and mean
	// nothing).
	size_t *n_denormals;
};

// model's bytes must outlive the graph (constants point into them). Errors name node, operator and
// opset, and what to do: -ENOTSUP for what is outside Picket, -EINVAL for broken models, -EDOM for
// a dynamic dimension left open (it names the input and how to bind it).
int pk_onnx_import(const struct pk_onnx_model *model, const struct pk_import_options *options,
	struct pk_graph **out, struct pk_err *err) pk_must_check;

// Writes the operator table (name, opsets, notes) as Markdown rows for docs/ONNX-SUPPORT.md.
void pk_onnx_list_operators(struct pk_buf *out);
