// SPDX-License-Identifier: Apache-2.0
// Private to pipeline: what one is made of, shared by its life (pipeline.c) and its changes
// (pipeline_apply.c).
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/camera.h"
#include "pipeline/infer.h"
#include "pipeline/pipeline.h"
#include "pipeline/roster.h"
#include "pipeline/scheduler.h"
#include "pipeline/sink.h"
#include "pipeline/station.h"

struct pk_pipeline_camera {
	struct pk_camera *camera;
	struct pk_station *station;
	char model[64];
};

// Owned by the main thread; `lock` only guards what pk_pipeline_stats reads from others.
struct pk_pipeline {
	struct pk_config *config; // what runs now
	struct pk_pipeline_events events;
	struct pk_roster *roster;
	struct pk_scheduler *scheduler;
	struct pk_infer *infer;
	struct pk_cpu_pool *pool; // as many threads as processors; the config limits them
	pthread_mutex_t lock;     // cameras
	PK_ARRAY(struct pk_pipeline_camera) cameras;
	PK_ARRAY(struct pk_model_slot *) slots;
	PK_ARRAY(struct pk_sink *) sinks;
	PK_ARRAY(struct pk_serving *) graveyard; // may still be in use by a hanging inference
};

// Makes the pipeline's cameras, slots and sinks those of next and keeps it. 0, or negative when
// something could not be made; what could is running then. before: what ran until now, or NULL.
int pk_pipeline_change(struct pk_pipeline *pipeline, const struct pk_config *before,
	const struct pk_config *next, struct pk_err *err) pk_must_check;
// Stops and frees the cameras for which doomed says so.
void pk_pipeline_drop_cameras(struct pk_pipeline *pipeline,
	bool (*doomed)(const struct pk_pipeline_camera *camera, const void *ctx), const void *ctx,
	int64_t limit_ns);
struct pk_model_slot *pk_pipeline_slot(const struct pk_pipeline *pipeline, const char *model);
