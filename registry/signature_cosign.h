// SPDX-License-Identifier: Apache-2.0
// Signatures in cosign's older form: a manifest under the tag "sha256-<hex>.sig" whose layers are
// "simple signing" documents. Source: sigstore/cosign specs/SIGNATURE_SPEC.md. Pure.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/signature_claim.h"

#define PK_SIGNATURE_COSIGN_TAG 80 // "sha256-" + 64 hex + ".sig" + NUL

void pk_signature_cosign_tag(const struct pk_digest *digest, char out[PK_SIGNATURE_COSIGN_TAG]);

// One layer of such a manifest: where the payload is, and the signature of it as base64.
struct pk_signature_cosign_layer {
	struct pk_descriptor payload;
	char *signature; // NULL: the annotation is missing
};
// The layers that claim to be signatures, the first PK_SIGNATURE_MAX_FOUND of them; others are
// passed over. *layers is the caller's (pk_signature_cosign_free). -EINVAL, -EFBIG, -ENOMEM.
int pk_signature_cosign_list(const void *manifest, size_t n,
	struct pk_signature_cosign_layer **layers, size_t *n_layers, struct pk_err *err)
	pk_must_check;
void pk_signature_cosign_free(struct pk_signature_cosign_layer *layers, size_t n_layers);

// payload: the blob's bytes, whose size and digest were verified. The payload is parsed only after
// a pinned key has verified it. *key as pk_signature_find_key.
enum pk_signature_reason pk_signature_cosign_check(const struct pk_signature_claim *claim,
	const char *signature, const struct pk_buf *payload, const struct pk_trusted_key **key,
	struct pk_err *err) pk_must_check;
