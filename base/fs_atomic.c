// SPDX-License-Identifier: Apache-2.0
// Power-cut-safe replacement of a file.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/fs.h"
#include "base/fsops.h"

#define MAX_NAME_ATTEMPT 16

int pk_fs_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n > 0) {
		ssize_t written = pk_fsops()->write(fd, p, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		p += written;
		n -= (size_t)written;
	}
	return 0;
}

// Opens "PATH.<random>.tmp", a name that nobody has.
static int open_tmp(const char *path, char **tmp_path)
{
	for (int i = 0; i < MAX_NAME_ATTEMPT; i++) {
		uint32_t salt;
		if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
			return -1;
		if (asprintf(tmp_path, "%s.%06" PRIx32 ".tmp", path, salt & 0xffffff) < 0) {
			*tmp_path = NULL;
			return -1;
		}
		int fd = pk_fsops()->open(
			AT_FDCWD, *tmp_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
		free(pk_steal(*tmp_path));
	}
	errno = EEXIST;
	return -1;
}

int pk_fs_atomic_begin(struct pk_fs_atomic *file, const char *path, mode_t mode, struct pk_err *err)
{
	*file = (struct pk_fs_atomic){.fd = -1};
	pk_auto_free char *final_path = strdup(path);
	pk_auto_free char *tmp_path = NULL;
	if (!final_path)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	int fd = open_tmp(path, &tmp_path);
	if (fd < 0)
		return pk_fail_errno(err, "%s: temporary file", path);
	file->fd = fd;
	file->tmp_path = pk_steal(tmp_path);
	file->final_path = pk_steal(final_path);
	if (pk_fsops()->fchmod(fd, mode) < 0) {
		int r = pk_fail_errno(err, "%s: chmod", path);
		pk_fs_atomic_abort(file);
		return r;
	}
	return 0;
}

void pk_fs_atomic_abort(struct pk_fs_atomic *file)
{
	if (!file->tmp_path) // zeroed, committed or aborted before
		return;
	int saved = errno;
	if (file->fd >= 0)
		pk_fsops()->close(file->fd);
	if (!file->renamed)
		pk_fsops()->unlink(AT_FDCWD, file->tmp_path, 0);
	free(file->tmp_path);
	free(file->final_path);
	*file = (struct pk_fs_atomic){.fd = -1};
	errno = saved;
}

int pk_fs_sync_folder_of(const char *path, struct pk_err *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
	pk_auto_free char *folder = slash ? strndup(path, len) : strdup(".");
	if (!folder)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	pk_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || pk_fsops()->fsync(fd) < 0)
		return pk_fail_errno(err, "%s: sync", folder);
	return 0;
}

static int pk_fs_atomic_finish(struct pk_fs_atomic *file, struct pk_err *err)
{
	PK_FAULT("atomic/written");
	if (pk_fsops()->fsync(file->fd) < 0)
		return pk_fail_errno(err, "%s: sync", file->final_path);
	int fd = pk_steal_fd(file->fd);
	if (pk_fsops()->close(fd) < 0) // a network file system may report a lost write here
		return pk_fail_errno(err, "%s: close", file->final_path);
	PK_FAULT("atomic/synced");
	if (pk_fsops()->rename(AT_FDCWD, file->tmp_path, AT_FDCWD, file->final_path) < 0)
		return pk_fail_errno(err, "%s: rename", file->final_path);
	file->renamed = true;
	PK_FAULT("atomic/renamed");
	return pk_fs_sync_folder_of(file->final_path, err);
}

int pk_fs_atomic_commit(struct pk_fs_atomic *file, struct pk_err *err)
{
	if (!file->tmp_path)
		return pk_fail(err, -EINVAL, "commit of a file that was not begun");
	int r = pk_fs_atomic_finish(file, err);
	pk_fs_atomic_abort(file); // after the rename only frees: the temporary name is gone
	return r;
}

int pk_fs_write_atomic(
	const char *path, const void *bytes, size_t n, mode_t mode, struct pk_err *err)
{
	struct pk_fs_atomic file;
	int r = pk_fs_atomic_begin(&file, path, mode, err);
	if (r < 0)
		return r;
	r = pk_fs_write_all(file.fd, bytes, n);
	if (r < 0) {
		errno = -r;
		pk_fail_errno(err, "%s: write", path);
		pk_fs_atomic_abort(&file);
		return r;
	}
	return pk_fs_atomic_commit(&file, err);
}
