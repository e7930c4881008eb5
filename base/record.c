// SPDX-License-Identifier: Apache-2.0
// Records: checksum first, then the content; written beside, synced, renamed, one generation kept.
#include "base/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fault.h"
#include "base/fs.h"

#define HEAD_BYTES      PK_DIGEST_TEXT // '\n' in the place of NUL
#define MAX_FILE_BYTES  (HEAD_BYTES + PK_RECORD_MAX_BYTES)
#define ROOM_FOR_MAKING (4 * (uint64_t)PK_RECORD_BALLAST_BYTES)

struct paths {
	char *tmp, *previous, *folder, *ballast;
};

static void finish_paths(struct paths *paths)
{
	free(paths->tmp);
	free(paths->previous);
	free(paths->folder);
	free(paths->ballast);
}

static char *make_path(const char *a, const char *b)
{
	char *path = NULL;
	return asprintf(&path, "%s%s", a, b) < 0 ? NULL : path;
}

static int init_paths(struct paths *paths, const char *path, struct pk_err *err)
{
	const char *slash = strrchr(path, '/');
	*paths = (struct paths){
		.tmp = make_path(path, ".tmp"),
		.previous = make_path(path, PK_RECORD_PREVIOUS),
		.folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./"),
	};
	if (paths->folder)
		paths->ballast = make_path(paths->folder, PK_RECORD_BALLAST);
	return paths->tmp && paths->previous && paths->ballast
		       ? 0
		       : pk_fail(err, -ENOMEM, "%s: out of memory", path);
}

int pk_record_check(const void *file, size_t n, const char **content, size_t *n_content)
{
	const char *text = file;
	struct pk_digest want, have;
	char head[HEAD_BYTES];
	if (n < HEAD_BYTES || n > MAX_FILE_BYTES || text[HEAD_BYTES - 1] != '\n')
		return -EBADMSG;
	memcpy(head, text, HEAD_BYTES - 1);
	head[HEAD_BYTES - 1] = '\0';
	if (pk_digest_parse(head, &want) < 0 ||
		pk_digest_bytes(text + HEAD_BYTES, n - HEAD_BYTES, &have) < 0 ||
		!pk_digest_equal(&want, &have))
		return -EBADMSG;
	*content = text + HEAD_BYTES;
	*n_content = n - HEAD_BYTES;
	return 0;
}

// Of one generation.
static int load_file(const char *path, struct pk_buf *out, struct pk_err *err)
{
	const char *content;
	size_t n;
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_FILE_BYTES);
	int r = pk_fs_read(path, MAX_FILE_BYTES, &file, err);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r < 0 || pk_record_check(file.data ? file.data : "", file.len, &content, &n) < 0)
		return pk_fail(err, -EBADMSG, "%s is damaged", path);
	r = out ? pk_buf_append(out, content, n) : 0;
	return r < 0 ? pk_fail(err, r, "%s: no room to read it", path) : 0;
}

int pk_record_load(const char *path, struct pk_buf *out, bool *used_previous, struct pk_err *err)
{
	struct pk_err ignored;
	pk_auto_free char *previous = make_path(path, PK_RECORD_PREVIOUS);
	if (used_previous)
		*used_previous = false;
	if (!previous)
		return pk_fail(err, -ENOMEM, "%s: out of memory", path);
	int first = load_file(path, out, err);
	if (first != -ENOENT && first != -EBADMSG)
		return first;
	int second = load_file(previous, out, &ignored);
	if (second == 0 && used_previous)
		*used_previous = true;
	// One of them damaged and the other not there is damage: something was remembered once.
	return second == -ENOENT ? first : second;
}

static int write_tmp(const struct pk_fsops *ops, int fd, const char *path, const void *bytes,
	size_t n, struct pk_err *err)
{
	for (const char *p = bytes; n > 0;) {
		ssize_t written = ops->write(fd, p, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return pk_fail_errno(err, "%s: write", path);
		p += written;
		n -= (size_t)written;
	}
	return 0;
}

static int write_durably(
	const struct pk_fsops *ops, const char *path, const struct pk_buf *file, struct pk_err *err)
{
	int fd = ops->open(
		AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return pk_fail_errno(err, "%s", path);
	int r = write_tmp(ops, fd, path, file->data, file->len, err);
	PK_FAULT("record/written");
	if (r == 0 && ops->fsync(fd) < 0)
		r = pk_fail_errno(err, "%s: sync", path);
	if (ops->close(fd) < 0 && r == 0)
		r = pk_fail_errno(err, "%s: close", path);
	PK_FAULT("record/synced");
	return r;
}

static int sync_folder(const struct pk_fsops *ops, const char *folder, struct pk_err *err)
{
	pk_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || ops->fsync(fd) < 0)
		return pk_fail_errno(err, "%s: sync", folder);
	return 0;
}

// Only a whole record is worth being the previous one. Between the two renames there is none under
// path, and a load takes the previous one: the old content.
static int put_in_place(
	const struct pk_fsops *ops, const char *path, const struct paths *paths, struct pk_err *err)
{
	if (load_file(path, NULL, NULL) == 0 &&
		ops->rename(AT_FDCWD, path, AT_FDCWD, paths->previous) < 0)
		return pk_fail_errno(err, "%s: rename", path);
	PK_FAULT("record/previous");
	if (ops->rename(AT_FDCWD, paths->tmp, AT_FDCWD, path) < 0)
		return pk_fail_errno(err, "%s: rename", path);
	PK_FAULT("record/renamed");
	return sync_folder(ops, paths->folder, err);
}

static int try_save(const struct pk_fsops *ops, const char *path, const struct paths *paths,
	const struct pk_buf *file, struct pk_err *err)
{
	int r = write_durably(ops, paths->tmp, file, err);
	if (r == 0)
		r = put_in_place(ops, path, paths, err);
	if (r < 0)
		(void)ops->unlink(AT_FDCWD, paths->tmp, 0);
	return r;
}

static bool is_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

static int fill_ballast(const struct pk_fsops *ops, int fd)
{
	static const char zeros[1 << 12];
	if (ops->fallocate(fd, 0, 0, PK_RECORD_BALLAST_BYTES) == 0)
		return 0;
	if (errno == ENOSPC || errno == EDQUOT)
		return -1;
	for (int i = 0; i < PK_RECORD_BALLAST_BYTES / (int)sizeof(zeros); i++)
		if (ops->write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros))
			return -1;
	return 0;
}

static void make_ballast(const struct pk_fsops *ops, const char *folder, const char *path)
{
	struct statvfs fs;
	if (access(path, F_OK) == 0 || statvfs(folder, &fs) < 0 ||
		(uint64_t)fs.f_bavail * fs.f_frsize < ROOM_FOR_MAKING)
		return;
	int fd = ops->open(
		AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	int r = fill_ballast(ops, fd);
	if (ops->close(fd) < 0 || r < 0)
		(void)ops->unlink(AT_FDCWD, path, 0);
}

static int encode(const void *bytes, size_t n, struct pk_buf *file)
{
	struct pk_digest digest;
	char head[PK_DIGEST_TEXT];
	int r = pk_digest_bytes(bytes, n, &digest);
	if (r < 0)
		return r;
	pk_digest_format(&digest, head);
	pk_buf_printf(file, "%s\n", head);
	pk_buf_append(file, bytes, n);
	return pk_buf_error(file);
}

int pk_record_save(const struct pk_fsops *ops, const char *path, const void *bytes, size_t n,
	struct pk_err *err)
{
	struct paths paths pk_cleanup(finish_paths) = {0};
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_FILE_BYTES);
	ops = ops ? ops : pk_fsops();
	if (n > PK_RECORD_MAX_BYTES)
		return pk_fail(err, -EFBIG, "%s: larger than %u bytes", path, PK_RECORD_MAX_BYTES);
	int r = init_paths(&paths, path, err);
	if (r == 0 && encode(bytes, n, &file) < 0)
		r = pk_fail(err, -ENOMEM, "%s: out of memory", path);
	if (r < 0)
		return r;
	r = try_save(ops, path, &paths, &file, err);
	if (is_full(r) && ops->unlink(AT_FDCWD, paths.ballast, 0) == 0)
		r = try_save(ops, path, &paths, &file, err);
	if (r == 0)
		make_ballast(ops, paths.folder, paths.ballast);
	return r;
}
