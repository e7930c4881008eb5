// SPDX-License-Identifier: Apache-2.0
// Where each value lies in a context's arena on the device, and the MEMPLAN section of cuda
// engines. Views share their operand's bytes; rows that may write over a dead operand do.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/steps.h"

#define PK_CUDA_NO_PLACE SIZE_MAX

struct pk_cuda_memory {
	size_t *offsets; // by value id; PK_CUDA_NO_PLACE for constants and dead values
	int *groups;     // by value id: the value whose bytes it shares (its own id: none)
	size_t arena_bytes;
	size_t lower_bound_bytes; // of any placement of these buffers
};

// All steps have their kind. -ENOMEM, -EOVERFLOW.
int pk_cuda_memory_plan(const struct pk_cuda_steps *steps, struct pk_cuda_memory *out,
	struct pk_err *err) pk_must_check;
void pk_cuda_memory_finish(struct pk_cuda_memory *memory); // safe on a zeroed struct

// The section: u64 float type, arena bytes, lower bound, number of values, then an offset for each
// value. Only the offsets of groups count; which values share bytes is found anew.
int pk_cuda_memory_write(
	const struct pk_cuda_steps *steps, const struct pk_cuda_memory *memory, struct pk_buf *out);
// The float type comes first of all, to lay out the steps. -EBADMSG.
int pk_cuda_memory_float_type(
	const struct pk_cuda_bytes *section, enum pk_dtype *float_type, struct pk_err *err);
// Checks everything against the steps: bounds, alignment, no overlap of what is live together.
int pk_cuda_memory_read(const struct pk_cuda_steps *steps, const struct pk_cuda_bytes *section,
	struct pk_cuda_memory *out, struct pk_err *err) pk_must_check;
