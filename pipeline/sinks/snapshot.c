// SPDX-License-Identifier: Apache-2.0
// The newest picture of each camera with its boxes, as <folder>/<camera>.jpg.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/queue.h"
#include "base/thread.h"
#include "pipeline/canvas.h"
#include "pipeline/sink.h"
#include "pipeline/sinks/marked.h"

#define PK_SNAPSHOT_JOBS     4
#define PK_SNAPSHOT_CAMERAS  64
#define PK_SNAPSHOT_QUALITY  85
#define PK_SNAPSHOT_FLUSH_NS (500 * PK_NS_PER_MS) // for what waits at the end
#define PK_SNAPSHOT_JOIN_NS  (3 * PK_NS_PER_S / 2)

struct pk_snapshot {
	struct pk_sink sink;
	char *folder;
	int64_t interval_ns;
	bool detections_only;
	pthread_t thread;
	_Atomic int64_t until_ns;      // no picture is begun after that; 0: goes on
	struct pk_queue *idle, *ready; // of jobs
	struct pk_marked jobs[PK_SNAPSHOT_JOBS];
	// Inference thread only
	struct {
		char name[64];
		int64_t due_ns;
	} cameras[PK_SNAPSHOT_CAMERAS];
	size_t n_cameras;
	// Own thread only
	struct pk_canvas canvas;
	tjhandle jpeg;
	unsigned char *out;
	unsigned long out_capacity;
	bool failed;
};

static int64_t *pk_snapshot_due(struct pk_snapshot *snapshot, const char *camera)
{
	for (size_t i = 0; i < snapshot->n_cameras; i++)
		if (strcmp(snapshot->cameras[i].name, camera) == 0)
			return &snapshot->cameras[i].due_ns;
	// Names beyond the table share its last place: fewer pictures, never more.
	size_t at = PK_MIN(snapshot->n_cameras, (size_t)PK_SNAPSHOT_CAMERAS - 1);
	snapshot->n_cameras = at + 1;
	snprintf(snapshot->cameras[at].name, sizeof(snapshot->cameras[at].name), "%s", camera);
	return &snapshot->cameras[at].due_ns;
}

static bool pk_snapshot_take(
	struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	struct pk_snapshot *snapshot = (struct pk_snapshot *)sink;
	int64_t now_ns = pk_now_ns(), *due_ns = pk_snapshot_due(snapshot, result->camera);
	if (now_ns < *due_ns || (snapshot->detections_only && result->n_detections == 0))
		return true;
	struct pk_marked *job = pk_queue_pop(snapshot->idle, 0);
	if (!job)
		return false;
	*due_ns = now_ns + snapshot->interval_ns;
	pk_marked_fill(job, result);
	if (pk_queue_try_push(snapshot->ready, job))
		return true;
	pk_frame_unref(pk_steal(job->frame)); // closed: it is about to be destroyed
	return false;
}

static int pk_snapshot_encode(struct pk_snapshot *snapshot, unsigned long *size, struct pk_err *err)
{
	const struct pk_canvas *canvas = &snapshot->canvas;
	unsigned long need = tjBufSize(canvas->width, canvas->height, TJSAMP_420);
	if (need > snapshot->out_capacity) {
		unsigned char *out = realloc(snapshot->out, need);
		if (!out)
			return pk_fail(err, -ENOMEM, "out of memory");
		snapshot->out = out;
		snapshot->out_capacity = need;
	}
	*size = snapshot->out_capacity;
	if (tjCompress2(snapshot->jpeg, canvas->rgb, canvas->width, 0, canvas->height, TJPF_RGB,
		    &snapshot->out, size, TJSAMP_420, PK_SNAPSHOT_QUALITY, TJFLAG_NOREALLOC) < 0)
		return pk_fail(err, -EIO, "JPEG: %s", tjGetErrorStr2(snapshot->jpeg));
	return 0;
}

// Replaced by rename, so a viewer never sees half a picture; not synced: the next one comes soon.
static int pk_snapshot_write(
	const char *path, const unsigned char *bytes, size_t n, struct pk_err *err)
{
	char tmp[PATH_MAX];
	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp))
		return pk_fail(err, -ENAMETOOLONG, "%s: name too long", path);
	pk_auto_close int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return pk_fail_errno(err, "%s", tmp);
	int r = pk_fs_write_all(fd, bytes, n);
	if (r == 0 && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(tmp);
		return pk_fail(err, r, "%s: %s", path, strerror(-r));
	}
	return 0;
}

static int pk_snapshot_do(
	struct pk_snapshot *snapshot, const struct pk_marked *job, struct pk_err *err)
{
	if (pk_canvas_load(&snapshot->canvas, &job->frame->image) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_marked_draw(job, &snapshot->canvas);
	unsigned long size;
	int r = pk_snapshot_encode(snapshot, &size, err);
	if (r < 0)
		return r;
	char name[sizeof(job->camera)], path[PATH_MAX];
	snprintf(name, sizeof(name), "%s", job->camera);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '_';
	if (snprintf(path, sizeof(path), "%s/%s.jpg", snapshot->folder, name) >= (int)sizeof(path))
		return pk_fail(err, -ENAMETOOLONG, "%s: name too long", snapshot->folder);
	r = pk_fs_mkdirs(snapshot->folder, 0755, err);
	return r < 0 ? r : pk_snapshot_write(path, snapshot->out, size, err);
}

static void pk_snapshot_work(struct pk_snapshot *snapshot, const struct pk_marked *job)
{
	struct pk_err err = {0};
	int64_t until_ns = atomic_load(&snapshot->until_ns);
	if (until_ns && pk_now_ns() > until_ns)
		return;
	int r = pk_snapshot_do(snapshot, job, &err);
	if ((r < 0) != snapshot->failed)
		pk_sink_fault(&snapshot->sink, r, r < 0 ? pk_err_text(&err, r) : "");
	snapshot->failed = r < 0;
}

static void *pk_snapshot_run(void *arg)
{
	struct pk_snapshot *snapshot = arg;
	struct pk_marked *job;
	while ((job = pk_queue_pop(snapshot->ready, -1))) {
		pk_snapshot_work(snapshot, job);
		pk_frame_unref(pk_steal(job->frame));
		if (!pk_queue_try_push(snapshot->idle, job))
			break;
	}
	return NULL;
}

static void pk_snapshot_free(struct pk_snapshot *snapshot)
{
	pk_sink_finish(&snapshot->sink);
	for (size_t i = 0; i < PK_SNAPSHOT_JOBS; i++)
		pk_frame_unref(snapshot->jobs[i].frame);
	pk_queue_destroy(snapshot->idle);
	pk_queue_destroy(snapshot->ready);
	pk_canvas_finish(&snapshot->canvas);
	if (snapshot->jpeg)
		tjDestroy(snapshot->jpeg);
	free(snapshot->out);
	free(snapshot->folder);
	free(snapshot);
}

static void pk_snapshot_destroy(struct pk_sink *sink)
{
	struct pk_snapshot *snapshot = (struct pk_snapshot *)sink;
	atomic_store(&snapshot->until_ns, pk_now_ns() + PK_SNAPSHOT_FLUSH_NS);
	pk_queue_close(snapshot->ready);
	if (pk_thread_join(snapshot->thread, PK_SNAPSHOT_JOIN_NS))
		pk_snapshot_free(snapshot);
}

static int pk_snapshot_prepare(struct pk_snapshot *snapshot, const struct pk_sink_config *config)
{
	snapshot->interval_ns = config->interval_ns;
	snapshot->detections_only = config->detections_only;
	snapshot->folder = strdup(config->path);
	snapshot->idle = pk_queue_create(PK_SNAPSHOT_JOBS);
	snapshot->ready = pk_queue_create(PK_SNAPSHOT_JOBS);
	snapshot->jpeg = tjInitCompress();
	if (!snapshot->folder || !snapshot->idle || !snapshot->ready || !snapshot->jpeg)
		return -ENOMEM;
	for (size_t i = 0; i < PK_SNAPSHOT_JOBS; i++)
		if (!pk_queue_try_push(snapshot->idle, &snapshot->jobs[i]))
			return -ENOMEM;
	return pk_thread_start(&snapshot->thread, "pk-snapshot", pk_snapshot_run, snapshot);
}

static int pk_snapshot_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err)
{
	struct pk_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_sink_init(&snapshot->sink, &pk_sink_snapshot, config, env);
	int r = pk_snapshot_prepare(snapshot, config);
	if (r < 0) {
		pk_snapshot_free(snapshot);
		return pk_fail(err, r, "cannot start its thread");
	}
	*out = &snapshot->sink;
	return 0;
}

const struct pk_sink_ops pk_sink_snapshot = {
	.kind = PK_SINK_SNAPSHOT,
	.create = pk_snapshot_create,
	.take = pk_snapshot_take,
	.destroy = pk_snapshot_destroy,
};
