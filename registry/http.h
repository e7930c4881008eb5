// SPDX-License-Identifier: Apache-2.0
// HTTP as registries speak it, over libcurl: one request at a time, redirects followed by hand,
// everything bounded. Only http*.c know libcurl. Sources: RFC 9110,
// OCI distribution-spec 1.1.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "registry/http_header.h"
#include "registry/policy.h"

#define PK_HTTP_ERROR_BODY_MAX 8192
#define PK_HTTP_SMALL_NS       (INT64_C(60) * 1000000000) // longest time of a small request

struct pk_http;

// What is sent as a body: bytes, or n bytes of a file from offset on.
struct pk_http_body {
	const void *bytes; // NULL: the file
	int fd;
	int64_t offset;
	int64_t n;
};

// Takes the body of an answer as it comes.
struct pk_http_sink {
	// Once, when the answer's headers are there and before its first byte. 0: data follows;
	// PK_HTTP_KEEP: the body goes to the response instead; negative: the request ends with it.
	int (*begin)(void *ctx, const struct pk_http_response *response, struct pk_err *err);
	int (*data)(void *ctx, const void *bytes, size_t n, struct pk_err *err);
	void *ctx;
};
#define PK_HTTP_KEEP 1

struct pk_http_request {
	const char *method;                  // "GET" and "HEAD" follow redirects, others do not
	const char *url;                     // http[s]://host[:port]/…
	const struct pk_registry_host *host; // entry of url's host, or NULL
	const char *authorization; // value of the header; sent to url's own origin only; or NULL
	const char *accept;        // or NULL
	const char *if_none_match; // or NULL
	const char *content_type;  // or NULL
	const char *content_range; // of a part that is sent; or NULL
	const struct pk_http_body *body; // or NULL
	int64_t range_from;              // asks for the bytes from here on; 0: for all
	int64_t max_bytes;               // of the answer's body: -EFBIG as soon as it is longer
	int64_t timeout_ns;              // of the whole request; 0: only the options' deadline
	const struct pk_http_sink *sink; // or NULL: the body goes to the response
	int (*sent)(void *ctx, int64_t n_sent); // now and then while a body is sent; non-zero ends
	void *sent_ctx;
};

// options is not NULL and outlives *out; its deadline starts now. One thread at a time.
int pk_http_create(const struct pk_registry_options *options, struct pk_http **out,
	struct pk_err *err) pk_must_check;
void pk_http_destroy(struct pk_http *http);
PK_DEFINE_AUTO(pk_http, pk_http_destroy);

// 0 when there is a complete answer, whatever its status; the caller finishes *response in any case
// (pk_http_response_finish). Negative: no answer, a cut one, or a refusal of ours: -ECONNREFUSED,
// -ECONNRESET (also: cut short), -EHOSTUNREACH, -ENETDOWN, -ETIMEDOUT, -EKEYREJECTED (TLS), -EPROTO
// (headers beyond 16 KiB, a forbidden redirect, encoded content), -EFBIG, -EDQUOT, -ECANCELED,
// -ENOMEM, or what the sink returned. Nothing that is secret gets into the text.
int pk_http_perform(struct pk_http *http, const struct pk_http_request *request,
	struct pk_http_response *response, struct pk_err *err) pk_must_check;

// Sleeps at most so long, ended by cancelling (-ECANCELED) and the deadline (-ETIMEDOUT, at once
// when it lies within the sleep).
int pk_http_sleep(struct pk_http *http, int64_t ns, struct pk_err *err) pk_must_check;

// The error that an answer's status means, with the code and text of its body; 0 for 2xx and 304.
// -EACCES 401 and 403, -ENOENT 404, -EAGAIN 408, 429 and 5xx, -EPROTO the rest.
int pk_http_status_error(
	const struct pk_http_response *response, const char *what, struct pk_err *err);
