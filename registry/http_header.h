// SPDX-License-Identifier: Apache-2.0
// The headers of an answer that matter to a registry's client, read strictly and bounded.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"

#define PK_HTTP_HEADERS_MAX (16 * 1024) // bytes of all headers of an answer, trailers included

struct pk_http_response {
	int status;
	char content_type[128];       // lower case, without parameters; "" when there is none
	char content_encoding[32];    // "" when there is none or "identity"
	char etag[256];               // "" when there is none or it is too long
	char location[2048];          // as sent, may be relative; "" likewise
	char link[2048];              // the target of rel="next"; "" likewise
	int64_t content_length;       // -1: not given
	bool has_content_range;       // it was there and well-formed
	int64_t range_from;           // of Content-Range
	int64_t range_total;          // -1: "*"
	int64_t retry_after_ns;       // 1 s … 24 h; 0: none, or not understood
	bool lists_filtered;          // OCI-Filters-Applied names artifactType
	struct pk_buf challenges;     // WWW-Authenticate values, one a line
	struct pk_buf body;           // what no sink took
	int64_t date_s, retry_date_s; // Date, and the date of Retry-After; 0: not given
	char host[256];               // that answered, without port
	unsigned n_hops;              // redirects that were followed
	size_t n_header_bytes;        // so far
};

void pk_http_response_init(struct pk_http_response *response, int64_t max_body);
void pk_http_response_finish(struct pk_http_response *response);

// Takes one header line, or the status line, which starts afresh. -EPROTO: more than
// PK_HTTP_HEADERS_MAX in all. Lines that make no sense are passed over.
int pk_http_response_line(struct pk_http_response *response, const char *line, size_t n);
// Call when all headers are there: a date in Retry-After becomes a time from now (now_s: wall
// clock, used when the server does not say what time it is).
void pk_http_response_settle(struct pk_http_response *response, int64_t now_s);

// "bytes 5-9/10", "bytes 5-9/*". False when it is anything else.
bool pk_http_parse_content_range(const char *text, int64_t *from, int64_t *to, int64_t *total)
	pk_must_check;
