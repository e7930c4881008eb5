// SPDX-License-Identifier: Apache-2.0
// Numeric addresses and their ports.
#include "config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_port(const char *text, in_port_t *out, struct pk_err *err)
{
	char *end = NULL;
	unsigned long port = strtoul(text, &end, 10);
	if (text[0] < '1' || text[0] > '9' || *end || port > 65535)
		return pk_fail(err, -EINVAL, "must end in a port, 1 to 65535");
	*out = htons((in_port_t)port);
	return 0;
}

int pk_address_loopback(
	const char *text, struct sockaddr_storage *out, socklen_t *n, struct pk_err *err)
{
	char host[64];
	const char *colon = strrchr(text, ':');
	bool bracket = text[0] == '[';
	size_t length = colon ? (size_t)(colon - text) : 0;
	memset(out, 0, sizeof(*out));
	if (!colon || length >= sizeof(host) || (bracket && (length < 2 || colon[-1] != ']')))
		return pk_fail(err, -EINVAL, "must be ADDRESS:PORT, such as 127.0.0.1:9469");
	snprintf(host, sizeof(host), "%.*s", (int)(bracket ? length - 2 : length),
		text + (bracket ? 1 : 0));
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	if (!bracket && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		out->ss_family = AF_INET;
		*n = sizeof(*v4);
		if (ntohl(v4->sin_addr.s_addr) >> 24 != 127)
			return pk_fail(
				err, -EINVAL, "must be a loopback address, such as 127.0.0.1");
		return read_port(colon + 1, &v4->sin_port, err);
	}
	if (bracket && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
		out->ss_family = AF_INET6;
		*n = sizeof(*v6);
		if (!IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr))
			return pk_fail(err, -EINVAL, "must be a loopback address, such as [::1]");
		return read_port(colon + 1, &v6->sin6_port, err);
	}
	return pk_fail(err, -EINVAL, "must be ADDRESS:PORT, such as 127.0.0.1:9469");
}
