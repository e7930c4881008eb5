// SPDX-License-Identifier: Apache-2.0
// What the worker last said of each camera, joined with what its model serves from.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "config/config.h"
#include "daemon/events.h"
#include "daemon/models.h"

struct pk_camera_entry {
	char name[64], model[64];
	char state[16];
	char cause[PK_CAUSE_MAX]; // of the camera itself; ""
	char rung[16];            // on which `best` was seen
	unsigned n_beats;         // of the worker on that rung
	double best_ms, now_ms;   // inference, median: the best seen, and now; 0: not known
	double full_fps;          // results a second while it was not held back; 0: not known
	json_t *figures;          // its object of the last heartbeat; NULL: none since the start
};

struct pk_cameras {
	struct pk_events *events;
	const struct pk_models *models;
	bool shed; // rates are held back: they say nothing of the full ones
	PK_ARRAY(struct pk_camera_entry) items; // in the config's order
};

void pk_cameras_init(
	struct pk_cameras *cameras, struct pk_events *events, const struct pk_models *models);
void pk_cameras_finish(struct pk_cameras *cameras);
void pk_cameras_apply(struct pk_cameras *cameras, const struct pk_config *config);
void pk_cameras_heartbeat(struct pk_cameras *cameras, const json_t *message);
void pk_cameras_message(struct pk_cameras *cameras, const json_t *message); // type "camera"
void pk_cameras_note(struct pk_cameras *cameras, const json_t *message);    // type "camera_note"
void pk_cameras_worker_down(struct pk_cameras *cameras, const char *cause);

// How much slower inference has become on the worst camera, as a part: 0.3 is 30 %; 0: unknown.
double pk_cameras_slowdown(const struct pk_cameras *cameras);
double pk_cameras_full_fps(const struct pk_cameras *cameras, const char *name); // 0: unknown
// It is left out of the worker's config, for this reason: state "faulty" until it is started anew.
void pk_cameras_set_aside(struct pk_cameras *cameras, const char *name, const char *cause);
// It is started anew: what was known of it is over.
void pk_cameras_restarting(struct pk_cameras *cameras, const char *name);
// Its pictures come, although perhaps not as they should.
bool pk_cameras_is_running(const struct pk_camera_entry *entry);
size_t pk_cameras_n_running(const struct pk_cameras *cameras);
// As control_api.h says; new reference.
json_t *pk_camera_entry_json(const struct pk_cameras *cameras, const struct pk_camera_entry *entry);
json_t *pk_cameras_json(const struct pk_cameras *cameras); // array, new reference
const struct pk_camera_entry *pk_cameras_find(const struct pk_cameras *cameras, const char *name);
