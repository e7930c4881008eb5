// SPDX-License-Identifier: Apache-2.0
// Threads: named, without signals, joined with a limit.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

// name: at most 15 bytes are kept. Signals are the main thread's: all are blocked in it and in
// threads that it starts, but those that a thread brings upon itself (SIGSEGV and its like), by
// which base/blackbox.h knows who crashed. 0 or -errno.
int pk_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
	pk_must_check;
// False when it has not ended within timeout_ns; then it may be joined again.
bool pk_thread_join(pthread_t thread, int64_t timeout_ns) pk_must_check;
