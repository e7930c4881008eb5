// SPDX-License-Identifier: Apache-2.0
// Who we are at a registry: from a docker config.json, or a user name and a password file.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/policy.h"

struct pk_credentials {
	char *user, *password; // Basic; both or none
	char *identity_token;  // an OAuth2 refresh token, or NULL
	char *registry_token;  // a bearer token as it is, or NULL
};

// host: the entry of the config for name ("reg.example:5000"), or NULL: anonymous. -EACCES with the
// place: a file that cannot be read, or has no such host, or is malformed. Secrets are registered
// with the log. On failure *out holds nothing.
int pk_credentials_load(const struct pk_registry_host *host, const char *name,
	struct pk_credentials *out, struct pk_err *err) pk_must_check;
void pk_credentials_finish(struct pk_credentials *credentials); // zeroes memory and struct

// The same from config.json's bytes.
int pk_credentials_parse(const void *bytes, size_t n, const char *name, struct pk_credentials *out,
	struct pk_err *err) pk_must_check;
