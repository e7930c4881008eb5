// SPDX-License-Identifier: Apache-2.0
// Keys made for the test, and signatures by them in every format, well-formed or not.
#pragma once

#include "registry/signature_claim.h"
#include "registry/signer.h"

enum { KEY_A, KEY_B, KEY_ED, N_PINNED, KEY_FOREIGN = N_PINNED, N_SIGNERS }; // A, B, foreign: P-256

struct signing {
	struct pk_signer *signers[N_SIGNERS];
	struct pk_trusted_key keys[N_PINNED];
	struct pk_signature_policy policy;
	struct pk_digest digest; // of the artifact
	struct pk_signature_claim claim;
};

int signing_setup(void **state); // cmocka's form
int signing_teardown(void **state);

// What signing_* return is malloc'ed; the caller frees it.
char *signing_base64(const void *bytes, size_t n);
char *signing_sign(const struct pk_signer *signer, const void *message, size_t n); // base64
char *signing_cosign_payload(const char *digest);
char *signing_statement(const char *predicate_type, const char *digest_hex);
// A bundle of any payload, signed as type payload_type; hint may be NULL.
char *signing_bundle(const struct pk_signer *signer, const char *payload_type, const char *payload,
	const char *hint);
const char *signing_hex(const struct pk_digest *digest); // static
// text with the first occurrence of from replaced by to; fails when there is none.
char *signing_replace(const char *text, const char *from, const char *to);
