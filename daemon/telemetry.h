// SPDX-License-Identifier: Apache-2.0
// One journal record per camera, each telemetry.interval.
#pragma once

#include <stdint.h>

#include "daemon/cameras.h"
#include "daemon/loop.h"

struct pk_telemetry {
	struct pk_loop *loop;
	const struct pk_cameras *cameras;
	int64_t interval_ns;
	struct pk_timer timer;
};

void pk_telemetry_init(
	struct pk_telemetry *telemetry, struct pk_loop *loop, const struct pk_cameras *cameras);
void pk_telemetry_finish(struct pk_telemetry *telemetry);
// Starts anew when the interval is another one.
void pk_telemetry_set_interval(struct pk_telemetry *telemetry, int64_t interval_ns);
