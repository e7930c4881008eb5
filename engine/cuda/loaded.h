// SPDX-License-Identifier: Apache-2.0
// A loaded cuda engine as its contexts see it. Private to load.c and context.c.
#pragma once

#include "engine/cuda/driver.h"
#include "engine/cuda/island.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/steps.h"

// What a step needs besides its row: filled by its kind.
struct pk_cuda_action {
	const struct pk_cuda_step *step;
	struct pk_cuda_launch *launches; // KERNELS
	struct pk_cu_function **functions;
	int n_launches;
	void *plan;                    // PLAN
	struct pk_cuda_island *island; // ISLAND
	uint64_t packed;               // device address, 0: none
};

struct pk_cuda_loaded {
	struct pk_cuda *cuda;
	struct pk_graph *graph;
	struct pk_cuda_steps steps;
	struct pk_cuda_memory memory;
	struct pk_arena *arena;
	struct pk_cuda_action *actions; // one for each step
	struct pk_cu_module **modules;  // by position in pk_cuda_sources; NULL: not used
	int n_sources;
	uint64_t weights;    // device block of constants and packed weights
	uint64_t *constants; // by value id: device address, 0: not there
	size_t weight_bytes; // of the device block
	size_t workspace_bytes;
	int n_args;     // of all launches: pointers and parameters
	int n_operands; // of all steps
	bool has_plans;
};
