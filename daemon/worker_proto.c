// SPDX-License-Identifier: Apache-2.0
// The non-blocking JSON-lines channel of picketd and its worker.
#include "daemon/worker_proto.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"

// A peer that lets this much pile up is not reading.
#define MAX_PENDING_BYTES (8u << 20)
#define READ_CHUNK        65536

void pk_channel_init(struct pk_channel *channel, int fd)
{
	channel->fd = fd;
	pk_buf_init(&channel->in, PK_PROTO_MAX_LINE + READ_CHUNK);
	pk_buf_init(&channel->out, MAX_PENDING_BYTES);
}

void pk_channel_finish(struct pk_channel *channel)
{
	if (channel->fd >= 0)
		close(channel->fd);
	channel->fd = -1;
	pk_buf_finish(&channel->in);
	pk_buf_finish(&channel->out);
}

int pk_channel_flush(struct pk_channel *channel)
{
	while (channel->out.len > 0) {
		ssize_t n = send(channel->fd, channel->out.data, channel->out.len,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		pk_buf_consume(&channel->out, (size_t)n);
	}
	return 0;
}

int pk_channel_send(struct pk_channel *channel, json_t *message)
{
	pk_auto_json owned = message;
	if (!owned || json_object_set_new(owned, "v", json_integer(PK_PROTO_VERSION)) < 0)
		return -ENOMEM;
	pk_auto_free char *line = json_dumps(owned, JSON_COMPACT);
	if (!line)
		return -ENOMEM;
	size_t before = channel->out.len;
	pk_buf_str(&channel->out, line);
	if (pk_buf_str(&channel->out, "\n") < 0) {
		channel->out.len = before; // never half a line
		channel->out.error = 0;
		return -ENOBUFS;
	}
	return pk_channel_flush(channel);
}

bool pk_channel_wants_write(const struct pk_channel *channel)
{
	return channel->out.len > 0;
}

static int handle_line(const char *line, size_t n,
	void (*handle)(void *ctx, const char *type, const json_t *message), void *ctx,
	struct pk_err *err)
{
	pk_auto_json message = NULL;
	int64_t version = 0;
	const char *type = NULL;
	if (pk_json_parse(line, n, "message", &message, err) < 0 ||
		pk_json_get_int(message, "v", &version, err) < 0 ||
		pk_json_get_str(message, "type", &type, err) < 0)
		return -EBADMSG;
	if (version != PK_PROTO_VERSION)
		return pk_fail(err, -EBADMSG, "message of version %lld", (long long)version);
	handle(ctx, type, message);
	return 0;
}

static int handle_lines(struct pk_channel *channel,
	void (*handle)(void *ctx, const char *type, const json_t *message), void *ctx,
	struct pk_err *err)
{
	size_t at = 0;
	int r = 0;
	while (r == 0 && at < channel->in.len) {
		const char *start = channel->in.data + at;
		const char *newline = memchr(start, '\n', channel->in.len - at);
		if (!newline)
			break;
		r = handle_line(start, (size_t)(newline - start), handle, ctx, err);
		at = (size_t)(newline - channel->in.data) + 1;
	}
	pk_buf_consume(&channel->in, at);
	if (r == 0 && channel->in.len > PK_PROTO_MAX_LINE)
		return pk_fail(err, -EBADMSG, "message longer than %u bytes", PK_PROTO_MAX_LINE);
	return r;
}

int pk_channel_receive(struct pk_channel *channel,
	void (*handle)(void *ctx, const char *type, const json_t *message), void *ctx,
	struct pk_err *err)
{
	for (;;) {
		char chunk[READ_CHUNK];
		ssize_t n = recv(channel->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return pk_fail(err, -EPIPE, "the other side is gone");
		if (pk_buf_append(&channel->in, chunk, (size_t)n) < 0)
			return pk_fail(err, -EBADMSG, "message is too long");
		int r = handle_lines(channel, handle, ctx, err);
		if (r < 0)
			return r;
	}
}
