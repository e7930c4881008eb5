// SPDX-License-Identifier: Apache-2.0
// Power-cut-safe replacement of a file.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define PK_TMP_SUFFIX ".XXXXXX.tmp"

int pk_fs_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n > 0) {
		ssize_t written = write(fd, p, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		p += written;
		n -= (size_t)written;
	}
	return 0;
}

int pk_fs_atomic_begin(struct pk_fs_atomic *file, const char *path, mode_t mode, struct pk_err *err)
{
	*file = (struct pk_fs_atomic){.fd = -1};
	pk_auto_free char *final_path = strdup(path);
	pk_auto_free char *tmp_path = NULL;
	if (!final_path || asprintf(&tmp_path, "%s" PK_TMP_SUFFIX, path) < 0)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	int fd = mkostemps(tmp_path, (int)strlen(".tmp"), O_CLOEXEC);
	if (fd < 0)
		return pk_fail_errno(err, "%s: temporary file", path);
	file->fd = fd;
	file->tmp_path = pk_steal(tmp_path);
	file->final_path = pk_steal(final_path);
	if (fchmod(fd, mode) < 0) {
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
		close(file->fd);
	unlink(file->tmp_path);
	free(file->tmp_path);
	free(file->final_path);
	*file = (struct pk_fs_atomic){.fd = -1};
	errno = saved;
}

static int pk_fs_sync_folder_of(const char *path, struct pk_err *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
	pk_auto_free char *folder = slash ? strndup(path, len) : strdup(".");
	if (!folder)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	pk_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return pk_fail_errno(err, "%s: sync", folder);
	return 0;
}

static int pk_fs_atomic_finish(struct pk_fs_atomic *file, struct pk_err *err)
{
	if (fsync(file->fd) < 0)
		return pk_fail_errno(err, "%s: sync", file->final_path);
	int fd = pk_steal_fd(file->fd);
	if (close(fd) < 0) // a network file system may report a lost write here
		return pk_fail_errno(err, "%s: close", file->final_path);
	if (rename(file->tmp_path, file->final_path) < 0)
		return pk_fail_errno(err, "%s: rename", file->final_path);
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
