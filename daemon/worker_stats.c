// SPDX-License-Identifier: Apache-2.0
// Windowed camera figures: two snapshots per camera, exchanged every WINDOW, subtracted from now.
#include "daemon/worker_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/rss.h"

#define WINDOW_NS (10 * PK_NS_PER_S)

struct snapshot {
	int64_t at_ns;
	struct pk_camera_stats stats;
};

struct window {
	char name[64];
	struct snapshot base, next; // base: 10 to 20 s ago
	bool restart;
};

struct pk_worker_stats {
	PK_ARRAY(struct window) windows;
	struct pk_camera_stats now; // large: not on the stack
};

struct pk_worker_stats *pk_worker_stats_create(void)
{
	return calloc(1, sizeof(struct pk_worker_stats));
}

void pk_worker_stats_destroy(struct pk_worker_stats *stats)
{
	if (!stats)
		return;
	pk_array_finish(&stats->windows);
	free(stats);
}

static struct window *find_window(struct pk_worker_stats *stats, const char *name)
{
	pk_array_each (it, &stats->windows) {
		if (strcmp(it->name, name) == 0)
			return it;
	}
	struct window *window = pk_array_push(&stats->windows);
	if (window)
		snprintf(window->name, sizeof(window->name), "%s", name);
	return window;
}

// A camera that was started anew counts from 0 again: its window starts over.
static void slide(struct window *window, const struct pk_camera_stats *now, int64_t now_ns)
{
	struct snapshot here = {.at_ns = now_ns, .stats = *now};
	bool restarted = now->n_captured < window->next.stats.n_captured || window->restart;
	window->restart = false;
	if (restarted || !window->base.at_ns) {
		window->base = window->next = here;
	} else if (now_ns - window->next.at_ns >= WINDOW_NS) {
		window->base = window->next;
		window->next = here;
	}
}

static double per_second(uint64_t now, uint64_t before, int64_t ns)
{
	return ns <= 0 ? 0 : (double)(now - before) * (double)PK_NS_PER_S / (double)ns;
}

static double quantile_ms(
	const struct pk_histogram *now, const struct pk_histogram *before, double q)
{
	struct pk_histogram window = *now;
	pk_histogram_sub(&window, before);
	return (double)pk_histogram_quantile(&window, q) / (double)PK_NS_PER_MS;
}

static json_t *camera_sinks_json(const struct pk_camera_stats *now)
{
	json_t *list = json_array();
	for (size_t i = 0; i < now->n_sinks; i++) {
		const struct pk_camera_sink_stats *row = &now->sinks[i];
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:I}", "name", row->name, "taken",
				(json_int_t)row->n_taken, "dropped", (json_int_t)row->n_dropped));
	}
	return list;
}

static json_t *sinks_json(const struct pk_pipeline *pipeline)
{
	json_t *list = json_array();
	for (size_t i = 0; i < pk_pipeline_n_sinks(pipeline); i++) {
		struct pk_sink_stats s;
		pk_pipeline_sink_stats(pipeline, i, &s);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name", s.name,
				"kind", s.kind, "state", s.code < 0 ? "failing" : "ok", "cause",
				s.cause, "taken", (json_int_t)s.n_taken, "dropped",
				(json_int_t)s.n_dropped, "readers", (json_int_t)s.n_readers,
				"readers_dropped", (json_int_t)s.n_readers_dropped, "waiting_bytes",
				(json_int_t)s.n_waiting_bytes));
	}
	return list;
}

static json_t *camera_json(struct window *window, const struct pk_camera_stats *now, int64_t now_ns)
{
	const struct pk_camera_stats *base = &window->base.stats;
	uint64_t results = now->n_inferred + now->n_passthrough;
	double fps = per_second(
		results, base->n_inferred + base->n_passthrough, now_ns - window->base.at_ns);
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
		"s:f, s:f, s:f, s:f, s:o}",
		"name", now->name, "model", now->model, "state", pk_camera_state_name(now->state),
		"cause", now->cause, "captured", (json_int_t)now->n_captured, "inferred",
		(json_int_t)now->n_inferred, "passthrough", (json_int_t)now->n_passthrough,
		"dropped", (json_int_t)now->n_dropped, "detections", (json_int_t)now->n_detections,
		"restarts", (json_int_t)now->n_restarts, "sink_drops",
		(json_int_t)now->n_sink_drops, "skipped", (json_int_t)now->n_skipped, "late",
		(json_int_t)now->n_late, "copies", (json_int_t)now->n_copies, "fps", fps,
		"age_p50_ms", quantile_ms(&now->age, &base->age, 0.5), "age_p99_ms",
		quantile_ms(&now->age, &base->age, 0.99), "inference_p50_ms",
		quantile_ms(&now->inference, &base->inference, 0.5), "inference_p95_ms",
		quantile_ms(&now->inference, &base->inference, 0.95), "sinks",
		camera_sinks_json(now));
}

void pk_worker_stats_restart(struct pk_worker_stats *stats, const char *model)
{
	pk_array_each (it, &stats->windows)
		it->restart = it->restart || strcmp(it->next.stats.model, model) == 0;
}

json_t *pk_worker_stats_heartbeat(
	struct pk_worker_stats *stats, struct pk_pipeline *pipeline, int64_t now_ns)
{
	json_t *cameras = json_array();
	size_t n = pk_pipeline_n_cameras(pipeline);
	for (size_t i = 0; i < n; i++) {
		if (pk_pipeline_stats(pipeline, i, &stats->now) < 0)
			continue;
		struct window *window = find_window(stats, stats->now.name);
		if (!window)
			break;
		slide(window, &stats->now, now_ns);
		json_array_append_new(cameras, camera_json(window, &stats->now, now_ns));
	}
	int64_t progress_age = now_ns - pk_pipeline_last_progress_ns(pipeline);
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "type", "heartbeat", "progress_age_ms",
		(json_int_t)(PK_MAX(progress_age, (int64_t)0) / PK_NS_PER_MS), "rss_bytes",
		(json_int_t)pk_rss_bytes(), "cameras", cameras, "sinks", sinks_json(pipeline));
}
