// SPDX-License-Identifier: Apache-2.0
// ONNX file → optimised IR, shared by build, check and the tools.
#pragma once

#include "base/arena.h"
#include "base/fs.h"
#include "engine/engine.h"
#include "engine/ir/graph.h"

struct pk_onnx_model;

// An ONNX file and the graph imported from it; the graph's constants point into the map.
struct pk_source_model {
	struct pk_fs_map map;
	struct pk_arena *arena;     // of the ONNX records
	struct pk_onnx_model *onnx; // its metadata
	struct pk_digest digest;
	struct pk_graph *graph;
};

// Maps, hashes, parses and imports. report: as in pk_import_options, NULL: the first refusal is the
// error. Errors as pk_onnx_import.
int pk_source_model_open(struct pk_source_model *model, const char *path,
	const struct pk_input_shape *shapes, size_t n_shapes, struct pk_buf *report,
	struct pk_err *err) pk_must_check;
// Optimises a graph for calibration: all passes but those switched off and fuse_residual, so that
// every layer stands by itself under the name that the record knows.
int pk_float_form(struct pk_graph *graph, const char *const *disabled, size_t n_disabled,
	struct pk_err *err) pk_must_check;
void pk_source_model_close(struct pk_source_model *model); // safe on a zeroed struct
