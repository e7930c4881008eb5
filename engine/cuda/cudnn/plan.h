// SPDX-License-Identifier: Apache-2.0
// Execution plans: found by cuDNN's heuristics, kept as JSON, opened again, run.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/cuda/cudnn/graph.h"

#define PK_CUDNN_MAX_CANDIDATES 16 // of one heuristic mode
#define PK_CUDNN_MAX_TAG        160
#define PK_CUDNN_MAX_PLAN_BYTES (1u << 20)

// The order in which modes are asked. FALLBACK names what works, not what is fast.
enum pk_cudnn_mode { PK_CUDNN_ASK_A, PK_CUDNN_ASK_B, PK_CUDNN_ASK_FALLBACK, PK_CUDNN_N_MODES };

struct pk_cudnn_candidate {
	void *config;               // its ENGINECFG; owned by the list
	char tag[PK_CUDNN_MAX_TAG]; // "e12 k2=3 k18=1": engine and knobs, the same on every build
	uint32_t notes;             // bit i: numerical note i
};

struct pk_cudnn_candidates {
	struct pk_cudnn_pool pool;
	struct pk_cudnn_candidate items[PK_CUDNN_MAX_CANDIDATES];
	int n;
};

// Engine configurations that the mode proposes, best first, without those that the errata list
// or the numerics rule out (engine/cuda/cudnn/errata.h). None is no error. finish the list also
// after a failure.
int pk_cudnn_candidates_init(struct pk_cudnn_candidates *list, const struct pk_cudnn_device *device,
	const struct pk_cudnn_graph *graph, const struct pk_cudnn_fusion *fusion,
	enum pk_cudnn_mode mode, struct pk_err *err) pk_must_check;
void pk_cudnn_candidates_finish(struct pk_cudnn_candidates *list);

struct pk_cudnn_plan;
// Compiles where the engine does so. -ENOTSUP: this one does not finalize, another may; -ENODEV:
// the driver or NVRTC is missing.
int pk_cudnn_plan_create(const struct pk_cudnn_device *device,
	const struct pk_cudnn_candidate *candidate, struct pk_cudnn_plan **out, struct pk_err *err)
	pk_must_check;
// The plan of the JSON that pk_cudnn_plan_print wrote. -ESTALE whenever cuDNN refuses it: another
// version or device, or damaged; cuDNN does not check the code inside, so the caller must.
int pk_cudnn_plan_parse(const struct pk_cudnn_device *device, const char *json, size_t n,
	struct pk_cudnn_plan **out, struct pk_err *err) pk_must_check;
void pk_cudnn_plan_destroy(struct pk_cudnn_plan *plan);
PK_DEFINE_AUTO(pk_cudnn_plan, pk_cudnn_plan_destroy);

int pk_cudnn_plan_print(const struct pk_cudnn_plan *plan, struct pk_buf *out, struct pk_err *err)
	pk_must_check;
size_t pk_cudnn_plan_workspace(const struct pk_cudnn_plan *plan); // bytes

// Addresses for a run, by unique id (enum pk_cudnn_uid). The plan outlives it.
#define PK_CUDNN_MAX_BOUND (PK_CUDNN_MAX_SCALARS + 6)
struct pk_cudnn_address {
	int64_t uid;
	uint64_t device_address;
};
struct pk_cudnn_bound;
int pk_cudnn_bound_create(const struct pk_cudnn_plan *plan,
	const struct pk_cudnn_address *addresses, int n, uint64_t workspace,
	struct pk_cudnn_bound **out, struct pk_err *err) pk_must_check;
void pk_cudnn_bound_destroy(struct pk_cudnn_bound *bound);
PK_DEFINE_AUTO(pk_cudnn_bound, pk_cudnn_bound_destroy);
// On the handle's stream. 0 or negative errno; never allocates.
int pk_cudnn_bound_execute(
	const struct pk_cudnn_bound *bound, struct pk_cudnn_context *handle, struct pk_err *err);
