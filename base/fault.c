// SPDX-License-Identifier: Apache-2.0
// Counts the crash points that were passed and dies at the wanted one.
#include "base/fault.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PICKET_FAULTS
void pk_fault_point(const char *name)
{
	static atomic_ulong n_passed;
	const char *wanted = getenv("PICKET_FAULT");
	if (!wanted)
		return;
	const char *colon = strrchr(wanted, ':');
	size_t n = colon ? (size_t)(colon - wanted) : 0;
	if (colon && (strlen(name) != n || strncmp(name, wanted, n) != 0))
		return;
	unsigned long k = strtoul(colon ? colon + 1 : wanted, NULL, 10);
	if (atomic_fetch_add(&n_passed, 1) + 1 == k)
		_exit(PK_FAULT_EXIT_CODE);
}
#endif
