// SPDX-License-Identifier: Apache-2.0
// Where the jsonl sink's writer thread puts its lines: a file, standard output, or the readers of a
// unix socket.
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/config.h"

#define PK_JSONL_MAX_READERS 32

struct pk_jsonl_reader {
	int fd;        // -1: free
	char *pending; // what its socket would not take yet
	size_t n_pending;
};

// One writer thread owns it.
struct pk_jsonl_target {
	const struct pk_jsonl_target_ops *ops;
	const char *path; // without "unix:"; the sink's
	int64_t rotate_bytes;
	int fd;             // file, standard output or listening socket; -1: not open
	int64_t size_bytes; // of the file
	struct stat opened; // the file as it was opened
	struct pk_jsonl_reader readers[PK_JSONL_MAX_READERS];
	_Atomic uint64_t *n_readers_dropped, *n_readers; // the sink's
};

struct pk_jsonl_target_ops {
	int (*open)(struct pk_jsonl_target *target, struct pk_err *err);
	// Writes whole lines; takes what it has written off the front of lines. -EAGAIN: more later
	// (poll its fds first).
	int (*write)(struct pk_jsonl_target *target, struct pk_buf *lines, struct pk_err *err);
	// Adds what must be waited for; handles what came. Both may be NULL.
	size_t (*poll_fds)(struct pk_jsonl_target *target, struct pollfd *fds, bool blocked);
	void (*handle)(struct pk_jsonl_target *target);
	void (*close)(struct pk_jsonl_target *target);
};

extern const struct pk_jsonl_target_ops pk_jsonl_file_ops;
extern const struct pk_jsonl_target_ops pk_jsonl_stdout_ops;
extern const struct pk_jsonl_target_ops pk_jsonl_socket_ops;
