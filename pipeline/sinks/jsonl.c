// SPDX-License-Identifier: Apache-2.0
// Results as lines of JSON: a bounded ring and a writer thread of its own.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "pipeline/sink.h"
#include "pipeline/sinks/jsonl_target.h"
#include "pipeline/sinks/line_ring.h"

#define PK_JSONL_RING_BYTES  (1024u * 1024u)
#define PK_JSONL_BATCH_BYTES (64u * 1024u)
#define PK_JSONL_RETRY_NS    PK_NS_PER_S
#define PK_JSONL_FLUSH_NS    (500 * PK_NS_PER_MS) // for delivery at the end
#define PK_JSONL_JOIN_NS     PK_NS_PER_S

struct pk_jsonl {
	struct pk_sink sink;
	struct pk_line_ring *ring;
	pthread_t thread;
	int wake_fd;
	_Atomic bool stop;
	char *path;
	struct pk_jsonl_target target;
	// Writer thread only
	struct pk_buf batch; // lines on their way out
	bool failed;
	bool blocked; // the target said -EAGAIN
	int64_t retry_ns;
};

static void pk_jsonl_report(struct pk_jsonl *jsonl, int code, const struct pk_err *err)
{
	bool failed = code < 0;
	if (failed != jsonl->failed)
		pk_sink_fault(&jsonl->sink, code, failed ? pk_err_text(err, code) : "");
	jsonl->failed = failed;
}

static void pk_jsonl_give_up(struct pk_jsonl *jsonl, int code, const struct pk_err *err)
{
	pk_jsonl_report(jsonl, code, err);
	jsonl->target.ops->close(&jsonl->target);
	jsonl->retry_ns = pk_now_ns() + PK_JSONL_RETRY_NS;
}

static bool pk_jsonl_ready(struct pk_jsonl *jsonl)
{
	if (jsonl->target.fd >= 0)
		return true;
	if (pk_now_ns() < jsonl->retry_ns)
		return false;
	struct pk_err err = {0};
	int r = jsonl->target.ops->open(&jsonl->target, &err);
	if (r < 0)
		pk_jsonl_give_up(jsonl, r, &err);
	return r == 0;
}

// Lines stay in the ring while the target is away, so that what gets lost is counted by take.
static void pk_jsonl_write(struct pk_jsonl *jsonl)
{
	jsonl->blocked = false;
	while (pk_jsonl_ready(jsonl)) {
		if (jsonl->batch.len == 0 &&
			pk_line_ring_take(jsonl->ring, &jsonl->batch, PK_JSONL_BATCH_BYTES) == 0)
			return;
		struct pk_err err = {0};
		int r = jsonl->target.ops->write(&jsonl->target, &jsonl->batch, &err);
		if (r == -EAGAIN) {
			jsonl->blocked = true;
			return;
		}
		if (r < 0) {
			pk_jsonl_give_up(jsonl, r, &err);
			return;
		}
		pk_jsonl_report(jsonl, 0, NULL);
	}
}

static void pk_jsonl_wait(struct pk_jsonl *jsonl, int timeout_ms)
{
	struct pollfd fds[PK_JSONL_MAX_READERS + 2] = {{.fd = jsonl->wake_fd, .events = POLLIN}};
	size_t n = 1;
	struct pk_jsonl_target *target = &jsonl->target;
	if (target->fd >= 0 && target->ops->poll_fds)
		n += target->ops->poll_fds(target, fds + 1, jsonl->blocked);
	if (poll(fds, n, timeout_ms) < 0)
		return;
	uint64_t ticks;
	if (fds[0].revents && read(jsonl->wake_fd, &ticks, sizeof(ticks)) < 0)
		return;
	if (target->fd >= 0 && target->ops->handle)
		target->ops->handle(target);
}

static void *pk_jsonl_run(void *arg)
{
	struct pk_jsonl *jsonl = arg;
	while (!atomic_load(&jsonl->stop)) {
		pk_jsonl_write(jsonl);
		pk_jsonl_wait(jsonl, 1000);
	}
	int64_t until_ns = pk_now_ns() + PK_JSONL_FLUSH_NS;
	do {
		pk_jsonl_write(jsonl);
		if (!jsonl->blocked)
			break;
		pk_jsonl_wait(jsonl, 20);
	} while (pk_now_ns() < until_ns);
	jsonl->target.ops->close(&jsonl->target);
	return NULL;
}

static void pk_jsonl_wake(struct pk_jsonl *jsonl)
{
	uint64_t one = 1;
	ssize_t n = write(jsonl->wake_fd, &one, sizeof(one));
	(void)n; // full means: it is awake
}

static bool pk_jsonl_take(
	struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	struct pk_jsonl *jsonl = (struct pk_jsonl *)sink;
	bool was_empty;
	if (!pk_line_ring_put(jsonl->ring, line, n, &was_empty))
		return false;
	if (was_empty)
		pk_jsonl_wake(jsonl);
	return true;
}

static void pk_jsonl_free(struct pk_jsonl *jsonl)
{
	pk_sink_finish(&jsonl->sink);
	pk_line_ring_destroy(jsonl->ring);
	pk_buf_finish(&jsonl->batch);
	if (jsonl->wake_fd >= 0)
		close(jsonl->wake_fd);
	free(jsonl->path);
	free(jsonl);
}

static void pk_jsonl_destroy(struct pk_sink *sink)
{
	struct pk_jsonl *jsonl = (struct pk_jsonl *)sink;
	atomic_store(&jsonl->stop, true);
	pk_jsonl_wake(jsonl);
	// A thread that hangs in a dead file system keeps its memory; the process is about to end
	// or to be told.
	if (pk_thread_join(jsonl->thread, PK_JSONL_JOIN_NS))
		pk_jsonl_free(jsonl);
}

static void pk_jsonl_choose_target(struct pk_jsonl *jsonl, const struct pk_sink_config *config)
{
	struct pk_jsonl_target *target = &jsonl->target;
	target->path = jsonl->path;
	target->ops = &pk_jsonl_file_ops;
	if (strcmp(jsonl->path, "-") == 0)
		target->ops = &pk_jsonl_stdout_ops;
	if (strncmp(jsonl->path, "unix:", 5) == 0) {
		target->ops = &pk_jsonl_socket_ops;
		target->path = jsonl->path + 5;
	}
	target->rotate_bytes = config->rotate_bytes;
	target->n_readers_dropped = &jsonl->sink.n_readers_dropped;
	target->n_readers = &jsonl->sink.n_readers;
	target->fd = -1;
	for (size_t i = 0; i < PK_JSONL_MAX_READERS; i++)
		target->readers[i].fd = -1;
}

static int pk_jsonl_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err)
{
	struct pk_jsonl *jsonl = calloc(1, sizeof(*jsonl));
	if (!jsonl)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_sink_init(&jsonl->sink, &pk_sink_jsonl, config, env);
	pk_buf_init(&jsonl->batch, PK_JSONL_RING_BYTES * 2);
	jsonl->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	jsonl->ring = pk_line_ring_create(PK_JSONL_RING_BYTES);
	jsonl->path = strdup(config->path);
	int r = -ENOMEM;
	if (jsonl->wake_fd >= 0 && jsonl->ring && jsonl->path) {
		pk_jsonl_choose_target(jsonl, config);
		r = pk_thread_start(&jsonl->thread, "pk-jsonl", pk_jsonl_run, jsonl);
	}
	if (r < 0) {
		pk_jsonl_free(jsonl);
		return pk_fail(err, r, "cannot start its writer");
	}
	*out = &jsonl->sink;
	return 0;
}

const struct pk_sink_ops pk_sink_jsonl = {
	.kind = PK_SINK_JSONL,
	.wants_line = true,
	.create = pk_jsonl_create,
	.take = pk_jsonl_take,
	.destroy = pk_jsonl_destroy,
};
