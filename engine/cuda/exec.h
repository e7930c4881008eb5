// SPDX-License-Identifier: Apache-2.0
// Loads cuda engines and runs them: the members of pk_cuda_runtime (engine/runtime.h).
#pragma once

#include "engine/runtime.h"

int pk_cuda_load(const struct pk_plan *plan, void **loaded, struct pk_err *err);
const struct pk_graph *pk_cuda_describe(const void *loaded, struct pk_loaded_info *info);
void pk_cuda_unload(void *loaded);

// A context owns one stream. Its slots share the activations: runs follow each other in the stream.
// Where the driver allows it a slot's run is one CUDA graph, captured once; else its launches.
int pk_cuda_context_create(void *loaded, int n_slots, void **context, struct pk_err *err);
void *pk_cuda_input(void *context, int slot, int input_idx);
int pk_cuda_submit(void *context, int slot, struct pk_err *err);
int pk_cuda_wait(void *context, int slot, struct pk_err *err);
const void *pk_cuda_output(void *context, int slot, int output_idx);
int pk_cuda_profile(void *context, int slot, int64_t *ns, int n_nodes, struct pk_err *err);
void pk_cuda_context_destroy(void *context);
