// SPDX-License-Identifier: Apache-2.0
// What folds constants: given to importer and passes by the caller, so that they know no runtime.
#pragma once

#include "base/err.h"
#include "engine/ir/graph.h"

// Evaluates one IR node whose operands are all constants (engine/cpu/eval.h is the usual one).
// Writes every output; the buffers are there.
struct pk_evaluator {
	int (*eval)(const struct pk_node *node, void *const *outputs, struct pk_err *err);
};
