// SPDX-License-Identifier: Apache-2.0
// Threads by pthread.
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/attr.h"
#include "base/clock.h"

// All but those that a thread brings upon itself: where they are blocked the process ends without
// a word of who it was (base/blackbox.h).
static void pk_thread_block_signals(sigset_t *before)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < PK_ARRAY_LEN(own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

int pk_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t before;
	pk_thread_block_signals(&before);
	int r = pthread_create(out, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return -r;
	char short_name[16];
	snprintf(short_name, sizeof(short_name), "%s", name);
	pthread_setname_np(*out, short_name);
	return 0;
}

bool pk_thread_join(pthread_t thread, int64_t timeout_ns)
{
	int64_t until_ns = pk_now_ns() + timeout_ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / PK_NS_PER_S),
		.tv_nsec = (long)(until_ns % PK_NS_PER_S)};
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}
