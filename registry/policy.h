// SPDX-License-Identifier: Apache-2.0
// What the operator allows and wants of transfers: hosts with their credentials, limits,
// cancelling.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

// What the config says of one registry host. Strings are the owner's; NULL or "": not given.
struct pk_registry_host {
	char *host;      // "reg.example:5000", as it stands in references
	char *ca_path;   // PEM: the only authorities that are trusted for this host
	char *cert_path; // PEM: our certificate for it
	char *key_path;  // PEM: the key of that certificate
	char *auth_path; // docker config.json
	char *user;      // Basic credentials: user, and a file that holds the password
	char *password_path;
	bool insecure;  // plain http allowed (and used)
	char **mirrors; // asked first, only for what is named by digest
	size_t n_mirrors;
	char **token_hosts; // further hosts that may get the credentials for a token
	size_t n_token_hosts;
};

// Bytes that may be received in a window of time, over all transfers; persisted by its owner.
struct pk_byte_budget {
	int64_t limit_bytes;   // 0: no limit
	int64_t window_ns;     // 0: a day
	int64_t used_bytes;    // in the present window
	int64_t window_end_ns; // on pk_boottime_ns; 0: a window begins with the first byte
};
// Accounts for n received bytes at now_ns (pk_boottime_ns). -EDQUOT, with the figures, when that is
// more than is left; they are counted nevertheless, since they were received.
int pk_byte_budget_take(
	struct pk_byte_budget *budget, int64_t n, int64_t now_ns, struct pk_err *err) pk_must_check;

// What a transfer did, for events and the terminal. Written by the thread that transfers.
struct pk_registry_report {
	int64_t received_bytes; // bodies, also of what was thrown away
	int64_t resumed_bytes;  // taken over from earlier attempts
	int64_t retry_after_ns; // the server's wish when -EAGAIN was the end; 0: none
	unsigned n_requests;
	unsigned n_retries;
	char source[256]; // host that served the last blob
};

// Zero means the default everywhere; a NULL pointer to this struct, all defaults.
struct pk_registry_options {
	const struct pk_registry_host *hosts;
	size_t n_hosts;
	int64_t bandwidth_bytes_per_s;     // 0: no limit
	int64_t artifact_max_bytes;        // sum of an artifact's blobs; 0: no limit
	int64_t deadline_ns;               // longest time of one call; 0: no limit but the stall's
	int64_t connect_timeout_ns;        // TCP and TLS; 0: 10 s
	int64_t stall_ns;                  // slower than 1 KiB/s for so long is an error; 0: 30 s
	unsigned n_retries;                // of a request in a row without progress; 0: 3
	int64_t retry_min_ns;              // first pause, doubled each time, with jitter; 0: 500 ms
	int64_t retry_wait_max_ns;         // longest Retry-After that is waited for here; 0: 20 s
	struct pk_byte_budget *budget;     // or NULL
	const atomic_bool *cancel;         // read now and then: -ECANCELED within a second; or NULL
	struct pk_registry_report *report; // or NULL
};

// The entry for "host[:port]", or NULL.
const struct pk_registry_host *pk_registry_host_find(
	const struct pk_registry_options *options, const char *host);

// May the same call succeed later without anybody changing anything? (network, time, 429, 5xx)
bool pk_registry_error_is_transient(int rc);
