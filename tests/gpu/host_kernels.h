// SPDX-License-Identifier: Apache-2.0
// The GPU kernels of engine/cuda/kernels built for the host: what a fake driver launches, and how
// tests steer the order of the threads. No real concurrency: one thread of a block runs at a time,
// from barrier to barrier. One launch at a time (a lock sees to it).
#pragma once

#include <stdbool.h>

#include "tests/lib/host_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// NULL when there is no such entry.
const struct pk_host_kernel *pk_host_kernel_by_name(const char *name);

enum pk_host_order {
	PK_HOST_FORWARD,
	PK_HOST_REVERSE,
	PK_HOST_RANDOM, // a new order from barrier to barrier
};
// Order of threads and blocks of the launches to come.
void pk_host_set_order(enum pk_host_order order, unsigned seed);

// The idx-th barrier that launches have met since pk_host_forget_barriers: its line, 0: no more.
int pk_host_barrier_at(int idx);
void pk_host_forget_barriers(void);
// The barrier in this line does nothing from now on; 0: all do.
void pk_host_drop_barrier(int line);

// Whether threads of a block met at different barriers, or ended while others waited, since the
// last call: undefined on a GPU.
bool pk_host_take_divergence(void);

#ifdef __cplusplus
}
#endif
