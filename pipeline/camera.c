// SPDX-License-Identifier: Apache-2.0
// A camera's thread: one source after the other, with growing delays between failures.
#include "pipeline/camera.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/blackbox.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/thread.h"
#include "config/config_table.h"
#include "pipeline/backoff.h"
#include "pipeline/camera_service.h"
#include "pipeline/ladder.h"
#include "pipeline/picture.h"
#include "pipeline/source.h"

#define PK_CAMERA_TURN_NS (250 * PK_NS_PER_MS)
// A stream of which nothing is whole is alive, but of no use for longer than so many limits.
#define PK_CAMERA_SKIP_LIMITS 4
// Falling behind twice within this time is more than a moment's load, and so long is it told.
#define PK_CAMERA_LATE_NS (20 * PK_NS_PER_S)
#define PK_CAMERA_LATE_CAUSE                                                                       \
	"more video than can be decoded in time: late pictures are left out (`late`)"
// A still scene must not be restarted for ever as if it were a frozen one.
#define PK_CAMERA_FROZEN_MAX_NS (3600 * PK_NS_PER_S)

struct pk_camera {
	_Atomic int refs; // its thread's and its owner's
	pthread_t thread;
	struct pk_station *station;
	char name[64];
	struct pk_source_config source_config; // strings owned
	int64_t first_frame_ns, stall_ns, good_ns, max_late_ns;
	struct pk_backoff backoff, auth_backoff; // own thread
	struct pk_ladder ladder;                 // own thread; csi
	int64_t frozen_wait_ns;                  // own thread; until a frozen source is restarted
	int64_t frozen_since_ns;                 // own thread; 0: it is not
	uint32_t run;                            // own thread
	int64_t started_ns;                      // own thread; of this source
	_Atomic int64_t first_ns, last_ns;       // of this source's frames; 0: none yet
	_Atomic int64_t late_ns[2];              // of the last two times that it fell behind
	_Atomic int64_t skipped_ns;              // of the last picture that was left out; 0: none
	bool checked;                            // its pictures are looked at
	struct pk_picture_watch watch;           // streaming thread; checks: constant
	_Atomic int picture;                     // its last word: enum pk_picture_state
	_Atomic bool stop;
	// Guards the rest; never held across a call into the source
	pthread_mutex_t lock;
	pthread_cond_t stopped;           // for the delays between tries
	struct pk_scheduler *scheduler;   // NULL once the camera was left to itself
	struct pk_pipeline_events events; // likewise empty
	struct pk_source *source;         // to be woken
	enum pk_camera_state state;
	char cause[256];
};

const char *pk_camera_state_name(enum pk_camera_state state)
{
	static const char *const names[] = {[PK_CAMERA_STARTING] = "starting",
		[PK_CAMERA_RUNNING] = "running",
		[PK_CAMERA_RETRYING] = "retrying",
		[PK_CAMERA_ENDED] = "ended",
		[PK_CAMERA_STOPPED] = "stopped",
		[PK_CAMERA_DEGRADED] = "degraded"};
	return (size_t)state < PK_ARRAY_LEN(names) ? names[state] : "?";
}

static void pk_camera_unref(struct pk_camera *camera)
{
	if (atomic_fetch_sub_explicit(&camera->refs, 1, memory_order_acq_rel) != 1)
		return;
	pk_station_unref(camera->station);
	pk_source_config_finish(&camera->source_config);
	pthread_cond_destroy(&camera->stopped);
	pthread_mutex_destroy(&camera->lock);
	free(camera);
}

static void pk_camera_enter(struct pk_camera *camera, enum pk_camera_state state, const char *cause)
{
	char kept[sizeof(camera->cause)];
	snprintf(kept, sizeof(kept), "%s", cause);
	pthread_mutex_lock(&camera->lock);
	bool changed = camera->state != state || strcmp(camera->cause, kept) != 0;
	camera->state = state;
	memcpy(camera->cause, kept, sizeof(kept));
	struct pk_pipeline_events events = camera->events;
	pthread_mutex_unlock(&camera->lock);
	if (changed && events.camera_state)
		events.camera_state(events.ctx, camera->name, state, kept);
}

static void pk_camera_note(struct pk_camera *camera, const char *text)
{
	pthread_mutex_lock(&camera->lock);
	struct pk_pipeline_events events = camera->events;
	pthread_mutex_unlock(&camera->lock);
	if (events.camera_note)
		events.camera_note(events.ctx, camera->name, text);
}

// Streaming thread of the source.
static void pk_camera_on_frame(void *ctx, struct pk_frame *frame)
{
	struct pk_camera *camera = ctx;
	int64_t now_ns = frame->at_ns[PK_STAGE_DECODED], none = 0;
	// Stays until the next frame: what the thread does between two is decode this camera.
	pk_blackbox_enter(PK_BLACKBOX_CAMERA, NULL, camera->name, NULL);
	atomic_compare_exchange_strong(&camera->first_ns, &none, now_ns);
	atomic_store(&camera->last_ns, now_ns);
	pk_counter_add(&camera->station->n_captured, 1);
	if (camera->checked)
		atomic_store(
			&camera->picture, pk_picture_look(&camera->watch, &frame->image, now_ns));
	pthread_mutex_lock(&camera->lock);
	struct pk_scheduler *scheduler = camera->scheduler;
	if (scheduler)
		pk_scheduler_offer(scheduler, &camera->station->lane, frame);
	pthread_mutex_unlock(&camera->lock);
	if (!scheduler)
		pk_frame_unref(frame);
}

static void pk_camera_on_lost(void *ctx)
{
	struct pk_camera *camera = ctx;
	atomic_store(&camera->last_ns, pk_now_ns()); // pictures do come
	pk_counter_add(&camera->station->n_captured, 1);
	pk_counter_add(&camera->station->n_lost, 1);
}

static void pk_camera_on_copied(void *ctx)
{
	struct pk_camera *camera = ctx;
	pk_counter_add(&camera->station->n_copies, 1);
}

static void pk_camera_on_encoded(void *ctx, const struct pk_relay_unit *unit)
{
	struct pk_camera *camera = ctx;
	// Decoders are where broken streams do harm: also the first picture has a name to it.
	pk_blackbox_enter(PK_BLACKBOX_CAMERA, NULL, camera->name, NULL);
	pk_relay_publish(camera->station->relay, unit);
}

static void pk_camera_on_skipped(void *ctx)
{
	struct pk_camera *camera = ctx;
	atomic_store(&camera->skipped_ns, pk_now_ns());
	pk_counter_add(&camera->station->n_skipped, 1);
}

static void pk_camera_on_late(void *ctx, bool first)
{
	struct pk_camera *camera = ctx;
	int64_t now_ns = pk_now_ns();
	if (first) {
		atomic_store(&camera->late_ns[1], atomic_load(&camera->late_ns[0]));
		atomic_store(&camera->late_ns[0], now_ns);
	}
	atomic_store(&camera->skipped_ns, now_ns); // pictures do come
	pk_counter_add(&camera->station->n_late, 1);
}

static void pk_camera_on_format(void *ctx, const char *before, const char *now)
{
	char text[128];
	snprintf(text, sizeof(text), "pictures are %s now, were %s", now, before);
	pk_camera_note(ctx, text);
}

// How long until a timer of this source runs out, or its failure.
static int pk_camera_check_timers(
	struct pk_camera *camera, struct pk_source *source, int64_t *left_ns, struct pk_err *err)
{
	int64_t now_ns = pk_now_ns(), last_ns = atomic_load(&camera->last_ns);
	int64_t since_ns = last_ns ? last_ns : camera->started_ns;
	int64_t limit_ns = last_ns ? camera->stall_ns : camera->first_frame_ns;
	int64_t alive_ns = PK_MIN(PK_MAX(since_ns, atomic_load(&camera->skipped_ns)),
		since_ns + (PK_CAMERA_SKIP_LIMITS - 1) * limit_ns);
	*left_ns = alive_ns + limit_ns - now_ns;
	if (limit_ns <= 0)
		*left_ns = PK_CAMERA_TURN_NS;
	if (*left_ns > 0)
		return 0;
	char limit[PK_DURATION_MAX];
	pk_format_duration(limit_ns, limit);
	return pk_fail(err, -ETIMEDOUT, "%s: no %s%sframe within %s", pk_source_text(source),
		last_ns ? "" : "first ", alive_ns > since_ns ? "whole " : "", limit);
}

static bool pk_camera_is_late(struct pk_camera *camera)
{
	int64_t last_ns = atomic_load(&camera->late_ns[0]);
	int64_t before_ns = atomic_load(&camera->late_ns[1]);
	return before_ns > 0 && last_ns - before_ns < PK_CAMERA_LATE_NS &&
	       pk_now_ns() - last_ns < PK_CAMERA_LATE_NS;
}

static void pk_camera_note_running(struct pk_camera *camera)
{
	int64_t first_ns = atomic_load(&camera->first_ns);
	if (!first_ns)
		return;
	enum pk_picture_state picture = (enum pk_picture_state)atomic_load(&camera->picture);
	char cause[PK_PICTURE_CAUSE_MAX];
	pk_picture_cause(picture, &camera->watch.checks, cause);
	if (picture != PK_PICTURE_GOOD)
		pk_camera_enter(camera, PK_CAMERA_DEGRADED, cause);
	else if (pk_camera_is_late(camera))
		pk_camera_enter(camera, PK_CAMERA_DEGRADED, PK_CAMERA_LATE_CAUSE);
	else
		pk_camera_enter(camera, PK_CAMERA_RUNNING, "");
	pk_ladder_good(&camera->ladder);
	if (pk_now_ns() - first_ns > camera->good_ns) {
		pk_backoff_reset(&camera->backoff);
		pk_backoff_reset(&camera->auth_backoff);
	}
}

// A source that sends the same picture for ever looks alive to its timers. -ESTALE when it is time
// to start it again.
static int pk_camera_check_frozen(
	struct pk_camera *camera, struct pk_source *source, struct pk_err *err)
{
	const struct pk_picture_checks *checks = &camera->watch.checks;
	int64_t now_ns = pk_now_ns();
	if (atomic_load(&camera->picture) != PK_PICTURE_FROZEN || !checks->restart) {
		camera->frozen_since_ns = 0;
		camera->frozen_wait_ns = 0;
		return 0;
	}
	if (!camera->frozen_since_ns)
		camera->frozen_since_ns = now_ns;
	if (now_ns - camera->frozen_since_ns < camera->frozen_wait_ns)
		return 0;
	camera->frozen_since_ns = now_ns;
	camera->frozen_wait_ns = PK_MIN(
		PK_MAX(camera->frozen_wait_ns * 2, checks->frozen_ns), PK_CAMERA_FROZEN_MAX_NS);
	char cause[PK_PICTURE_CAUSE_MAX];
	pk_picture_cause(PK_PICTURE_FROZEN, checks, cause);
	return pk_fail(err, -ESTALE, "%s: %s", pk_source_text(source), cause);
}

// Until it ends (1), fails (negative) or the camera is stopped (0).
static int pk_camera_watch(struct pk_camera *camera, struct pk_source *source, struct pk_err *err)
{
	while (!atomic_load(&camera->stop)) {
		int64_t left_ns = 0;
		int r = pk_camera_check_timers(camera, source, &left_ns, err);
		if (r == 0)
			r = pk_source_poll(source, PK_MIN(left_ns, PK_CAMERA_TURN_NS), err);
		pk_camera_note_running(camera);
		if (r == 0)
			r = pk_camera_check_frozen(camera, source, err);
		if (r != 0)
			return r;
	}
	return 0;
}

static void pk_camera_set_source(struct pk_camera *camera, struct pk_source *source)
{
	pthread_mutex_lock(&camera->lock);
	camera->source = source;
	pthread_mutex_unlock(&camera->lock);
}

static int pk_camera_run_once(struct pk_camera *camera, struct pk_err *err)
{
	const struct pk_source_receiver receiver = {.frame = pk_camera_on_frame,
		.lost = pk_camera_on_lost,
		.copied = pk_camera_on_copied,
		.encoded = pk_camera_on_encoded,
		.skipped = pk_camera_on_skipped,
		.late = pk_camera_on_late,
		.max_late_ns = camera->max_late_ns,
		.format = pk_camera_on_format,
		.ctx = camera};
	atomic_store(&camera->first_ns, 0);
	atomic_store(&camera->last_ns, 0);
	atomic_store(&camera->skipped_ns, 0);
	camera->started_ns = pk_now_ns();
	struct pk_source *source = NULL;
	int r = pk_source_create(&camera->source_config, &receiver, camera->run, &source, err);
	if (r < 0)
		return r;
	pk_camera_set_source(camera, source);
	r = pk_camera_watch(camera, source, err);
	pk_camera_set_source(camera, NULL);
	pk_source_destroy(source);
	return r;
}

static void pk_camera_sleep(struct pk_camera *camera, int64_t delay_ns)
{
	int64_t until_ns = pk_now_ns() + delay_ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / PK_NS_PER_S),
		.tv_nsec = (long)(until_ns % PK_NS_PER_S)};
	pthread_mutex_lock(&camera->lock);
	int r = 0;
	while (!atomic_load(&camera->stop) && r == 0)
		r = pthread_cond_timedwait(&camera->stopped, &camera->lock, &until);
	pthread_mutex_unlock(&camera->lock);
}

static bool pk_camera_stopping(void *ctx)
{
	return atomic_load(&((struct pk_camera *)ctx)->stop);
}

// Board cameras: what helps when starting again does not.
static void pk_camera_climb(struct pk_camera *camera, char cause[PK_ERR_TEXT_MAX])
{
	const struct pk_source_config *config = &camera->source_config;
	enum pk_ladder_step step =
		pk_ladder_failed(&camera->ladder, pk_camera_service_claim, &camera->source_config);
	size_t n = strlen(cause);
	if (step == PK_LADDER_PERSON)
		snprintf(cause + n, PK_ERR_TEXT_MAX - n,
			"; restarting the camera service did not help: look at its cable and "
			"power");
	if (step != PK_LADDER_SERVICE)
		return;
	char text[PK_ERR_TEXT_MAX];
	pk_camera_enter(camera, PK_CAMERA_RETRYING, cause);
	pk_camera_service_restart(config, pk_camera_stopping, camera, text);
	pk_camera_note(camera, text);
}

static void pk_camera_retry_later(struct pk_camera *camera, int code, const char *why)
{
	struct pk_backoff *backoff = code == -EACCES ? &camera->auth_backoff : &camera->backoff;
	int64_t delay_ns = pk_backoff_next(backoff);
	char cause[PK_ERR_TEXT_MAX];
	snprintf(cause, sizeof(cause), "%s", why);
	if (camera->source_config.kind == PK_SOURCE_CSI)
		pk_camera_climb(camera, cause);
	pk_camera_enter(camera, PK_CAMERA_RETRYING, cause);
	pk_camera_sleep(camera, delay_ns);
	if (atomic_load(&camera->stop))
		return;
	camera->run++;
	pk_counter_add(&camera->station->n_restarts, 1);
}

static void *pk_camera_main(void *arg)
{
	struct pk_camera *camera = arg;
	while (!atomic_load(&camera->stop)) {
		struct pk_err err = {0};
		// While it keeps failing its state stays RETRYING with the cause: one event, not
		// two a try.
		int r = pk_camera_run_once(camera, &err);
		if (r == 1) {
			pk_camera_enter(camera, PK_CAMERA_ENDED, "");
			pk_camera_sleep(camera, INT64_C(1) << 60);
		} else if (r < 0) {
			pk_camera_retry_later(camera, r, pk_err_text(&err, r));
		}
	}
	pk_camera_enter(camera, PK_CAMERA_STOPPED, "");
	pk_camera_unref(camera);
	return NULL;
}

static int pk_camera_copy_config(struct pk_camera *camera, const struct pk_camera_config *config)
{
	snprintf(camera->name, sizeof(camera->name), "%s", config->name);
	camera->first_frame_ns = config->first_frame_ns;
	camera->stall_ns = config->stall_ns;
	camera->max_late_ns = config->max_late_ns;
	camera->watch.checks = config->checks;
	enum pk_source_kind kind = config->source.kind;
	// What comes from a disk or is made here may well stand still.
	camera->checked =
		kind != PK_SOURCE_FILE && kind != PK_SOURCE_IMAGES && kind != PK_SOURCE_TEST;
	return pk_source_config_copy(&camera->source_config, &config->source);
}

static int64_t pk_or(int64_t v, int64_t otherwise)
{
	return v > 0 ? v : otherwise;
}

static void pk_camera_set_timing(
	struct pk_camera *camera, const struct pk_camera_timing *timing, int64_t retry_max_ns)
{
	uint64_t seed = (uint64_t)pk_now_ns() ^ (uint64_t)(uintptr_t)camera;
	camera->good_ns = pk_or(timing->good_ns, 10 * PK_NS_PER_S);
	camera->backoff = (struct pk_backoff){
		.min_ns = pk_or(timing->retry_min_ns, PK_NS_PER_S / 2),
		.max_ns = pk_or(timing->retry_max_ns, pk_or(retry_max_ns, 30 * PK_NS_PER_S)),
		.random = seed};
	camera->auth_backoff =
		(struct pk_backoff){.min_ns = pk_or(timing->auth_min_ns, 30 * PK_NS_PER_S),
			.max_ns = pk_or(timing->auth_max_ns, 600 * PK_NS_PER_S),
			.random = ~seed};
}

static void pk_camera_init_sync(struct pk_camera *camera)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&camera->stopped, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&camera->lock, NULL);
}

int pk_camera_create(
	const struct pk_camera_setup *setup, struct pk_camera **out, struct pk_err *err)
{
	struct pk_camera *camera = calloc(1, sizeof(*camera));
	if (!camera)
		return pk_fail(err, -ENOMEM, "out of memory");
	camera->refs = 2;
	pk_camera_init_sync(camera);
	pk_lane_ref(&setup->station->lane);
	camera->station = setup->station;
	camera->scheduler = setup->scheduler;
	camera->events = setup->events;
	pk_camera_set_timing(camera, &setup->timing, setup->config->retry_max_ns);
	int r = pk_camera_copy_config(camera, setup->config);
	char name[16];
	snprintf(name, sizeof(name), "cam-%.11s", camera->name);
	if (r == 0)
		r = pk_thread_start(&camera->thread, name, pk_camera_main, camera);
	if (r < 0) {
		camera->refs = 1;
		pk_camera_unref(camera);
		return pk_fail(err, r, "camera `%s`: %s", setup->config->name, strerror(-r));
	}
	*out = camera;
	return 0;
}

void pk_camera_stop(struct pk_camera *camera)
{
	pthread_mutex_lock(&camera->lock);
	atomic_store(&camera->stop, true);
	pthread_cond_broadcast(&camera->stopped);
	if (camera->source)
		pk_source_wake(camera->source);
	pthread_mutex_unlock(&camera->lock);
}

void pk_camera_destroy(struct pk_camera *camera, int64_t limit_ns)
{
	if (!camera)
		return;
	pk_camera_stop(camera);
	if (!pk_thread_join(camera->thread, limit_ns)) {
		pthread_mutex_lock(&camera->lock);
		camera->scheduler = NULL;
		camera->events = (struct pk_pipeline_events){0};
		pthread_mutex_unlock(&camera->lock);
		pthread_detach(camera->thread);
	}
	pk_camera_unref(camera);
}

enum pk_camera_state pk_camera_state(struct pk_camera *camera, char cause[256])
{
	pthread_mutex_lock(&camera->lock);
	enum pk_camera_state state = camera->state;
	memcpy(cause, camera->cause, sizeof(camera->cause));
	pthread_mutex_unlock(&camera->lock);
	return state;
}

bool pk_camera_same_source(const struct pk_camera_config *a, const struct pk_camera_config *b)
{
	static const char *const keys[] = {"source", "first_frame", "stall", "retry_max", "checks"};
	for (size_t i = 0; i < PK_ARRAY_LEN(keys); i++)
		if (!pk_schema_key_equal(&pk_config_camera_schema, keys[i], a, b))
			return false;
	return true;
}
