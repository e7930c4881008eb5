// SPDX-License-Identifier: Apache-2.0
// WWW-Authenticate of hostile servers.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_challenge found[PK_CHALLENGE_MAX];
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	size_t n = pk_challenge_parse(text, found);
	if (n > PK_CHALLENGE_MAX)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (!found[i].scheme[0] || strchr(found[i].realm, '\n'))
			abort();
		if (strlen(found[i].scheme) + strlen(found[i].realm) + strlen(found[i].scope) >
			size)
			abort(); // more than was there
	}
	free(text);
	return 0;
}
