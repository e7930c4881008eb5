// SPDX-License-Identifier: Apache-2.0
// One blob from one address into a file: resumed by Range, bounded by its announced size, tried
// again while that makes sense. Sources: RFC 9110 section 14, OCI distribution-spec 1.1 ("Pulling
// blobs").
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "registry/http.h"
#include "registry/registry.h"

struct pk_fetch {
	struct pk_http *http;
	const struct pk_registry_options *options;
	const struct pk_registry_watch *watch; // or NULL
	const char *url;
	const struct pk_registry_host *host; // or NULL
	// Performs a request with whatever authorization it needs.
	int (*perform)(void *ctx, struct pk_http_request *request,
		struct pk_http_response *response, struct pk_err *err);
	void *ctx;
	int64_t size;
	int fd;             // stands at `have`, and at its end
	int64_t have;       // bytes that are there; renewed
	unsigned n_retries; // in a row without a new byte
};

// 0: all bytes are in the file, not verified. Else as pk_http_perform and pk_http_status_error,
// -EPROTO for answers that do not fit the request, -EBADMSG for another or a greater size.
int pk_fetch_blob(struct pk_fetch *fetch, struct pk_err *err) pk_must_check;

// The pause before attempt n (1, 2, …): the server's wish when it has one, else doubled each time;
// with jitter after the cap, so that a fleet does not come back in step. Returns what
// pk_http_sleep does, or -EAGAIN at once when the wish is longer than the options let us wait.
int pk_fetch_pause(struct pk_http *http, const struct pk_registry_options *options, unsigned n,
	int64_t retry_after_ns, struct pk_err *err) pk_must_check;
// The same, pure: u in [0, 1).
int64_t pk_fetch_pause_ns(
	const struct pk_registry_options *options, unsigned n, int64_t retry_after_ns, double u);
unsigned pk_fetch_n_retries(const struct pk_registry_options *options);
