// SPDX-License-Identifier: Apache-2.0
// What a server demands when it says 401. Source: RFC 9110 section 11.6.1.
#pragma once

#include <stddef.h>

#include "base/attr.h"

#define PK_CHALLENGE_MAX 8 // kept of one answer

struct pk_challenge {
	char scheme[16];  // lower case: "basic", "bearer", …
	char realm[1024]; // "" when it is missing or too long; likewise below
	char service[256];
	char scope[1024];
};

// Reads the values of all WWW-Authenticate headers, one a line, several challenges in any. Parts
// that cannot be read are passed over. The number of challenges in out.
size_t pk_challenge_parse(const char *text, struct pk_challenge out[PK_CHALLENGE_MAX]);
