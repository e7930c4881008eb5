// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: each inference of the worker takes $PICKET_SLOW_MS longer. A frame's way is known by
// the locks of its thread: after the scheduler's and the route's comes the engine. The bench holds
// what the worker says of its inference times against it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define UNLOCKS_BEFORE 2
#define UNKNOWN_UNTIL  16 // unlocks: a thread gets its name after it has begun

static __thread int n_unlocks, n_seen, is_infer;

static int infers(void)
{
	char name[16] = "";
	if (!is_infer && n_seen < UNKNOWN_UNTIL) {
		n_seen++;
		prctl(PR_GET_NAME, name);
		is_infer = strcmp(name, "pk-infer") == 0;
	}
	return is_infer;
}

static void wait_more(void)
{
	static long ms = -1;
	if (ms < 0)
		ms = strtol(getenv("PICKET_SLOW_MS") ? getenv("PICKET_SLOW_MS") : "0", NULL, 10);
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*next)(pthread_mutex_t * mutex);
	if (!next)
		next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	int r = next(mutex);
	if (infers() && ++n_unlocks == UNLOCKS_BEFORE)
		wait_more();
	return r;
}

// The end of a frame; the unlock that follows belongs to it.
int pthread_cond_broadcast(pthread_cond_t *cond)
{
	static int (*next)(pthread_cond_t * cond);
	if (!next)
		next = (int (*)(pthread_cond_t *))dlvsym(
			RTLD_NEXT, "pthread_cond_broadcast", "GLIBC_2.3.2");
	if (!next)
		next = (int (*)(pthread_cond_t *))dlsym(RTLD_NEXT, "pthread_cond_broadcast");
	if (infers())
		n_unlocks = -1;
	return next(cond);
}
