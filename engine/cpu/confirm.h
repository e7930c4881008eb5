// SPDX-License-Identifier: Apache-2.0
// The tuner's second pass: close calls are decided by times within the whole graph.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/runtime.h"

// After pk_cpu_tune measured each operation alone: where the runner-up came close, the graph is run
// with the winners and with the runners-up, and the faster of the two at its place is taken. Times
// go into the timing cache; what is known there is not measured. Counts in build->n_measured.
int pk_cpu_confirm(struct pk_runtime_build *build, struct pk_err *err) pk_must_check;
