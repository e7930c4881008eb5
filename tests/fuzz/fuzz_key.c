// SPDX-License-Identifier: Apache-2.0
// PEM files of public keys, their DER, and signatures of any bytes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "registry/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int rc, struct pk_key *key, const struct pk_err *err)
{
	if ((rc == 0) != (key != NULL) || (rc < 0) != (err->text[0] != '\0'))
		abort();
	if (key && strlen(pk_key_id(key)) != PK_KEY_ID_TEXT - 1)
		abort();
	// Some key that nobody holds did not sign the empty message with 64 equal bytes.
	uint8_t signature[64];
	memset(signature, 7, sizeof(signature));
	if (key && pk_key_verify(key, "", 0, signature, sizeof(signature)))
		abort();
	pk_key_destroy(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_key *key = NULL;
	struct pk_err err = {0};
	int rc = pk_key_parse(data, size, &key, &err);
	check(rc, key, &err);
	err = (struct pk_err){0};
	rc = pk_key_from_der(data, size, &key, &err);
	check(rc, key, &err);
	(void)!pk_key_check_form(data, size, &err);
	struct pk_buf out pk_auto_buf;
	struct pk_buf again pk_auto_buf;
	pk_buf_init(&out, 1 << 20);
	pk_buf_init(&again, 1 << 20);
	// What is read as base64 is written the same again.
	if (pk_base64_read((const char *)data, size, &out, NULL) == 0 &&
		(pk_base64_write(pk_buf_cstr(&out), out.len, &again) < 0 || again.len != size ||
			memcmp(pk_buf_cstr(&again), data, size) != 0))
		abort();
	return 0;
}
