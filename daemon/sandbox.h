// SPDX-License-Identifier: Apache-2.0
// Shuts the process in before it looks at what strangers wrote: no network, no exec, no other
// process, files only as named. By seccomp (libseccomp) and, where the kernel has it, Landlock.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_SANDBOX_MAX_PATHS 192 // a model, its card and 128 golden samples fit

struct pk_sandbox_options {
	// Besides what every program reads (libraries, /proc/cpuinfo, …); those that do not exist
	// are passed over.
	const char *read[PK_SANDBOX_MAX_PATHS]; // files, or folders with all below
	size_t n_read;
	const char
		*write[PK_SANDBOX_MAX_PATHS]; // folders: files below may also be made and removed
	size_t n_write;
	// For runtimes of accelerators: their device files may be opened and driven, code may be
	// made executable.
	bool devices;
};

struct pk_sandbox_status {
	bool seccomp;     // else this kernel has none
	int landlock_abi; // 0: this kernel has none, paths are only as protected as their modes
};

// For this thread and all that it starts, for ever; call it before there is another. Also lowers
// limits: no core file, 256 descriptors. What is refused fails with EPERM (system calls, sockets,
// exec, fork, signals to others) or EACCES (paths). A kernel that lacks a part is not an error:
// *status tells. -EINVAL, -ENOMEM, errno of the calls.
int pk_sandbox_enter(const struct pk_sandbox_options *options, struct pk_sandbox_status *status,
	struct pk_err *err) pk_must_check;

// The part by Landlock: its ABI version, 0 where there is none, or -errno.
int pk_sandbox_limit_paths(const struct pk_sandbox_options *options, struct pk_err *err)
	pk_must_check;

// What a process inside finds when it tries; for tests and `picketctl doctor`.
struct pk_sandbox_probe {
	bool socket, exec, fork, write; // true: it went through
};
// write_path: a file that should not be creatable.
void pk_sandbox_try(const char *write_path, struct pk_sandbox_probe *probe);
