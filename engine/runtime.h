// SPDX-License-Identifier: Apache-2.0
// Implementers' door: what a runtime (cpu, cuda, …) provides. Users include engine/engine.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/plan/plan.h"
#include "engine/tensor.h"

#define PK_RUNTIME_ABI 1

struct pk_timing_cache;
struct pk_cpu_pool; // engine/cpu/pool.h

enum pk_runtime_caps {
	PK_RUNTIME_PINNED_INPUT = 1, // reads input tensors best from pinned host memory
	PK_RUNTIME_ACCELERATOR = 2,  // not the host's cores
	PK_RUNTIME_FP16 = 4,         // can keep activations in half precision
};

// What this machine is to the runtime. Both texts are canonical JSON objects.
struct pk_target {
	char identity[1024]; // goes into the engine key: any change means another engine
	char device[256];    // goes into the timing cache's header: device class
};

struct pk_runtime_build {
	struct pk_graph
		*graph; // optimised, owned by the caller; build annotates kernels and packing
	int opt_level;  // 0: no measuring; 1: each operation; 2: close calls in the graph too
	struct pk_timing_cache *timing;
	enum pk_dtype float_type; // of activations: PK_F32, or PK_F16 for PK_RUNTIME_FP16
	// Called between measurements: done of total; non-zero cancels (-ECANCELED). May be NULL.
	int (*progress)(void *ctx, int done, int total, const char *what);
	void *ctx;
	// Results
	int n_measured;   // tactics timed in this build
	int n_cache_hits; // operations decided by the timing cache
	int n_islands;    // nodes that an accelerator leaves to the cpu's kernels, between copies
};

struct pk_loaded_info {
	size_t weight_bytes;      // mapped
	size_t activation_bytes;  // per slot
	size_t lower_bound_bytes; // of any placement of these activations
};

// Members in the order of a life. load and context_create may allocate; submit and wait may not.
struct pk_runtime_ops {
	uint32_t abi; // PK_RUNTIME_ABI; another number is refused
	const char *name;
	uint32_t caps;
	// Fills target; -ENODEV with a reason for a person when it cannot be used here.
	int (*probe)(struct pk_target *target, struct pk_err *err);
	// Chooses kernels, packs weights, plans memory; appends its sections to the writer.
	int (*build)(
		struct pk_runtime_build *build, struct pk_plan_writer *writer, struct pk_err *err);
	// plan stays valid until unload. -EBADMSG: sections do not hold together.
	int (*load)(const struct pk_plan *plan, void **loaded, struct pk_err *err);
	// The graph with its chosen kernels (for inspect, bindings); owned by loaded.
	const struct pk_graph *(*describe)(const void *loaded, struct pk_loaded_info *info);
	int (*context_create)(void *loaded, int n_slots, void **context, struct pk_err *err);
	// Where input i of a slot is to be written before submit; dense, of the graph input's type.
	void *(*input)(void *context, int slot, int input_idx);
	int (*submit)(void *context, int slot, struct pk_err *err);
	// Blocks until the slot's run has ended; then output pointers are valid until its next
	// submit.
	int (*wait)(void *context, int slot, struct pk_err *err);
	const void *(*output)(void *context, int slot, int output_idx);
	// Runs the slot's inputs once more, timing each node: ns[i] for the i-th node. Optional.
	int (*profile)(void *context, int slot, int64_t *ns, int n_nodes, struct pk_err *err);
	// A check on memory planning: fills what holds nothing live with NaN (all bits set) before
	// each node. Runs get slow. Optional.
	int (*set_poison)(void *context, bool on, struct pk_err *err);
	// Kernels share these host threads from now on; NULL: none but the caller. Not while a slot
	// is in flight. Optional.
	int (*set_pool)(void *context, struct pk_cpu_pool *pool, struct pk_err *err);
	void (*context_destroy)(void *context);
	void (*unload)(void *loaded);
};

// NULL-ended; best first.
extern const struct pk_runtime_ops *const pk_runtime_table[];
const struct pk_runtime_ops *pk_runtime_by_name(const char *name); // NULL when unknown

extern const struct pk_runtime_ops pk_cuda_runtime;
extern const struct pk_runtime_ops pk_cpu_runtime;
