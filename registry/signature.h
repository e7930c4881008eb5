// SPDX-License-Identifier: Apache-2.0
// Who vouches for an artifact: finds its signatures, checks them against pinned keys, says why not.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "registry/key.h"
#include "registry/manifest.h"
#include "registry/registry.h"

// Least telling first: of several signatures that do not count, the last of these is the answer.
// X(name, word, text)
#define PK_SIGNATURE_REASONS(X)                                                                    \
	X(OK, "verified", "verified")                                                              \
	X(OFF, "not-required", "signatures are not required by the config: nothing was checked")   \
	X(NONE_FOUND, "none-found", "no signature was found")                                      \
	X(TROUBLE, "trouble", "it could not be judged")                                            \
	X(TOO_BIG, "too-big", "larger than any signature")                                         \
	X(MALFORMED, "malformed", "malformed")                                                     \
	X(UNSUPPORTED, "unsupported", "a form that is not supported")                              \
	X(EXTRA_SIGNATURES, "extra-signatures", "an envelope must hold exactly one signature")     \
	X(PAYLOAD_TYPE, "payload-type", "the envelope holds no in-toto statement")                 \
	X(UNKNOWN_KEY, "unknown-key", "made by a key that is not pinned")                          \
	X(BAD_SIGNATURE, "bad-signature",                                                          \
		"no pinned key verifies it: another key made it, or its bytes were changed")       \
	X(NOT_A_SIGNATURE, "not-a-signature", "a signed statement, but not a signature of it")     \
	X(WRONG_DIGEST, "wrong-digest", "a signature of something else")                           \
	X(MISSING_FILE, "missing-file", "a signed file is missing")                                \
	X(EXTRA_FILE, "extra-file", "a file that nobody signed")                                   \
	X(KEY_NOT_YET, "key-not-yet", "the key is not valid yet")                                  \
	X(KEY_EXPIRED, "key-expired", "the key is not valid any more")                             \
	X(KEY_RANGE, "key-range", "the key may not sign this sequence number")                     \
	X(REVOKED_KEY, "revoked-key", "the key is revoked")                                        \
	X(THRESHOLD, "threshold", "not enough different keys signed")                              \
	X(WRONG_TARGET, "wrong-target", "it is meant for other nodes")                             \
	X(WRONG_NAME, "wrong-name", "it is another model")

#define PK_SIGNATURE_REASON_ENUM(name, word, text) PK_SIGNATURE_##name,
enum pk_signature_reason { PK_SIGNATURE_REASONS(PK_SIGNATURE_REASON_ENUM) PK_SIGNATURE_N_REASONS };
#undef PK_SIGNATURE_REASON_ENUM

const char *pk_signature_reason_name(enum pk_signature_reason reason); // "revoked-key"
const char *pk_signature_reason_text(enum pk_signature_reason reason); // a half sentence
// Whether nobody can cure it by adding a signature: another artifact or another config is needed.
// What is not final is asked again at the next poll: signatures are pushed after what they sign.
bool pk_signature_reason_is_final(enum pk_signature_reason reason);

// Formats, as bits.
#define PK_SIGNATURE_COSIGN 1u // the tag "sha256-<hex>.sig", simple signing
#define PK_SIGNATURE_BUNDLE 2u // sigstore bundle v0.3, a referrer
#define PK_SIGNATURE_ANY    (PK_SIGNATURE_COSIGN | PK_SIGNATURE_BUNDLE)

#define PK_SIGNATURE_MAX_KEYS     8         // largest threshold
#define PK_SIGNATURE_MAX_FOUND    16        // signatures that are looked at, per format
#define PK_SIGNATURE_MAX_BYTES    (1 << 16) // of one payload or bundle
#define PK_SIGNATURE_MAX_MANIFEST (1 << 18) // of a signature's manifest or a list of referrers

struct pk_signature_policy {
	bool required; // false: nothing is looked for; name and target are compared all the same
	const struct pk_trusted_key *keys;
	size_t n_keys;
	unsigned threshold;     // different keys that must have signed; 0 means 1
	unsigned formats;       // PK_SIGNATURE_… bits; 0 means any
	const char *model_name; // what the artifact must call itself; NULL: anything
	const char *target;     // this node's class; NULL: targets are not compared
	int64_t now_s; // Unix time that can be trusted; 0: none, keys' times are not judged
};

struct pk_signature_verdict {
	enum pk_signature_reason reason;
	int64_t seq; // what the artifact says, under the signature; -1: nothing
	char name[PK_MODEL_NAME_MAX + 1];                    // likewise; "": nothing
	char key_ids[PK_SIGNATURE_MAX_KEYS][PK_KEY_ID_TEXT]; // of those that signed
	unsigned n_keys;
	char format[16];  // of the last one that counted: "cosign", "bundle"; "": none
	unsigned n_found; // signatures that were looked at
};

// Fetches and checks the signatures of manifest, which came from registry and whose digest was
// verified. 0: the policy is met; *out says by whom. -EKEYREJECTED: refused, out->reason and err
// say why. Else it could not be judged now (network, memory; out->reason is TROUBLE): try again.
// -EINVAL: a policy that nothing can meet (no keys, a threshold above their number). Blocks; as
// registry's thread.
int pk_signature_verify(struct pk_registry *registry, const struct pk_manifest *manifest,
	const struct pk_signature_policy *policy, struct pk_signature_verdict *out,
	struct pk_err *err) pk_must_check;
