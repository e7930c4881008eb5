// SPDX-License-Identifier: Apache-2.0
// A private key that signs artifacts: ECDSA P-256 or Ed25519. Nodes never hold one.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "registry/key.h"

struct pk_signer;

// A PEM private key (PKCS #8 or EC), encrypted ones with passphrase (NULL: none). -EACCES: the
// passphrase is missing or wrong; -ENOTSUP: another kind of key, or one that is encrypted in
// cosign's own way; -EINVAL, -EFBIG, -ENOMEM.
int pk_signer_load(const char *path, const char *passphrase, struct pk_signer **out,
	struct pk_err *err) pk_must_check;
// kind: "ecdsa-p256" or "ed25519", else -EINVAL.
int pk_signer_generate(const char *kind, struct pk_signer **out, struct pk_err *err) pk_must_check;
void pk_signer_destroy(struct pk_signer *signer);
PK_DEFINE_AUTO(pk_signer, pk_signer_destroy);

const struct pk_key *pk_signer_key(const struct pk_signer *signer); // its public half; borrowed

// Appends the signature of n bytes, in the form that pk_key_verify takes.
int pk_signer_sign(const struct pk_signer *signer, const void *message, size_t n,
	struct pk_buf *signature, struct pk_err *err) pk_must_check;

// Appends the key as PEM: PKCS #8 (private, encrypted when there is a passphrase) or
// SubjectPublicKeyInfo.
int pk_signer_private_pem(const struct pk_signer *signer, const char *passphrase,
	struct pk_buf *out, struct pk_err *err) pk_must_check;
int pk_signer_public_pem(const struct pk_signer *signer, struct pk_buf *out, struct pk_err *err)
	pk_must_check;
