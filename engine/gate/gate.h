// SPDX-License-Identifier: Apache-2.0
// Whether an engine that was just put together may serve: its outputs against the reference.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/runtime.h"

struct pk_gate_limits {
	double max_rel_err; // per output, of the reference output's range
	double min_cosine;
	bool finite_only; // no reference: outputs must be finite, no more
};

struct pk_gate_verdict {
	double max_rel_err, min_cosine; // worst over outputs and inputs tried
	struct pk_loaded_info loaded;
};

// Loads the sections collected so far through the runtime, feeds seeded noise in 0..1 and compares
// with reference (a graph straight from the importer, run by the C reference kernels). The verdict
// is added to the writer as section GATE. -EBADE: refused, err says which output by how much.
int pk_gate_run(const struct pk_runtime_ops *runtime, struct pk_plan_writer *writer,
	const struct pk_graph *reference, const struct pk_gate_limits *limits,
	struct pk_gate_verdict *verdict, struct pk_err *err) pk_must_check;
