// SPDX-License-Identifier: Apache-2.0
// The breaker of the worker's crash loop: counts ends soon after the start, over restarts of
// picketd and boots, and stretches the pauses.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

#define PK_CRASH_LOOP_FROM 6 // so many in a row are a loop
#define PK_CRASH_BLAME_MAX 96

struct pk_crash_loop {
	char *path;                     // NULL: nothing is kept
	unsigned n;                     // in a row
	char blame[PK_CRASH_BLAME_MAX]; // of the last; ""
};

// Reads DIR/worker-crashes; dir NULL: not kept. A damaged file counts as none. 0 or -ENOMEM.
int pk_crash_loop_init(struct pk_crash_loop *loop, const char *dir) pk_must_check;
void pk_crash_loop_finish(struct pk_crash_loop *loop);

// It ended without being told to, soon after its start. True when this makes it a loop.
bool pk_crash_loop_crashed(struct pk_crash_loop *loop, const char *blame);
void pk_crash_loop_healthy(struct pk_crash_loop *loop); // it has lived long enough
bool pk_crash_loop_open(const struct pk_crash_loop *loop);
// The least pause before the next start: 0 below the limit, then first_ns, doubling four times at
// most.
int64_t pk_crash_loop_pause_ns(const struct pk_crash_loop *loop, int64_t first_ns);
