// SPDX-License-Identifier: Apache-2.0
// A preloaded library for tests: shifts the wall clock of one process by the seconds that stand in
// the file $PICKET_WALL_OFFSET; monotonic clocks go on as they are.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *out)
{
	static int (*real)(clockid_t clock, struct timespec * out);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(clock, out);
	const char *path = getenv("PICKET_WALL_OFFSET");
	FILE *file = r == 0 && clock == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
	long long offset_s = 0;
	if (!file)
		return r;
	if (fscanf(file, "%lld", &offset_s) == 1)
		out->tv_sec += offset_s;
	fclose(file);
	return r;
}
