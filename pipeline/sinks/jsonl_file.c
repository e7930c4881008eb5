// SPDX-License-Identifier: Apache-2.0
// Lines into a file that is rotated by size, or to standard output.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fs.h"
#include "pipeline/sinks/jsonl_target.h"

// A pipe that is ready takes this much without blocking (POSIX: at least 512).
#define PK_PIPE_CHUNK ((size_t)4096)

static void pk_jsonl_make_folder(const char *path)
{
	pk_auto_free char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	if (!slash || slash == folder)
		return;
	*slash = '\0';
	(void)pk_fs_mkdirs(folder, 0755, NULL); // opening the file tells what is wrong
}

static int pk_jsonl_file_open(struct pk_jsonl_target *target, struct pk_err *err)
{
	pk_jsonl_make_folder(target->path);
	int fd = open(target->path,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	if (fd < 0)
		return pk_fail_errno(err, "%s", target->path);
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return pk_fail(err, -EINVAL, "%s: not a regular file", target->path);
	}
	target->fd = fd;
	target->size_bytes = st.st_size;
	target->opened = st;
	return 0;
}

static void pk_jsonl_file_close(struct pk_jsonl_target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	target->fd = -1;
}

static int pk_jsonl_file_rotate(struct pk_jsonl_target *target, struct pk_err *err)
{
	char old[PATH_MAX];
	if (snprintf(old, sizeof(old), "%s.1", target->path) >= (int)sizeof(old))
		return pk_fail(err, -ENAMETOOLONG, "%s: name too long to rotate", target->path);
	pk_jsonl_file_close(target);
	if (rename(target->path, old) < 0)
		return pk_fail_errno(err, "%s: cannot be rotated", target->path);
	return pk_jsonl_file_open(target, err);
}

// Bytes of the front lines that still go into this file; 0 when not even one does.
static size_t pk_jsonl_file_room(const struct pk_jsonl_target *target, const struct pk_buf *lines)
{
	if (target->rotate_bytes <= 0 ||
		(int64_t)lines->len <= target->rotate_bytes - target->size_bytes)
		return lines->len;
	int64_t room = target->rotate_bytes - target->size_bytes;
	const char *end = room > 0 ? memrchr(lines->data, '\n', (size_t)room) : NULL;
	if (end)
		return (size_t)(end - lines->data) + 1;
	if (target->size_bytes > 0)
		return 0;
	end = memchr(lines->data, '\n', lines->len); // one line above the limit has its own file
	return end ? (size_t)(end - lines->data) + 1 : lines->len;
}

// Somebody else's rotation moved or removed the file: ours goes to where its name is.
static int pk_jsonl_file_follow(struct pk_jsonl_target *target, struct pk_err *err)
{
	struct stat now;
	if (stat(target->path, &now) == 0 && now.st_ino == target->opened.st_ino &&
		now.st_dev == target->opened.st_dev)
		return 0;
	pk_jsonl_file_close(target);
	return pk_jsonl_file_open(target, err);
}

static int pk_jsonl_file_write(
	struct pk_jsonl_target *target, struct pk_buf *lines, struct pk_err *err)
{
	int followed = pk_jsonl_file_follow(target, err);
	if (followed < 0)
		return followed;
	while (lines->len) {
		size_t n = pk_jsonl_file_room(target, lines);
		if (n == 0) {
			int r = pk_jsonl_file_rotate(target, err);
			if (r < 0)
				return r;
			continue;
		}
		ssize_t done = write(target->fd, lines->data, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return pk_fail_errno(err, "%s", target->path);
		target->size_bytes += done;
		pk_buf_consume(lines, (size_t)done);
	}
	return 0;
}

const struct pk_jsonl_target_ops pk_jsonl_file_ops = {
	.open = pk_jsonl_file_open,
	.write = pk_jsonl_file_write,
	.close = pk_jsonl_file_close,
};

static int pk_jsonl_stdout_open(struct pk_jsonl_target *target, struct pk_err *err)
{
	target->fd = STDOUT_FILENO;
	return 0;
}

static int pk_jsonl_stdout_write(
	struct pk_jsonl_target *target, struct pk_buf *lines, struct pk_err *err)
{
	while (lines->len) {
		// The descriptor is shared with others, so it is not made non-blocking: only what
		// poll promises is written.
		struct pollfd ready = {.fd = target->fd, .events = POLLOUT};
		if (poll(&ready, 1, 0) == 0)
			return -EAGAIN;
		ssize_t done = write(target->fd, lines->data, PK_MIN(lines->len, PK_PIPE_CHUNK));
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (done < 0)
			return pk_fail_errno(err, "standard output");
		pk_buf_consume(lines, (size_t)done);
	}
	return 0;
}

static size_t pk_jsonl_stdout_poll(struct pk_jsonl_target *target, struct pollfd *fds, bool blocked)
{
	if (!blocked)
		return 0;
	fds[0] = (struct pollfd){.fd = target->fd, .events = POLLOUT};
	return 1;
}

static void pk_jsonl_stdout_close(struct pk_jsonl_target *target)
{
	target->fd = -1;
}

const struct pk_jsonl_target_ops pk_jsonl_stdout_ops = {
	.open = pk_jsonl_stdout_open,
	.write = pk_jsonl_stdout_write,
	.poll_fds = pk_jsonl_stdout_poll,
	.close = pk_jsonl_stdout_close,
};
