// SPDX-License-Identifier: Apache-2.0
// Builds: from an optimised graph to steps with their rows, packed weights and device code.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/steps.h"
#include "engine/runtime.h"

// Puts identity nodes behind graph inputs and before graph outputs that could otherwise not have
// the layout that the nodes between work in. -ENOMEM.
int pk_cuda_insert_borders(struct pk_graph *graph, struct pk_err *err) pk_must_check;

// Chooses a row for each step, packs weights and appends cubins and plans to code (the KERNELS
// section). What no row supports becomes an island of the cpu. -ENOTSUP: not even that;
// -ECANCELED.
int pk_cuda_lower(struct pk_runtime_build *build, struct pk_cuda *cuda, struct pk_cuda_steps *steps,
	struct pk_buf *code, struct pk_err *err) pk_must_check;
