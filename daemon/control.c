// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd on a unix socket, driven by our loop through its epoll descriptor.
#include "daemon/control.h"

#include <errno.h>
#include <grp.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/commands/route.h"
#include "daemon/control_follow.h"

#define BACKLOG          64
#define IDLE_S           30
#define CONNECTION_BYTES (32u << 10)
#define GROUP            "picket"
#define MAX_GROUPS       256
#define MAX_TEXT_BYTES   (4u << 20)
#define SOCKET_MODE      0660

struct pk_control {
	struct pk_loop *loop;
	struct pk_daemon *daemon;
	struct pk_events *events;
	struct MHD_Daemon *http;
	struct pk_follow follow;
	struct pk_watch watch;
	struct pk_timer timer; // when the server wants its next turn
	char *path;
	int listen_fd;
	gid_t group; // of the socket
	bool posted; // an event came since the followers were last looked at
};

// One request while its body comes in.
struct exchange {
	struct pk_buf body;
};

static void turn(struct pk_control *control)
{
	control->posted = false;
	pk_follow_wake(&control->follow);
	MHD_run(control->http); // handlers may post
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;
	int64_t wait_ns = INT64_MAX;
	if (MHD_get_timeout(control->http, &wait_ms) == MHD_YES)
		wait_ns = (int64_t)PK_MIN(wait_ms, 1000ull * IDLE_S) * PK_NS_PER_MS;
	if (pk_follow_any(&control->follow))
		wait_ns = control->posted ? 0 : PK_MIN(wait_ns, PK_FOLLOW_BEAT_NS);
	if (wait_ns < INT64_MAX)
		pk_loop_start_timer(control->loop, &control->timer, wait_ns);
	else
		pk_loop_stop_timer(&control->timer);
}

static void on_ready(void *ctx, pk_unused uint32_t events)
{
	turn(ctx);
}

static void on_timer(void *ctx)
{
	turn(ctx);
}

// Not at once: whoever posts may be anywhere.
static void on_posted(void *ctx)
{
	struct pk_control *control = ctx;
	control->posted = true;
	if (pk_follow_any(&control->follow))
		pk_loop_start_timer(control->loop, &control->timer, 0);
}

static enum MHD_Result send_json(struct MHD_Connection *connection, unsigned status, json_t *body)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!text)
		return MHD_NO;
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result send_error(
	struct MHD_Connection *connection, unsigned status, const char *text)
{
	return send_json(connection, status, json_pack("{s:s}", "error", text));
}

static const char *query(const struct pk_request *request, const char *key)
{
	return MHD_lookup_connection_value(request->ctx, MHD_GET_ARGUMENT_KIND, key);
}

static const char *header(const struct pk_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->ctx, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_text(struct MHD_Connection *connection, struct pk_reply *reply)
{
	struct MHD_Response *response = NULL;
	if (!pk_buf_error(&reply->text))
		response = MHD_create_response_from_buffer(
			reply->text.len, reply->text.data, MHD_RESPMEM_MUST_COPY);
	pk_buf_finish(&reply->text);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", reply->type);
	enum MHD_Result r = MHD_queue_response(connection, reply->status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result answer(struct pk_control *control, struct MHD_Connection *connection,
	const char *method, const char *path, const struct pk_buf *body)
{
	const struct pk_route *route = NULL;
	struct pk_request request = {.query = query,
		.header = header,
		.ctx = connection,
		.body = body->data,
		.n_body = body->len};
	struct pk_reply reply = {.status = MHD_HTTP_OK};
	enum pk_route_match match =
		pk_route_find(method, path, &route, request.name, sizeof(request.name));
	if (match == PK_ROUTE_NO_PATH)
		return send_error(connection, MHD_HTTP_NOT_FOUND, "no such path");
	if (match == PK_ROUTE_NO_METHOD)
		return send_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "not with this method");
	pk_buf_init(&reply.text, MAX_TEXT_BYTES);
	route->handle(control->daemon, &request, &reply);
	if (reply.type)
		return send_text(connection, &reply);
	if (reply.follow)
		return pk_follow_start(&control->follow, connection, reply.after);
	return send_json(connection, reply.status, reply.body);
}

// The socket's mode lets in its owner and its group; this holds also where somebody has loosened
// it.
static bool may_ask(const struct pk_control *control, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred peer;
	socklen_t n = sizeof(peer);
	if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return false;
	if (peer.uid == 0 || peer.uid == geteuid() || peer.gid == control->group)
		return true;
	gid_t groups[MAX_GROUPS];
	n = sizeof(groups);
	if (getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n) < 0)
		return false;
	for (size_t i = 0; i < n / sizeof(groups[0]); i++) {
		if (groups[i] == control->group)
			return true;
	}
	return false;
}

static enum MHD_Result begin(
	const struct pk_control *control, struct MHD_Connection *connection, void **con_cls)
{
	if (!may_ask(control, connection))
		return send_error(connection, MHD_HTTP_FORBIDDEN,
			"only root and the group of the socket may ask");
	const char *length =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
	if (length && strtoull(length, NULL, 10) > PK_CONTROL_MAX_BODY)
		return send_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	if (!exchange)
		return MHD_NO;
	pk_buf_init(&exchange->body, PK_CONTROL_MAX_BODY);
	*con_cls = exchange;
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
	const char *method, pk_unused const char *version, const char *upload, size_t *upload_bytes,
	void **con_cls)
{
	struct exchange *exchange = *con_cls;
	if (!exchange)
		return begin(cls, connection, con_cls);
	if (*upload_bytes > 0) {
		int r = pk_buf_append(&exchange->body, upload, *upload_bytes);
		*upload_bytes = 0;
		return r < 0 ? MHD_NO : MHD_YES;
	}
	return answer(cls, connection, method, path, &exchange->body);
}

static void on_completed(pk_unused void *cls, pk_unused struct MHD_Connection *connection,
	void **con_cls, pk_unused enum MHD_RequestTerminationCode why)
{
	struct exchange *exchange = *con_cls;
	if (exchange)
		pk_buf_finish(&exchange->body);
	free(exchange);
	*con_cls = NULL;
}

static void log_line(pk_unused void *cls, const char *fmt, va_list args) pk_printf(2, 0);
static void log_line(pk_unused void *cls, const char *fmt, va_list args)
{
	char text[512];
	vsnprintf(text, sizeof(text), fmt, args);
	pk_log_debug("control: %s", text);
}

static bool somebody_answers(const struct sockaddr_un *address)
{
	pk_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

// As a service this process is in the group already; root gives it away where there is one.
static gid_t give_to_group(const char *path)
{
	struct stat st;
	FILE *groups =
		geteuid() == 0 ? fopen("/etc/group", "re") : NULL; // no name service's libraries
	const struct group *group = NULL;
	while (groups && (group = fgetgrent(groups)) && strcmp(group->gr_name, GROUP) != 0)
		continue;
	if (group && chown(path, (uid_t)-1, group->gr_gid) < 0)
		pk_log_warning("%s: %s", path, strerror(errno));
	if (groups)
		fclose(groups);
	return stat(path, &st) == 0 ? st.st_gid : getegid();
}

static int bind_socket(struct pk_control *control, struct pk_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(control->path) >= sizeof(address.sun_path))
		return pk_fail(err, -ENAMETOOLONG,
			"%s: a socket's path is at most %zu bytes long; choose a shorter root",
			control->path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, control->path, strlen(control->path) + 1);
	if (somebody_answers(&address))
		return pk_fail(err, -EADDRINUSE, "%s: another picketd runs there", control->path);
	if (unlink(control->path) < 0 && errno != ENOENT)
		return pk_fail_errno(err, "%s", control->path);
	mode_t before = umask(0777 & ~SOCKET_MODE);
	int r = bind(control->listen_fd, (struct sockaddr *)&address, sizeof(address));
	int saved = errno;
	umask(before);
	errno = saved;
	if (r < 0 || listen(control->listen_fd, BACKLOG) < 0)
		return pk_fail_errno(err, "%s", control->path);
	control->group = give_to_group(control->path);
	return 0;
}

static int start_server(struct pk_control *control, struct pk_err *err)
{
	control->http = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		on_request, control, MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL,
		MHD_OPTION_LISTEN_SOCKET, control->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)PK_CONTROL_MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!control->http)
		return pk_fail(err, -EIO, "the control server cannot start");
	control->listen_fd = -1; // the server's now
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(control->http, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return pk_fail(err, -EIO, "the control server has no epoll descriptor");
	int r = pk_loop_watch(control->loop, &control->watch, info->epoll_fd, EPOLLIN);
	return r < 0 ? pk_fail(err, r, "the control server") : 0;
}

int pk_control_create(struct pk_loop *loop, const char *path, struct pk_daemon *daemon,
	struct pk_events *events, struct pk_control **out, struct pk_err *err)
{
	pk_auto(pk_control) control = calloc(1, sizeof(*control));
	if (!control)
		return pk_fail(err, -ENOMEM, "out of memory");
	control->loop = loop;
	control->daemon = daemon;
	control->events = events;
	control->watch = (struct pk_watch){.ready = on_ready, .ctx = control};
	control->timer = (struct pk_timer){.fire = on_timer, .ctx = control};
	pk_follow_init(&control->follow, events);
	control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->listen_fd < 0)
		return pk_fail_errno(err, "control socket");
	control->path = strdup(path);
	if (!control->path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = bind_socket(control, err);
	if (r < 0) {
		free(pk_steal(control->path)); // not ours: it stays
		return r;
	}
	r = start_server(control, err);
	if (r < 0)
		return r;
	pk_events_set_listener(events, on_posted, control);
	*out = pk_steal(control);
	return 0;
}

void pk_control_destroy(struct pk_control *control)
{
	if (!control)
		return;
	pk_events_set_listener(control->events, NULL, NULL);
	pk_loop_stop_timer(&control->timer);
	pk_loop_unwatch(control->loop, &control->watch);
	if (control->http) {
		pk_follow_end(&control->follow); // the server does not stop over suspended ones
		MHD_run(control->http);
		MHD_stop_daemon(control->http);
	}
	pk_follow_finish(&control->follow);
	if (control->listen_fd >= 0)
		close(control->listen_fd);
	if (control->path)
		(void)unlink(control->path);
	free(control->path);
	free(control);
}
