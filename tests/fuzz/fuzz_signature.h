// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of signatures share: a pinned key of each kind, and payloads really signed by
// one of them, so that what comes behind the signature is reached too.
#pragma once

#include <stdlib.h>

#include "base/base64.h"
#include "registry/signature_claim.h"
#include "registry/signer.h"

struct fuzz_signing {
	struct pk_signer *signers[2];
	struct pk_trusted_key keys[2];
	struct pk_signature_policy policy;
	struct pk_digest digest;
	struct pk_signature_claim claim;
};

static inline const struct fuzz_signing *fuzz_signing(void)
{
	static const char *const kinds[] = {"ed25519", "ecdsa-p256"};
	static struct fuzz_signing f;
	for (size_t i = 0; i < 2 && !f.keys[i].key; i++) {
		if (pk_signer_generate(kinds[i], &f.signers[i], NULL) < 0)
			abort();
		f.keys[i].key = (struct pk_key *)pk_signer_key(f.signers[i]);
		f.keys[i].path = (char *)kinds[i];
	}
	f.policy = (struct pk_signature_policy){.required = true, .keys = f.keys, .n_keys = 2};
	f.claim = (struct pk_signature_claim){.policy = &f.policy, .digest = &f.digest, .seq = 1};
	return &f;
}

// base64 of the first key's signature, appended.
static inline void fuzz_sign(const void *message, size_t n, struct pk_buf *out)
{
	struct pk_buf raw pk_auto_buf;
	pk_buf_init(&raw, 128);
	if (pk_signer_sign(fuzz_signing()->signers[0], message, n, &raw, NULL) < 0 ||
		pk_base64_write(raw.data, raw.len, out) < 0)
		abort();
}

// What must hold of every answer.
static inline void fuzz_check(
	enum pk_signature_reason reason, const struct pk_trusted_key *key, const struct pk_err *err)
{
	if (reason >= PK_SIGNATURE_N_REASONS || (reason == PK_SIGNATURE_OK) != !err->text[0])
		abort();
	if (reason == PK_SIGNATURE_OK && !key)
		abort();
}
