// SPDX-License-Identifier: Apache-2.0
// How well a model does with its cameras: figures of heartbeats summed up, a running baseline, and
// the probation of a new one against it. Pure but for the clock that its caller hands in.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "config/config.h"
#include "daemon/update.h"

// Fewer results than this say nothing.
#define PK_WATCH_MIN_RESULTS 30

struct pk_watch_sums {
	double seconds, captured, inferred, failed, detections;
	double p95_ms_weighted; // each heartbeat's, weighted by its results
};

struct pk_watch_camera {
	char name[64];
	double captured, inferred, failed, detections; // as of the last heartbeat
};

struct pk_model_watch {
	PK_ARRAY(struct pk_watch_camera) cameras;
	int64_t last_ns;              // of the last heartbeat; 0: none
	struct pk_watch_sums running; // decays
	struct pk_watch_sums probation;
	int64_t probation_ns; // since when; 0: none is on
	unsigned n_restarts, n_violations;
};

struct pk_watch_result {
	struct pk_up_baseline is;                      // of the probation
	double fps_ratio, p95_ratio, detections_ratio; // 0: nothing to compare with
	double error_rate;
	double results; // how many there were
};

enum pk_watch_verdict { PK_WATCH_GOES_ON, PK_WATCH_WELL, PK_WATCH_WORSE };

// cameras: of a heartbeat (worker_proto.h); those of other models are passed over. serves: an
// engine served all the time since the last heartbeat.
void pk_watch_heartbeat(struct pk_model_watch *watch, const char *model, const json_t *cameras,
	bool serves, int64_t now_ns);
void pk_watch_finish(struct pk_model_watch *watch);

void pk_watch_baseline(const struct pk_model_watch *watch, struct pk_up_baseline *out);
void pk_watch_begin(struct pk_model_watch *watch, int64_t now_ns);
// Of the probation, if one is on: then the running sums start over.
void pk_watch_end(struct pk_model_watch *watch);
// After a heartbeat. WORSE: reason says what, in figures.
enum pk_watch_verdict pk_watch_judge(struct pk_model_watch *watch,
	const struct pk_check_config *check, const struct pk_up_baseline *before, int64_t now_ns,
	struct pk_watch_result *result, char reason[PK_UP_REASON_MAX]);
