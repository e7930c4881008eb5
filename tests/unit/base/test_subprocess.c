// SPDX-License-Identifier: Apache-2.0
// Child processes: descriptors, limits, reasons, signals, death pact.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/subprocess.h"
#include "tests/lib/emulated.h"

static const char *const *sh(const char *script)
{
	static const char *argv[4];
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	return argv;
}

// Runs to the end with stdout on a pipe; gives what it wrote.
static struct pk_exit_status run(struct pk_subprocess_options o, char *out, size_t size)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	struct pk_subprocess_fd fds[8] = {{ends[1], STDOUT_FILENO}};
	for (size_t i = 0; i < o.n_fds; i++)
		fds[1 + i] = o.fds[i];
	o.fds = fds;
	o.n_fds++;
	struct pk_subprocess proc;
	struct pk_err err = {0};
	if (pk_subprocess_start(&proc, &o, &err) < 0)
		fail_msg("%s", err.text);
	close(ends[1]);
	size_t len = 0;
	ssize_t n;
	while ((n = read(ends[0], out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(ends[0]);
	struct pk_exit_status status;
	assert_int_equal(pk_subprocess_wait(&proc, 20000, &status), 1);
	assert_int_equal(proc.pid, 0);
	assert_int_equal(proc.pidfd, -1);
	return status;
}

static void exit_code_and_output(void **state)
{
	char out[100], text[PK_EXIT_TEXT_MAX];
	struct pk_subprocess_options o = {.argv = sh("echo hello; exit 3")};
	struct pk_exit_status status = run(o, out, sizeof(out));
	assert_string_equal(out, "hello\n");
	assert_false(status.signalled);
	assert_int_equal(status.code, 3);
	assert_true(status.max_rss_bytes > 100000);
	pk_exit_status_format(&status, text);
	assert_string_equal(text, "exit code 3");
}

static void exec_failure_fails_the_start(void **state)
{
	struct pk_subprocess proc;
	struct pk_err err = {0};
	const char *const argv[] = {"/nonexistent/picket-worker", NULL};
	struct pk_subprocess_options o = {.argv = argv};
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -ENOENT);
	assert_string_equal(
		err.text, "/nonexistent/picket-worker: execute: No such file or directory");
	assert_int_equal(proc.pid, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // it was reaped
	const char *const folder[] = {"/tmp", NULL};
	o.argv = folder;
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -EACCES);
}

static void bad_options_are_refused(void **state)
{
	struct pk_subprocess proc;
	struct pk_err err = {0};
	const char *const relative[] = {"sh", NULL}, *const none[] = {NULL};
	struct pk_subprocess_options o = {.argv = relative};
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -EINVAL);
	o.argv = none;
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -EINVAL);
	struct pk_subprocess_fd closed = {-1, 3};
	o = (struct pk_subprocess_options){.argv = sh("true"), .fds = &closed, .n_fds = 1};
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -EBADF);
	closed.parent_fd = 999; // a number nobody opened
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), -EBADF);
	assert_string_equal(err.text, "/bin/sh: place descriptors: Bad file descriptor");
	struct pk_exit_status status;
	assert_int_equal(pk_subprocess_wait(&proc, 0, &status), -ECHILD);
	assert_int_equal(pk_subprocess_signal(&proc, SIGTERM), -ESRCH);
}

static int text_fd(const char *text)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
	close(ends[1]);
	return ends[0];
}

static void descriptors_may_swap_numbers(void **state)
{
	int a = text_fd("A"), b = text_fd("B"), c = text_fd("C");
	char script[200], out[100];
	// a and b change places; c goes to standard input and to a high number.
	struct pk_subprocess_fd fds[] = {{a, b}, {b, a}, {c, 0}};
	snprintf(script, sizeof(script), "cat <&%d; cat <&%d; cat", a, b);
	struct pk_subprocess_options o = {.argv = sh(script), .fds = fds, .n_fds = 3};
	run(o, out, sizeof(out));
	assert_string_equal(out, "BAC");
	close(a);
	close(b);
	close(c);
}

static void other_descriptors_are_closed(void **state)
{
	int leak = open("/dev/null", O_RDONLY); // not close-on-exec on purpose
	int high = fcntl(leak, F_DUPFD, 200);
	int given = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct pk_subprocess_fd fds[] = {{given, 7}};
	char out[300];
	struct pk_subprocess_options o = {
		.argv = sh("n=0; while [ $n -lt 250 ]; do"
			   " [ -e /proc/$$/fd/$n ] && echo $n; n=$((n + 1)); done"),
		.fds = fds,
		.n_fds = 1};
	run(o, out, sizeof(out));
	assert_string_equal(out, "0\n1\n2\n7\n");
	close(leak);
	close(high);
	close(given);
}

static void environment(void **state)
{
	char out[200];
	const char *const env[] = {"ONLY=this", NULL};
	struct pk_subprocess_options o = {.argv = sh("echo $ONLY $HOME$USER$LOGNAME"), .env = env};
	run(o, out, sizeof(out));
	assert_string_equal(out, "this\n");
	setenv("PICKET_TEST_INHERITED", "yes", 1);
	o = (struct pk_subprocess_options){.argv = sh("echo $PICKET_TEST_INHERITED")};
	run(o, out, sizeof(out));
	assert_string_equal(out, "yes\n");
}

static void limits_are_set(void **state)
{
	char out[200];
	if (is_emulated("base/subprocess limits_are_set",
		    "RLIMIT_AS would limit qemu, which keeps it away"))
		skip();
	struct pk_subprocess_options o = {.argv = sh("ulimit -v; ulimit -t; ulimit -f; nice;"
						     "cat /proc/self/oom_score_adj"),
		.nice = 5,
		.idle_io = true,
		.max_memory_bytes = 512 << 20,
		.max_cpu_s = 9,
		.max_file_bytes = 1 << 20,
		.oom_score_adj = 700};
	run(o, out, sizeof(out));
	char want[sizeof(out)];
	snprintf(want, sizeof(want), "524288\n9\n2048\n%d\n700\n",
		PK_MIN(getpriority(PRIO_PROCESS, 0) + 5, 19)); // the suite itself may run niced
	assert_string_equal(out, want);
}

static void cpu_limit_kills_with_a_name(void **state)
{
	char out[10], text[PK_EXIT_TEXT_MAX];
	struct pk_subprocess_options o = {.argv = sh("while :; do :; done"), .max_cpu_s = 1};
	struct pk_exit_status status = run(o, out, sizeof(out));
	assert_true(status.signalled);
	pk_exit_status_format(&status, text);
	assert_string_equal(text, "killed by SIGXCPU");
	assert_true(status.cpu_ns > PK_NS_PER_S / 2);
}

static void on_signal(int sig)
{
}

static void signals_start_fresh(void **state)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, handle = {.sa_handler = on_signal},
			 old[2];
	sigset_t blocked, before, after;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaction(SIGPIPE, &ignore, &old[0]);
	sigaction(SIGHUP, &handle, &old[1]);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	char out[400];
	struct pk_subprocess_options o = {
		.argv = sh("exec grep -E '^Sig(Blk|Ign)' /proc/self/status")};
	run(o, out, sizeof(out));
	pthread_sigmask(SIG_SETMASK, &before, &after);
	sigaction(SIGPIPE, &old[0], NULL);
	sigaction(SIGHUP, &old[1], NULL);
	assert_string_equal(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	assert_true(sigismember(&after, SIGTERM)); // the parent's own mask came back
	assert_false(sigismember(&after, SIGHUP));
}

static void wait_times_out_then_signal_ends_it(void **state)
{
	struct pk_subprocess proc;
	struct pk_err err = {0};
	const char *const argv[] = {"/bin/sleep", "100", NULL};
	struct pk_subprocess_options o = {.argv = argv};
	assert_int_equal(pk_subprocess_start(&proc, &o, &err), 0);
	struct pk_exit_status status;
	assert_int_equal(pk_subprocess_wait(&proc, 0, &status), 0);
	int64_t start_ns = pk_now_ns();
	assert_int_equal(pk_subprocess_wait(&proc, 30, &status), 0);
	assert_true(pk_now_ns() - start_ns >= 29 * PK_NS_PER_MS);
	assert_int_equal(pk_subprocess_signal(&proc, SIGTERM), 0);
	assert_int_equal(pk_subprocess_wait(&proc, -1, &status), 1);
	assert_true(status.signalled);
	assert_int_equal(status.code, SIGTERM);
	char text[PK_EXIT_TEXT_MAX];
	pk_exit_status_format(&status, text);
	assert_string_equal(text, "killed by SIGTERM");
	status.code = SIGRTMIN + 3;
	pk_exit_status_format(&status, text);
	assert_non_null(strstr(text, "killed by signal "));
}

// A middle process starts a sleeper under the pact and dies; the sleeper's end of a pipe then
// closes.
static void child_dies_with_its_parent(void **state)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t middle = fork();
	if (middle == 0) {
		struct pk_subprocess_fd fds[] = {{ends[1], 5}};
		const char *const argv[] = {"/bin/sleep", "100", NULL};
		struct pk_subprocess_options o = {
			.argv = argv, .fds = fds, .n_fds = 1, .die_with_parent = true};
		struct pk_subprocess proc;
		_exit(pk_subprocess_start(&proc, &o, NULL) == 0 ? 0 : 1);
	}
	close(ends[1]);
	int status;
	assert_int_equal(waitpid(middle, &status, 0), middle);
	assert_int_equal(status, 0);
	char c;
	alarm(20); // the test must end even when the pact does not hold
	assert_int_equal(read(ends[0], &c, 1), 0);
	alarm(0);
	close(ends[0]);
}

static void *start_many(void *arg)
{
	for (int i = 0; i < 25; i++) {
		struct pk_subprocess proc;
		struct pk_exit_status status;
		const char *const argv[] = {"/bin/true", NULL};
		struct pk_subprocess_options o = {.argv = argv};
		if (pk_subprocess_start(&proc, &o, NULL) < 0 ||
			pk_subprocess_wait(&proc, 20000, &status) != 1 || status.code != 0)
			return arg;
		free(malloc(1000));
	}
	return NULL;
}

static void threads_may_start_children(void **state)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, start_many, threads), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_code_and_output),
		cmocka_unit_test(exec_failure_fails_the_start),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(descriptors_may_swap_numbers),
		cmocka_unit_test(other_descriptors_are_closed),
		cmocka_unit_test(environment),
		cmocka_unit_test(limits_are_set),
		cmocka_unit_test(cpu_limit_kills_with_a_name),
		cmocka_unit_test(signals_start_fresh),
		cmocka_unit_test(wait_times_out_then_signal_ends_it),
		cmocka_unit_test(child_dies_with_its_parent),
		cmocka_unit_test(threads_may_start_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
