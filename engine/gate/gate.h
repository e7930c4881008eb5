// SPDX-License-Identifier: Apache-2.0
// Whether an engine may serve: its outputs on patterns and samples against the reference's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/gate/pattern.h"
#include "engine/gate/profile.h"
#include "engine/gate/verdict.h"
#include "engine/ir/graph.h"
#include "engine/runtime.h"

// A picture that the artifact brings, as tensor of a model's only input.
struct pk_gate_sample {
	const char *name;
	const void *input; // dense
	size_t bytes;
};

struct pk_gate_job {
	const struct pk_runtime_ops *runtime;
	const struct pk_graph *reference; // straight from the importer, run by the C reference
					  // kernels; NULL: outputs must be finite and repeatable
	const struct pk_gate_profile *profile;
	unsigned patterns; // bits 1 << enum pk_gate_pattern
	const struct pk_gate_sample *samples;
	size_t n_samples;
	struct pk_class_output classes; // name NULL: not a classifier
	// Called before each input; non-zero cancels (-ECANCELED). May be NULL.
	int (*progress)(void *ctx, int done, int total, const char *what);
	void *ctx;
};

// Runs every input twice through the engine and once through the reference; stops early once a
// check of G0 … G2 has failed. 0: judged, whatever the verdict (pk_gate_verdict_result tells);
// negative: the engine does not load or run, no memory, canceled,
// or a sample or class output that does not fit (-EINVAL). Rows that only decoded detections
// can fill (G4 … G7) stay "not run", but for the winner (G4) and divergence (G5) of classifiers.
int pk_gate_judge(const struct pk_gate_job *job, const struct pk_plan *plan,
	struct pk_gate_verdict *verdict, struct pk_loaded_info *loaded, struct pk_err *err)
	pk_must_check;

// pk_gate_judge on the sections collected so far. The verdict is added to the writer as section
// GATE. -EBADE: refused, err says by which check.
int pk_gate_run(const struct pk_gate_job *job, struct pk_plan_writer *writer,
	struct pk_gate_verdict *verdict, struct pk_loaded_info *loaded, struct pk_err *err)
	pk_must_check;
