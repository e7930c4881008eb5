// SPDX-License-Identifier: Apache-2.0
// How tests tell the doubles of picket-worker and picket-build what to do: a file with one word,
// named by an environment variable and read at each decision.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_WORKER_MODE "PICKET_DOUBLE_WORKER"
#define DOUBLE_BUILD_MODE  "PICKET_DOUBLE_BUILD"

static inline void double_mode(const char *variable, char out[32])
{
	const char *path = getenv(variable);
	FILE *file = path ? fopen(path, "re") : NULL;
	snprintf(out, 32, "good");
	if (!file)
		return;
	if (fscanf(file, "%31s", out) != 1)
		snprintf(out, 32, "good");
	fclose(file);
}

static inline int double_is(const char *variable, const char *mode)
{
	char now[32];
	double_mode(variable, now);
	return strcmp(now, mode) == 0;
}
