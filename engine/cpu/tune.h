// SPDX-License-Identifier: Apache-2.0
// Chooses a kernel for every node and packs its weights.
#pragma once

#include "engine/runtime.h"

// Sets node->kernel and node->packed of every node of build->graph; fills the results of build.
// -ENOTSUP names the first node that no kernel supports.
int pk_cpu_tune(struct pk_runtime_build *build, struct pk_err *err) pk_must_check;
