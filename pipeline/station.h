// SPDX-License-Identifier: Apache-2.0
// One camera as inference sees it: its lane in the scheduler, where its results go, its counters.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/metric.h"
#include "pipeline/relay.h"
#include "pipeline/scheduler.h"
#include "pipeline/sink.h"

struct pk_model_slot;

#define PK_STATION_MAX_SINKS 16

// What a camera's frames meet. Read and written under the inference lock.
struct pk_route {
	struct pk_model_slot *slot;
	struct pk_image_region roi;
	struct pk_sink *sinks[PK_STATION_MAX_SINKS];
	size_t n_sinks;
};

// Reference counted through its lane: it lives as long as camera, scheduler or inference need it.
struct pk_station {
	struct pk_lane lane;
	char name[64];
	struct pk_relay *relay; // its encoded stream, when it has one
	struct pk_route route;
	struct pk_counter n_captured;    // frames that reached us
	struct pk_counter n_lost;        // of them: no room for them, so never offered
	struct pk_counter n_inferred;    // of them: a model saw them
	struct pk_counter n_passthrough; // of them: passed on without a model
	struct pk_counter n_late;        // not decoded, because decoding did not keep up
	struct pk_counter n_skipped;     // not decoded after a loss, or damaged: never captured
	struct pk_counter n_detections, n_restarts, n_sink_drops, n_copies;
	struct pk_histogram age, inference;
};

struct pk_station *pk_station_create(const char *name) pk_must_check; // NULL: no memory
static inline void pk_station_unref(struct pk_station *station)
{
	if (station)
		pk_lane_unref(&station->lane);
}
// Frames that no model saw: replaced by a newer one, or lost.
uint64_t pk_station_n_dropped(const struct pk_station *station);
