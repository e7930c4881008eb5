// SPDX-License-Identifier: Apache-2.0
// Private to subprocess: what happens in the child between fork and exec.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/subprocess.h"

#define PK_SUBPROCESS_FDS_MAX 32

// What the child was doing when it failed; sent to the parent through the error pipe.
struct pk_child_failure {
	int step;  // index for pk_child_step_name
	int error; // errno
};

// Prepared by the parent so that the child only makes system calls.
struct pk_child_plan {
	const struct pk_subprocess_options *options;
	int error_fd; // write end of the error pipe, close-on-exec
	pid_t parent_pid;
	int kept_fds[PK_SUBPROCESS_FDS_MAX]; // child_fd numbers above 2, ascending
	size_t n_kept;
	int floor_fd; // above every child_fd
};

// Never returns. Only async-signal-safe calls: the parent may have threads.
void pk_child_run(const struct pk_child_plan *plan) pk_noreturn;
const char *pk_child_step_name(int step);
