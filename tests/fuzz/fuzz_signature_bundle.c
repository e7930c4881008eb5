// SPDX-License-Identifier: Apache-2.0
// Sigstore bundles, DSSE envelopes and statements; the latter truly signed, so that they are read.
#include <stdint.h>
#include <string.h>

#include "fuzz_signature.h"
#include "registry/descriptor.h"
#include "registry/dsse.h"
#include "registry/signature_bundle.h"

#define INTOTO "application/vnd.in-toto+json"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const void *bundle, size_t n, bool is_signed)
{
	struct pk_err err = {0};
	const struct pk_trusted_key *key = NULL;
	enum pk_signature_reason reason =
		pk_signature_bundle_check(&fuzz_signing()->claim, bundle, n, &key, &err);
	fuzz_check(reason, key, &err);
	if (!is_signed && (reason == PK_SIGNATURE_OK || key))
		abort();
}

static void check_signed(const uint8_t *statement, size_t size)
{
	struct pk_buf message pk_auto_buf;
	struct pk_buf bundle pk_auto_buf;
	pk_buf_init(&message, 1 << 20);
	pk_buf_init(&bundle, 1 << 21);
	if (pk_dsse_encode(INTOTO, statement, size, &message) < 0)
		return;
	pk_buf_str(&bundle, "{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
			    "\"verificationMaterial\":{},\"dsseEnvelope\":{\"payload\":\"");
	pk_base64_write(statement, size, &bundle);
	pk_buf_str(&bundle, "\",\"payloadType\":\"" INTOTO "\",\"signatures\":[{\"sig\":\"");
	fuzz_sign(message.data, message.len, &bundle);
	pk_buf_str(&bundle, "\"}]}}");
	check(bundle.data, bundle.len, true);
}

static void check_lists(const uint8_t *data, size_t size)
{
	struct pk_descriptor *entries = NULL;
	struct pk_descriptor layer;
	size_t n = 0;
	struct pk_err err = {0};
	int rc = pk_signature_bundle_list(data, size, &entries, &n, &err);
	if ((rc < 0) != (err.text[0] != '\0') || n > PK_SIGNATURE_MAX_FOUND || (rc < 0 && entries))
		abort();
	pk_signature_bundle_free(entries, n);
	err = (struct pk_err){0};
	if ((pk_signature_bundle_layer(&fuzz_signing()->digest, data, size, &layer, &err) ==
		    PK_SIGNATURE_OK) != (layer.media_type != NULL))
		abort();
	pk_descriptor_finish(&layer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(data, size, false); // nobody guesses a signature
	check_signed(data, size);
	check_lists(data, size);
	return 0;
}
