// SPDX-License-Identifier: Apache-2.0
// The file system calls that change something on disk, and the one that tells its room, as a table:
// everything that must survive a power cut goes through it, so that tests can record, cut and
// refuse at any call.
#pragma once

#include <sys/statvfs.h>
#include <sys/types.h>

// Each member is the call of that name (open: openat; statvfs: fstatvfs), with its errors in errno.
struct pk_fsops {
	int (*open)(int dir_fd, const char *path, int flags, mode_t mode);
	ssize_t (*write)(int fd, const void *bytes, size_t n);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t offset, off_t n);
	int (*fchmod)(int fd, mode_t mode);
	int (*fsync)(int fd);
	int (*fdatasync)(int fd);
	int (*close)(int fd);
	int (*rename)(int old_dir_fd, const char *old_path, int dir_fd, const char *path);
	int (*unlink)(int dir_fd, const char *path, int flags);
	int (*mkdir)(int dir_fd, const char *path, mode_t mode);
	int (*statvfs)(int fd, struct statvfs *out);
};

extern const struct pk_fsops pk_fsops_real;

// The table in use: the real one, unless a test put its own. Any thread.
const struct pk_fsops *pk_fsops(void);
// For tests, before threads run. NULL: the real one. *ops outlives its use.
void pk_fsops_replace(const struct pk_fsops *ops);
