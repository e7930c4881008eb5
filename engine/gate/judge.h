// SPDX-License-Identifier: Apache-2.0
// One output tensor against its reference: rows G0 to G3.
#pragma once

#include "engine/gate/classify.h"
#include "engine/gate/profile.h"
#include "engine/gate/verdict.h"
#include "engine/ir/graph.h"

struct pk_gate_input {
	const char *name; // for the rows
	bool is_picture;  // a sample, not a synthetic pattern
};

// found, expected: dense, of value's type and shape; expected NULL: only whether found is finite.
// input: what the engine was fed. 0 or -ENOMEM.
int pk_gate_judge_output(struct pk_gate_verdict *verdict, const struct pk_gate_profile *profile,
	const struct pk_value *value, const void *found, const void *expected,
	const struct pk_gate_input *input) pk_must_check;

// Adds a classifier's output to the sum. -EINVAL: it has no such rows; -ENOMEM.
int pk_gate_add_classes(struct pk_class_agreement *sum, const struct pk_class_output *classes,
	const struct pk_value *value, const void *found, const void *expected) pk_must_check;
