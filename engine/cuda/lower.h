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

// What an operation is to be carried out by.
struct pk_cuda_choice {
	const struct pk_cuda_row *row; // NULL: none does
	struct pk_buf json;            // of a plan, else empty
};
// Chooses; json is initialised by the caller. NULL as a chooser: the supported row of highest rank
// and the first plan that cuDNN finds.
struct pk_cuda_chooser {
	int (*choose)(void *ctx, const struct pk_cuda_call *call, struct pk_cuda_choice *choice,
		struct pk_err *err);
	void *ctx;
};
int pk_cuda_choose_by_rank(struct pk_cuda *cuda, const struct pk_cuda_call *call,
	struct pk_cuda_choice *choice, struct pk_err *err) pk_must_check;

// Takes the row chosen for each step, packs weights and appends cubins and plans to code (the
// KERNELS section). What no row supports becomes an island of the cpu. -ENOTSUP: not even that;
// -ECANCELED.
int pk_cuda_lower(struct pk_runtime_build *build, struct pk_cuda *cuda,
	const struct pk_cuda_chooser *chooser, struct pk_cuda_steps *steps, struct pk_buf *code,
	struct pk_err *err) pk_must_check;

struct pk_plan_writer;
// The whole of an engine's making on an open device whose context is current.
int pk_cuda_build_by(struct pk_runtime_build *build, struct pk_cuda *cuda,
	const struct pk_cuda_chooser *chooser, struct pk_plan_writer *writer, struct pk_err *err)
	pk_must_check;
