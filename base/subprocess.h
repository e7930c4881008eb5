// SPDX-License-Identifier: Apache-2.0
// Child processes by pidfd, with limits and a death pact.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_subprocess_fd {
	int parent_fd; // stays the parent's
	int child_fd;  // number it gets in the child (>= 3), or 0..2
};

struct pk_subprocess_options {
	const char *const *argv;            // NULL-ended; argv[0] is an absolute path
	const char *const *env;             // NULL: inherit; else the whole environment
	const struct pk_subprocess_fd *fds; // given to the child; everything else above 2 is closed
	size_t n_fds;
	int nice;                  // added to the niceness
	bool idle_io;              // ioprio class idle
	uint64_t max_memory_bytes; // RLIMIT_AS; 0: none
	uint64_t max_cpu_s;        // RLIMIT_CPU; 0: none
	uint64_t max_file_bytes;   // RLIMIT_FSIZE; 0: none
	int oom_score_adj;         // 0: leave
	// SIGKILL when the thread that started it ends (PR_SET_PDEATHSIG is per thread): start it
	// from one that lives as long as the process.
	bool die_with_parent;
};

struct pk_subprocess {
	pid_t pid; // 0: none
	int pidfd; // readable when it has ended; -1: none
};

struct pk_exit_status {
	bool signalled;
	int code; // exit code, or the signal's number
	bool core_dumped;
	uint64_t max_rss_bytes;
	int64_t cpu_ns;
};

// Any thread, also of a process with many. Returns when the child has executed argv[0]; when it
// could not (no such file, a refused limit), the reason is in err, its errno is returned and
// nothing is left to reap. At most 32 descriptors. Limits above those that stand are lowered to
// them.
int pk_subprocess_start(struct pk_subprocess *proc, const struct pk_subprocess_options *options,
	struct pk_err *err) pk_must_check;
int pk_subprocess_signal(const struct pk_subprocess *proc, int signal); // by pidfd; 0 or -errno
// Reaps when it has ended: 1 and *status; 0 when it still runs after timeout_ms (0: do not wait,
// negative: for ever); or -errno. Frees the pidfd when it returns 1.
int pk_subprocess_wait(struct pk_subprocess *proc, int timeout_ms, struct pk_exit_status *status);
// "exit code 3", "killed by SIGSEGV"
#define PK_EXIT_TEXT_MAX 48
void pk_exit_status_format(const struct pk_exit_status *status, char out[PK_EXIT_TEXT_MAX]);
