// SPDX-License-Identifier: Apache-2.0
// One journal record per camera, model and node, each telemetry.interval.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "daemon/loop.h"

struct pk_telemetry {
	struct pk_loop *loop;
	json_t *(*status)(void *ctx);
	void *ctx;
	int64_t interval_ns;
	struct pk_timer timer;
};

// status: gives what GET /v1/status gives; a new reference.
void pk_telemetry_init(struct pk_telemetry *telemetry, struct pk_loop *loop,
	json_t *(*status)(void *ctx), void *ctx);
void pk_telemetry_finish(struct pk_telemetry *telemetry);
// Starts anew when the interval is another one.
void pk_telemetry_set_interval(struct pk_telemetry *telemetry, int64_t interval_ns);
