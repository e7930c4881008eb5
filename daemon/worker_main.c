// SPDX-License-Identifier: Apache-2.0
// picket-worker: the data plane. Takes its config and engine assignments from picketd on fd 3 and
// runs the pipeline until it is told to stop or picketd is gone.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/blackbox.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/queue.h"
#include "config/config.h"
#include "daemon/worker_probe.h"
#include "daemon/worker_proto.h"
#include "daemon/worker_stats.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"

#define HEARTBEAT_NS PK_NS_PER_S
#define OUTBOX_LEN   1024

struct worker {
	struct pk_channel channel;
	struct pk_queue *outbox; // json_t from pipeline threads
	int wake_fd;             // eventfd: the outbox has something
	int signal_fd;
	struct pk_pipeline *pipeline; // NULL until the first config
	struct pk_worker_stats *stats;
	struct pk_pipeline_events events;
	bool stopping;
	atomic_bool device_lost; // set by any thread, after it has posted why
	int error;
};

// Any thread. A full outbox drops the message: state is repeated by the next heartbeat.
static void post(struct worker *worker, json_t *message)
{
	uint64_t one = 1;
	if (!message || !pk_queue_try_push(worker->outbox, message)) {
		json_decref(message);
		return;
	}
	if (write(worker->wake_fd, &one, sizeof(one)) < 0)
		return; // the counter is full: the main thread is awake anyway
}

static void on_camera_state(
	void *ctx, const char *camera, enum pk_camera_state state, const char *cause)
{
	post(ctx, json_pack("{s:s, s:s, s:s, s:s}", "type", "camera", "name", camera, "state",
			  pk_camera_state_name(state), "cause", cause ? cause : ""));
}

static void on_camera_note(void *ctx, const char *camera, const char *text)
{
	post(ctx,
		json_pack("{s:s, s:s, s:s}", "type", "camera_note", "name", camera, "text", text));
}

// Only a new process gets a lost accelerator back.
static void note_loss(struct worker *worker, int code)
{
	if (pk_engine_is_lost(code))
		atomic_store(&worker->device_lost, true);
}

static void on_model_fault(void *ctx, const char *model, int code, const char *cause)
{
	struct worker *worker = ctx;
	json_t *fault = json_pack("{s:s, s:s, s:i, s:s}", "type", "fault", "model", model, "code",
		code, "cause", cause ? cause : "");
	post(worker, fault);
	note_loss(worker, code);
}

static void on_model_serving(void *ctx, const char *model, const char *rung, int64_t gap_ns)
{
	json_t *message =
		json_pack("{s:s, s:s, s:s}", "type", "serving", "model", model, "rung", rung);
	if (message && gap_ns >= 0)
		json_object_set_new(
			message, "gap_ms", json_real((double)gap_ns / (double)PK_NS_PER_MS));
	post(ctx, message);
}

static void on_sink_fault(void *ctx, const char *sink, int code, const char *cause)
{
	post(ctx, json_pack("{s:s, s:s, s:s, s:s}", "type", "sink", "name", sink, "state",
			  code < 0 ? "failing" : "ok", "cause", cause ? cause : ""));
}

static void send_message(struct worker *worker, json_t *message)
{
	int r = pk_channel_send(&worker->channel, message);
	if (r < 0 && worker->error == 0)
		worker->error = r;
}

// On the main thread, which is busy with just that.
static void on_loading(void *ctx, const char *model, enum pk_load_phase phase)
{
	send_message(ctx, json_pack("{s:s, s:s, s:s}", "type", "busy", "model", model, "phase",
				  pk_load_phase_name(phase)));
}

// All mistakes of a config in one line, for the answer; picketd has checked it before.
static char *problems_text(struct pk_problems *problems)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	pk_problems_print(problems, out);
	fclose(out);
	return text;
}

static int take_config(struct worker *worker, const char *yaml, struct pk_err *err)
{
	pk_auto(pk_config) config = NULL;
	struct pk_problems problems = {0};
	int r = pk_config_parse(yaml, strlen(yaml), "config", "/", &config, &problems);
	if (r < 0) {
		pk_auto_free char *text = problems_text(&problems);
		(void)pk_fail(err, r, "%s", text ? text : "config");
	} else if (worker->pipeline) {
		r = pk_pipeline_apply(worker->pipeline, config, err);
	} else {
		r = pk_pipeline_create(config, &worker->events, &worker->pipeline, err);
	}
	pk_problems_finish(&problems);
	return r;
}

static void on_config(struct worker *worker, const json_t *message)
{
	struct pk_err err = {0};
	const char *yaml = NULL;
	send_message(worker, json_pack("{s:s}", "type", "busy"));
	int r = pk_json_get_str(message, "yaml", &yaml, &err);
	pk_blackbox_enter(PK_BLACKBOX_CONFIG, NULL, NULL, NULL);
	if (r == 0)
		r = take_config(worker, yaml, &err);
	pk_blackbox_leave();
	send_message(worker, json_pack("{s:s, s:s?}", "type", "config_done", "error",
				     r < 0 ? pk_err_text(&err, r) : NULL));
}

static int read_assignment(
	const json_t *message, struct pk_assignment *out, int64_t *serial, struct pk_err *err)
{
	int r = pk_json_get_str(message, "model", &out->model, err);
	if (r == 0)
		r = pk_json_get_str(message, "rung", &out->rung, err);
	if (r == 0)
		r = pk_json_get_str(message, "cause", &out->cause, err);
	if (r == 0)
		r = pk_json_get_str(message, "digest", &out->model_digest, err);
	if (r == 0)
		r = pk_json_get_int(message, "serial", serial, err);
	if (r == 0)
		r = pk_json_opt_str(message, "engine", &out->engine_path, err);
	if (r == 0)
		r = pk_json_opt_str(message, "key", &out->engine_key, err);
	return r;
}

static const char *mismatch_of(int code)
{
	return code == -EBADMSG ? "corrupt" : code == -ESTALE ? "stale" : "match";
}

static void on_assign(struct worker *worker, const json_t *message)
{
	struct pk_err err = {0};
	struct pk_assignment assignment = {0};
	int64_t serial = 0;
	send_message(worker, json_pack("{s:s}", "type", "busy"));
	int r = read_assignment(message, &assignment, &serial, &err);
	if (r == 0 && !worker->pipeline)
		r = pk_fail(&err, -EINVAL, "an assignment came before the config");
	pk_blackbox_enter(PK_BLACKBOX_LOAD, assignment.model, NULL, NULL);
	if (r == 0)
		r = pk_pipeline_assign(worker->pipeline, &assignment, &err);
	if (r == 0 && assignment.engine_path)
		pk_worker_stats_restart(worker->stats, assignment.model);
	pk_blackbox_leave();
	send_message(
		worker, json_pack("{s:s, s:s, s:I, s:s?, s:i, s:s}", "type", "assign_done", "model",
				assignment.model ? assignment.model : "", "serial",
				(json_int_t)serial, "error", r < 0 ? pk_err_text(&err, r) : NULL,
				"code", r, "mismatch", mismatch_of(r)));
	note_loss(worker, r);
}

static void on_shed(struct worker *worker, const json_t *message)
{
	if (!worker->pipeline)
		return;
	pk_pipeline_shed(worker->pipeline, NULL, 0);
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(message, "cameras"), i, item) {
		const char *name = json_string_value(json_object_get(item, "name"));
		double rate_hz = json_number_value(json_object_get(item, "max_rate_hz"));
		if (name && rate_hz > 0)
			pk_pipeline_shed(worker->pipeline, name, rate_hz);
	}
}

static void on_message(void *ctx, const char *type, const json_t *message)
{
	struct worker *worker = ctx;
	if (strcmp(type, "config") == 0)
		on_config(worker, message);
	else if (strcmp(type, "assign") == 0)
		on_assign(worker, message);
	else if (strcmp(type, "shed") == 0)
		on_shed(worker, message);
	else if (strcmp(type, "stop") == 0)
		worker->stopping = true;
	else
		pk_log_warning("picketd sent a message of unknown type `%s`", type);
}

static void drain_outbox(struct worker *worker)
{
	uint64_t count;
	if (read(worker->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		worker->error = -errno;
	for (json_t *message; (message = pk_queue_pop(worker->outbox, 0));)
		send_message(worker, message);
}

static void heartbeat(struct worker *worker)
{
	json_t *message = pk_worker_stats_heartbeat(worker->stats, worker->pipeline, pk_now_ns());
	if (message)
		send_message(worker, message);
}

static int turn(struct worker *worker, int64_t next_beat_ns)
{
	struct pollfd fds[] = {
		{.fd = worker->channel.fd,
			.events =
				(short)(POLLIN |
					(pk_channel_wants_write(&worker->channel) ? POLLOUT : 0))},
		{.fd = worker->wake_fd, .events = POLLIN},
		{.fd = worker->signal_fd, .events = POLLIN},
	};
	int64_t wait_ns = PK_MAX(next_beat_ns - pk_now_ns(), (int64_t)0);
	int n = poll(fds, PK_ARRAY_LEN(fds), (int)(wait_ns / PK_NS_PER_MS) + 1);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	struct pk_err err = {0};
	int r = fds[0].revents & POLLOUT ? pk_channel_flush(&worker->channel) : 0;
	if (r == 0 && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		r = pk_channel_receive(&worker->channel, on_message, worker, &err);
	if (fds[1].revents)
		drain_outbox(worker);
	if (fds[2].revents)
		worker->stopping = true;
	if (r < 0 && r != -EPIPE)
		pk_log_err("channel to picketd: %s", pk_err_text(&err, r));
	return r;
}

// Says what is still to be said and ends at once: tidying up would call the broken driver.
static pk_noreturn void end_lost(struct worker *worker)
{
	drain_outbox(worker);
	(void)pk_channel_flush(&worker->channel);
	pk_log_err("picket-worker ends: the accelerator is lost to this process");
	_exit(PK_WORKER_EXIT_DEVICE);
}

static int run(struct worker *worker)
{
	int64_t next_beat_ns = pk_now_ns();
	send_message(worker, json_pack("{s:s, s:i}", "type", "hello", "pid", (int)getpid()));
	while (!worker->stopping && worker->error == 0) {
		if (atomic_load(&worker->device_lost))
			end_lost(worker);
		if (pk_now_ns() >= next_beat_ns && worker->pipeline) {
			heartbeat(worker);
			next_beat_ns = pk_now_ns() + HEARTBEAT_NS;
		} else if (!worker->pipeline) {
			next_beat_ns = pk_now_ns() + HEARTBEAT_NS;
		}
		int r = turn(worker, next_beat_ns);
		if (r < 0)
			return r;
	}
	return worker->error;
}

// SIGINT of a terminal reaches the whole group; only picketd decides what it means.
static int open_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigset_t blocked = set;
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void worker_finish(struct worker *worker)
{
	pk_pipeline_destroy(worker->pipeline);
	pk_worker_stats_destroy(worker->stats);
	for (json_t *message; worker->outbox && (message = pk_queue_pop(worker->outbox, 0));)
		json_decref(message);
	pk_queue_destroy(worker->outbox);
	pk_channel_finish(&worker->channel);
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
	if (worker->signal_fd >= 0)
		close(worker->signal_fd);
}

int main(int argc, char **argv)
{
	pk_log_init("picket-worker", PK_LOG_INFO);
	if (argc > 1)
		return pk_worker_probe(argc, argv);
	(void)pk_blackbox_open(
		PK_PROTO_BLACKBOX_FD); // without it a crash is only less well explained
	struct worker worker = {
		.events = {.camera_state = on_camera_state,
			.camera_note = on_camera_note,
			.model_fault = on_model_fault,
			.model_serving = on_model_serving,
			.loading = on_loading,
			.sink_fault = on_sink_fault},
		.signal_fd = open_signals(),
		.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.outbox = pk_queue_create(OUTBOX_LEN),
		.stats = pk_worker_stats_create(),
	};
	worker.events.ctx = &worker;
	pk_channel_init(&worker.channel, PK_PROTO_WORKER_FD);
	int r = -ENOMEM;
	if (worker.signal_fd >= 0 && worker.wake_fd >= 0 && worker.outbox && worker.stats)
		r = run(&worker);
	worker_finish(&worker);
	if (r < 0 && r != -EPIPE)
		pk_log_err("picket-worker ends: %s", strerror(-r));
	return r < 0 && r != -EPIPE ? EXIT_FAILURE : EXIT_SUCCESS;
}
