// SPDX-License-Identifier: Apache-2.0
// One TCP connection, with a limit.
#include "pipeline/reach.h"

#include <errno.h>
#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static int pk_reach_port(const char *scheme, int port)
{
	static const struct {
		const char *scheme;
		int port;
	} rows[] = {{"rtsp", 554}, {"rtsps", 322}, {"http", 80}, {"https", 443}};
	for (size_t i = 0; port <= 0 && i < PK_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].scheme, scheme) == 0)
			return rows[i].port;
	return port;
}

static int pk_reach_connect(const struct addrinfo *to, int timeout_ms)
{
	pk_auto_close int fd =
		socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int n = poll(&wait, 1, timeout_ms), code = 0;
	socklen_t size = sizeof(code);
	if (n <= 0)
		return n < 0 ? -errno : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
		return -errno;
	return -code;
}

int pk_reach(const char *uri, int timeout_ms)
{
	GUri *parsed = g_uri_parse(uri, G_URI_FLAGS_NON_DNS | G_URI_FLAGS_HAS_PASSWORD, NULL);
	if (!parsed)
		return -EINVAL;
	gchar *port = g_strdup_printf(
		"%d", pk_reach_port(g_uri_get_scheme(parsed), g_uri_get_port(parsed)));
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	const char *host = g_uri_get_host(parsed);
	int r = host && getaddrinfo(host, port, &hints, &found) == 0 ? 0 : -EHOSTUNREACH;
	if (r == 0)
		r = pk_reach_connect(found, timeout_ms);
	if (found)
		freeaddrinfo(found);
	g_free(port);
	g_uri_unref(parsed);
	return r;
}
