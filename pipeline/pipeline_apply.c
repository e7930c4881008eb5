// SPDX-License-Identifier: Apache-2.0
// From one configuration to the next, touching only what differs.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "config/diff.h"
#include "pipeline/pipeline_private.h"

#define PK_CHANGE_STOP_NS   PK_NS_PER_S
#define PK_CHANGE_SETTLE_NS (2 * PK_NS_PER_S)

static struct pk_sink *pk_pipeline_find_sink(const struct pk_pipeline *pipeline, const char *name)
{
	for (size_t i = 0; i < pipeline->sinks.n; i++)
		if (strcmp(pipeline->sinks.items[i]->name, name) == 0)
			return pipeline->sinks.items[i];
	return NULL;
}

static struct pk_pipeline_camera *pk_pipeline_find_camera(
	const struct pk_pipeline *pipeline, const char *name)
{
	for (size_t i = 0; i < pipeline->cameras.n; i++)
		if (strcmp(pipeline->cameras.items[i].station->name, name) == 0)
			return &pipeline->cameras.items[i];
	return NULL;
}

// Takes the doomed cameras out of the list that others read; gives them in out.
static size_t pk_pipeline_take_out(struct pk_pipeline *pipeline,
	bool (*doomed)(const struct pk_pipeline_camera *camera, const void *ctx), const void *ctx,
	struct pk_pipeline_camera *out)
{
	size_t n_out = 0, n_kept = 0;
	pthread_mutex_lock(&pipeline->lock);
	for (size_t i = 0; i < pipeline->cameras.n; i++) {
		struct pk_pipeline_camera *camera = &pipeline->cameras.items[i];
		if (doomed(camera, ctx))
			out[n_out++] = *camera;
		else
			pipeline->cameras.items[n_kept++] = *camera;
	}
	pipeline->cameras.n = n_kept;
	pthread_mutex_unlock(&pipeline->lock);
	return n_out;
}

void pk_pipeline_drop_cameras(struct pk_pipeline *pipeline,
	bool (*doomed)(const struct pk_pipeline_camera *camera, const void *ctx), const void *ctx,
	int64_t limit_ns)
{
	pk_auto_free struct pk_pipeline_camera *gone =
		calloc(pipeline->cameras.n + 1, sizeof(*gone));
	if (!gone)
		return;
	size_t n = pk_pipeline_take_out(pipeline, doomed, ctx, gone);
	int64_t until_ns = pk_now_ns() + limit_ns;
	for (size_t i = 0; i < n; i++) {
		pk_scheduler_remove(pipeline->scheduler, &gone[i].station->lane);
		pk_camera_stop(gone[i].camera); // all at once, so that the waits below overlap
	}
	for (size_t i = 0; i < n; i++) {
		pk_camera_destroy(gone[i].camera, PK_MAX(until_ns - pk_now_ns(), INT64_C(0)));
		pk_mailbox_clear(&gone[i].station->lane.mailbox);
		pk_station_unref(gone[i].station);
	}
}

struct pk_change_ctx {
	const struct pk_config *before, *next;
};

static bool pk_change_dooms_camera(const struct pk_pipeline_camera *camera, const void *ctx)
{
	const struct pk_change_ctx *change = ctx;
	const char *name = camera->station->name;
	const struct pk_camera_config *a = pk_config_camera(change->before, name);
	const struct pk_camera_config *b = pk_config_camera(change->next, name);
	return !a || !b || !pk_camera_same_source(a, b);
}

// Routes of all running cameras, to such sinks and slots as there are now.
static void pk_change_routes(struct pk_pipeline *pipeline, const struct pk_config *next)
{
	for (size_t i = 0; i < pipeline->cameras.n; i++) {
		struct pk_pipeline_camera *camera = &pipeline->cameras.items[i];
		const struct pk_camera_config *config =
			pk_config_camera(next, camera->station->name);
		struct pk_route route = {.slot = pk_pipeline_slot(pipeline, config->model),
			.roi = {config->roi[0], config->roi[1], config->roi[2], config->roi[3]}};
		for (size_t s = 0; s < config->n_sinks; s++) {
			struct pk_sink *sink = pk_pipeline_find_sink(pipeline, config->sinks[s]);
			if (sink && route.n_sinks < PK_STATION_MAX_SINKS)
				route.sinks[route.n_sinks++] = sink;
		}
		pk_infer_set_route(pipeline->infer, camera->station, &route);
		pk_scheduler_set(pipeline->scheduler, &camera->station->lane, config->priority,
			config->max_rate_hz);
		pthread_mutex_lock(&pipeline->lock);
		snprintf(camera->model, sizeof(camera->model), "%s", config->model);
		pthread_mutex_unlock(&pipeline->lock);
		// It is in there already: nothing to allocate, nothing to fail.
		(void)!pk_roster_put(pipeline->roster, config, camera->station->relay);
	}
	pk_roster_prune(pipeline->roster, next);
}

static int pk_change_add_slots(
	struct pk_pipeline *pipeline, const struct pk_config *next, struct pk_err *err)
{
	for (size_t i = 0; i < next->n_models; i++) {
		const struct pk_model_config *model = &next->models[i];
		if (pk_pipeline_slot(pipeline, model->name))
			continue;
		struct pk_model_slot **place = pk_array_push(&pipeline->slots);
		struct pk_model_slot *slot =
			place ? pk_model_slot_create(model->name, model->conf) : NULL;
		if (!slot) {
			pipeline->slots.n -= place ? 1 : 0;
			return pk_fail(err, -ENOMEM, "out of memory");
		}
		*place = slot;
	}
	return 0;
}

// A changed threshold needs another decoder, not another engine.
static int pk_change_conf(
	struct pk_pipeline *pipeline, const struct pk_model_config *model, struct pk_err *err)
{
	struct pk_model_slot *slot = pk_pipeline_slot(pipeline, model->name);
	if (!slot || memcmp(&slot->conf, &model->conf, sizeof(slot->conf)) == 0)
		return 0;
	slot->conf = model->conf;
	struct pk_serving *serving = pk_infer_serving(pipeline->infer, slot);
	if (!pk_serving_infers(serving))
		return 0;
	struct pk_decoder *decoder = NULL;
	int r = pk_serving_make_decoder(serving, model->conf, &decoder, err);
	if (r < 0)
		return r;
	struct pk_decoder *unused = pk_infer_swap_decoder(pipeline->infer, slot, serving, decoder);
	if (pk_infer_settle(pipeline->infer, PK_CHANGE_SETTLE_NS))
		pk_decoder_destroy(unused);
	return 0;
}

// In use by nobody any more, unless inference hangs: then it is not freed.
static void pk_change_remove_slots(
	struct pk_pipeline *pipeline, const struct pk_config *next, bool settled)
{
	size_t n = 0;
	for (size_t i = 0; i < pipeline->slots.n; i++) {
		struct pk_model_slot *slot = pipeline->slots.items[i];
		if (pk_config_model(next, slot->name))
			pipeline->slots.items[n++] = slot;
		else if (settled)
			pk_model_slot_destroy(slot);
	}
	pipeline->slots.n = n;
}

// A camera's count of drops never goes down, though the sink that counted some of them goes.
static void pk_change_keep_counts(struct pk_pipeline *pipeline, struct pk_sink *sink)
{
	for (size_t i = 0; i < pipeline->cameras.n; i++) {
		struct pk_station *station = pipeline->cameras.items[i].station;
		struct pk_sink_account *account = pk_sink_find_account(sink, station->name);
		if (account)
			pk_counter_add(&station->n_sink_drops, atomic_load(&account->n_evicted));
	}
}

// Sinks that are gone or changed. They leave the list, so that no route finds them, and go when
// inference is past them; a changed one must have let go of its file or socket before the new one.
static int pk_change_remove_sinks(struct pk_pipeline *pipeline, const struct pk_config *next,
	const struct pk_config_diff *diff, struct pk_err *err)
{
	size_t n_gone = 0, n_kept = 0;
	pk_auto_free struct pk_sink **gone =
		calloc(pipeline->sinks.n + 1, sizeof(struct pk_sink *));
	if (!gone)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < pipeline->sinks.n; i++) {
		struct pk_sink *sink = pipeline->sinks.items[i];
		if (pk_config_changes_find(&diff->sinks, sink->name))
			gone[n_gone++] = sink;
		else
			pipeline->sinks.items[n_kept++] = sink;
	}
	pipeline->sinks.n = n_kept;
	if (n_gone == 0)
		return 0;
	pk_change_routes(pipeline, next);
	if (!pk_infer_settle(pipeline->infer, PK_CHANGE_SETTLE_NS))
		return 0;
	for (size_t i = 0; i < n_gone; i++) {
		pk_change_keep_counts(pipeline, gone[i]);
		pk_sink_destroy(gone[i]);
	}
	return 0;
}

static int pk_change_add_sinks(
	struct pk_pipeline *pipeline, const struct pk_config *next, struct pk_err *err)
{
	const struct pk_sink_env env = {.fault = pipeline->events.sink_fault,
		.ctx = pipeline->events.ctx,
		.node = next->node_name,
		.roster = pipeline->roster};
	for (size_t i = 0; i < next->n_sinks; i++) {
		if (pk_pipeline_find_sink(pipeline, next->sinks[i].name))
			continue;
		struct pk_sink **place = pk_array_push(&pipeline->sinks);
		int r = place ? pk_sink_create(&next->sinks[i], &env, place, err)
			      : pk_fail(err, -ENOMEM, "out of memory");
		if (r < 0) {
			pipeline->sinks.n -= place ? 1 : 0;
			return r;
		}
	}
	return 0;
}

// Camera threads.
static void pk_change_on_camera_state(
	void *ctx, const char *camera, enum pk_camera_state state, const char *cause)
{
	struct pk_pipeline *pipeline = ctx;
	pk_roster_set_state(pipeline->roster, camera, state, cause);
	if (pipeline->events.camera_state)
		pipeline->events.camera_state(pipeline->events.ctx, camera, state, cause);
}

static void pk_change_on_camera_note(void *ctx, const char *camera, const char *text)
{
	struct pk_pipeline *pipeline = ctx;
	if (pipeline->events.camera_note)
		pipeline->events.camera_note(pipeline->events.ctx, camera, text);
}

static int pk_change_add_camera(
	struct pk_pipeline *pipeline, const struct pk_camera_config *config, struct pk_err *err)
{
	struct pk_pipeline_camera camera = {.station = pk_station_create(config->name)};
	if (!camera.station)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_camera_setup setup = {.config = config,
		.station = camera.station,
		.scheduler = pipeline->scheduler,
		.events = {.camera_state = pk_change_on_camera_state,
			.camera_note = pk_change_on_camera_note,
			.ctx = pipeline}};
	int r = pk_roster_put(pipeline->roster, config, camera.station->relay);
	if (r == 0)
		r = pk_camera_create(&setup, &camera.camera, err);
	else
		pk_fail(err, r, "out of memory");
	if (r < 0) {
		pk_station_unref(camera.station);
		return r;
	}
	pthread_mutex_lock(&pipeline->lock);
	struct pk_pipeline_camera *place = pk_array_push(&pipeline->cameras);
	if (place)
		*place = camera;
	pthread_mutex_unlock(&pipeline->lock);
	if (!place) {
		pk_camera_destroy(camera.camera, PK_CHANGE_STOP_NS);
		pk_station_unref(camera.station);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

// A new camera's frames wait in its mailbox until it has its route and stands in the scheduler.
static int pk_change_add_cameras(
	struct pk_pipeline *pipeline, const struct pk_config *next, struct pk_err *err)
{
	size_t first = pipeline->cameras.n;
	int r = 0;
	for (size_t i = 0; i < next->n_cameras && r == 0; i++)
		if (!pk_pipeline_find_camera(pipeline, next->cameras[i].name))
			r = pk_change_add_camera(pipeline, &next->cameras[i], err);
	pk_change_routes(pipeline, next);
	for (size_t i = first; i < pipeline->cameras.n; i++)
		pk_scheduler_add(pipeline->scheduler, &pipeline->cameras.items[i].station->lane);
	return r;
}

static int pk_change_all(struct pk_pipeline *pipeline, const struct pk_config *next,
	const struct pk_config_diff *diff, struct pk_err *err)
{
	int r = pk_change_add_slots(pipeline, next, err);
	for (size_t i = 0; i < next->n_models && r == 0; i++)
		r = pk_change_conf(pipeline, &next->models[i], err);
	if (r == 0 && diff)
		r = pk_change_remove_sinks(pipeline, next, diff, err);
	if (r == 0)
		r = pk_change_add_sinks(pipeline, next, err);
	if (r == 0)
		r = pk_change_add_cameras(pipeline, next, err);
	if (r == 0)
		pk_change_remove_slots(
			pipeline, next, pk_infer_settle(pipeline->infer, PK_CHANGE_SETTLE_NS));
	return r;
}

int pk_pipeline_change(struct pk_pipeline *pipeline, const struct pk_config *before,
	const struct pk_config *next, struct pk_err *err)
{
	if (!before)
		return pk_change_all(pipeline, next, NULL, err);
	struct pk_config_diff diff = {0};
	int r = pk_config_diff(before, next, &diff);
	if (r < 0)
		return pk_fail(err, r, "cannot compare the configurations");
	const struct pk_change_ctx ctx = {.before = before, .next = next};
	pk_pipeline_drop_cameras(pipeline, pk_change_dooms_camera, &ctx, PK_CHANGE_STOP_NS);
	r = pk_change_all(pipeline, next, &diff, err);
	pk_config_diff_finish(&diff);
	return r;
}
