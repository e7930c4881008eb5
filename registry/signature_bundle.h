// SPDX-License-Identifier: Apache-2.0
// Signatures as sigstore bundles, found among an artifact's referrers. Sources: OCI
// distribution-spec 1.1 (referrers), cosign's sign/v1 predicate. Pure.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/signature_claim.h"

// The entries of a list of referrers (an image index) that may be bundles, the first
// PK_SIGNATURE_MAX_FOUND of them, those that say they are signatures first; entries that are
// none are passed over. An entry is only a hint. *entries is the caller's
// (pk_signature_bundle_free). -EINVAL, -EFBIG, -ENOMEM.
int pk_signature_bundle_list(const void *index, size_t n, struct pk_descriptor **entries,
	size_t *n_entries, struct pk_err *err) pk_must_check;
void pk_signature_bundle_free(struct pk_descriptor *entries, size_t n_entries);

// The one bundle that a referrer's manifest holds; *layer is the caller's (pk_descriptor_finish)
// when the answer is OK. WRONG_DIGEST: its subject is something else.
enum pk_signature_reason pk_signature_bundle_layer(const struct pk_digest *digest,
	const void *manifest, size_t n, struct pk_descriptor *layer, struct pk_err *err)
	pk_must_check;

// bundle: the blob's bytes, whose size and digest were verified. *key as pk_signature_find_key.
enum pk_signature_reason pk_signature_bundle_check(const struct pk_signature_claim *claim,
	const void *bundle, size_t n, const struct pk_trusted_key **key, struct pk_err *err)
	pk_must_check;
