// SPDX-License-Identifier: Apache-2.0
// Resident memory from procfs.
#include "base/rss.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

// Text is never written to, so that dropping it loses nothing; data, also what is read-only after
// relocation, is left alone.
void pk_rss_give_back(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	malloc_trim(0);
	while (maps && fgets(line, sizeof(line), maps)) {
		uintptr_t begin, end;
		unsigned long inode;
		char mode[5];
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %lu", &begin, &end, mode,
			    &inode) == 4 &&
			inode != 0 && strcmp(mode, "r-xp") == 0)
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	if (maps)
		fclose(maps);
}
