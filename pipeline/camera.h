// SPDX-License-Identifier: Apache-2.0
// A camera's life: started, watched by timers on its frames, and brought back when it is lost.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/pipeline.h"
#include "pipeline/scheduler.h"
#include "pipeline/station.h"

struct pk_camera;

// Zero means the default. Tests compress them.
struct pk_camera_timing {
	int64_t retry_min_ns,
		retry_max_ns;             // 0.5 s and the config's: failures of network and device
	int64_t auth_min_ns, auth_max_ns; // 30 s and 10 min: refused credentials lock accounts
	int64_t good_ns;                  // 10 s of running: the delays start from their minimum
};

struct pk_camera_setup {
	const struct pk_camera_config *config; // read during create only
	struct pk_station *station;            // a reference is taken
	struct pk_scheduler *scheduler;        // frames are offered there
	struct pk_pipeline_events events;      // camera_state, camera_note and ctx
	struct pk_camera_timing timing;
};

// Starts its thread; the source is built there, so that a slow camera delays nobody.
int pk_camera_create(const struct pk_camera_setup *setup, struct pk_camera **out,
	struct pk_err *err) pk_must_check;
// Asks it to stop; any thread. Destroy then is quick.
void pk_camera_stop(struct pk_camera *camera);
// Stops it. A thread that hangs in a driver for longer than limit_ns is left to itself: it offers
// no more frames, reports nothing and frees the camera if it ever returns.
void pk_camera_destroy(struct pk_camera *camera, int64_t limit_ns);

// Copied; cause holds 256 bytes. Any thread.
enum pk_camera_state pk_camera_state(struct pk_camera *camera, char cause[256]);
// Same source and timers: such a camera need not be restarted for the new config.
bool pk_camera_same_source(const struct pk_camera_config *a, const struct pk_camera_config *b);
