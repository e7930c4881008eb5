// SPDX-License-Identifier: Apache-2.0
// What a failure means: of libcurl, and of an answer's status.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "registry/http_private.h"

static const struct {
	CURLcode code;
	int error;
} codes[] = {
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_PEER_FAILED_VERIFICATION, -EKEYREJECTED},
	{CURLE_SSL_CONNECT_ERROR, -EKEYREJECTED},
	{CURLE_SSL_CERTPROBLEM, -EKEYREJECTED},
	{CURLE_SSL_CIPHER, -EKEYREJECTED},
	{CURLE_SSL_CACERT_BADFILE, -EKEYREJECTED},
	{CURLE_SSL_ISSUER_ERROR, -EKEYREJECTED},
	{CURLE_SSL_INVALIDCERTSTATUS, -EKEYREJECTED},
	{CURLE_OUT_OF_MEMORY, -ENOMEM},
};

static int errno_of(CURLcode code, const char *detail, long os_errno)
{
	// A server that wants a certificate may say so only after the handshake, and a connection
	// that breaks during it is no matter of trust.
	bool is_alert = strstr(detail, "alert") != NULL;
	if (is_alert && (code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR))
		return -EKEYREJECTED;
	if (code == CURLE_SSL_CONNECT_ERROR && !is_alert &&
		(strstr(detail, "SYSCALL") || strstr(detail, "reset") ||
			strstr(detail, "unexpected eof")))
		return -ECONNRESET;
	if (code == CURLE_COULDNT_CONNECT && os_errno == ENETUNREACH)
		return -ENETDOWN;
	if (code == CURLE_COULDNT_CONNECT && os_errno == EHOSTUNREACH)
		return -EHOSTUNREACH;
	for (size_t i = 0; i < PK_ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return codes[i].error;
	return -EPROTO;
}

int pk_http_curl_error(CURLcode code, const char *detail, long os_errno, struct pk_err *err)
{
	int rc = errno_of(code, detail, os_errno);
	const char *text = detail[0] ? detail : curl_easy_strerror(code);
	return pk_fail(err, rc, "%s%.200s", rc == -EKEYREJECTED ? "TLS: " : "", text);
}

static enum pk_http_zone zone_of_v4(uint32_t address)
{
	if (address >> 24 == 127)
		return PK_HTTP_ZONE_LOOPBACK;
	if (address >> 16 == 0xa9fe)
		return PK_HTTP_ZONE_LINK_LOCAL;
	return address >> 24 == 0 || address >> 28 >= 0xe ? PK_HTTP_ZONE_NOWHERE
							  : PK_HTTP_ZONE_PUBLIC;
}

static enum pk_http_zone zone_of_v6(const struct in6_addr *a)
{
	if (IN6_IS_ADDR_V4MAPPED(a)) {
		uint32_t v4;
		memcpy(&v4, &a->s6_addr[12], sizeof(v4));
		return zone_of_v4(ntohl(v4));
	}
	if (IN6_IS_ADDR_LOOPBACK(a))
		return PK_HTTP_ZONE_LOOPBACK;
	if (IN6_IS_ADDR_LINKLOCAL(a))
		return PK_HTTP_ZONE_LINK_LOCAL;
	return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_MULTICAST(a) ? PK_HTTP_ZONE_NOWHERE
								      : PK_HTTP_ZONE_PUBLIC;
}

enum pk_http_zone pk_http_zone_of(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	switch (address->sa_family) {
	case AF_INET:
		memcpy(&v4, address, sizeof(v4));
		return zone_of_v4(ntohl(v4.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&v6, address, sizeof(v6));
		return zone_of_v6(&v6.sin6_addr);
	default:
		return PK_HTTP_ZONE_NOWHERE;
	}
}

static bool take_part(CURLU *u, CURLUPart part, unsigned flags, char *out, size_t size)
{
	char *text = NULL;
	bool fits = curl_url_get(u, part, &text, flags) == CURLUE_OK && strlen(text) < size;
	if (fits)
		memcpy(out, text, strlen(text) + 1);
	curl_free(text);
	return fits;
}

static bool has_part(CURLU *u, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;
	curl_free(text);
	return has;
}

bool pk_http_origin_parse(const char *url, struct pk_http_origin *out)
{
	CURLU *u = curl_url();
	bool ok = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
		  !has_part(u, CURLUPART_USER) && !has_part(u, CURLUPART_PASSWORD) &&
		  take_part(u, CURLUPART_SCHEME, 0, out->scheme, sizeof(out->scheme)) &&
		  take_part(u, CURLUPART_HOST, 0, out->host, sizeof(out->host)) &&
		  take_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, out->port, sizeof(out->port));
	curl_url_cleanup(u);
	return ok && (strcmp(out->scheme, "https") == 0 || strcmp(out->scheme, "http") == 0);
}

bool pk_http_origin_equal(const struct pk_http_origin *a, const struct pk_http_origin *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0 &&
	       strcmp(a->port, b->port) == 0;
}

// "CODE: message" of a registry's error body, as data: it may be anything.
static void describe(const struct pk_buf *body, struct pk_buf *out)
{
	pk_auto_json root = NULL;
	if (body->len == 0)
		return;
	if (pk_json_parse(body->data, body->len, "", &root, NULL) < 0) {
		pk_buf_printf(out, ": %.100s", body->data);
		return;
	}
	const json_t *first = json_array_get(json_object_get(root, "errors"), 0);
	const char *code = json_string_value(json_object_get(first, "code"));
	const char *message = json_string_value(json_object_get(first, "message"));
	if (!code) // the form of OAuth2
		code = json_string_value(json_object_get(root, "error"));
	if (code)
		pk_buf_printf(out, ": %.60s", code);
	if (message)
		pk_buf_printf(out, ": %.200s", message);
}

int pk_http_status_error(
	const struct pk_http_response *response, const char *what, struct pk_err *err)
{
	static const struct {
		int status, error;
		const char *text;
	} known[] = {
		{401, -EACCES, "401: the credentials are missing or not accepted"},
		{403, -EACCES, "403: access denied"},
		{404, -ENOENT, "404: not there"},
		{408, -EAGAIN, "408: the server gave up waiting"},
		{429, -EAGAIN, "429: too many requests"},
	};
	struct pk_buf text pk_auto_buf;
	int status = response->status;
	pk_buf_init(&text, 400);
	if ((status >= 200 && status < 300) || status == 304)
		return 0;
	describe(&response->body, &text);
	for (size_t i = 0; i < PK_ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return pk_fail(err, known[i].error, "%s: %s%s", what, known[i].text,
				pk_buf_cstr(&text));
	return pk_fail(err, status >= 500 ? -EAGAIN : -EPROTO, "%s: the server answers %d%s", what,
		status, pk_buf_cstr(&text));
}
