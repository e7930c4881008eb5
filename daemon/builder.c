// SPDX-License-Identifier: Apache-2.0
// The queue of builds and the one that runs.
#include "daemon/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "daemon/build_folder.h"
#include "daemon/build_proto.h"
#include "daemon/text.h"

#define SILENCE_NS    (60 * PK_NS_PER_S)
#define OOM_SCORE_ADJ 800
#define READ_CHUNK    4096
#define CAUSE_MAX     PK_BUILD_CAUSE_MAX
#define JUDGE_NS      PK_NS_PER_S // between two looks at whether the moment is right
#define MAX_SET_BACK  3 // of one job: quick ones that keep failing must not hold it for ever

struct pk_builder {
	struct pk_loop *loop;
	char *program;
	struct pk_builder_limits limits;
	struct pk_list queue;
	struct pk_build_job *running; // NULL: none, or it was cancelled and the process ends
	struct pk_subprocess process;
	struct pk_watch process_watch, output_watch;
	int output_fd;
	struct pk_buf output;
	json_t *result;        // the result line
	char cause[CAUSE_MAX]; // why we killed it
	bool setting_back;     // killed to make way for a quick one, or for want of memory
	bool paused;           // stopped where it stands
	char waits[CAUSE_MAX]; // why nothing starts or it is paused; ""
	int64_t started_ns, phase_ns;
	int64_t wall_left_ns; // when paused
	char phase[32];
	char *folder;
	struct pk_build_governor governor;
	bool seccomp;
	int64_t landlock;
	struct pk_timer wall_timer, silence_timer, next_timer, judge_timer;
};

static bool has_process(const struct pk_builder *builder)
{
	return builder->process.pid > 0;
}

static void kill_build(struct pk_builder *builder, const char *cause)
{
	if (!builder->cause[0])
		pk_text_format(builder->cause, sizeof(builder->cause), "%s", cause);
	(void)pk_subprocess_signal(&builder->process, SIGKILL);
}

static void on_wall(void *ctx)
{
	struct pk_builder *builder = ctx;
	char duration[PK_DURATION_MAX], cause[CAUSE_MAX];
	pk_format_duration(builder->limits.wall_ns, duration);
	snprintf(cause, sizeof(cause), "took longer than %s", duration);
	kill_build(builder, cause);
}

static void on_silence(void *ctx)
{
	struct pk_builder *builder = ctx;
	char duration[PK_DURATION_MAX], cause[CAUSE_MAX];
	pk_format_duration(builder->limits.silence_ns, duration);
	snprintf(cause, sizeof(cause), "said nothing for %s", duration);
	kill_build(builder, cause);
}

static void on_progress(struct pk_builder *builder, const json_t *line)
{
	struct pk_build_progress progress = {.started_ns = builder->started_ns, .eta_ns = -1};
	const char *phase = "";
	int64_t done = 0, total = 0, now_ns = pk_now_ns();
	if (pk_json_get_str(line, "phase", &phase, NULL) < 0 ||
		pk_json_get_int(line, "done", &done, NULL) < 0 ||
		pk_json_get_int(line, "total", &total, NULL) < 0)
		return;
	if (strcmp(phase, builder->phase) != 0) {
		snprintf(builder->phase, sizeof(builder->phase), "%s", phase);
		builder->phase_ns = now_ns;
	}
	memcpy(progress.phase, builder->phase, sizeof(progress.phase));
	progress.total = (int)PK_MIN(PK_MAX(total, INT64_C(0)), (int64_t)1000000);
	progress.done = (int)PK_MIN(PK_MAX(done, INT64_C(0)), (int64_t)progress.total);
	if (progress.done > 0)
		progress.eta_ns = (int64_t)((double)(now_ns - builder->phase_ns) *
					    (progress.total - progress.done) / progress.done);
	if (builder->running && builder->running->progress)
		builder->running->progress(builder->running->ctx, &progress);
}

static void on_line(struct pk_builder *builder, const char *text, size_t n)
{
	pk_auto_json line = NULL;
	const char *type = NULL;
	int64_t version = 0;
	pk_loop_start_timer(builder->loop, &builder->silence_timer, builder->limits.silence_ns);
	if (pk_json_parse(text, n, "line", &line, NULL) < 0 ||
		pk_json_get_int(line, "v", &version, NULL) < 0 ||
		version != PK_BUILD_PROTO_VERSION || pk_json_get_str(line, "type", &type, NULL) < 0)
		return; // a line that is not ours says nothing
	if (strcmp(type, "progress") == 0) {
		on_progress(builder, line);
	} else if (strcmp(type, "sandbox") == 0) {
		(void)pk_json_get_bool(line, "seccomp", &builder->seccomp, NULL);
		(void)pk_json_opt_int(line, "landlock", &builder->landlock, NULL);
	} else if (strcmp(type, "result") == 0) {
		json_decref(builder->result);
		builder->result = pk_steal(line);
	}
}

static void take_lines(struct pk_builder *builder)
{
	char *newline;
	while (builder->output.len &&
		(newline = memchr(builder->output.data, '\n', builder->output.len))) {
		size_t n = (size_t)(newline - builder->output.data);
		on_line(builder, builder->output.data, n);
		pk_buf_consume(&builder->output, n + 1);
	}
}

// False at the end of the stream.
static bool read_output(struct pk_builder *builder)
{
	for (;;) {
		char chunk[READ_CHUNK];
		ssize_t n = read(builder->output_fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		if (pk_buf_append(&builder->output, chunk, (size_t)n) < 0) {
			kill_build(builder, "a line of its output is too long");
			return false;
		}
		take_lines(builder);
	}
}

static void on_output(void *ctx, pk_unused uint32_t events)
{
	struct pk_builder *builder = ctx;
	if (!read_output(builder))
		pk_loop_unwatch(builder->loop, &builder->output_watch);
}

static void close_output(struct pk_builder *builder)
{
	pk_loop_unwatch(builder->loop, &builder->output_watch);
	if (builder->output_fd >= 0)
		close(pk_steal_fd(builder->output_fd));
	pk_buf_finish(&builder->output);
	pk_buf_init(&builder->output, PK_BUILD_MAX_LINE + READ_CHUNK);
}

static void finish_job(struct pk_builder *builder, const struct pk_build_result *result)
{
	struct pk_build_job *job = builder->running;
	builder->running = NULL;
	if (!job)
		return;
	job->queued = false;
	json_decref(job->request);
	job->request = NULL;
	job->done(job->ctx, result);
}

// How it ended, in words; true when the kernel ended it for want of memory.
static bool explain_end(
	struct pk_builder *builder, const struct pk_exit_status *status, char cause[CAUSE_MAX])
{
	char text[PK_EXIT_TEXT_MAX];
	pk_exit_status_format(status, text);
	bool killed = !builder->cause[0] && status->signalled && status->code == SIGKILL;
	bool oom = killed && builder->governor.out_of_memory &&
		   builder->governor.out_of_memory(builder->governor.ctx);
	pk_text_format(cause, CAUSE_MAX, "picket-build: %s%s",
		builder->cause[0] ? builder->cause : text, oom ? ": out of memory" : "");
	return oom;
}

// A result line that is missing or says something else than the exit code: it crashed.
static void judge(struct pk_builder *builder, const struct pk_exit_status *status,
	struct pk_build_result *result, char cause[CAUSE_MAX])
{
	int64_t code = 0;
	bool oom = explain_end(builder, status, cause);
	*result = (struct pk_build_result){.code = oom ? -ENOMEM : -EIO, .error = cause};
	bool told = builder->result && !builder->cause[0] && !status->signalled &&
		    pk_json_get_int(builder->result, "code", &code, NULL) == 0 &&
		    (code == 0) == (status->code == 0) && code <= 0 && code > -4096;
	if (!told)
		return;
	result->report = builder->result;
	result->code = (int)code;
	result->error = NULL;
	if (code == 0)
		return;
	const char *error = NULL;
	(void)pk_json_opt_str(builder->result, "error", &error, NULL);
	result->error = error ? error : strerror((int)-code);
	(void)pk_json_get_bool(builder->result, "permanent", &result->permanent, NULL);
}

// The first place that is not a quick job's.
static struct pk_list *behind_quick(struct pk_builder *builder)
{
	struct pk_build_job *it;
	pk_list_each (it, &builder->queue, link) {
		if (!it->quick)
			break;
	}
	return &it->link;
}

static void set_back(struct pk_builder *builder)
{
	struct pk_build_job *job = builder->running;
	builder->running = NULL;
	job->n_set_back++;
	pk_list_insert(behind_quick(builder), &job->link);
}

static void tell(struct pk_builder *builder, const char *state, const char *cause)
{
	if (builder->governor.told)
		builder->governor.told(builder->governor.ctx, state, cause);
}

// Once more at once, with settings that need less: the same engine comes of it.
static bool try_cheaper(struct pk_builder *builder, const struct pk_build_result *result)
{
	struct pk_build_job *job = builder->running;
	if (!job || result->code != -ENOMEM || job->thrift >= PK_BUILD_THRIFT_NO_SAMPLE)
		return false;
	job->thrift++;
	builder->running = NULL;
	pk_list_insert(job->quick ? builder->queue.next : behind_quick(builder), &job->link);
	tell(builder, "cheaper", result->error);
	return true;
}

// What it made is moved to its place; an engine that is not there is a failure after all.
static void take_out(struct pk_builder *builder, struct pk_build_result *result, struct pk_err *err)
{
	const struct pk_build_job *job = builder->running;
	if (!builder->folder || !job)
		return;
	bool built = result->code == 0 && !json_is_true(json_object_get(job->request, "admit"));
	int r = pk_build_folder_leave(builder->folder, job->request, built, err);
	if (r < 0 && result->code == 0)
		*result = (struct pk_build_result){.code = r, .error = pk_err_text(err, r)};
}

static void end_build(struct pk_builder *builder, const struct pk_exit_status *status)
{
	struct pk_build_result result;
	struct pk_err err = {0};
	char cause[CAUSE_MAX];
	judge(builder, status, &result, cause);
	json_t *report = pk_steal(builder->result);
	take_out(builder, &result, &err);
	if (builder->governor.ended)
		builder->governor.ended(builder->governor.ctx, builder->running, true);
	if (builder->setting_back && status->signalled && builder->running)
		set_back(builder);
	else if (!try_cheaper(builder, &result))
		finish_job(builder, &result);
	json_decref(report);
}

static void on_process(void *ctx, pk_unused uint32_t events)
{
	struct pk_builder *builder = ctx;
	struct pk_exit_status status;
	pk_loop_unwatch(builder->loop, &builder->process_watch);
	if (pk_subprocess_wait(&builder->process, 0, &status) != 1)
		return;
	(void)read_output(builder); // what it said last
	close_output(builder);
	pk_loop_stop_timer(&builder->wall_timer);
	pk_loop_stop_timer(&builder->silence_timer);
	pk_loop_stop_timer(&builder->judge_timer);
	builder->paused = false;
	builder->waits[0] = '\0';
	end_build(builder, &status);
	pk_loop_start_timer(builder->loop, &builder->next_timer, 0);
}

// The job as a file without a name: no pipe that could fill up.
static int open_request(const struct pk_builder *builder, struct pk_err *err)
{
	const struct pk_build_job *job = builder->running;
	pk_auto_json copy = NULL;
	if (builder->folder) {
		int r = pk_build_folder_enter(builder->folder, job->request, &copy, err);
		if (r < 0)
			return r;
	} else {
		copy = json_copy(job->request);
	}
	if (!copy || json_object_set_new(copy, "v", json_integer(PK_BUILD_PROTO_VERSION)) < 0 ||
		json_object_set_new(copy, "thrift", json_integer(job->thrift)) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_auto_free char *line = json_dumps(copy, JSON_COMPACT);
	if (!line)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_auto_close int fd = memfd_create("picket-build-job", MFD_CLOEXEC);
	if (fd < 0)
		return pk_fail_errno(err, "memfd");
	int r = pk_fs_write_all(fd, line, strlen(line));
	if (r == 0)
		r = pk_fs_write_all(fd, "\n", 1);
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return pk_fail(err, r < 0 ? r : -errno, "writing the job");
	return pk_steal_fd(fd);
}

static int spawn(struct pk_builder *builder, int job_fd, int output_fd, struct pk_err *err)
{
	const char *const argv[] = {builder->program, NULL};
	const struct pk_subprocess_fd fds[] = {
		{.parent_fd = job_fd, .child_fd = STDIN_FILENO},
		{.parent_fd = output_fd, .child_fd = STDOUT_FILENO},
	};
	const struct pk_subprocess_options options = {
		.argv = argv,
		.fds = fds,
		.n_fds = PK_ARRAY_LEN(fds),
		.nice = builder->limits.nice,
		.idle_io = true,
		.max_memory_bytes = (uint64_t)builder->limits.memory_bytes,
		// What cannot be mapped need not be written.
		.max_file_bytes = (uint64_t)builder->limits.memory_bytes,
		.oom_score_adj = OOM_SCORE_ADJ,
		.die_with_parent = true,
	};
	return pk_subprocess_start(&builder->process, &options, err);
}

static int start_process(struct pk_builder *builder, struct pk_err *err)
{
	int ends[2];
	pk_auto_close int job_fd = open_request(builder, err);
	if (job_fd < 0)
		return job_fd;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return pk_fail_errno(err, "pipe");
	builder->output_fd = ends[0];
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK); // of our end alone
	int r = spawn(builder, job_fd, ends[1], err);
	close(ends[1]);
	if (r == 0)
		r = pk_loop_watch(
			builder->loop, &builder->output_watch, builder->output_fd, EPOLLIN);
	if (r == 0)
		r = pk_loop_watch(
			builder->loop, &builder->process_watch, builder->process.pidfd, EPOLLIN);
	return r;
}

static void set_waits(struct pk_builder *builder, const char *state, const char *cause)
{
	bool changed = (builder->waits[0] == '\0') != (cause[0] == '\0');
	pk_text_format(builder->waits, sizeof(builder->waits), "%s", cause);
	if (changed)
		tell(builder, state, cause);
}

static enum pk_build_verdict ask(
	struct pk_builder *builder, const struct pk_build_job *job, char cause[CAUSE_MAX])
{
	cause[0] = '\0';
	return builder->governor.judge ? builder->governor.judge(builder->governor.ctx, job, cause)
				       : PK_BUILD_GO;
}

// A stopped process keeps its memory and takes no time; its own clocks stand still with it.
static void pause_build(struct pk_builder *builder, const char *cause)
{
	builder->wall_left_ns = pk_timer_left_ns(&builder->wall_timer);
	pk_loop_stop_timer(&builder->wall_timer);
	pk_loop_stop_timer(&builder->silence_timer);
	builder->paused = true;
	(void)pk_subprocess_signal(&builder->process, SIGSTOP);
	set_waits(builder, "paused", cause);
}

static void resume_build(struct pk_builder *builder)
{
	builder->paused = false;
	(void)pk_subprocess_signal(&builder->process, SIGCONT);
	pk_loop_start_timer(builder->loop, &builder->silence_timer, builder->limits.silence_ns);
	if (builder->wall_left_ns >= 0)
		pk_loop_start_timer(builder->loop, &builder->wall_timer, builder->wall_left_ns);
	set_waits(builder, "resumed", "");
}

static void on_judge(void *ctx)
{
	struct pk_builder *builder = ctx;
	char cause[CAUSE_MAX];
	if (!builder->running)
		return;
	enum pk_build_verdict verdict = ask(builder, builder->running, cause);
	if (verdict == PK_BUILD_YIELD && builder->running->n_set_back < MAX_SET_BACK) {
		builder->setting_back = true;
		tell(builder, "set back", cause);
		(void)pk_subprocess_signal(&builder->process, SIGKILL);
		return;
	}
	if (verdict != PK_BUILD_GO && !builder->paused)
		pause_build(builder, cause);
	else if (verdict == PK_BUILD_GO && builder->paused)
		resume_build(builder);
	pk_loop_start_timer(builder->loop, &builder->judge_timer, JUDGE_NS);
}

// The first job whose moment it is; the others go on waiting.
static struct pk_build_job *choose(struct pk_builder *builder)
{
	char cause[CAUSE_MAX], first[CAUSE_MAX] = "";
	struct pk_build_job *it;
	pk_list_each (it, &builder->queue, link) {
		if (ask(builder, it, cause) == PK_BUILD_GO) {
			set_waits(builder, "resumed", "");
			return it;
		}
		if (!first[0])
			memcpy(first, cause, sizeof(first));
	}
	set_waits(builder, "waiting", first[0] ? first : "not now");
	pk_loop_start_timer(builder->loop, &builder->next_timer, JUDGE_NS);
	return NULL;
}

static void begin_timers(struct pk_builder *builder)
{
	pk_loop_start_timer(builder->loop, &builder->silence_timer, builder->limits.silence_ns);
	if (builder->limits.wall_ns > 0)
		pk_loop_start_timer(builder->loop, &builder->wall_timer, builder->limits.wall_ns);
	if (builder->governor.judge)
		pk_loop_start_timer(builder->loop, &builder->judge_timer, JUDGE_NS);
}

static int begin(struct pk_builder *builder, struct pk_err *err)
{
	const struct pk_build_governor *governor = &builder->governor;
	int r = governor->begin ? governor->begin(governor->ctx, builder->running, err) : 0;
	if (r == 0)
		r = start_process(builder, err);
	if (r == 0 && governor->started)
		governor->started(governor->ctx, builder->process.pid);
	return r;
}

static void fail_start(struct pk_builder *builder, int r, const struct pk_err *err)
{
	const struct pk_build_governor *governor = &builder->governor;
	if (governor->ended)
		governor->ended(governor->ctx, builder->running, true);
	pk_loop_unwatch(builder->loop, &builder->process_watch);
	close_output(builder);
	finish_job(builder, &(struct pk_build_result){.code = r, .error = pk_err_text(err, r)});
	pk_loop_start_timer(builder->loop, &builder->next_timer, 0);
}

static void on_next(void *ctx)
{
	struct pk_builder *builder = ctx;
	struct pk_err err = {0};
	if (has_process(builder) || builder->running || pk_list_empty(&builder->queue))
		return;
	struct pk_build_job *job = choose(builder);
	if (!job)
		return;
	pk_list_remove(&job->link);
	builder->running = job;
	builder->cause[0] = builder->phase[0] = '\0';
	builder->setting_back = false;
	builder->started_ns = builder->phase_ns = pk_now_ns();
	int r = begin(builder, &err);
	if (r == 0) {
		begin_timers(builder);
		if (job->started)
			job->started(job->ctx);
		return;
	}
	if (has_process(builder)) {
		kill_build(builder, pk_err_text(&err, r)); // the pidfd may not be watched
		struct pk_exit_status status;
		(void)pk_subprocess_wait(&builder->process, -1, &status);
		r = -EIO;
	}
	fail_start(builder, r, &err);
}

int pk_builder_create(
	struct pk_loop *loop, const char *program, struct pk_builder **out, struct pk_err *err)
{
	struct pk_builder *builder = calloc(1, sizeof(*builder));
	if (!builder || !(builder->program = strdup(program))) {
		free(builder);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	builder->loop = loop;
	builder->process.pidfd = builder->output_fd = -1;
	pk_list_init(&builder->queue);
	pk_buf_init(&builder->output, PK_BUILD_MAX_LINE + READ_CHUNK);
	builder->process_watch = (struct pk_watch){.ready = on_process, .ctx = builder};
	builder->output_watch = (struct pk_watch){.ready = on_output, .ctx = builder};
	builder->wall_timer = (struct pk_timer){.fire = on_wall, .ctx = builder};
	builder->silence_timer = (struct pk_timer){.fire = on_silence, .ctx = builder};
	builder->next_timer = (struct pk_timer){.fire = on_next, .ctx = builder};
	builder->judge_timer = (struct pk_timer){.fire = on_judge, .ctx = builder};
	builder->limits.silence_ns = SILENCE_NS;
	*out = builder;
	return 0;
}

void pk_builder_destroy(struct pk_builder *builder)
{
	if (!builder)
		return;
	pk_loop_stop_timer(&builder->wall_timer);
	pk_loop_stop_timer(&builder->silence_timer);
	pk_loop_stop_timer(&builder->next_timer);
	pk_loop_stop_timer(&builder->judge_timer);
	pk_loop_unwatch(builder->loop, &builder->process_watch);
	if (has_process(builder)) {
		struct pk_exit_status status;
		(void)pk_subprocess_signal(&builder->process, SIGKILL);
		(void)pk_subprocess_wait(&builder->process, -1, &status);
		if (builder->governor.ended) // an orderly end, not the machine's
			builder->governor.ended(builder->governor.ctx, NULL, false);
	}
	close_output(builder);
	pk_buf_finish(&builder->output);
	json_decref(builder->result);
	free(builder->folder);
	free(builder->program);
	free(builder);
}

void pk_builder_set_limits(struct pk_builder *builder, const struct pk_builder_limits *limits)
{
	builder->limits = *limits;
	if (builder->limits.silence_ns <= 0)
		builder->limits.silence_ns = SILENCE_NS;
}

int pk_builder_set_folder(struct pk_builder *builder, const char *folder)
{
	char *copy = folder ? strdup(folder) : NULL;
	if (folder && !copy)
		return -ENOMEM;
	free(builder->folder);
	builder->folder = copy;
	return 0;
}

void pk_builder_set_governor(struct pk_builder *builder, const struct pk_build_governor *governor)
{
	builder->governor = *governor;
}

bool pk_builder_runs(const struct pk_builder *builder, const struct pk_build_job *job)
{
	return builder->running == job;
}

bool pk_builder_is_busy(const struct pk_builder *builder)
{
	return has_process(builder) && !builder->paused;
}

json_t *pk_builder_json(const struct pk_builder *builder)
{
	json_int_t queued = 0;
	const struct pk_build_job *it;
	pk_list_each (it, &builder->queue, link)
		queued++;
	const char *state = builder->paused               ? "paused"
			    : has_process(builder)        ? "building"
			    : queued && builder->waits[0] ? "waiting"
							  : "idle";
	return json_pack("{s:s, s:s, s:I, s:i, s:i, s:b, s:I}", "state", state, "cause",
		builder->waits, "queued", queued, "pid", (int)builder->process.pid, "thrift",
		builder->running ? (int)builder->running->thrift : 0, "seccomp", builder->seccomp,
		"landlock", (json_int_t)builder->landlock);
}

void pk_builder_add(struct pk_builder *builder, struct pk_build_job *job)
{
	const struct pk_build_job *running = builder->running;
	job->queued = true;
	job->n_set_back = job->thrift = 0;
	pk_list_insert(job->quick ? behind_quick(builder) : &builder->queue, &job->link);
	pk_loop_start_timer(builder->loop, &builder->next_timer, 0);
	if (!job->quick || !running || running->quick || running->n_set_back >= MAX_SET_BACK)
		return;
	builder->setting_back = true;
	(void)pk_subprocess_signal(&builder->process, SIGKILL);
}

void pk_builder_cancel(struct pk_builder *builder, struct pk_build_job *job)
{
	if (!job->queued)
		return;
	job->queued = false;
	json_decref(job->request);
	job->request = NULL;
	if (builder->running == job) {
		builder->running = NULL;
		kill_build(builder, "cancelled"); // also ends one that is paused
	} else {
		pk_list_remove(&job->link);
	}
}
