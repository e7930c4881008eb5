// SPDX-License-Identifier: Apache-2.0
// The sections of a cpu engine.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/plan/plan.h"

// Adds graph, weights and memory plan; every node has its kernel and packed weights. -ENOMEM.
int pk_cpu_write(const struct pk_graph *graph, struct pk_plan_writer *writer, struct pk_err *err)
	pk_must_check;
