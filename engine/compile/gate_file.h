// SPDX-License-Identifier: Apache-2.0
// The gate on an engine file that is there already, against its model.
#pragma once

#include "base/err.h"
#include "engine/engine.h"
#include "engine/gate/gate.h"

struct pk_gate_file_options {
	const char *engine_path, *onnx_path;
	const struct pk_input_shape *shapes; // none: the engine's own inputs bind open dimensions
	size_t n_shapes;
	double max_rel_err, min_cosine;   // 0: those of the precision's profile
	int64_t latency_ns, memory_bytes; // budgets; 0: none
	const struct pk_gate_sample *samples;
	size_t n_samples;
	int (*progress)(void *ctx, int done, int total, const char *what);
	void *ctx;
};

// 0: judged, see pk_gate_verdict_result. -ESTALE: not an engine for this machine; -EINVAL: the
// engine was built from another model; else as pk_gate_judge and pk_source_model_open.
int pk_gate_file(const struct pk_gate_file_options *options, struct pk_gate_verdict *verdict,
	struct pk_err *err) pk_must_check;

// The profile that an engine's key asks for by its precision; NULL when the key has none.
const struct pk_gate_profile *pk_gate_profile_of_key(const char *key_json);

// Puts a verdict in the place of the one in an engine file, atomically.
int pk_gate_file_record(const char *engine_path, const struct pk_gate_verdict *verdict,
	struct pk_err *err) pk_must_check;
