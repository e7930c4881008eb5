// SPDX-License-Identifier: Apache-2.0
// Probes here or by a program.
#include "engine/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "base/subprocess.h"

#define MAX_ANSWER_BYTES 8192

static const char *probe_program;

void pk_probe_by(const char *program)
{
	probe_program = program;
}

static int start(
	struct pk_subprocess *process, const char *runtime, int answer_fd, struct pk_err *err)
{
	pk_auto_close int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return pk_fail_errno(err, "/dev/null");
	const char *const argv[] = {probe_program, "--probe", runtime, NULL};
	const struct pk_subprocess_fd fds[] = {
		{.parent_fd = null_fd, .child_fd = STDIN_FILENO},
		{.parent_fd = answer_fd, .child_fd = STDOUT_FILENO},
		{.parent_fd = null_fd, .child_fd = STDERR_FILENO},
	};
	const struct pk_subprocess_options options = {
		.argv = argv, .fds = fds, .n_fds = PK_ARRAY_LEN(fds)};
	return pk_subprocess_start(process, &options, err);
}

static int finish(struct pk_subprocess *process, struct pk_err *err)
{
	struct pk_exit_status status;
	char text[PK_EXIT_TEXT_MAX];
	int r = pk_subprocess_wait(process, PK_PROBE_LIMIT_MS, &status);
	if (r == 0) {
		(void)pk_subprocess_signal(process, SIGKILL);
		(void)pk_subprocess_wait(process, -1, &status);
		return pk_fail(err, -ENODEV, "probing the driver did not end within %d s",
			PK_PROBE_LIMIT_MS / 1000);
	}
	if (r < 0)
		return pk_fail(err, r, "probing the driver: %s", strerror(-r));
	pk_exit_status_format(&status, text);
	if (status.signalled || status.code != 0)
		return pk_fail(err, -ENODEV, "probing the driver: %s", text);
	return 0;
}

static int take_text(
	const json_t *answer, const char *key, char *out, size_t size, struct pk_err *err)
{
	const char *text = NULL;
	int r = pk_json_get_str(answer, key, &text, err);
	if (r == 0 && strlen(text) >= size)
		r = pk_fail(err, -ENODEV, "%s is too long", key);
	if (r == 0)
		memcpy(out, text, strlen(text) + 1);
	return r;
}

static int read_answer(int fd, struct pk_target *target, struct pk_err *err)
{
	char bytes[MAX_ANSWER_BYTES];
	pk_auto_json answer = NULL;
	const char *reason = NULL;
	int64_t error = 0;
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	int r = pk_json_parse(bytes, n < 0 ? 0 : (size_t)n, "answer", &answer, err);
	if (r == 0)
		r = pk_json_get_int(answer, "error", &error, err);
	if (r == 0 && error < 0) {
		r = pk_json_get_str(answer, "reason", &reason, err);
		return r < 0 ? r : pk_fail(err, -ENODEV, "%s", reason);
	}
	if (r == 0)
		r = take_text(answer, "identity", target->identity, sizeof(target->identity), err);
	if (r == 0)
		r = take_text(answer, "device", target->device, sizeof(target->device), err);
	return r;
}

static int probe_apart(const char *runtime, struct pk_target *target, struct pk_err *err)
{
	struct pk_subprocess process = {.pidfd = -1};
	pk_auto_close int fd = memfd_create("picket-probe", MFD_CLOEXEC);
	if (fd < 0)
		return pk_fail_errno(err, "memfd");
	int r = start(&process, runtime, fd, err);
	if (r == 0)
		r = finish(&process, err);
	if (r == 0)
		r = read_answer(fd, target, err);
	return r < 0 ? -ENODEV : 0;
}

int pk_probe(const struct pk_runtime_ops *ops, struct pk_target *target, struct pk_err *err)
{
	bool apart = probe_program && (ops->caps & PK_RUNTIME_ACCELERATOR);
	return apart ? probe_apart(ops->name, target, err) : ops->probe(target, err);
}

int pk_probe_answer(const char *name)
{
	struct pk_target target = {0};
	struct pk_err err = {0};
	const struct pk_runtime_ops *ops = pk_runtime_by_name(name);
	if (!ops)
		return -ENODEV;
	int r = ops->probe(&target, &err);
	pk_auto_json answer = json_pack("{s:i, s:s, s:s, s:s}", "error", r, "reason",
		r < 0 ? pk_err_text(&err, r) : "", "identity", target.identity, "device",
		target.device);
	return json_dumpf(answer, stdout, JSON_COMPACT) < 0 || fflush(stdout) != 0 ? -EIO : 0;
}
