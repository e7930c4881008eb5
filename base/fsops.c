// SPDX-License-Identifier: Apache-2.0
// The real table of file system calls, and which one is in use.
#include "base/fsops.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int real_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	return openat(dir_fd, path, flags, mode);
}

const struct pk_fsops pk_fsops_real = {
	.open = real_open,
	.write = write,
	.ftruncate = ftruncate,
	.fallocate = fallocate,
	.fchmod = fchmod,
	.fsync = fsync,
	.fdatasync = fdatasync,
	.close = close,
	.rename = renameat,
	.unlink = unlinkat,
	.mkdir = mkdirat,
	.statvfs = fstatvfs,
};

static _Atomic(const struct pk_fsops *) in_use = &pk_fsops_real;

const struct pk_fsops *pk_fsops(void)
{
	return atomic_load_explicit(&in_use, memory_order_relaxed);
}

void pk_fsops_replace(const struct pk_fsops *ops)
{
	atomic_store(&in_use, ops ? ops : &pk_fsops_real);
}
