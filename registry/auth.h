// SPDX-License-Identifier: Apache-2.0
// Proving who we are to one registry: anonymous first, then what it demands. Sources: OCI
// distribution-spec 1.1; "Token Authentication Specification" and "OAuth2" of the reference
// registry.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/http.h"

struct pk_auth;

struct pk_auth_place {
	const char *name;                    // "reg.example:5000"
	const struct pk_registry_host *host; // its entry, or NULL
	const char *repository;
	const struct pk_registry_options *options;
	bool push; // ask for more than pull
};

// What place points at, and http, outlive *out. -EACCES: credentials that cannot be read.
int pk_auth_create(struct pk_http *http, const struct pk_auth_place *place, struct pk_auth **out,
	struct pk_err *err) pk_must_check;
void pk_auth_destroy(struct pk_auth *auth);
PK_DEFINE_AUTO(pk_auth, pk_auth_destroy);

// Performs request with the authorization that is known, and once more when the server answers 401
// and we have what it demands. request->authorization is set by this. -EACCES: a demand that we
// cannot or must not meet (a realm that is not the registry's and not among token_hosts); a second
// 401 is an answer like any other. Else as pk_http_perform.
int pk_auth_perform(struct pk_auth *auth, struct pk_http_request *request,
	struct pk_http_response *response, struct pk_err *err) pk_must_check;
