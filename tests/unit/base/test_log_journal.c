// SPDX-License-Identifier: Apache-2.0
// Native journal output, received on a journal socket in a mount namespace of our own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define SKIPPED 77

static bool own_run_folder(void)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/run", "tmpfs", 0, NULL) == 0 && mkdir("/run/systemd", 0755) == 0 &&
	       mkdir("/run/systemd/journal", 0755) == 0;
}

static int bind_journal(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {
		.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
	return bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? fd : -1;
}

static void stderr_is_the_journal(void)
{
	struct stat st;
	int fd = open("/run/stderr", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	dup2(fd, STDERR_FILENO);
	fstat(STDERR_FILENO, &st);
	char text[64];
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
}

static bool has_line(const char *datagram, const char *line)
{
	const char *at = strstr(datagram, line);
	return at && (at == datagram || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static int child(void)
{
	int fd;
	if (!own_run_folder() || (fd = bind_journal()) < 0)
		return SKIPPED;
	stderr_is_the_journal();
	pk_log_init("picket-test", PK_LOG_INFO);
	pk_log_redact("hidden-token");
	struct pk_log_field fields[] = {
		{"PICKET_CAMERA", "belt"}, {"LEFT_OUT", NULL}, {"URL", "hidden-token"}};
	pk_log_event(
		PK_LOG_WARNING, "0123456789abcdef0123456789abcdef", fields, 3, "rung %s", "cpu");
	char datagram[4096];
	ssize_t n = recv(fd, datagram, sizeof(datagram) - 1, MSG_DONTWAIT);
	if (n <= 0)
		return 2;
	datagram[n] = '\0';
	static const char *const want[] = {"MESSAGE=rung cpu", "PRIORITY=4",
		"SYSLOG_IDENTIFIER=picket-test", "MESSAGE_ID=0123456789abcdef0123456789abcdef",
		"PICKET_CAMERA=belt", "URL=***"};
	for (int i = 0; i < (int)PK_ARRAY_LEN(want); i++)
		if (!has_line(datagram, want[i]))
			return 10 + i;
	if (strstr(datagram, "LEFT_OUT") || strstr(datagram, "CODE_FILE"))
		return 3;
	struct stat st;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_size == 0 ? 0 : 4; // not written twice
}

static void journal_gets_the_fields(void **state)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(child());
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED) {
		print_message("no mount namespace of our own on this machine\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(journal_gets_the_fields)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
