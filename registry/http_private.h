// SPDX-License-Identifier: Apache-2.0
// What the http*.c files share.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "registry/http.h"

// Where an address leads: what a redirect may reach depends on it.
enum pk_http_zone {
	PK_HTTP_ZONE_PUBLIC, // private networks too: registries live there
	PK_HTTP_ZONE_LOOPBACK,
	PK_HTTP_ZONE_LINK_LOCAL,
	PK_HTTP_ZONE_NOWHERE, // unspecified, multicast
};
enum pk_http_zone pk_http_zone_of(const struct sockaddr *address);

struct pk_http_origin {
	char scheme[8], host[256], port[8];
};
// Of an http or https URL without user and password; false for any other.
bool pk_http_origin_parse(const char *url, struct pk_http_origin *out) pk_must_check;
bool pk_http_origin_equal(const struct pk_http_origin *a, const struct pk_http_origin *b);

// The errno for a failed transfer, with the reason. detail: libcurl's error buffer; os_errno: of
// the connect.
int pk_http_curl_error(CURLcode code, const char *detail, long os_errno, struct pk_err *err);
