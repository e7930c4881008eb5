// SPDX-License-Identifier: Apache-2.0
// The life of a pipeline, its engine assignments and its figures.
#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/cpu/pool.h"
#include "pipeline/pipeline_private.h"

#define PK_PIPELINE_STOP_NS   PK_NS_PER_S
#define PK_PIPELINE_SETTLE_NS (2 * PK_NS_PER_S)

static int pk_pipeline_copy_config(
	const struct pk_config *config, struct pk_config **out, struct pk_err *err)
{
	pk_auto_free char *text = pk_config_dump(config);
	if (!text)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_problems problems = {0};
	int r = pk_config_parse(text, strlen(text), "config", "/", out, &problems);
	if (r < 0)
		pk_fail(err, r, "config: %s", problems.n ? problems.items[0].text : strerror(-r));
	pk_problems_finish(&problems);
	return r;
}

static struct pk_pipeline *pk_pipeline_alloc(
	const struct pk_pipeline_events *events, struct pk_err *err)
{
	struct pk_pipeline *pipeline = calloc(1, sizeof(*pipeline));
	if (!pipeline) {
		pk_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	if (events)
		pipeline->events = *events;
	pthread_mutex_init(&pipeline->lock, NULL);
	return pipeline;
}

int pk_pipeline_create(const struct pk_config *config, const struct pk_pipeline_events *events,
	struct pk_pipeline **out, struct pk_err *err)
{
	pk_auto(pk_pipeline) pipeline = pk_pipeline_alloc(events, err);
	if (!pipeline)
		return -ENOMEM;
	pipeline->scheduler = pk_scheduler_create();
	pipeline->roster = pk_roster_create();
	if (!pipeline->scheduler || !pipeline->roster)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_cpu_pool_create(0, &pipeline->pool, err);
	if (r == 0)
		r = pk_infer_create(pipeline->scheduler, &pipeline->events, &pipeline->infer, err);
	if (r == 0)
		r = pk_pipeline_apply(pipeline, config, err);
	if (r < 0)
		return r;
	*out = pk_steal(pipeline);
	return 0;
}

static bool pk_pipeline_every_camera(const struct pk_pipeline_camera *camera, const void *ctx)
{
	return true;
}

static void pk_pipeline_bury(struct pk_pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->graveyard.n; i++)
		pk_serving_destroy(pipeline->graveyard.items[i]);
	pipeline->graveyard.n = 0;
}

void pk_pipeline_destroy(struct pk_pipeline *pipeline)
{
	if (!pipeline)
		return;
	pk_pipeline_drop_cameras(pipeline, pk_pipeline_every_camera, NULL, PK_PIPELINE_STOP_NS);
	// An inference that hangs may touch anything below: it keeps it, the process must end.
	if (!pk_infer_destroy(pipeline->infer))
		return;
	pk_pipeline_bury(pipeline);
	for (size_t i = 0; i < pipeline->sinks.n; i++)
		pk_sink_destroy(pipeline->sinks.items[i]);
	for (size_t i = 0; i < pipeline->slots.n; i++)
		pk_model_slot_destroy(pipeline->slots.items[i]);
	pk_cpu_pool_destroy(pipeline->pool);
	pk_scheduler_destroy(pipeline->scheduler);
	pk_roster_unref(pipeline->roster);
	pk_array_finish(&pipeline->cameras);
	pk_array_finish(&pipeline->sinks);
	pk_array_finish(&pipeline->slots);
	pk_array_finish(&pipeline->graveyard);
	pk_config_destroy(pipeline->config);
	pthread_mutex_destroy(&pipeline->lock);
	free(pipeline);
}

int pk_pipeline_apply(
	struct pk_pipeline *pipeline, const struct pk_config *config, struct pk_err *err)
{
	pk_auto(pk_config) next = NULL;
	int r = pk_pipeline_copy_config(config, &next, err);
	if (r < 0)
		return r;
	int all = pk_cpu_pool_threads(pipeline->pool);
	pk_cpu_pool_set_limit(
		pipeline->pool, next->runtime.threads ? next->runtime.threads : all / 2);
	r = pk_pipeline_change(pipeline, pipeline->config, next, err);
	pk_config_destroy(pipeline->config);
	pipeline->config = pk_steal(next);
	return r;
}

struct pk_model_slot *pk_pipeline_slot(const struct pk_pipeline *pipeline, const char *model)
{
	for (size_t i = 0; i < pipeline->slots.n; i++)
		if (strcmp(pipeline->slots.items[i]->name, model) == 0)
			return pipeline->slots.items[i];
	return NULL;
}

// Out of the slots, but perhaps under the frame at work.
static void pk_pipeline_discard(struct pk_pipeline *pipeline, struct pk_serving *serving)
{
	struct pk_serving **place = serving ? pk_array_push(&pipeline->graveyard) : NULL;
	if (place)
		*place = serving; // without memory for the list it leaks, which harms nobody
}

int pk_pipeline_assign(
	struct pk_pipeline *pipeline, const struct pk_assignment *assignment, struct pk_err *err)
{
	struct pk_model_slot *slot = pk_pipeline_slot(pipeline, assignment->model);
	if (!slot)
		return pk_fail(err, -ENOENT, "there is no model `%s`", assignment->model);
	struct pk_serving *serving = NULL, *retired = NULL;
	int r = pk_serving_create(
		assignment, slot->conf, pipeline->pool, &pipeline->events, &serving, err);
	if (r < 0) {
		pk_err_prefix(err, "model `%s`", assignment->model);
		return r;
	}
	pk_pipeline_discard(pipeline, pk_infer_swap(pipeline->infer, slot, serving, &retired));
	pk_pipeline_discard(pipeline, retired);
	if (pk_infer_settle(pipeline->infer, PK_PIPELINE_SETTLE_NS))
		pk_pipeline_bury(pipeline);
	return 0;
}

size_t pk_pipeline_n_cameras(struct pk_pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->lock);
	size_t n = pipeline->cameras.n;
	pthread_mutex_unlock(&pipeline->lock);
	return n;
}

static void pk_histogram_copy(struct pk_histogram *to, struct pk_histogram *from)
{
	for (size_t i = 0; i < PK_HISTOGRAM_BUCKETS; i++)
		to->buckets[i] = atomic_load_explicit(&from->buckets[i], memory_order_relaxed);
	to->count = atomic_load_explicit(&from->count, memory_order_relaxed);
	to->sum_ns = atomic_load_explicit(&from->sum_ns, memory_order_relaxed);
	to->max_ns = atomic_load_explicit(&from->max_ns, memory_order_relaxed);
}

// One camera's results at each of its sinks.
static void pk_pipeline_read_sinks(const struct pk_pipeline *pipeline, struct pk_camera_stats *out)
{
	for (size_t i = 0; i < pipeline->sinks.n; i++) {
		struct pk_sink *sink = pipeline->sinks.items[i];
		struct pk_sink_account *account = pk_sink_find_account(sink, out->name);
		if (!account)
			continue;
		uint64_t n_evicted = atomic_load(&account->n_evicted);
		out->n_sink_drops += n_evicted;
		if (out->n_sinks == PK_CAMERA_STATS_SINKS)
			continue;
		struct pk_camera_sink_stats *row = &out->sinks[out->n_sinks++];
		snprintf(row->name, sizeof(row->name), "%s", sink->name);
		row->n_taken = atomic_load(&account->n_taken);
		row->n_dropped = atomic_load(&account->n_dropped) + n_evicted;
	}
}

static void pk_pipeline_read_camera(const struct pk_pipeline *pipeline,
	const struct pk_pipeline_camera *camera, struct pk_camera_stats *out)
{
	struct pk_station *station = camera->station;
	*out = (struct pk_camera_stats){.n_captured = pk_counter_get(&station->n_captured),
		.n_inferred = pk_counter_get(&station->n_inferred),
		.n_passthrough = pk_counter_get(&station->n_passthrough),
		.n_dropped = pk_station_n_dropped(station),
		.n_detections = pk_counter_get(&station->n_detections),
		.n_restarts = pk_counter_get(&station->n_restarts),
		.n_sink_drops = pk_counter_get(&station->n_sink_drops),
		.n_late = pk_counter_get(&station->n_late),
		.n_skipped = pk_counter_get(&station->n_skipped),
		.n_copies = pk_counter_get(&station->n_copies)};
	snprintf(out->name, sizeof(out->name), "%s", station->name);
	snprintf(out->model, sizeof(out->model), "%s", camera->model);
	out->state = pk_camera_state(camera->camera, out->cause);
	pk_pipeline_read_sinks(pipeline, out);
	pk_histogram_copy(&out->age, &station->age);
	pk_histogram_copy(&out->inference, &station->inference);
}

void pk_pipeline_shed(struct pk_pipeline *pipeline, const char *camera, double max_rate_hz)
{
	for (size_t i = 0; i < pipeline->cameras.n; i++) {
		struct pk_station *station = pipeline->cameras.items[i].station;
		const struct pk_camera_config *config =
			pk_config_camera(pipeline->config, station->name);
		if (!config || (camera && strcmp(camera, station->name) != 0))
			continue;
		double rate_hz = config->max_rate_hz;
		if (max_rate_hz > 0 && (rate_hz <= 0 || max_rate_hz < rate_hz))
			rate_hz = max_rate_hz;
		pk_scheduler_set(pipeline->scheduler, &station->lane, config->priority, rate_hz);
	}
}

int pk_pipeline_stats(struct pk_pipeline *pipeline, size_t camera_idx, struct pk_camera_stats *out)
{
	pthread_mutex_lock(&pipeline->lock);
	bool exists = camera_idx < pipeline->cameras.n;
	if (exists)
		pk_pipeline_read_camera(pipeline, &pipeline->cameras.items[camera_idx], out);
	pthread_mutex_unlock(&pipeline->lock);
	return exists ? 0 : -ENOENT;
}

size_t pk_pipeline_n_sinks(const struct pk_pipeline *pipeline)
{
	return pipeline->sinks.n;
}

void pk_pipeline_sink_stats(
	const struct pk_pipeline *pipeline, size_t sink_idx, struct pk_sink_stats *out)
{
	struct pk_sink *sink = pipeline->sinks.items[sink_idx];
	*out = (struct pk_sink_stats){.kind = pk_sink_kind_name(sink->ops->kind),
		.n_taken = atomic_load(&sink->n_taken),
		.n_dropped = atomic_load(&sink->n_dropped) + atomic_load(&sink->n_evicted),
		.n_readers = atomic_load(&sink->n_readers),
		.n_readers_dropped = atomic_load(&sink->n_readers_dropped),
		.n_waiting_bytes = atomic_load(&sink->n_waiting_bytes)};
	snprintf(out->name, sizeof(out->name), "%s", sink->name);
	out->code = pk_sink_health(sink, out->cause);
}

int64_t pk_pipeline_last_progress_ns(struct pk_pipeline *pipeline)
{
	return pk_infer_last_progress_ns(pipeline->infer);
}
