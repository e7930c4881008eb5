// SPDX-License-Identifier: Apache-2.0
// Resident memory from procfs.
#include "base/rss.h"

#include <stdio.h>
#include <unistd.h>

int64_t pk_rss_bytes(void)
{
	long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*s %lld", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}
