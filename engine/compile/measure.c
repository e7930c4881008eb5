// SPDX-License-Identifier: Apache-2.0
// Cold timing by eviction.
#include "engine/compile/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define EVICT_BYTES (8u << 20) // beyond a core's own caches on the machines served
#define MAX_RUNS    7

struct pk_measure {
	unsigned char *evict;
	unsigned char round;
};

struct pk_measure *pk_measure_create(void)
{
	struct pk_measure *measure = calloc(1, sizeof(*measure));
	if (!measure)
		return NULL;
	measure->evict = malloc(EVICT_BYTES);
	if (!measure->evict) {
		free(measure);
		return NULL;
	}
	return measure;
}

void pk_measure_destroy(struct pk_measure *measure)
{
	if (!measure)
		return;
	free(measure->evict);
	free(measure);
}

static int compare_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return a < b ? -1 : a > b;
}

static int64_t timed_run(struct pk_measure *measure, void (*run)(void *ctx), void *ctx)
{
	memset(measure->evict, ++measure->round, EVICT_BYTES);
	__asm__ volatile("" : : "r"(measure->evict) : "memory");
	int64_t start = pk_thread_cpu_ns();
	run(ctx);
	return pk_thread_cpu_ns() - start;
}

double pk_measure_run(
	struct pk_measure *measure, void (*run)(void *ctx), void *ctx, int64_t budget_ns)
{
	int64_t begin = pk_now_ns();
	int64_t ns[MAX_RUNS];
	int n = 0;
	run(ctx);
	do {
		ns[n++] = timed_run(measure, run, ctx);
	} while (n < MAX_RUNS && pk_now_ns() - begin < budget_ns);
	qsort(ns, (size_t)n, sizeof(ns[0]), compare_ns);
	return (double)ns[n / 2] / (double)PK_NS_PER_US;
}
