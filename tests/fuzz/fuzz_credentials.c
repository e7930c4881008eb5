// SPDX-License-Identifier: Apache-2.0
// config.json files.
#include <stdint.h>
#include <stdlib.h>

#include "registry/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_credentials found;
	struct pk_err err = {0};
	if (pk_credentials_parse(data, size, "reg.example", &found, &err) == 0) {
		if (!found.user != !found.password)
			abort();
	} else if (!err.text[0] || found.user || found.identity_token) {
		abort();
	}
	pk_credentials_finish(&found);
	return 0;
}
