// SPDX-License-Identifier: Apache-2.0
// Statements about loose files, truly signed, against two files.
#include <stdint.h>
#include <string.h>

#include "fuzz_signature.h"
#include "registry/dsse.h"
#include "registry/signature_oms.h"

#define INTOTO "application/vnd.in-toto+json"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_signature_file items[] = {{.name = (char *)"a"}, {.name = (char *)"b/c"}};
	const struct pk_signature_files files = {.items = items, .n = 2};
	const struct pk_trusted_key *key = NULL;
	struct pk_err err = {0};
	struct pk_buf message pk_auto_buf;
	struct pk_buf bundle pk_auto_buf;
	pk_buf_init(&message, 1 << 20);
	pk_buf_init(&bundle, 1 << 21);
	if (pk_dsse_encode(INTOTO, data, size, &message) < 0)
		return 0;
	pk_buf_str(&bundle, "{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
			    "\"verificationMaterial\":{},\"dsseEnvelope\":{\"payload\":\"");
	pk_base64_write(data, size, &bundle);
	pk_buf_str(&bundle, "\",\"payloadType\":\"" INTOTO "\",\"signatures\":[{\"sig\":\"");
	fuzz_sign(message.data, message.len, &bundle);
	pk_buf_str(&bundle, "\"}]}}");
	fuzz_check(pk_signature_oms_check(&fuzz_signing()->claim, &bundle, &files, &key, &err), key,
		&err);
	return 0;
}
