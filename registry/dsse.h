// SPDX-License-Identifier: Apache-2.0
// A signed in-toto statement inside a DSSE envelope inside a sigstore bundle. Sources: DSSE 1.0
// protocol.md, in-toto Statement v1, sigstore_bundle.proto 0.3. Pure.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "registry/signature_claim.h"

// Verifies, then parses: *statement (the caller's, json_decref) exists only after a pinned key has
// verified the envelope, and then "_type" was checked too. Transparency log entries, certificates
// and time stamps are not looked at: they prove nothing to a node that is offline. *key as
// pk_signature_find_key.
enum pk_signature_reason pk_dsse_open(const struct pk_signature_claim *claim, const void *bundle,
	size_t n, json_t **statement, const struct pk_trusted_key **key, struct pk_err *err)
	pk_must_check;

// Appends what DSSE signs for a payload of this type: "DSSEv1 LEN TYPE LEN BODY".
int pk_dsse_encode(const char *payload_type, const void *payload, size_t n, struct pk_buf *out);

// Whether a media type is that of a bundle of the one version that is read here.
bool pk_dsse_is_bundle(const char *media_type);
