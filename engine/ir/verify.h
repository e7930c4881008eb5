// SPDX-License-Identifier: Apache-2.0
// The rules every graph obeys; run after each pass in tests and after loading an engine.
#pragma once

#include "base/err.h"
#include "engine/ir/graph.h"

// 0, or -EINVAL naming the first broken rule: unique names, operands defined before use, use
// counts, arity, attributes in range, types equal to what inference gives, outputs defined.
int pk_verify_graph(const struct pk_graph *graph, struct pk_err *err) pk_must_check;
