// SPDX-License-Identifier: Apache-2.0
// Child processes by pidfd: start, signal, wait.
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/subprocess_child.h"

#define PK_P_PIDFD 3 // P_PIDFD of newer C libraries

static int pk_subprocess_check(const struct pk_subprocess_options *o, struct pk_err *err)
{
	if (!o->argv || !o->argv[0] || o->argv[0][0] != '/')
		return pk_fail(err, -EINVAL, "subprocess: not an absolute path: %s",
			o->argv && o->argv[0] ? o->argv[0] : "(none)");
	if (o->n_fds > PK_SUBPROCESS_FDS_MAX)
		return pk_fail(err, -EINVAL, "%s: more than %d descriptors to pass", o->argv[0],
			PK_SUBPROCESS_FDS_MAX);
	for (size_t i = 0; i < o->n_fds; i++)
		if (o->fds[i].parent_fd < 0 || o->fds[i].child_fd < 0)
			return pk_fail(
				err, -EBADF, "%s: descriptor %zu is not open", o->argv[0], i);
	return 0;
}

static void pk_plan_keep(struct pk_child_plan *plan, int fd)
{
	size_t i = plan->n_kept++;
	for (; i > 0 && plan->kept_fds[i - 1] > fd; i--)
		plan->kept_fds[i] = plan->kept_fds[i - 1];
	plan->kept_fds[i] = fd;
}

static void pk_plan_init(struct pk_child_plan *plan, const struct pk_subprocess_options *o)
{
	*plan = (struct pk_child_plan){
		.options = o, .error_fd = -1, .parent_pid = getpid(), .floor_fd = 3};
	for (size_t i = 0; i < o->n_fds; i++) {
		int fd = o->fds[i].child_fd;
		if (fd > 2)
			pk_plan_keep(plan, fd);
		plan->floor_fd = PK_MAX(plan->floor_fd, fd + 1);
	}
}

// The write end must not carry a number that the child gives to something else.
static int pk_open_error_pipe(int *read_fd, int *write_fd, int floor_fd)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_fd = ends[0];
	*write_fd = fcntl(ends[1], F_DUPFD_CLOEXEC, floor_fd);
	int saved = errno;
	close(ends[1]);
	errno = saved;
	return *write_fd < 0 ? -1 : 0;
}

// Signals are held back over the fork so that none runs the parent's handler in the child.
static pid_t pk_fork_quietly(const struct pk_child_plan *plan)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		pk_child_run(plan);
	int saved = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

// Waits until the child has executed (1: end of file) or told why it could not (0).
static int pk_read_failure(int fd, struct pk_child_failure *failure)
{
	ssize_t n;
	do
		n = read(fd, failure, sizeof(*failure));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*failure) ? 0 : 1;
}

static void pk_reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
}

int pk_subprocess_start(
	struct pk_subprocess *proc, const struct pk_subprocess_options *options, struct pk_err *err)
{
	*proc = (struct pk_subprocess){.pidfd = -1};
	int r = pk_subprocess_check(options, err);
	if (r < 0)
		return r;
	const char *path = options->argv[0];
	struct pk_child_plan plan;
	pk_plan_init(&plan, options);
	pk_auto_close int read_fd = -1;
	pk_auto_close int write_fd = -1;
	if (pk_open_error_pipe(&read_fd, &write_fd, plan.floor_fd) < 0)
		return pk_fail_errno(err, "%s: pipe", path);
	plan.error_fd = write_fd;
	pid_t pid = pk_fork_quietly(&plan);
	if (pid < 0)
		return pk_fail_errno(err, "%s: fork", path);
	close(pk_steal_fd(write_fd));
	struct pk_child_failure failure;
	if (pk_read_failure(read_fd, &failure) == 0) {
		pk_reap(pid);
		errno = failure.error;
		return pk_fail_errno(err, "%s: %s", path, pk_child_step_name(failure.step));
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0u); // close-on-exec by itself
	if (pidfd < 0) {
		r = pk_fail_errno(err, "%s: pidfd", path);
		kill(pid, SIGKILL);
		pk_reap(pid);
		return r;
	}
	*proc = (struct pk_subprocess){.pid = pid, .pidfd = pidfd};
	return 0;
}

int pk_subprocess_signal(const struct pk_subprocess *proc, int signal)
{
	if (proc->pidfd < 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, proc->pidfd, signal, NULL, 0u) == 0 ? 0 : -errno;
}

// 1 when the child has ended, 0 on timeout, or -errno.
static int pk_wait_readable(int pidfd, int timeout_ms)
{
	int64_t deadline_ns = pk_now_ns() + timeout_ms * PK_NS_PER_MS;
	for (;;) {
		struct pollfd p = {.fd = pidfd, .events = POLLIN};
		int n = poll(&p, 1, timeout_ms);
		if (n >= 0)
			return n;
		if (errno != EINTR)
			return -errno;
		if (timeout_ms > 0)
			timeout_ms =
				(int)PK_MAX((deadline_ns - pk_now_ns()) / PK_NS_PER_MS, INT64_C(0));
	}
}

static int64_t pk_timeval_ns(struct timeval tv)
{
	return tv.tv_sec * PK_NS_PER_S + tv.tv_usec * PK_NS_PER_US;
}

int pk_subprocess_wait(struct pk_subprocess *proc, int timeout_ms, struct pk_exit_status *status)
{
	if (proc->pidfd < 0)
		return -ECHILD;
	int r = pk_wait_readable(proc->pidfd, timeout_ms);
	if (r <= 0)
		return r;
	siginfo_t info = {0};
	struct rusage usage;
	// The system call also gives the usage, which the C library's waitid leaves out.
	if (syscall(SYS_waitid, PK_P_PIDFD, proc->pidfd, &info, WEXITED | WNOHANG, &usage) < 0)
		return -errno;
	if (info.si_pid == 0)
		return 0;
	*status = (struct pk_exit_status){
		.signalled = info.si_code != CLD_EXITED,
		.code = info.si_status,
		.core_dumped = info.si_code == CLD_DUMPED,
		.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.cpu_ns = pk_timeval_ns(usage.ru_utime) + pk_timeval_ns(usage.ru_stime),
	};
	close(proc->pidfd);
	*proc = (struct pk_subprocess){.pidfd = -1};
	return 1;
}

void pk_exit_status_format(const struct pk_exit_status *status, char out[PK_EXIT_TEXT_MAX])
{
	const char *name = status->signalled ? sigabbrev_np(status->code) : NULL;
	if (!status->signalled)
		snprintf(out, PK_EXIT_TEXT_MAX, "exit code %d", status->code);
	else if (name)
		snprintf(out, PK_EXIT_TEXT_MAX, "killed by SIG%s", name);
	else
		snprintf(out, PK_EXIT_TEXT_MAX, "killed by signal %d", status->code);
}
