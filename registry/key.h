// SPDX-License-Identifier: Apache-2.0
// Public keys that a node trusts: ECDSA P-256 and Ed25519, pinned as PEM files.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_KEY_ID_TEXT       65 // 64 hex digits and NUL
#define PK_KEY_PEM_MAX       16384
#define PK_KEY_SIGNATURE_MAX 80 // bytes; DER of P-256 needs 72, Ed25519 has 64
#define PK_KEYRING_MAX       64

struct pk_key; // immutable; any thread may verify with it

// Exactly one "PUBLIC KEY" block (SubjectPublicKeyInfo, RFC 5280 section 4.1): P-256 as a named
// curve with an uncompressed point, or Ed25519 (RFC 8410). -EINVAL: something else, with what it is
// instead (a private key, a certificate); -ENOTSUP: another kind of key or curve; -EFBIG; -ENOMEM.
// On failure *out is NULL.
int pk_key_parse(const void *pem, size_t n, struct pk_key **out, struct pk_err *err) pk_must_check;
// The same from the DER inside the block.
int pk_key_from_der(const void *der, size_t n, struct pk_key **out, struct pk_err *err)
	pk_must_check;
int pk_key_load(const char *path, struct pk_key **out, struct pk_err *err) pk_must_check;
void pk_key_destroy(struct pk_key *key);
PK_DEFINE_AUTO(pk_key, pk_key_destroy);

// Hex SHA-256 of the SubjectPublicKeyInfo's DER: one key has one id, however its file looks.
const char *pk_key_id(const struct pk_key *key);
const char *pk_key_kind(const struct pk_key *key); // "ecdsa-p256" or "ed25519"

// 0 when n bytes have the form of a signature of some kind of key: strict DER of two numbers in
// 1 .. 2^256 - 1 (RFC 3279 section 2.2.3), or the 64 bytes of Ed25519; else -EINVAL and why.
int pk_key_check_form(const void *signature, size_t n, struct pk_err *err) pk_must_check;
// ECDSA with SHA-256, or pure Ed25519 (RFC 8032). False also when OpenSSL fails.
bool pk_key_verify(const struct pk_key *key, const void *message, size_t n_message,
	const void *signature, size_t n_signature);

// What a key may sign. Zero: everything.
struct pk_key_rules {
	bool revoked;
	int64_t seq_min, seq_max;          // of the artifact's sequence number; seq_max 0: no end
	int64_t not_before_s, not_after_s; // Unix time of the check; 0: no bound
};

struct pk_trusted_key {
	struct pk_key *key;
	char *path;
	struct pk_key_rules rules;
};

// Keys by id, each once. Zero-initialise.
struct pk_keyring {
	struct pk_trusted_key *keys;
	size_t n, cap;
};
// path: a PEM file, or a folder of which every "*.pem" is taken (-ENOENT when there is none). A key
// that is there already is not added again: its rules become the narrower of both, and revoked
// stays revoked. rules may be NULL. -EFBIG above PK_KEYRING_MAX; else as pk_key_load.
int pk_keyring_add(struct pk_keyring *ring, const char *path, const struct pk_key_rules *rules,
	struct pk_err *err) pk_must_check;
// Narrows what a key may sign, by id. -ENOENT: no such key.
int pk_keyring_limit(struct pk_keyring *ring, const char *id, const struct pk_key_rules *rules,
	struct pk_err *err) pk_must_check;
// Revokes by id. -ENOENT: no such key; it cannot sign then either.
int pk_keyring_revoke(struct pk_keyring *ring, const char *id, struct pk_err *err);
void pk_keyring_finish(struct pk_keyring *ring); // may be called twice
