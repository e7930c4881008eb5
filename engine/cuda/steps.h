// SPDX-License-Identifier: Apache-2.0
// A graph as the cuda runtime carries it out: one step for each node, in order. The same for a
// graph that is being built and for one that was loaded.
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/row.h"

enum pk_cuda_step_kind {
	PK_CUDA_STEP_NONE,    // not yet chosen
	PK_CUDA_STEP_VIEW,    // nothing to do: the output is the operand's bytes
	PK_CUDA_STEP_KERNELS, // launches of a row of our own
	PK_CUDA_STEP_PLAN,    // a cuDNN plan
	PK_CUDA_STEP_ISLAND,  // by the cpu's kernel, between copies
};

// What node->kernel says of steps that no row carries out.
#define PK_CUDA_VIEW_NAME   "view"
#define PK_CUDA_ISLAND_NAME "cpu"

struct pk_cuda_step {
	enum pk_cuda_step_kind kind;
	const struct pk_cuda_row *row; // KERNELS, PLAN
	struct pk_cuda_call call;
};

struct pk_cuda_steps {
	struct pk_graph *graph; // not owned
	enum pk_dtype float_type;
	struct pk_arena *arena;
	struct pk_cuda_tensor *tensors; // by value id
	struct pk_cuda_step *items;
	int n;
};

// Lays out all values; every step is VIEW or NONE. -ENOMEM.
int pk_cuda_steps_init(struct pk_cuda_steps *steps, struct pk_graph *graph,
	enum pk_dtype float_type, struct pk_err *err) pk_must_check;
void pk_cuda_steps_finish(struct pk_cuda_steps *steps); // safe on a zeroed struct

// The kinds of the steps as node->kernel names them, each held against what its row supports.
// -EBADMSG with the node: the engine file does not hold together.
int pk_cuda_steps_by_name(struct pk_cuda_steps *steps, struct pk_err *err) pk_must_check;

// Whether operand idx of the step is read on the device: not left out, and not packed.
bool pk_cuda_step_reads(const struct pk_cuda_step *step, int idx);
