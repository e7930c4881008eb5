// SPDX-License-Identifier: Apache-2.0
// The child's way from fork to exec: system calls only, in the order of the step table.
#include "base/subprocess_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// linux/ioprio.h is missing from older kernel headers.
#define PK_IOPRIO_WHO_PROCESS 1
#define PK_IOPRIO_CLASS_IDLE  (3 << 13)

// Without close_range (Linux 5.9) descriptors are closed one by one up to here.
#define PK_CLOSE_LOOP_MAX (1 << 20)

// Each step returns 0 or -1 with errno.

static int pk_child_reset_signals(const struct pk_child_plan *plan)
{
	for (int sig = 1; sig < NSIG; sig++) // some refuse (SIGKILL, libc's own): nothing to reset
		signal(sig, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int pk_child_bind_to_parent(const struct pk_child_plan *plan)
{
	if (!plan->options->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (getppid() != plan->parent_pid) // it died before the pact was made
		_exit(1);
	return 0;
}

static int pk_child_limit(int resource, uint64_t soft, uint64_t hard)
{
	if (soft == 0)
		return 0;
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -1;
	if (hard < limit.rlim_max) // limits that stand already are never raised
		limit.rlim_max = (rlim_t)hard;
	limit.rlim_cur = soft < limit.rlim_max ? (rlim_t)soft : limit.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit);
}

static int pk_child_limit_memory(const struct pk_child_plan *plan)
{
	uint64_t bytes = plan->options->max_memory_bytes;
	return pk_child_limit(RLIMIT_AS, bytes, bytes);
}

static int pk_child_limit_cpu(const struct pk_child_plan *plan)
{
	uint64_t s =
		plan->options->max_cpu_s; // SIGXCPU at s names the cause; SIGKILL a second later
	return pk_child_limit(RLIMIT_CPU, s, s + 1);
}

static int pk_child_limit_files(const struct pk_child_plan *plan)
{
	uint64_t bytes = plan->options->max_file_bytes;
	return pk_child_limit(RLIMIT_FSIZE, bytes, bytes);
}

static int pk_child_nice(const struct pk_child_plan *plan)
{
	if (plan->options->nice == 0)
		return 0;
	errno = 0;
	return nice(plan->options->nice) == -1 && errno != 0 ? -1 : 0;
}

static int pk_child_idle_io(const struct pk_child_plan *plan)
{
	if (!plan->options->idle_io)
		return 0;
	return (int)syscall(SYS_ioprio_set, PK_IOPRIO_WHO_PROCESS, 0, PK_IOPRIO_CLASS_IDLE);
}

// snprintf is not async-signal-safe.
static size_t pk_child_format_int(int value, char out[12])
{
	char digits[12];
	size_t n = 0, len = 0;
	unsigned v = value < 0 ? 0u - (unsigned)value : (unsigned)value;
	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (value < 0)
		out[len++] = '-';
	while (n)
		out[len++] = digits[--n];
	return len;
}

static int pk_child_oom_score(const struct pk_child_plan *plan)
{
	if (plan->options->oom_score_adj == 0)
		return 0;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	char text[12];
	size_t len = pk_child_format_int(plan->options->oom_score_adj, text);
	ssize_t n = write(fd, text, len);
	int saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)len ? 0 : -1;
}

// Two rounds: a source may carry the number that another one is to get, so all sources first move
// above every target.
static int pk_child_place_fds(const struct pk_child_plan *plan)
{
	const struct pk_subprocess_options *o = plan->options;
	int moved[PK_SUBPROCESS_FDS_MAX];
	for (size_t i = 0; i < o->n_fds; i++) {
		moved[i] = fcntl(o->fds[i].parent_fd, F_DUPFD_CLOEXEC, plan->floor_fd);
		if (moved[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < o->n_fds; i++) // dup2 leaves the copy open over exec
		if (dup2(moved[i], o->fds[i].child_fd) < 0)
			return -1;
	return 0;
}

static void pk_child_close_range(unsigned first, unsigned last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0u) == 0)
		return;
	struct rlimit limit;
	unsigned end = PK_CLOSE_LOOP_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < end)
		end = (unsigned)limit.rlim_cur;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		close((int)fd);
}

// The error pipe stays until exec closes it; it lies above every kept descriptor.
static int pk_child_close_rest(const struct pk_child_plan *plan)
{
	unsigned next = 3;
	for (size_t i = 0; i < plan->n_kept; i++) {
		unsigned fd = (unsigned)plan->kept_fds[i];
		if (fd > next)
			pk_child_close_range(next, fd - 1);
		if (fd >= next)
			next = fd + 1;
	}
	unsigned error_fd = (unsigned)plan->error_fd;
	if (error_fd > next)
		pk_child_close_range(next, error_fd - 1);
	pk_child_close_range(error_fd + 1, UINT_MAX);
	return 0;
}

static int pk_child_exec(const struct pk_child_plan *plan)
{
	const struct pk_subprocess_options *o = plan->options;
	char *const *env = o->env ? (char *const *)(uintptr_t)o->env : environ;
	return execve(o->argv[0], (char *const *)(uintptr_t)o->argv, env);
}

// Descriptors first: the limits (RLIMIT_AS above all) are the last thing before exec.
static const struct {
	const char *name;
	int (*run)(const struct pk_child_plan *plan);
} pk_child_steps[] = {
	{"reset signals", pk_child_reset_signals},
	{"bind to the parent", pk_child_bind_to_parent},
	{"place descriptors", pk_child_place_fds},
	{"close descriptors", pk_child_close_rest},
	{"set the niceness", pk_child_nice},
	{"set the I/O class", pk_child_idle_io},
	{"set oom_score_adj", pk_child_oom_score},
	{"limit file size", pk_child_limit_files},
	{"limit CPU time", pk_child_limit_cpu},
	{"limit memory", pk_child_limit_memory},
	{"execute", pk_child_exec},
};

void pk_child_run(const struct pk_child_plan *plan)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_child_steps); i++) {
		if (pk_child_steps[i].run(plan) == 0)
			continue;
		struct pk_child_failure failure = {.step = (int)i, .error = errno};
		ssize_t n = write(plan->error_fd, &failure, sizeof(failure));
		_exit(n == (ssize_t)sizeof(failure) ? 127 : 126);
	}
	_exit(126); // exec does not return 0
}

const char *pk_child_step_name(int step)
{
	bool known = step >= 0 && (size_t)step < PK_ARRAY_LEN(pk_child_steps);
	return known ? pk_child_steps[step].name : "start";
}
