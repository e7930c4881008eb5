// SPDX-License-Identifier: Apache-2.0
// The builder's sandbox, from inside: each trial runs in a child that has entered it.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "daemon/sandbox.h"
#include "tests/unit/daemon/support.h"

enum { WENT_THROUGH = 0, REFUSED = 1, NO_SECCOMP = 2, NO_LANDLOCK = 3, NOT_ENTERED = 4 };

struct scene {
	char *folder; // may be written
	char *other;  // may not
};

typedef bool trial_fn(const struct scene *scene);

static char *in(const char *folder, const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool try_internet(const struct scene *scene)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool try_unix_socket(const struct scene *scene)
{
	int ends[2];
	return socket(AF_UNIX, SOCK_DGRAM, 0) >= 0 ||
	       socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
}

static bool try_exec(const struct scene *scene)
{
	char *const argv[] = {(char[]){"true"}, NULL};
	execve("/bin/true", argv, argv + 1); // exit code 0 when it goes through
	return false;
}

static bool try_fork(const struct scene *scene)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool try_signal(const struct scene *scene)
{
	return kill(getppid(), 0) == 0;
}

static bool try_ptrace(const struct scene *scene)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
}

static bool try_code(const struct scene *scene)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p != MAP_FAILED && mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool try_raise_limit(const struct scene *scene)
{
	const struct rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool try_write_elsewhere(const struct scene *scene)
{
	return can_open(in(scene->other, "new"), O_WRONLY | O_CREAT) ||
	       can_open(in(scene->other, "there"), O_WRONLY);
}

static bool try_remove_elsewhere(const struct scene *scene)
{
	return unlink(in(scene->other, "there")) == 0;
}

static bool try_read_elsewhere(const struct scene *scene)
{
	return can_open(in(scene->other, "there"), O_RDONLY) || can_open("/etc/passwd", O_RDONLY);
}

static bool try_link_out(const struct scene *scene)
{
	return symlink("/etc/passwd", in(scene->folder, "link")) == 0;
}

static const struct {
	const char *name;
	trial_fn *run;
	bool by_paths; // Landlock's part
} refused[] = {
	{"internet socket", try_internet, false},
	{"unix socket", try_unix_socket, false},
	{"exec", try_exec, false},
	{"fork", try_fork, false},
	{"signal to another process", try_signal, false},
	{"ptrace", try_ptrace, false},
	{"memory that becomes code", try_code, false},
	{"changing limits", try_raise_limit, false},
	{"symbolic link", try_link_out, false},
	{"write elsewhere", try_write_elsewhere, true},
	{"remove elsewhere", try_remove_elsewhere, true},
	{"read elsewhere", try_read_elsewhere, true},
};

static int run_inside(const struct scene *scene, trial_fn *trial, bool by_paths)
{
	const struct pk_sandbox_options options = {
		.read = {"/nonexistent"}, .n_read = 1, .write = {scene->folder}, .n_write = 1};
	struct pk_sandbox_status status;
	struct pk_err err = {0};
	if (pk_sandbox_enter(&options, &status, &err) < 0)
		return NOT_ENTERED;
	if (!by_paths && !status.seccomp)
		return NO_SECCOMP;
	if (by_paths && !status.landlock_abi)
		return NO_LANDLOCK;
	return trial(scene) ? WENT_THROUGH : REFUSED;
}

// Wait status of a child in which the trial was made.
static int trial_status(const struct scene *scene, trial_fn *trial, bool by_paths)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(run_inside(scene, trial, by_paths));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void open_scene(struct scene *scene)
{
	*scene = (struct scene){.folder = make_folder(), .other = make_folder()};
	write_text(scene->other, "there", "x");
}

static void close_scene(struct scene *scene)
{
	remove_folder(scene->folder);
	remove_folder(scene->other);
}

static void test_refused(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	for (size_t i = 0; i < PK_ARRAY_LEN(refused); i++) {
#if defined(__SANITIZE_ADDRESS__)
		// The leak checker needs these two.
		if (refused[i].run == try_fork || refused[i].run == try_ptrace)
			continue;
#endif
		int status = trial_status(&scene, refused[i].run, refused[i].by_paths);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		if (code == NO_SECCOMP || code == NO_LANDLOCK)
			print_message("# %s: this kernel has no such part\n", refused[i].name);
		else if (code != REFUSED)
			fail_msg("%s: went through (%d)", refused[i].name, status);
	}
	close_scene(&scene);
}

static void *thread(void *ctx)
{
	*(int *)ctx = 1;
	return NULL;
}

static bool work(const struct scene *scene)
{
	int done = 0;
	pthread_t id;
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 100);
	if (pthread_create(&id, NULL, thread, &done) != 0)
		return false;
	pthread_join(id, NULL);
	return done && pk_fs_write_atomic(in(scene->folder, "engine"), "abc", 3, 0600, NULL) == 0 &&
	       pk_fs_read(in(scene->folder, "engine"), 100, &text, NULL) == 0 && text.len == 3 &&
	       unlink(in(scene->folder, "engine")) == 0 && can_open("/proc/cpuinfo", O_RDONLY);
}

static void test_a_build_can_work(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	int status = trial_status(&scene, work, false);
	close_scene(&scene);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_int_equal(WEXITSTATUS(status), WENT_THROUGH);
}

static bool crash(const struct scene *scene)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

// Why a builder ended must still be seen from outside.
static void test_a_crash_keeps_its_signal(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	int status = trial_status(&scene, crash, false);
	close_scene(&scene);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_false(WCOREDUMP(status));
}

static bool probe(const struct scene *scene)
{
	struct pk_sandbox_probe found;
	pk_sandbox_try(in(scene->other, "new"), &found);
	return found.socket || found.exec;
}

static void test_probe_tells(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	int status = trial_status(&scene, probe, false);
	close_scene(&scene);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_int_equal(WEXITSTATUS(status), REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_a_build_can_work),
		cmocka_unit_test(test_a_crash_keeps_its_signal),
		cmocka_unit_test(test_probe_tells),
	};
	return cmocka_run_group_tests_name("daemon/sandbox", tests, NULL, NULL);
}
