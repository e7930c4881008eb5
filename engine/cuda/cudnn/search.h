// SPDX-License-Identifier: Apache-2.0
// All plans that heuristics name for a fusion, best guess first.
#pragma once

#include "engine/cuda/cudnn/plan.h"

struct pk_cudnn_search {
	size_t max_workspace; // plans that want more are left out; 0: none is
	int max_per_mode;     // plans of one heuristic mode that are made; 0: no bound
	// >0 ends the search; a negative errno too, and is returned. The plan may be taken
	// (pk_steal); tag as in struct pk_cudnn_candidate.
	int (*visit)(void *ctx, struct pk_cudnn_plan **plan, const char *tag);
	void *ctx;
};

// Asks modes A, B and FALLBACK in turn and skips what was seen already; the failure of one plan is
// normal. *n: plans visited. -ENOTSUP: none, with the last refusal in err; -EINVAL: the graph
// itself is wrong; -ENOMEM.
int pk_cudnn_search_run(const struct pk_cudnn_search *search, const struct pk_cudnn_device *device,
	const struct pk_cudnn_fusion *fusion, int *n, struct pk_err *err) pk_must_check;

// The first plan that can be made. tag: PK_CUDNN_MAX_TAG bytes, nullable.
int pk_cudnn_find(const struct pk_cudnn_device *device, const struct pk_cudnn_fusion *fusion,
	size_t max_workspace, struct pk_cudnn_plan **out, char *tag, struct pk_err *err)
	pk_must_check;
