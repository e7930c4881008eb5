// SPDX-License-Identifier: Apache-2.0
// Marks in shared memory and the handlers that copy the crashed thread's.
#include "base/blackbox.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAGIC 0x504b4242u // "PKBB"

// A sanitizer's own reports of a crash are worth more.
#if defined(__SANITIZE_ADDRESS__)
#define CATCH_CRASHES false
#else
#define CATCH_CRASHES true
#endif

struct page {
	uint32_t magic, version;
	struct pk_blackbox_report report;
};

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

static struct page *page; // NULL: not opened
static __thread struct pk_blackbox_mark mine;

const char *pk_blackbox_work_name(enum pk_blackbox_work work)
{
	static const char *const names[PK_N_BLACKBOX_WORKS] = {
		"none", "config", "load", "infer", "camera"};
	return (unsigned)work < PK_N_BLACKBOX_WORKS ? names[work] : "?";
}

int pk_blackbox_create(void)
{
	int fd = memfd_create("picket-blackbox", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct page)) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

static void bound(struct pk_blackbox_mark *mark)
{
	if ((unsigned)mark->work >= PK_N_BLACKBOX_WORKS)
		*mark = (struct pk_blackbox_mark){0};
	mark->model[PK_BLACKBOX_NAME - 1] = '\0';
	mark->camera[PK_BLACKBOX_NAME - 1] = '\0';
	mark->runtime[PK_BLACKBOX_NAME - 1] = '\0';
}

bool pk_blackbox_read(int fd, struct pk_blackbox_report *out)
{
	struct page found;
	*out = (struct pk_blackbox_report){0};
	if (pread(fd, &found, sizeof(found), 0) != sizeof(found) || found.magic != MAGIC ||
		found.version != sizeof(struct page))
		return false;
	*out = found.report;
	bound(&out->crashed);
	bound(&out->loading);
	bound(&out->inferring);
	out->thread[sizeof(out->thread) - 1] = '\0';
	return true;
}

// Only what is safe in a signal handler; then the signal does its own work.
static void on_fatal(int signal_number)
{
	memcpy(&page->report.crashed, &mine, sizeof(mine));
	(void)prctl(PR_GET_NAME, page->report.thread, 0, 0, 0);
	raise(signal_number); // SA_RESETHAND: the default now
}

int pk_blackbox_open(int fd)
{
	void *memory = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	page = memory;
	memset(page, 0, sizeof(*page));
	page->version = sizeof(struct page);
	page->magic = MAGIC;
	struct sigaction action = {
		.sa_handler = on_fatal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
	for (size_t i = 0; CATCH_CRASHES && i < PK_ARRAY_LEN(fatal_signals); i++)
		(void)sigaction(fatal_signals[i], &action, NULL);
	return 0;
}

static void copy(char out[PK_BLACKBOX_NAME], const char *text)
{
	size_t n = text ? strnlen(text, PK_BLACKBOX_NAME - 1) : 0;
	if (n > 0)
		memcpy(out, text, n);
	out[n] = '\0';
}

// Where a kind of work is seen by others; NULL: only by the thread itself.
static struct pk_blackbox_mark *shared(enum pk_blackbox_work work)
{
	if (!page)
		return NULL;
	return work == PK_BLACKBOX_LOAD    ? &page->report.loading
	       : work == PK_BLACKBOX_INFER ? &page->report.inferring
					   : NULL;
}

void pk_blackbox_enter(
	enum pk_blackbox_work work, const char *model, const char *camera, const char *runtime)
{
	mine.work = work;
	copy(mine.model, model);
	copy(mine.camera, camera);
	copy(mine.runtime, runtime);
	struct pk_blackbox_mark *seen = shared(work);
	if (seen)
		memcpy(seen, &mine, sizeof(mine));
}

void pk_blackbox_leave(void)
{
	struct pk_blackbox_mark *seen = shared(mine.work);
	if (seen)
		seen->work = PK_BLACKBOX_NONE;
	mine.work = PK_BLACKBOX_NONE;
}
