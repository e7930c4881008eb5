// SPDX-License-Identifier: Apache-2.0
// Imports a graph that a test wrote, and looks at the result as text.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/onnx/import.h"
#include "tests/lib/onnx_writer.h"

// An empty GraphProto, attribute list or the like.
struct pk_buf new_buf(void);

// The graph is finished. options: NULL for the defaults; the evaluator is set here.
struct imported {
	int rc;
	struct pk_err err;
	struct pk_buf text; // of the IR; empty after a failure
	int n_nodes;
};
struct imported import_graph(
	struct pk_buf *graph, int64_t opset, const struct pk_import_options *options);
struct imported import_bytes(struct pk_buf *model, const struct pk_import_options *options);

// Each finishes what it takes.
void expect_text(struct imported got, const char *part); // stands in the text
void expect_nodes(struct imported got, int n_nodes);     // imported, so many nodes
void expect_error(struct imported got, int code, const char *text);
