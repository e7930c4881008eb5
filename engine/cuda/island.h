// SPDX-License-Identifier: Apache-2.0
// A step that the cpu's kernel carries out, in the stream's order: operands to the host, the kernel
// by a host function of the stream, results back.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/steps.h"

struct pk_cuda_island; // of a loaded engine: kernel, its state and packed weights

int pk_cuda_island_create(const struct pk_cuda_step *step, struct pk_cuda_island **out,
	struct pk_err *err) pk_must_check;
void pk_cuda_island_destroy(struct pk_cuda_island *island); // takes NULL

struct pk_cuda_island_run; // of a context: buffers. cuda's context is current in all calls
int pk_cuda_island_run_create(const struct pk_cuda_island *island, struct pk_cuda *cuda,
	struct pk_cuda_island_run **out, struct pk_err *err) pk_must_check;
void pk_cuda_island_run_destroy(struct pk_cuda_island_run *run); // takes NULL; stream at rest

// Puts copies and host function into the stream; never allocates.
int pk_cuda_island_enqueue(struct pk_cuda_island_run *run, const struct pk_cuda_addresses *at,
	struct pk_cu_stream *stream, struct pk_err *err) pk_must_check;
