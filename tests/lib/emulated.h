// SPDX-License-Identifier: Apache-2.0
// What qemu-user cannot do (scripts/cross-build): a test says so there, by name, and leaves it out.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// True where programs are run by qemu-user.
static inline bool is_emulated(const char *test, const char *why)
{
	bool emulated = getenv("PICKET_EMULATED") != NULL;
	if (emulated)
		printf("not emulated - %s: %s\n", test, why);
	return emulated;
}
