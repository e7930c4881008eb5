// SPDX-License-Identifier: Apache-2.0
// The worker's heartbeat: figures of each camera over a sliding window.
#pragma once

#include <jansson.h>

#include "base/attr.h"
#include "pipeline/pipeline.h"

struct pk_worker_stats;

struct pk_worker_stats *pk_worker_stats_create(void) pk_must_check; // NULL: no memory
void pk_worker_stats_destroy(struct pk_worker_stats *stats);
PK_DEFINE_AUTO(pk_worker_stats, pk_worker_stats_destroy);

// A model serves from another engine: the windows of its cameras start over.
void pk_worker_stats_restart(struct pk_worker_stats *stats, const char *model);

// The heartbeat message of worker_proto.h at time now_ns; NULL: no memory. Call it about once a
// second: the figures cover the last 10 to 20 seconds.
json_t *pk_worker_stats_heartbeat(
	struct pk_worker_stats *stats, struct pk_pipeline *pipeline, int64_t now_ns);
