// SPDX-License-Identifier: Apache-2.0
// Files: bounded reads, power-cut-safe writes, read-only maps.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

// Appends the whole regular file to out; -EFBIG above max_bytes.
int pk_fs_read(const char *path, size_t max_bytes, struct pk_buf *out, struct pk_err *err);

// Power-cut safe: writes a temporary file beside path, fsync, rename, fsync of the folder. Readers
// see the old bytes or the new ones, whole. mode: permission bits.
int pk_fs_write_atomic(
	const char *path, const void *bytes, size_t n, mode_t mode, struct pk_err *err);

// The same for a file that is written in pieces. Open with begin, write to fd, then commit or
// abort. Commit releases everything in either outcome. A power cut may leave "PATH.XXXXXX.tmp".
struct pk_fs_atomic {
	int fd;           // the caller writes here
	char *tmp_path;   // beside the target
	char *final_path; // the target
	bool renamed;     // the temporary name is gone
};
int pk_fs_atomic_begin(struct pk_fs_atomic *file, const char *path, mode_t mode, struct pk_err *err)
	pk_must_check;
int pk_fs_atomic_commit(struct pk_fs_atomic *file, struct pk_err *err) pk_must_check;
void pk_fs_atomic_abort(struct pk_fs_atomic *file); // safe after commit and on a zeroed struct

// Makes the names in path's folder durable.
int pk_fs_sync_folder_of(const char *path, struct pk_err *err) pk_must_check;

// Writes all n bytes or fails; retries short writes and EINTR. 0 or -errno. What makes or changes
// files here goes through base/fsops.h.
int pk_fs_write_all(int fd, const void *bytes, size_t n);

// mkdir -p; existing folders are fine.
int pk_fs_mkdirs(const char *path, mode_t mode, struct pk_err *err);
// Removes a tree below path and path itself; does not follow links. A missing path is fine. -ELOOP
// when folders nest deeper than 64.
int pk_fs_remove_tree(const char *path, struct pk_err *err);
bool pk_fs_exists(const char *path);
int64_t pk_fs_size(const char *path); // bytes, or -errno

// "a" + "/" + "b" in a malloc'ed string; b absolute wins. NULL: no memory.
char *pk_fs_join(const char *a, const char *b) pk_must_check;

// Read-only private map of a regular file of 1..max_bytes bytes; -ENODATA when it is empty. Reading
// past the end of a file that was cut meanwhile is SIGBUS: map what nobody else writes.
struct pk_fs_map {
	const uint8_t *data;
	size_t size;
};
int pk_fs_map(struct pk_fs_map *map, const char *path, size_t max_bytes, struct pk_err *err)
	pk_must_check;
void pk_fs_unmap(struct pk_fs_map *map); // safe on a zeroed struct
