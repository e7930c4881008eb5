// SPDX-License-Identifier: Apache-2.0
// The inference thread and the hand-over of engines between frames.
#include "pipeline/infer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/blackbox.h"
#include "base/clock.h"
#include "base/thread.h"

#define PK_INFER_TURN_NS    (200 * PK_NS_PER_MS)
#define PK_INFER_JOIN_NS    PK_NS_PER_S
#define PK_INFER_LINE_BYTES (64u * 1024u) // made at the start; a longer line grows it once
#define PK_INFER_LINE_MAX   (4u * 1024u * 1024u)

struct pk_infer {
	struct pk_scheduler *scheduler;
	struct pk_pipeline_events events;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic int64_t progress_ns;
	// Guards routes, slots and the two below; never held across a call
	pthread_mutex_t lock;
	pthread_cond_t settled;
	bool at_work;
	uint64_t n_turns;
	// Inference thread only
	struct pk_buf line;
	struct pk_detection detections[PK_RESULT_MAX_DETECTIONS];
};

// What one frame meets, read once under the lock.
struct pk_infer_work {
	struct pk_frame *frame;
	struct pk_station *station;
	struct pk_route route;
	struct pk_serving *serving;
	struct pk_decoder *decoder;
	bool inferred;
};

struct pk_model_slot *pk_model_slot_create(const char *name, double conf)
{
	struct pk_model_slot *slot = calloc(1, sizeof(*slot));
	if (!slot)
		return NULL;
	snprintf(slot->name, sizeof(slot->name), "%s", name);
	slot->conf = conf;
	pk_serving_init_passthrough(&slot->none, "no engine yet");
	slot->serving = &slot->none;
	return slot;
}

void pk_model_slot_destroy(struct pk_model_slot *slot)
{
	if (!slot)
		return;
	if (slot->serving != &slot->none)
		pk_serving_destroy(slot->serving);
	pk_serving_destroy(slot->retired);
	free(slot);
}

static void pk_infer_begin(struct pk_infer *infer, struct pk_infer_work *work)
{
	pthread_mutex_lock(&infer->lock);
	work->route = work->station->route;
	work->serving = work->route.slot ? work->route.slot->serving : NULL;
	work->decoder = work->serving ? work->serving->decoder : NULL;
	infer->at_work = true;
	pthread_mutex_unlock(&infer->lock);
}

static void pk_infer_end(struct pk_infer *infer)
{
	pthread_mutex_lock(&infer->lock);
	infer->at_work = false;
	infer->n_turns++;
	pthread_cond_broadcast(&infer->settled);
	pthread_mutex_unlock(&infer->lock);
}

// The engine failed under a frame: this model passes frames through until it is assigned anew.
static void pk_infer_fault(
	struct pk_infer *infer, struct pk_infer_work *work, int code, const struct pk_err *err)
{
	struct pk_model_slot *slot = work->route.slot;
	const char *cause = pk_err_text(err, code);
	pthread_mutex_lock(&infer->lock);
	// A newer assignment may have come meanwhile; then only this frame is lost to the model.
	bool current = slot->serving == work->serving;
	if (current) {
		pk_serving_init_passthrough(&slot->none, cause);
		snprintf(slot->none.digest, sizeof(slot->none.digest), "%s", work->serving->digest);
		slot->retired = work->serving;
		slot->serving = &slot->none;
		slot->announce = false;
	}
	work->serving = slot->serving;
	pthread_mutex_unlock(&infer->lock);
	if (current && infer->events.model_fault)
		infer->events.model_fault(infer->events.ctx, slot->name, code, cause);
}

static size_t pk_infer_model(struct pk_infer *infer, struct pk_infer_work *work)
{
	size_t n = 0;
	if (!pk_serving_infers(work->serving))
		return 0;
	struct pk_err err = {0};
	int r = pk_serving_run(
		work->serving, work->decoder, work->frame, infer->detections, &n, &err);
	if (r < 0) {
		pk_infer_fault(infer, work, r, &err);
		return 0;
	}
	work->inferred = true;
	return n;
}

static void pk_infer_count(struct pk_infer_work *work, const struct pk_result *result)
{
	struct pk_station *station = work->station;
	const struct pk_frame *frame = work->frame;
	pk_counter_add(work->inferred ? &station->n_inferred : &station->n_passthrough, 1);
	pk_counter_add(&station->n_detections, result->n_detections);
	pk_histogram_add(&station->age, result->age_ns);
	if (work->inferred)
		pk_histogram_add(&station->inference,
			frame->at_ns[PK_STAGE_INFERRED] - frame->at_ns[PK_STAGE_TAKEN]);
}

static bool pk_infer_wants_line(const struct pk_route *route)
{
	for (size_t i = 0; i < route->n_sinks; i++)
		if (route->sinks[i]->ops->wants_line)
			return true;
	return false;
}

static void pk_infer_deliver(
	struct pk_infer *infer, struct pk_infer_work *work, const struct pk_result *result)
{
	const struct pk_route *route = &work->route;
	pk_buf_clear(&infer->line);
	bool line = !pk_infer_wants_line(route) || pk_result_write_json(result, &infer->line) == 0;
	for (size_t i = 0; i < route->n_sinks; i++) {
		bool taken =
			(line || !route->sinks[i]->ops->wants_line) &&
			pk_sink_take(route->sinks[i], result, infer->line.data, infer->line.len);
		if (!taken)
			pk_counter_add(&work->station->n_sink_drops, 1);
	}
}

static void pk_infer_announce(struct pk_infer *infer, struct pk_infer_work *work, int64_t now_ns)
{
	struct pk_model_slot *slot = work->route.slot;
	pthread_mutex_lock(&infer->lock);
	bool announce = slot->announce && slot->serving == work->serving;
	int64_t gap_ns = slot->last_result_ns ? now_ns - slot->last_result_ns : -1;
	slot->last_result_ns = now_ns;
	if (announce)
		slot->announce = false;
	pthread_mutex_unlock(&infer->lock);
	if (announce && infer->events.model_serving)
		infer->events.model_serving(
			infer->events.ctx, slot->name, work->serving->rung, gap_ns);
}

static void pk_infer_frame(struct pk_infer *infer, struct pk_infer_work *work)
{
	const struct pk_serving *serving = work->serving;
	pk_blackbox_enter(
		PK_BLACKBOX_INFER, work->route.slot->name, work->station->name, serving->runtime);
	size_t n = pk_infer_model(infer, work);
	pk_blackbox_leave();
	int64_t now_ns = pk_now_ns();
	struct pk_result result = {.camera = work->station->name,
		.frame = work->frame,
		.model = work->route.slot->name,
		.model_digest = serving->digest,
		.rung = serving->rung,
		.runtime = serving->runtime,
		.cause = serving->cause,
		.card = serving->card,
		.detections = infer->detections,
		.n_detections = n,
		.age_ns = now_ns - work->frame->at_ns[PK_STAGE_CAPTURED],
		.n_dropped = pk_station_n_dropped(work->station)};
	if (work->inferred) {
		result.n_tensors = pk_decoder_tensors(work->decoder, &result.tensors);
		result.class_map = pk_decoder_class_map(work->decoder);
	}
	pk_infer_count(work, &result);
	pk_infer_deliver(infer, work, &result);
	pk_infer_announce(infer, work, now_ns);
}

static void *pk_infer_run(void *arg)
{
	struct pk_infer *infer = arg;
	while (!atomic_load(&infer->stop)) {
		atomic_store(&infer->progress_ns, pk_now_ns());
		struct pk_lane *lane;
		struct pk_frame *frame =
			pk_scheduler_take(infer->scheduler, PK_INFER_TURN_NS, &lane);
		if (!frame)
			continue;
		frame->at_ns[PK_STAGE_TAKEN] = pk_now_ns();
		struct pk_infer_work work = {
			.frame = frame, .station = pk_container_of(lane, struct pk_station, lane)};
		pk_infer_begin(infer, &work);
		frame->roi = work.route.roi;
		if (work.serving)
			pk_infer_frame(infer, &work);
		pk_frame_unref(frame);
		pk_infer_end(infer);
		pk_lane_unref(lane);
	}
	return NULL;
}

static void pk_infer_free(struct pk_infer *infer)
{
	pthread_cond_destroy(&infer->settled);
	pthread_mutex_destroy(&infer->lock);
	pk_buf_finish(&infer->line);
	free(infer);
}

int pk_infer_create(struct pk_scheduler *scheduler, const struct pk_pipeline_events *events,
	struct pk_infer **out, struct pk_err *err)
{
	struct pk_infer *infer = calloc(1, sizeof(*infer));
	if (!infer)
		return pk_fail(err, -ENOMEM, "out of memory");
	infer->scheduler = scheduler;
	infer->events = *events;
	infer->progress_ns = pk_now_ns();
	pthread_mutex_init(&infer->lock, NULL);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&infer->settled, &attr);
	pthread_condattr_destroy(&attr);
	pk_buf_init(&infer->line, PK_INFER_LINE_MAX);
	int r = pk_buf_reserve(&infer->line, PK_INFER_LINE_BYTES) ? 0 : -ENOMEM;
	if (r == 0)
		r = pk_thread_start(&infer->thread, "pk-infer", pk_infer_run, infer);
	if (r < 0) {
		pk_infer_free(infer);
		return pk_fail(err, r, "cannot start inference");
	}
	*out = infer;
	return 0;
}

bool pk_infer_destroy(struct pk_infer *infer)
{
	if (!infer)
		return true;
	atomic_store(&infer->stop, true);
	pk_scheduler_wake(infer->scheduler);
	if (!pk_thread_join(infer->thread, PK_INFER_JOIN_NS))
		return false;
	pk_infer_free(infer);
	return true;
}

void pk_infer_set_route(
	struct pk_infer *infer, struct pk_station *station, const struct pk_route *route)
{
	pthread_mutex_lock(&infer->lock);
	station->route = *route;
	pthread_mutex_unlock(&infer->lock);
}

struct pk_serving *pk_infer_swap(struct pk_infer *infer, struct pk_model_slot *slot,
	struct pk_serving *serving, struct pk_serving **retired)
{
	pthread_mutex_lock(&infer->lock);
	struct pk_serving *old = slot->serving;
	slot->serving = serving;
	slot->announce = true;
	*retired = pk_steal(slot->retired);
	pthread_mutex_unlock(&infer->lock);
	return old == &slot->none ? NULL : old;
}

struct pk_decoder *pk_infer_swap_decoder(struct pk_infer *infer, struct pk_model_slot *slot,
	const struct pk_serving *serving, struct pk_decoder *decoder)
{
	pthread_mutex_lock(&infer->lock);
	struct pk_decoder *unused = decoder;
	if (slot->serving == serving) {
		unused = slot->serving->decoder;
		slot->serving->decoder = decoder;
	}
	pthread_mutex_unlock(&infer->lock);
	return unused;
}

struct pk_serving *pk_infer_serving(struct pk_infer *infer, struct pk_model_slot *slot)
{
	pthread_mutex_lock(&infer->lock);
	struct pk_serving *serving = slot->serving;
	pthread_mutex_unlock(&infer->lock);
	return serving;
}

bool pk_infer_settle(struct pk_infer *infer, int64_t timeout_ns)
{
	int64_t until_ns = pk_now_ns() + timeout_ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / PK_NS_PER_S),
		.tv_nsec = (long)(until_ns % PK_NS_PER_S)};
	pthread_mutex_lock(&infer->lock);
	uint64_t turn = infer->n_turns;
	bool waiting = infer->at_work;
	int r = 0;
	while (waiting && infer->n_turns == turn && r == 0)
		r = pthread_cond_timedwait(&infer->settled, &infer->lock, &until);
	bool settled = !waiting || infer->n_turns != turn;
	pthread_mutex_unlock(&infer->lock);
	return settled;
}

int64_t pk_infer_last_progress_ns(const struct pk_infer *infer)
{
	return atomic_load(&((struct pk_infer *)(uintptr_t)infer)->progress_ns);
}
