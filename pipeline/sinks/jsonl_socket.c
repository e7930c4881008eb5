// SPDX-License-Identifier: Apache-2.0
// Lines to every reader of a unix socket; a reader that falls too far behind is hung up on.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pipeline/sinks/jsonl_target.h"

// Bytes that may wait for one reader beyond what its socket holds.
#define PK_READER_PENDING (256u * 1024u)

static int pk_socket_address(const char *path, struct sockaddr_un *address, struct pk_err *err)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return pk_fail(err, -ENAMETOOLONG,
			"%s: longer than the %zu bytes of a socket's name", path,
			sizeof(address->sun_path) - 1);
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

// A socket that nobody listens on is left over from a killed process; anything else stays.
static void pk_socket_remove_stale(const struct sockaddr_un *address)
{
	struct stat st;
	if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	pk_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		errno == ECONNREFUSED)
		unlink(address->sun_path);
}

static int pk_jsonl_socket_open(struct pk_jsonl_target *target, struct pk_err *err)
{
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++)
		target->readers[i].fd = -1;
	struct sockaddr_un address;
	int r = pk_socket_address(target->path, &address, err);
	if (r < 0)
		return r;
	pk_socket_remove_stale(&address);
	pk_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return pk_fail_errno(err, "socket");
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return pk_fail_errno(err, "%s", target->path);
	// Whoever may connect reads the results: the group, not the world.
	if (chmod(target->path, 0660) < 0 || listen(fd, 16) < 0)
		return pk_fail_errno(err, "%s", target->path);
	target->fd = pk_steal_fd(fd);
	return 0;
}

static void pk_reader_close(struct pk_jsonl_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->pending);
	*reader = (struct pk_jsonl_reader){.fd = -1};
}

static struct pk_jsonl_reader *pk_reader_free_slot(struct pk_jsonl_target *target)
{
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++)
		if (target->readers[i].fd < 0)
			return &target->readers[i];
	return NULL;
}

static void pk_jsonl_socket_accept(struct pk_jsonl_target *target)
{
	for (;;) {
		pk_auto_close int fd =
			accept4(target->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		struct pk_jsonl_reader *reader = pk_reader_free_slot(target);
		char *pending = reader ? malloc(PK_READER_PENDING) : NULL;
		if (!pending)
			continue; // hung up at once
		*reader = (struct pk_jsonl_reader){.fd = pk_steal_fd(fd), .pending = pending};
	}
}

// Sends what it can; 0, or negative when the reader is gone.
static ssize_t pk_reader_send(struct pk_jsonl_reader *reader, const char *bytes, size_t n)
{
	size_t sent = 0;
	while (sent < n) {
		ssize_t done =
			send(reader->fd, bytes + sent, n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (done < 0)
			return -errno;
		sent += (size_t)done;
	}
	return (ssize_t)sent;
}

static void pk_reader_flush(struct pk_jsonl_reader *reader)
{
	ssize_t sent = pk_reader_send(reader, reader->pending, reader->n_pending);
	if (sent < 0) {
		pk_reader_close(reader);
		return;
	}
	reader->n_pending -= (size_t)sent;
	memmove(reader->pending, reader->pending + sent, reader->n_pending);
}

static void pk_reader_write(
	struct pk_jsonl_target *target, struct pk_jsonl_reader *reader, const char *bytes, size_t n)
{
	if (reader->n_pending)
		pk_reader_flush(reader);
	if (reader->fd < 0)
		return;
	ssize_t sent = reader->n_pending ? 0 : pk_reader_send(reader, bytes, n);
	if (sent < 0) {
		pk_reader_close(reader);
		return;
	}
	size_t left = n - (size_t)sent;
	if (left > PK_READER_PENDING - reader->n_pending) {
		atomic_fetch_add_explicit(target->n_readers_dropped, 1, memory_order_relaxed);
		pk_reader_close(reader);
		return;
	}
	memcpy(reader->pending + reader->n_pending, bytes + sent, left);
	reader->n_pending += left;
}

static int pk_jsonl_socket_write(
	struct pk_jsonl_target *target, struct pk_buf *lines, struct pk_err *err)
{
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++)
		if (target->readers[i].fd >= 0)
			pk_reader_write(target, &target->readers[i], lines->data, lines->len);
	pk_buf_clear(lines);
	return 0;
}

static size_t pk_jsonl_socket_poll(struct pk_jsonl_target *target, struct pollfd *fds, bool blocked)
{
	size_t n = 0;
	fds[n++] = (struct pollfd){.fd = target->fd, .events = POLLIN};
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++) {
		const struct pk_jsonl_reader *reader = &target->readers[i];
		short events = reader->n_pending ? POLLIN | POLLOUT : POLLIN;
		if (reader->fd >= 0)
			fds[n++] = (struct pollfd){.fd = reader->fd, .events = events};
	}
	return n;
}

// Readers have nothing to say: what they send is thrown away, their end is noticed.
static void pk_reader_listen(struct pk_jsonl_reader *reader)
{
	char waste[256];
	ssize_t n = recv(reader->fd, waste, sizeof(waste), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		pk_reader_close(reader);
}

static void pk_jsonl_socket_handle(struct pk_jsonl_target *target)
{
	uint64_t n_readers = 0;
	pk_jsonl_socket_accept(target);
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++) {
		struct pk_jsonl_reader *reader = &target->readers[i];
		if (reader->fd >= 0)
			pk_reader_listen(reader);
		if (reader->fd >= 0 && reader->n_pending)
			pk_reader_flush(reader);
		n_readers += reader->fd >= 0;
	}
	atomic_store_explicit(target->n_readers, n_readers, memory_order_relaxed);
}

static void pk_jsonl_socket_close(struct pk_jsonl_target *target)
{
	if (target->fd < 0)
		return;
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++)
		pk_reader_close(&target->readers[i]);
	close(target->fd);
	unlink(target->path);
	target->fd = -1;
}

const struct pk_jsonl_target_ops pk_jsonl_socket_ops = {
	.open = pk_jsonl_socket_open,
	.write = pk_jsonl_socket_write,
	.poll_fds = pk_jsonl_socket_poll,
	.handle = pk_jsonl_socket_handle,
	.close = pk_jsonl_socket_close,
};
