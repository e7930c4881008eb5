// SPDX-License-Identifier: Apache-2.0
// A second, smaller HTTP server on the loop.
#include "daemon/metrics_port.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "config/address.h"
#include "daemon/metrics.h"

#define PATH            "/metrics"
#define MAX_CONNECTIONS 8u
#define IDLE_S          10u
#define MAX_BYTES       (4u << 20)

struct pk_metrics_port {
	struct pk_loop *loop;
	struct MHD_Daemon *http;
	struct pk_watch watch;
	struct pk_timer timer;
	char *address;
	int listen_fd;
	void (*write)(void *ctx, bool open, struct pk_buf *out);
	void *ctx;
};

static void turn(struct pk_metrics_port *port)
{
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;
	MHD_run(port->http);
	if (MHD_get_timeout(port->http, &wait_ms) == MHD_YES)
		pk_loop_start_timer(port->loop, &port->timer,
			(int64_t)PK_MIN(wait_ms, 1000ull * IDLE_S) * PK_NS_PER_MS);
	else
		pk_loop_stop_timer(&port->timer);
}

static void on_ready(void *ctx, pk_unused uint32_t events)
{
	turn(ctx);
}

static void on_timer(void *ctx)
{
	turn(ctx);
}

static enum MHD_Result send_text(
	struct MHD_Connection *connection, unsigned status, const char *type, struct pk_buf *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	enum MHD_Result r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
	const char *method, pk_unused const char *version, pk_unused const char *upload,
	size_t *upload_bytes, void **con_cls)
{
	static int seen;
	struct pk_metrics_port *port = cls;
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES);
	if (!*con_cls) { // the headers: the answer comes with the next call
		*con_cls = &seen;
		return MHD_YES;
	}
	if (*upload_bytes > 0)
		return MHD_NO; // nobody has anything to tell us here
	bool open = pk_metrics_wants_open(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
	unsigned status = strcmp(path, PATH) != 0      ? MHD_HTTP_NOT_FOUND
			  : strcmp(method, "GET") != 0 ? MHD_HTTP_METHOD_NOT_ALLOWED
						       : MHD_HTTP_OK;
	if (status == MHD_HTTP_OK)
		port->write(port->ctx, open, &text);
	else
		pk_buf_str(&text, "only GET " PATH "\n");
	if (pk_buf_error(&text))
		return MHD_NO;
	return send_text(connection, status,
		status != MHD_HTTP_OK ? "text/plain"
		: open                ? PK_METRICS_TYPE_OPEN
				      : PK_METRICS_TYPE_TEXT,
		&text);
}

static int open_socket(struct pk_metrics_port *port, struct pk_err *err)
{
	struct sockaddr_storage address;
	socklen_t n = 0;
	const int one = 1;
	int r = pk_address_loopback(port->address, &address, &n, err);
	if (r < 0)
		return r;
	port->listen_fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->listen_fd < 0)
		return pk_fail_errno(err, "%s", port->address);
	(void)setsockopt(port->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(port->listen_fd, (struct sockaddr *)&address, n) < 0 ||
		listen(port->listen_fd, (int)MAX_CONNECTIONS) < 0)
		return pk_fail_errno(err, "%s", port->address);
	return 0;
}

static int start(struct pk_metrics_port *port, struct pk_err *err)
{
	port->http = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, port,
		MHD_OPTION_LISTEN_SOCKET, port->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	if (!port->http)
		return pk_fail(err, -EIO, "%s: the server cannot start", port->address);
	port->listen_fd = -1; // the server's now
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(port->http, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info ? pk_loop_watch(port->loop, &port->watch, info->epoll_fd, EPOLLIN) : -EIO;
	return r < 0 ? pk_fail(err, r, "%s", port->address) : 0;
}

int pk_metrics_port_create(struct pk_loop *loop, const char *address,
	void (*write)(void *ctx, bool open, struct pk_buf *out), void *ctx,
	struct pk_metrics_port **out, struct pk_err *err)
{
	pk_auto(pk_metrics_port) port = calloc(1, sizeof(*port));
	if (!port || !(port->address = strdup(address)))
		return pk_fail(err, -ENOMEM, "out of memory");
	port->loop = loop;
	port->listen_fd = -1;
	port->write = write;
	port->ctx = ctx;
	port->watch = (struct pk_watch){.ready = on_ready, .ctx = port};
	port->timer = (struct pk_timer){.fire = on_timer, .ctx = port};
	int r = open_socket(port, err);
	if (r == 0)
		r = start(port, err);
	if (r < 0)
		return r;
	*out = pk_steal(port);
	return 0;
}

void pk_metrics_port_destroy(struct pk_metrics_port *port)
{
	if (!port)
		return;
	pk_loop_stop_timer(&port->timer);
	pk_loop_unwatch(port->loop, &port->watch);
	if (port->http)
		MHD_stop_daemon(port->http);
	if (port->listen_fd >= 0)
		close(port->listen_fd);
	free(port->address);
	free(port);
}

const char *pk_metrics_port_address(const struct pk_metrics_port *port)
{
	return port->address;
}
