// SPDX-License-Identifier: Apache-2.0
// Files: bounded reads, folders and trees, read-only maps.
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

#define PK_FS_TREE_DEPTH_MAX 64
#define PK_FS_READ_BYTES     65536

// O_NONBLOCK: opening a FIFO that somebody put there must not hang.
static int pk_fs_open_regular(const char *path, struct stat *st, struct pk_err *err)
{
	pk_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, st) < 0)
		return pk_fail_errno(err, "%s", path);
	if (!S_ISREG(st->st_mode))
		return pk_fail(err, S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL,
			"%s: not a regular file", path);
	return pk_steal_fd(fd);
}

static int pk_fs_read_fd(
	int fd, const char *path, size_t max_bytes, struct pk_buf *out, struct pk_err *err)
{
	pk_auto_free char *chunk = malloc(PK_FS_READ_BYTES);
	if (!chunk)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	for (size_t total = 0;;) {
		ssize_t n = read(fd, chunk, PK_FS_READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pk_fail_errno(err, "%s: read", path);
		if (n == 0)
			return 0;
		total += (size_t)n; // a file may grow while it is read
		if (total > max_bytes)
			return pk_fail(err, -EFBIG, "%s: larger than %zu bytes", path, max_bytes);
		if (pk_buf_append(out, chunk, (size_t)n) < 0)
			return pk_fail(err, pk_buf_error(out), "%s: no room to read it", path);
	}
}

int pk_fs_read(const char *path, size_t max_bytes, struct pk_buf *out, struct pk_err *err)
{
	struct stat st;
	pk_auto_close int fd = pk_fs_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > max_bytes)
		return pk_fail(err, -EFBIG, "%s: larger than %zu bytes", path, max_bytes);
	size_t before = out->len;
	int r = pk_fs_read_fd(fd, path, max_bytes, out, err);
	if (r < 0 && out->data) {
		out->len = before;
		out->data[before] = '\0';
	}
	return r;
}

static int pk_fs_mkdir_one(const char *path, mode_t mode)
{
	struct stat st;
	if (mkdir(path, mode) == 0)
		return 0;
	int saved = errno; // EEXIST, or EACCES/EROFS on a parent that is there already
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return -saved;
}

int pk_fs_mkdirs(const char *path, mode_t mode, struct pk_err *err)
{
	pk_auto_free char *copy = strdup(path);
	if (!copy)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	for (char *p = copy + (copy[0] == '/');; p++) {
		char c = *p;
		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		int r = pk_fs_mkdir_one(copy, mode);
		if (r < 0) {
			errno = -r;
			return pk_fail_errno(err, "%s: mkdir", copy);
		}
		*p = c;
		if (c == '\0')
			return 0;
		while (p[1] == '/')
			p++;
		if (p[1] == '\0')
			return 0;
	}
}

static int pk_fs_remove_at(int parent_fd, const char *name, int depth);

static bool pk_fs_is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int pk_fs_empty_folder(int parent_fd, const char *name, int depth)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int r = -errno;
		close(fd);
		return r;
	}
	int r = 0;
	for (struct dirent *entry; r == 0 && (errno = 0, entry = readdir(dir)) != NULL;)
		if (!pk_fs_is_dot(entry->d_name))
			r = pk_fs_remove_at(dirfd(dir), entry->d_name, depth + 1);
	if (r == 0)
		r = -errno;
	closedir(dir);
	return r;
}

static int pk_fs_remove_at(int parent_fd, const char *name, int depth)
{
	if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM) // POSIX says EPERM, Linux EISDIR
		return -errno;
	if (depth >= PK_FS_TREE_DEPTH_MAX)
		return -ELOOP;
	int r = pk_fs_empty_folder(parent_fd, name, depth);
	if (r < 0)
		return r;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

int pk_fs_remove_tree(const char *path, struct pk_err *err)
{
	int r = pk_fs_remove_at(AT_FDCWD, path, 0);
	if (r < 0) {
		errno = -r;
		return pk_fail_errno(err, "%s: remove", path);
	}
	return 0;
}

bool pk_fs_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

int64_t pk_fs_size(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (int64_t)st.st_size : -errno;
}

char *pk_fs_join(const char *a, const char *b)
{
	if (b[0] == '/' || a[0] == '\0')
		return strdup(b);
	char *out = NULL;
	const char *slash = a[strlen(a) - 1] == '/' ? "" : "/";
	return asprintf(&out, "%s%s%s", a, slash, b) < 0 ? NULL : out;
}

int pk_fs_map(struct pk_fs_map *map, const char *path, size_t max_bytes, struct pk_err *err)
{
	*map = (struct pk_fs_map){0};
	struct stat st;
	pk_auto_close int fd = pk_fs_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	if (st.st_size <= 0)
		return pk_fail(err, -ENODATA, "%s: empty", path);
	if ((uint64_t)st.st_size > max_bytes)
		return pk_fail(err, -EFBIG, "%s: larger than %zu bytes", path, max_bytes);
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return pk_fail_errno(err, "%s: map", path);
	*map = (struct pk_fs_map){.data = data, .size = (size_t)st.st_size};
	return 0;
}

void pk_fs_unmap(struct pk_fs_map *map)
{
	if (map->data)
		munmap((void *)(uintptr_t)map->data, map->size);
	*map = (struct pk_fs_map){0};
}
