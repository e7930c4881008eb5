// SPDX-License-Identifier: Apache-2.0
// The life of the worker process.
#include "daemon/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/blackbox.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "daemon/crash_loop.h"
#include "daemon/text.h"
#include "daemon/worker_proto.h"

#define CHECK_NS  (PK_NS_PER_S / 2)
#define CAUSE_MAX 192

enum phase {
	PHASE_NONE,     // not wanted, or ended for good
	PHASE_PAUSE,    // waits for its restart
	PHASE_STARTING, // until config_done
	PHASE_UP,
	PHASE_ENDING, // told to end, or killed; waits for the pidfd
};

// What a worker that is busy does.
enum load { LOAD_NONE, LOAD_READ, LOAD_PREPARE, LOAD_RUN };
static const struct {
	const char *name, *text;
} loads[] = {[LOAD_NONE] = {"", ""},
	[LOAD_READ] = {"read", " while it reads an engine"},
	[LOAD_PREPARE] = {"prepare", " while it prepares an engine"},
	[LOAD_RUN] = {"run", " while it runs an engine for the first time"}};

struct pk_supervisor {
	struct pk_loop *loop;
	struct pk_events *events;
	char *program;
	char *yaml;
	struct pk_supervisor_hooks hooks;
	struct pk_supervisor_limits limits;
	enum phase phase;
	struct pk_subprocess process;
	struct pk_channel channel;
	int blackbox_fd;
	struct pk_crash_loop crashes;
	int64_t loop_ns; // realtime since it crashes in a loop; 0: it does not
	struct pk_watch process_watch, channel_watch;
	struct pk_timer check_timer, restart_timer, term_timer, kill_timer;
	int64_t pause_ns;        // before the next restart
	int64_t started_ns;      // of this process
	int64_t last_message_ns; // from it
	int64_t progress_age_ns; // as the last heartbeat said
	int64_t last_check_ns;
	unsigned n_open; // requests without an answer yet
	bool busy;       // it has begun with one of them
	enum load load;  // how far it is with an engine
	unsigned n_restarts;
	bool on_purpose;       // this end was wanted
	bool was_up;           // since this start
	char cause[CAUSE_MAX]; // why we ended it; "": it did so itself
	bool stopping;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
};

static void start_worker(struct pk_supervisor *supervisor);

static int64_t or_default(int64_t value, int64_t fallback)
{
	return value > 0 ? value : fallback;
}

void pk_supervisor_set_limits(
	struct pk_supervisor *supervisor, const struct pk_supervisor_limits *limits)
{
	supervisor->limits = (struct pk_supervisor_limits){
		.start_ns = or_default(limits->start_ns, 60 * PK_NS_PER_S),
		.silence_ns = or_default(limits->silence_ns, 10 * PK_NS_PER_S),
		.busy_ns = or_default(limits->busy_ns, 60 * PK_NS_PER_S),
		.prepare_ns = or_default(limits->prepare_ns, 20 * PK_NS_PER_S),
		.stuck_ns = or_default(limits->stuck_ns, 15 * PK_NS_PER_S),
		.restart_ns = or_default(limits->restart_ns, 100 * PK_NS_PER_MS),
		.restart_max_ns = or_default(limits->restart_max_ns, 30 * PK_NS_PER_S),
		.healthy_ns = or_default(limits->healthy_ns, 5 * PK_NS_PER_S),
		.loop_ns = or_default(limits->loop_ns, 30 * PK_NS_PER_S),
		.stop_ns = or_default(limits->stop_ns, 1500 * PK_NS_PER_MS),
		.term_ns = or_default(limits->term_ns, 300 * PK_NS_PER_MS),
	};
	supervisor->pause_ns = supervisor->limits.restart_ns;
}

static void close_channel(struct pk_supervisor *supervisor)
{
	pk_loop_unwatch(supervisor->loop, &supervisor->channel_watch);
	pk_channel_finish(&supervisor->channel);
}

static void watch_channel(struct pk_supervisor *supervisor)
{
	uint32_t events = EPOLLIN;
	if (pk_channel_wants_write(&supervisor->channel))
		events |= EPOLLOUT;
	(void)pk_loop_rewatch(supervisor->loop, &supervisor->channel_watch, events);
}

// cause "": a wanted end.
static void kill_worker(struct pk_supervisor *supervisor, const char *cause)
{
	if (!supervisor->cause[0])
		pk_text_format(supervisor->cause, sizeof(supervisor->cause), "%s", cause);
	supervisor->phase = PHASE_ENDING;
	(void)pk_subprocess_signal(&supervisor->process, SIGKILL);
}

static void schedule_restart(struct pk_supervisor *supervisor)
{
	const struct pk_supervisor_limits *limits = &supervisor->limits;
	if (supervisor->on_purpose)
		supervisor->pause_ns = 0;
	else if (supervisor->started_ns &&
		 pk_now_ns() - supervisor->started_ns >= limits->healthy_ns)
		supervisor->pause_ns = limits->restart_ns;
	supervisor->phase = PHASE_PAUSE;
	int64_t floor_ns = supervisor->on_purpose
				   ? 0
				   : pk_crash_loop_pause_ns(&supervisor->crashes, limits->loop_ns);
	pk_loop_start_timer(supervisor->loop, &supervisor->restart_timer,
		PK_MAX(supervisor->pause_ns, floor_ns));
	supervisor->pause_ns = PK_MIN(
		PK_MAX(supervisor->pause_ns * 2, limits->restart_ns), limits->restart_max_ns);
}

// What it was doing, as far as that tells who is at fault.
struct blame {
	const char *phase;                // "start", "config", "load", "run"
	char what[PK_CRASH_BLAME_MAX];    // "model parts on cpu, camera belt-a"; ""
	char model[PK_BLACKBOX_NAME];     // ""
	char camera[PK_BLACKBOX_NAME];    // ""; only when no model had part in it
	char fields[3][PK_BLACKBOX_NAME]; // model, camera, runtime
};

static void write_blame(const struct pk_blackbox_mark *mark, struct blame *blame)
{
	const struct {
		const char *before, *name;
	} parts[] = {
		{"model ", mark->model}, {"runtime ", mark->runtime}, {"camera ", mark->camera}};
	size_t n = 0;
	for (size_t i = 0; i < PK_ARRAY_LEN(parts) && n < sizeof(blame->what); i++) {
		if (parts[i].name[0])
			n += (size_t)snprintf(blame->what + n, sizeof(blame->what) - n, "%s%s%s",
				n ? ", " : "", parts[i].before, parts[i].name);
	}
	pk_text_mend(blame->what);
	if (mark->work != PK_BLACKBOX_CAMERA)
		memcpy(blame->model, mark->model, sizeof(blame->model));
	else
		memcpy(blame->camera, mark->camera, sizeof(blame->camera));
}

// A fatal signal names its thread; a hang, what was under way. One that was killed from outside
// says nothing: whatever ran then is not to blame.
static void find_blame(struct pk_supervisor *supervisor, bool hung, struct blame *blame)
{
	struct pk_blackbox_report report;
	*blame = (struct blame){.phase = supervisor->was_up ? "run" : "start"};
	if (!pk_blackbox_read(supervisor->blackbox_fd, &report))
		return;
	const struct pk_blackbox_mark *mark = &report.crashed;
	if (hung && mark->work == PK_BLACKBOX_NONE)
		mark = report.loading.work != PK_BLACKBOX_NONE ? &report.loading
							       : &report.inferring;
	if (mark->work != PK_BLACKBOX_NONE)
		blame->phase = pk_blackbox_work_name(mark->work);
	if (mark->work != PK_BLACKBOX_NONE)
		write_blame(mark, blame);
	else if (report.thread[0])
		pk_text_format(blame->what, sizeof(blame->what), "thread %s", report.thread);
}

static void count_crash(struct pk_supervisor *supervisor, const char *cause, const char *blame)
{
	bool soon = !supervisor->started_ns ||
		    pk_now_ns() - supervisor->started_ns < supervisor->limits.healthy_ns;
	if (!soon) {
		pk_crash_loop_healthy(&supervisor->crashes);
		return;
	}
	if (!pk_crash_loop_crashed(&supervisor->crashes, blame[0] ? blame : cause))
		return;
	char n[16];
	snprintf(n, sizeof(n), "%u", supervisor->crashes.n);
	supervisor->loop_ns = pk_realtime_ns();
	pk_events_post(supervisor->events, PK_EVENT_WORKER_CRASH_LOOP,
		PK_FIELDS({"PICKET_CAUSE", cause}, {"PICKET_BLAME", blame[0] ? blame : NULL}),
		"worker has ended %s times in a row soon after its start: %s%s%s", n, cause,
		blame[0] ? "; busy with " : "", blame);
}

static void tell_ended(struct pk_supervisor *supervisor, const char *cause)
{
	char pause[PK_DURATION_MAX];
	struct blame blame;
	bool crashed = !supervisor->on_purpose;
	find_blame(supervisor, supervisor->cause[0] != '\0', &blame);
	if (crashed)
		count_crash(supervisor, cause, blame.what);
	schedule_restart(supervisor);
	if (crashed) {
		pk_format_duration(pk_timer_left_ns(&supervisor->restart_timer), pause);
		pk_events_post(supervisor->events, PK_EVENT_WORKER_ENDED,
			PK_FIELDS({"PICKET_CAUSE", cause}, {"PICKET_PHASE_OF", blame.phase},
				{"PICKET_BLAME", blame.what[0] ? blame.what : NULL}),
			"worker ended: %s%s%s; starts again in %s", cause,
			blame.what[0] ? ", busy with " : "", blame.what, pause);
	}
	const struct pk_worker_blame told = {.model = blame.model[0] ? blame.model : NULL,
		.camera = crashed && blame.camera[0] ? blame.camera : NULL};
	supervisor->hooks.down(supervisor->hooks.ctx, crashed ? cause : "", crashed, &told);
}

static void finish_stop(struct pk_supervisor *supervisor)
{
	supervisor->phase = PHASE_NONE;
	pk_loop_stop_timer(&supervisor->check_timer);
	if (supervisor->stopped)
		supervisor->stopped(supervisor->stopped_ctx);
}

static void ask_to_end(struct pk_supervisor *supervisor)
{
	supervisor->on_purpose = true;
	if (supervisor->phase == PHASE_ENDING)
		return;
	supervisor->phase = PHASE_ENDING;
	(void)pk_channel_send(&supervisor->channel, json_pack("{s:s}", "type", "stop"));
	pk_loop_start_timer(supervisor->loop, &supervisor->term_timer, supervisor->limits.stop_ns);
}

static void on_config_done(struct pk_supervisor *supervisor, const json_t *message)
{
	const char *error = json_string_value(json_object_get(message, "error"));
	pk_supervisor_answered(supervisor);
	if (error) {
		pk_events_post(supervisor->events, PK_EVENT_WORKER_REFUSED,
			PK_FIELDS({"PICKET_CAUSE", error}), "worker cannot use its config: %s",
			error);
		if (supervisor->phase == PHASE_STARTING) {
			char cause[CAUSE_MAX];
			pk_text_format(
				cause, sizeof(cause), "worker cannot use its config: %s", error);
			kill_worker(supervisor, cause);
		} else {
			ask_to_end(supervisor); // it is between two configs: start anew
		}
		return;
	}
	if (supervisor->phase != PHASE_STARTING)
		return;
	supervisor->phase = PHASE_UP;
	supervisor->was_up = true;
	char pid[16];
	snprintf(pid, sizeof(pid), "%d", (int)supervisor->process.pid);
	pk_events_post(supervisor->events, PK_EVENT_WORKER_STARTED, PK_FIELDS({"PICKET_PID", pid}),
		"worker runs with pid %s", pid);
	supervisor->hooks.up(supervisor->hooks.ctx);
}

static void on_busy(struct pk_supervisor *supervisor, const char *phase)
{
	supervisor->busy = true;
	supervisor->load = LOAD_NONE;
	for (size_t i = 0; phase && i < PK_ARRAY_LEN(loads); i++)
		if (strcmp(phase, loads[i].name) == 0)
			supervisor->load = (enum load)i;
}

static void on_message(void *ctx, const char *type, const json_t *message)
{
	struct pk_supervisor *supervisor = ctx;
	supervisor->last_message_ns = pk_now_ns();
	if (supervisor->phase == PHASE_ENDING)
		return;
	if (strcmp(type, "busy") == 0) {
		on_busy(supervisor, json_string_value(json_object_get(message, "phase")));
		return;
	}
	if (strcmp(type, "config_done") == 0) {
		on_config_done(supervisor, message);
		return;
	}
	if (strcmp(type, "heartbeat") == 0) {
		int64_t age_ms = 0;
		(void)pk_json_opt_int(message, "progress_age_ms", &age_ms, NULL);
		supervisor->progress_age_ns =
			PK_MIN(PK_MAX(age_ms, INT64_C(0)), INT64_C(86400000)) * PK_NS_PER_MS;
	}
	supervisor->hooks.message(supervisor->hooks.ctx, type, message);
}

static void on_channel(void *ctx, uint32_t events)
{
	struct pk_supervisor *supervisor = ctx;
	struct pk_err err = {0};
	int r = events & EPOLLOUT ? pk_channel_flush(&supervisor->channel) : 0;
	if (r == 0 && events & ~(uint32_t)EPOLLOUT)
		r = pk_channel_receive(&supervisor->channel, on_message, supervisor, &err);
	if (r == 0) {
		watch_channel(supervisor);
		return;
	}
	pk_loop_unwatch(supervisor->loop, &supervisor->channel_watch);
	if (r != -EPIPE) {
		char cause[CAUSE_MAX];
		pk_text_format(cause, sizeof(cause), "its messages cannot be read: %s",
			pk_err_text(&err, r));
		kill_worker(supervisor, cause);
	} else if (!supervisor->kill_timer.active) {
		// It is ending by itself, or has closed its end by mistake.
		pk_loop_start_timer(
			supervisor->loop, &supervisor->kill_timer, supervisor->limits.stop_ns);
	}
}

static void describe_end(const struct pk_exit_status *status, char text[CAUSE_MAX])
{
	char plain[PK_EXIT_TEXT_MAX];
	pk_exit_status_format(status, plain);
	bool lost = !status->signalled && status->code == PK_WORKER_EXIT_DEVICE;
	pk_text_format(
		text, CAUSE_MAX, "%s%s", plain, lost ? ": the accelerator was lost to it" : "");
}

static void on_process(void *ctx, pk_unused uint32_t events)
{
	struct pk_supervisor *supervisor = ctx;
	struct pk_exit_status status;
	char text[CAUSE_MAX];
	pk_loop_unwatch(supervisor->loop, &supervisor->process_watch);
	if (pk_subprocess_wait(&supervisor->process, 0, &status) != 1)
		return;
	describe_end(&status, text);
	// What it still said before it ended: a fault that explains why.
	(void)pk_channel_receive(&supervisor->channel, on_message, supervisor, NULL);
	close_channel(supervisor);
	pk_loop_stop_timer(&supervisor->term_timer);
	pk_loop_stop_timer(&supervisor->kill_timer);
	supervisor->n_open = 0;
	if (supervisor->stopping) {
		finish_stop(supervisor);
		return;
	}
	tell_ended(supervisor, supervisor->cause[0] ? supervisor->cause : text);
}

// How long it may say nothing.
static int64_t silence_limit_ns(const struct pk_supervisor *supervisor, bool busy)
{
	const struct pk_supervisor_limits *limits = &supervisor->limits;
	if (!busy)
		return limits->silence_ns;
	return supervisor->load >= LOAD_PREPARE ? limits->prepare_ns : limits->busy_ns;
}

// What is wrong with it, or NULL. Loading an engine may be slow, and is not a hang.
static const char *overdue(struct pk_supervisor *supervisor, char text[CAUSE_MAX])
{
	const struct pk_supervisor_limits *limits = &supervisor->limits;
	int64_t now_ns = pk_now_ns();
	int64_t silent_ns = now_ns - supervisor->last_message_ns;
	// A request that it has not begun with is no excuse: it may have stood still before.
	bool busy = supervisor->busy && supervisor->n_open > 0;
	char duration[PK_DURATION_MAX];
	if (supervisor->phase == PHASE_STARTING) {
		if (now_ns - supervisor->started_ns < limits->start_ns)
			return NULL;
		pk_format_duration(limits->start_ns, duration);
		snprintf(text, CAUSE_MAX, "not ready after %s", duration);
	} else if (silent_ns >= silence_limit_ns(supervisor, busy)) {
		pk_format_duration(silent_ns, duration);
		snprintf(text, CAUSE_MAX, "no heartbeat for %s%s", duration,
			busy ? loads[supervisor->load].text : "");
	} else if (supervisor->progress_age_ns >= limits->stuck_ns && !busy) {
		pk_format_duration(supervisor->progress_age_ns, duration);
		snprintf(text, CAUSE_MAX, "pipeline stuck for %s", duration);
	} else {
		return NULL;
	}
	return text;
}

static void on_check(void *ctx)
{
	struct pk_supervisor *supervisor = ctx;
	supervisor->last_check_ns = pk_now_ns();
	pk_loop_start_timer(supervisor->loop, &supervisor->check_timer, CHECK_NS);
	char text[CAUSE_MAX];
	if (supervisor->phase != PHASE_STARTING && supervisor->phase != PHASE_UP)
		return;
	if (supervisor->phase == PHASE_UP && supervisor->crashes.n > 0 &&
		supervisor->last_check_ns - supervisor->started_ns >=
			supervisor->limits.healthy_ns) {
		pk_crash_loop_healthy(&supervisor->crashes);
		supervisor->loop_ns = 0;
	}
	const char *cause = overdue(supervisor, text);
	if (cause)
		kill_worker(supervisor, cause);
}

static void on_restart(void *ctx)
{
	struct pk_supervisor *supervisor = ctx;
	supervisor->n_restarts++;
	start_worker(supervisor);
}

static void on_term(void *ctx)
{
	struct pk_supervisor *supervisor = ctx;
	(void)pk_subprocess_signal(&supervisor->process, SIGTERM);
	pk_loop_start_timer(supervisor->loop, &supervisor->kill_timer, supervisor->limits.term_ns);
}

static void on_kill(void *ctx)
{
	struct pk_supervisor *supervisor = ctx;
	kill_worker(supervisor, supervisor->on_purpose ? "" : "closed its channel and went on");
}

static bool has_process(const struct pk_supervisor *supervisor)
{
	return supervisor->process.pid > 0;
}

static int send_config(struct pk_supervisor *supervisor)
{
	supervisor->n_open++;
	int r = pk_channel_send(&supervisor->channel,
		json_pack("{s:s, s:s}", "type", "config", "yaml", supervisor->yaml));
	return r == -EPIPE ? 0 : r; // it has ended already: the pidfd tells how
}

static int spawn(struct pk_supervisor *supervisor, int worker_fd, struct pk_err *err)
{
	const char *const argv[] = {supervisor->program, NULL};
	const struct pk_subprocess_fd fds[] = {
		{.parent_fd = worker_fd, .child_fd = PK_PROTO_WORKER_FD},
		{.parent_fd = supervisor->blackbox_fd, .child_fd = PK_PROTO_BLACKBOX_FD},
	};
	const struct pk_subprocess_options options = {
		.argv = argv,
		.fds = fds,
		.n_fds = PK_ARRAY_LEN(fds),
		.die_with_parent = true,
	};
	return pk_subprocess_start(&supervisor->process, &options, err);
}

static int connect_worker(struct pk_supervisor *supervisor, int fd, struct pk_err *err)
{
	pk_channel_init(&supervisor->channel, fd);
	int r = pk_loop_watch(supervisor->loop, &supervisor->channel_watch, fd, EPOLLIN);
	if (r == 0)
		r = pk_loop_watch(supervisor->loop, &supervisor->process_watch,
			supervisor->process.pidfd, EPOLLIN);
	if (r == 0)
		r = send_config(supervisor);
	if (r < 0)
		return pk_fail(err, r, "talking to the worker");
	watch_channel(supervisor);
	return 0;
}

static int try_start(struct pk_supervisor *supervisor, struct pk_err *err)
{
	int ends[2];
	if (supervisor->blackbox_fd >= 0)
		close(pk_steal_fd(supervisor->blackbox_fd));
	supervisor->blackbox_fd = pk_blackbox_create();
	if (supervisor->blackbox_fd < 0)
		return pk_fail(err, supervisor->blackbox_fd, "black box");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return pk_fail_errno(err, "socketpair");
	int r = spawn(supervisor, ends[1], err);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	return connect_worker(supervisor, ends[0], err);
}

static void start_worker(struct pk_supervisor *supervisor)
{
	struct pk_err err = {0};
	supervisor->phase = PHASE_STARTING;
	supervisor->cause[0] = '\0';
	supervisor->on_purpose = supervisor->was_up = false;
	supervisor->n_open = 0;
	supervisor->busy = false;
	supervisor->load = LOAD_NONE;
	supervisor->progress_age_ns = 0;
	supervisor->started_ns = supervisor->last_message_ns = pk_now_ns();
	int r = try_start(supervisor, &err);
	if (r == 0)
		return;
	const char *cause = pk_err_text(&err, r);
	if (has_process(supervisor)) {
		kill_worker(supervisor, cause);
		return; // the rest follows when it has ended
	}
	supervisor->started_ns = 0;
	count_crash(supervisor, cause, "");
	schedule_restart(supervisor);
	pk_events_post(supervisor->events, PK_EVENT_WORKER_REFUSED,
		PK_FIELDS({"PICKET_CAUSE", cause}), "worker cannot be started: %s", cause);
	supervisor->hooks.down(supervisor->hooks.ctx, cause, true, &(struct pk_worker_blame){0});
}

int pk_supervisor_create(struct pk_loop *loop, struct pk_events *events, const char *program,
	const struct pk_supervisor_hooks *hooks, struct pk_supervisor **out, struct pk_err *err)
{
	struct pk_supervisor *supervisor = calloc(1, sizeof(*supervisor));
	if (!supervisor || !(supervisor->program = strdup(program))) {
		free(supervisor);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	supervisor->loop = loop;
	supervisor->events = events;
	supervisor->hooks = *hooks;
	supervisor->process.pidfd = supervisor->blackbox_fd = -1;
	pk_channel_init(&supervisor->channel, -1);
	supervisor->process_watch = (struct pk_watch){.ready = on_process, .ctx = supervisor};
	supervisor->channel_watch = (struct pk_watch){.ready = on_channel, .ctx = supervisor};
	supervisor->check_timer = (struct pk_timer){.fire = on_check, .ctx = supervisor};
	supervisor->restart_timer = (struct pk_timer){.fire = on_restart, .ctx = supervisor};
	supervisor->term_timer = (struct pk_timer){.fire = on_term, .ctx = supervisor};
	supervisor->kill_timer = (struct pk_timer){.fire = on_kill, .ctx = supervisor};
	pk_supervisor_set_limits(supervisor, &(struct pk_supervisor_limits){0});
	*out = supervisor;
	return 0;
}

void pk_supervisor_destroy(struct pk_supervisor *supervisor)
{
	if (!supervisor)
		return;
	pk_loop_stop_timer(&supervisor->check_timer);
	pk_loop_stop_timer(&supervisor->restart_timer);
	pk_loop_stop_timer(&supervisor->term_timer);
	pk_loop_stop_timer(&supervisor->kill_timer);
	pk_loop_unwatch(supervisor->loop, &supervisor->process_watch);
	if (has_process(supervisor)) {
		struct pk_exit_status status;
		(void)pk_subprocess_signal(&supervisor->process, SIGKILL);
		(void)pk_subprocess_wait(&supervisor->process, -1, &status);
	}
	close_channel(supervisor);
	if (supervisor->blackbox_fd >= 0)
		close(supervisor->blackbox_fd);
	pk_crash_loop_finish(&supervisor->crashes);
	free(supervisor->program);
	free(supervisor->yaml);
	free(supervisor);
}

int pk_supervisor_keep_crashes(struct pk_supervisor *supervisor, const char *dir)
{
	int r = pk_crash_loop_init(&supervisor->crashes, dir);
	if (r == 0 && pk_crash_loop_open(&supervisor->crashes))
		supervisor->loop_ns = pk_realtime_ns();
	return r;
}

json_t *pk_supervisor_alarm(const struct pk_supervisor *supervisor)
{
	char since[PK_ISO_TIME_MAX], cause[CAUSE_MAX];
	if (!supervisor->loop_ns)
		return NULL;
	pk_format_iso_time(supervisor->loop_ns, since);
	pk_text_format(
		cause, sizeof(cause), "worker crashes in a loop: %s", supervisor->crashes.blame);
	return json_pack("{s:s, s:s}", "cause", cause, "since", since);
}

int pk_supervisor_set_config(struct pk_supervisor *supervisor, const char *yaml)
{
	char *copy = strdup(yaml);
	if (!copy)
		return -ENOMEM;
	free(supervisor->yaml);
	supervisor->yaml = copy;
	if (supervisor->phase != PHASE_STARTING && supervisor->phase != PHASE_UP)
		return 0;
	if (send_config(supervisor) < 0)
		kill_worker(supervisor, "does not read its messages");
	else
		watch_channel(supervisor);
	return 0;
}

void pk_supervisor_start(struct pk_supervisor *supervisor)
{
	on_check(supervisor);
	start_worker(supervisor);
}

void pk_supervisor_stop(struct pk_supervisor *supervisor, void (*stopped)(void *ctx), void *ctx)
{
	supervisor->stopping = true;
	supervisor->stopped = stopped;
	supervisor->stopped_ctx = ctx;
	pk_loop_stop_timer(&supervisor->restart_timer);
	if (has_process(supervisor))
		ask_to_end(supervisor);
	else
		finish_stop(supervisor);
}

int pk_supervisor_send(struct pk_supervisor *supervisor, json_t *message, bool expects_answer)
{
	if (supervisor->phase != PHASE_UP) {
		json_decref(message);
		return -ENOTCONN;
	}
	int r = pk_channel_send(&supervisor->channel, message);
	if (r < 0 && r != -EPIPE) // its end is told by the pidfd
		kill_worker(supervisor, "does not read its messages");
	if (r < 0)
		return r;
	supervisor->n_open += expects_answer;
	watch_channel(supervisor);
	return 0;
}

void pk_supervisor_answered(struct pk_supervisor *supervisor)
{
	if (supervisor->n_open > 0)
		supervisor->n_open--;
	supervisor->busy = false;
}

pid_t pk_supervisor_pid(const struct pk_supervisor *supervisor)
{
	return supervisor->process.pid;
}

unsigned pk_supervisor_n_restarts(const struct pk_supervisor *supervisor)
{
	return supervisor->n_restarts;
}

bool pk_supervisor_is_up(const struct pk_supervisor *supervisor)
{
	return supervisor->phase == PHASE_UP;
}

int64_t pk_supervisor_last_check_ns(const struct pk_supervisor *supervisor)
{
	return supervisor->last_check_ns;
}
