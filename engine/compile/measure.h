// SPDX-License-Identifier: Apache-2.0
// Times a piece of work the way the frame path meets it: with cold caches.
#pragma once

#include <stdint.h>

#include "base/attr.h"

struct pk_measure;

// scratch to evict caches with; NULL: no memory.
struct pk_measure *pk_measure_create(void) pk_must_check;
void pk_measure_destroy(struct pk_measure *measure);
PK_DEFINE_AUTO(pk_measure, pk_measure_destroy);

// Median of up to 7 runs after one warm-up, each with caches evicted; stops early once budget_ns of
// wall clock is spent (at least one timed run). Microseconds of this thread's CPU time: builds run
// beside cameras, whose share of the cores must not decide which kernel is faster.
double pk_measure_run(
	struct pk_measure *measure, void (*run)(void *ctx), void *ctx, int64_t budget_ns);
