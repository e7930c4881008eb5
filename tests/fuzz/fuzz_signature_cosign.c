// SPDX-License-Identifier: Apache-2.0
// Simple-signing payloads, with and without a true signature, and the manifests that list them.
#include <stdint.h>

#include "fuzz_signature.h"
#include "registry/signature_cosign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *signature, const struct pk_buf *payload, bool is_signed)
{
	struct pk_err err = {0};
	const struct pk_trusted_key *key = NULL;
	enum pk_signature_reason reason =
		pk_signature_cosign_check(&fuzz_signing()->claim, signature, payload, &key, &err);
	fuzz_check(reason, key, &err);
	if (!is_signed && (reason == PK_SIGNATURE_OK || key))
		abort();
}

static void check_list(const uint8_t *data, size_t size)
{
	struct pk_signature_cosign_layer *layers = NULL;
	size_t n = 0;
	struct pk_err err = {0};
	int rc = pk_signature_cosign_list(data, size, &layers, &n, &err);
	if ((rc < 0) != (err.text[0] != '\0') || n > PK_SIGNATURE_MAX_FOUND || (rc < 0 && layers))
		abort();
	pk_signature_cosign_free(layers, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_buf payload pk_auto_buf;
	struct pk_buf signature pk_auto_buf;
	struct pk_buf text pk_auto_buf;
	pk_buf_init(&payload, 1 << 20);
	pk_buf_init(&signature, 256);
	pk_buf_init(&text, 1 << 20);
	check_list(data, size);
	pk_buf_append(&payload, data, size);
	fuzz_sign(data, size, &signature);
	check(pk_buf_cstr(&signature), &payload, true);
	// And as the text of a signature of nothing.
	pk_buf_append(&text, data, size);
	pk_buf_clear(&payload);
	check(pk_buf_cstr(&text), &payload, false);
	return 0;
}
