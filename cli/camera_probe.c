// SPDX-License-Identifier: Apache-2.0
// One child with the config on its stdin and JSON lines on its stdout.
#include "cli/camera_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/progress.h"

#define PROBE_GRACE_MS 5000

static char *own_folder(void)
{
	char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	return self;
}

// Where the programs lie: as told, beside this one, in the build folder, installed. malloc'ed;
// NULL: nowhere.
static char *find_worker(void)
{
	pk_auto_free char *own = own_folder();
	const char *const folders[][2] = {
		{getenv("PICKET_LIBEXEC"), "picket-worker"},
		{own, "picket-worker"},
		{own, "../daemon/picket-worker"},
		{PICKET_LIBEXECDIR, "picket-worker"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(folders); i++) {
		char *path = folders[i][0] ? pk_fs_join(folders[i][0], folders[i][1]) : NULL;
		if (path && access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

struct pipes {
	int to_child[2], from_child[2];
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_pipes(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&pipes->to_child[i]);
		close_fd(&pipes->from_child[i]);
	}
}

static int start(const struct pk_camera_probe *probe, struct pipes *pipes,
	struct pk_subprocess *proc, struct pk_err *err)
{
	char seconds[32];
	pk_auto_free char *worker = find_worker();
	if (!worker)
		return pk_fail(err, -ENOENT,
			"picket-worker is not there; PICKET_LIBEXEC may name its folder");
	snprintf(seconds, sizeof(seconds), "%g", probe->seconds);
	const char *const argv[] = {
		worker, "--probe", probe->camera, seconds, probe->snapshot, NULL};
	const struct pk_subprocess_fd fds[] = {{pipes->to_child[0], 0}, {pipes->from_child[1], 1}};
	const struct pk_subprocess_options options = {
		.argv = argv, .fds = fds, .n_fds = PK_ARRAY_LEN(fds), .die_with_parent = true};
	return pk_subprocess_start(proc, &options, err);
}

// One line of the child; the last that is no progress stays in *last.
static void take_line(const char *text, struct pk_progress *progress, json_t **last)
{
	json_t *line = NULL;
	if (pk_json_parse(text, strlen(text), "picket-worker", &line, NULL) < 0)
		return;
	if (strcmp(pk_json_text(line, "event"), "progress") == 0) {
		pk_progress_tell(progress, "camera", (int)pk_json_number(line, "elapsed_ms"),
			(int)pk_json_number(line, "limit_ms"), pk_json_text(line, "text"));
		json_decref(line);
		return;
	}
	json_decref(*last);
	*last = line;
}

static int read_lines(int *fd, json_t **last)
{
	struct pk_progress progress;
	FILE *in = fdopen(*fd, "r");
	char *text = NULL;
	size_t size = 0;
	if (!in)
		return -errno;
	*fd = -1; // in has it now
	pk_progress_begin(&progress);
	while (getline(&text, &size, in) > 0) {
		text[strcspn(text, "\n")] = '\0';
		take_line(text, &progress, last);
	}
	pk_progress_end(&progress);
	free(text);
	fclose(in);
	return 0;
}

static int end(struct pk_subprocess *proc, const json_t *line, struct pk_err *err)
{
	struct pk_exit_status status;
	char text[PK_EXIT_TEXT_MAX];
	int r = pk_subprocess_wait(proc, PROBE_GRACE_MS, &status);
	if (r == 0) {
		(void)pk_subprocess_signal(proc, SIGKILL);
		r = pk_subprocess_wait(proc, -1, &status);
	}
	if (r < 0)
		return pk_fail(err, r, "picket-worker: %s", strerror(-r));
	if (line && strcmp(pk_json_text(line, "event"), "failed") == 0)
		return pk_fail(err, -EIO, "%s", pk_json_text(line, "error"));
	pk_exit_status_format(&status, text);
	if (!line || status.signalled || status.code != 0)
		return pk_fail(err, -EIO, "picket-worker ended with %s", text);
	return 0;
}

int pk_camera_probe_run(const struct pk_camera_probe *probe, json_t **line, struct pk_err *err)
{
	struct pipes pipes = {.to_child = {-1, -1}, .from_child = {-1, -1}};
	struct pk_subprocess proc = {.pidfd = -1};
	*line = NULL;
	if (pipe2(pipes.to_child, O_CLOEXEC) < 0 || pipe2(pipes.from_child, O_CLOEXEC) < 0) {
		int code = pk_fail_errno(err, "pipe");
		close_pipes(&pipes);
		return code;
	}
	signal(SIGPIPE, SIG_IGN); // a child that dies early is told by its status
	int r = start(probe, &pipes, &proc, err);
	close_fd(&pipes.to_child[0]);
	close_fd(&pipes.from_child[1]);
	if (r == 0) {
		(void)pk_fs_write_all(pipes.to_child[1], probe->config, strlen(probe->config));
		close_fd(&pipes.to_child[1]);
		r = read_lines(&pipes.from_child[0], line);
		int ended = end(&proc, *line, err);
		r = ended < 0 ? ended : r;
	}
	close_pipes(&pipes);
	return r;
}
