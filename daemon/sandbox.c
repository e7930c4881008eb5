// SPDX-License-Identifier: Apache-2.0
// The list of system calls that building an engine takes; everything else is refused.
#include "daemon/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FILES 256

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

// Without conditions. Opening is for Landlock to judge.
static const int allowed[] = {
	SCMP_SYS(access),
	SCMP_SYS(brk),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fallocate),
	SCMP_SYS(fchmod),
	SCMP_SYS(fcntl),
	SCMP_SYS(fdatasync),
	SCMP_SYS(flock),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(futex),
	SCMP_SYS(get_robust_list),
	SCMP_SYS(getcpu),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents64),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(getpriority),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getuid),
	SCMP_SYS(lseek),
	SCMP_SYS(lstat),
	SCMP_SYS(madvise),
	SCMP_SYS(membarrier),
	SCMP_SYS(mincore),
	SCMP_SYS(mlock),
	SCMP_SYS(mremap),
	SCMP_SYS(msync),
	SCMP_SYS(munlock),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(pipe2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(read),
	SCMP_SYS(readahead),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(readv),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_get_priority_max),
	SCMP_SYS(sched_get_priority_min),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(stat),
	SCMP_SYS(statx),
	SCMP_SYS(sysinfo),
	SCMP_SYS(time),
	SCMP_SYS(umask),
	SCMP_SYS(uname),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(write),
	SCMP_SYS(writev),
#if defined(__SANITIZE_ADDRESS__)
	// The leak checker starts a process that looks at this one.
	SCMP_SYS(clone),
	SCMP_SYS(ptrace),
	SCMP_SYS(wait4),
	SCMP_SYS(process_vm_readv),
#endif
};

// What drivers of accelerators take besides.
static const int allowed_devices[] = {
	SCMP_SYS(ioctl),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(get_mempolicy),
	SCMP_SYS(mbind),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mkdirat),
};

static int allow_all(scmp_filter_ctx filter, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
		if (r < 0 && r != -EDOM) // not a call of this machine
			return r;
	}
	return 0;
}

// Calls whose arguments decide: call, index of the argument, mask, value.
static int allow_some(scmp_filter_ctx filter, bool devices)
{
	const struct {
		int call;
		unsigned arg;
		scmp_datum_t mask, value;
	} rows[] = {
		{SCMP_SYS(clone), SCMP_ARCH_NATIVE == SCMP_ARCH_S390X ? 1 : 0, CLONE_THREAD,
			CLONE_THREAD},
		{SCMP_SYS(ioctl), 1, UINT32_MAX, TCGETS}, // is it a terminal
		{SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_NAME},
		{SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_VMA},
		{SCMP_SYS(prlimit64), 2, UINT64_MAX, 0},                   // only look
		{SCMP_SYS(tgkill), 0, UINT32_MAX, (scmp_datum_t)getpid()}, // abort(3)
		{SCMP_SYS(mmap), 2, devices ? 0 : PROT_EXEC, 0},
		{SCMP_SYS(mprotect), 2, devices ? 0 : PROT_EXEC, 0},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		const struct scmp_arg_cmp compare =
			SCMP_CMP(rows[i].arg, SCMP_CMP_MASKED_EQ, rows[i].mask, rows[i].value);
		int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rows[i].call, 1, &compare);
		if (r < 0 && r != -EDOM && r != -EEXIST)
			return r;
	}
	return 0;
}

// 1, 0 when this kernel has no filters, or -errno.
static int limit_calls(bool devices)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	// The C library falls back to clone, whose flags can be looked at.
	int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r == 0)
		r = allow_all(filter, allowed, PK_ARRAY_LEN(allowed));
	if (r == 0 && devices)
		r = allow_all(filter, allowed_devices, PK_ARRAY_LEN(allowed_devices));
	if (r == 0)
		r = allow_some(filter, devices);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	// -ECANCELED: the kernel said no; EINVAL and ENOSYS are its words for "not built in".
	if (r == -EINVAL || r == -ENOSYS ||
		(r == -ECANCELED && (errno == EINVAL || errno == ENOSYS)))
		return 0;
	return r < 0 ? r : 1;
}

static void lower(int resource, rlim_t value)
{
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_cur < value ? limit.rlim_cur : value;
	limit.rlim_max = limit.rlim_max < value ? limit.rlim_max : value;
	(void)setrlimit((__rlimit_resource_t)resource, &limit);
}

int pk_sandbox_enter(const struct pk_sandbox_options *options, struct pk_sandbox_status *status,
	struct pk_err *err)
{
	*status = (struct pk_sandbox_status){0};
	lower(RLIMIT_CORE, 0);
	lower(RLIMIT_NOFILE, MAX_FILES);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return pk_fail_errno(err, "sandbox: no_new_privs");
	int r = pk_sandbox_limit_paths(options, err);
	if (r < 0)
		return r;
	status->landlock_abi = r;
	r = limit_calls(options->devices);
	if (r < 0)
		return pk_fail(err, r, "sandbox: the system call filter cannot be loaded");
	status->seccomp = r > 0;
	return 0;
}

static bool can_fork(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return pid > 0;
}

// exec would replace this process where it is let through, so it tries what is no program: the
// filter answers before the kernel looks at it.
static bool can_exec(void)
{
	char *const argv[] = {(char[]){"/dev/null"}, NULL};
	char *const envp[] = {NULL};
	execve("/dev/null", argv, envp);
	return errno != EPERM;
}

void pk_sandbox_try(const char *write_path, struct pk_sandbox_probe *probe)
{
	*probe = (struct pk_sandbox_probe){.exec = can_exec(), .fork = can_fork()};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	probe->socket = fd >= 0;
	if (fd >= 0)
		close(fd);
	fd = open(write_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	probe->write = fd >= 0;
	if (fd < 0)
		return;
	close(fd);
	(void)unlink(write_path);
}
