// SPDX-License-Identifier: Apache-2.0
// Loads cpu engines and runs them.
#pragma once

#include "engine/compile/sharing.h"
#include "engine/runtime.h"

// By these an engine's memory is planned when it is built and checked when it is loaded.
extern const struct pk_memory_rules pk_cpu_memory_rules;

int pk_cpu_load(const struct pk_plan *plan, void **loaded, struct pk_err *err);
const struct pk_graph *pk_cpu_describe(const void *loaded, struct pk_loaded_info *info);
void pk_cpu_unload(void *loaded);

int pk_cpu_context_create(void *loaded, int n_slots, void **context, struct pk_err *err);
void *pk_cpu_input(void *context, int slot, int input_idx);
int pk_cpu_submit(void *context, int slot, struct pk_err *err);
int pk_cpu_wait(void *context, int slot, struct pk_err *err);
const void *pk_cpu_output(void *context, int slot, int output_idx);
int pk_cpu_profile(void *context, int slot, int64_t *ns, int n_nodes, struct pk_err *err);
int pk_cpu_set_poison(void *context, bool on, struct pk_err *err);
int pk_cpu_set_pool(void *context, struct pk_cpu_pool *pool, struct pk_err *err);
void pk_cpu_context_destroy(void *context);
