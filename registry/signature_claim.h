// SPDX-License-Identifier: Apache-2.0
// What one signature is held against: shared by all formats, pure, no input or output.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/signature.h"

#define PK_SIGNATURE_MAX_RAW 1024 // bytes of a signature of any kind, to be told its kind

struct pk_signature_claim {
	const struct pk_signature_policy *policy;
	const struct pk_digest *digest; // what must be signed
	int64_t seq;                    // of the artifact; -1: none
};

// A signature of some bytes and who may have made it. hint is advice: it only tells a changed
// signature from a foreign one; NULL: none.
struct pk_signature_bytes {
	const void *message;
	size_t n_message;
	const void *signature;
	size_t n_signature;
	const char *hint;
};

// OK and *key (borrowed from the policy) when a pinned key made the signature and its rules allow
// it; *key is also set when only the rules stand against it.
enum pk_signature_reason pk_signature_find_key(const struct pk_signature_claim *claim,
	const struct pk_signature_bytes *bytes, const struct pk_trusted_key **key,
	struct pk_err *err) pk_must_check;
// The text with err's detail; returns reason.
enum pk_signature_reason pk_signature_refuse(
	struct pk_err *err, enum pk_signature_reason reason, const char *fmt, ...) pk_printf(3, 4);
// MALFORMED or TROUBLE for a parser's errno; err keeps the parser's text.
enum pk_signature_reason pk_signature_parse_failed(int rc);
