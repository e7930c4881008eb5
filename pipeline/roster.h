// SPDX-License-Identifier: Apache-2.0
// What sinks may know of the cameras that are routed to them, beyond results: which there are,
// their state, their encoded stream.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "config/config.h"
#include "pipeline/pipeline.h"
#include "pipeline/relay.h"

struct pk_roster;

// A copy. relay is a reference of the reader's.
struct pk_roster_camera {
	char name[64];
	char model[64];
	enum pk_camera_state state;
	char cause[256];
	struct pk_relay *relay;
};

// Reference counted: a sink whose thread hangs keeps it. All of it from any thread.
struct pk_roster *pk_roster_create(void) pk_must_check; // NULL: no memory
struct pk_roster *pk_roster_ref(struct pk_roster *roster);
void pk_roster_unref(struct pk_roster *roster); // NULL is fine

// Adds the camera or changes its model and sinks. 0 or -ENOMEM.
int pk_roster_put(struct pk_roster *roster, const struct pk_camera_config *config,
	struct pk_relay *relay) pk_must_check;
// Drops the cameras that are not in config.
void pk_roster_prune(struct pk_roster *roster, const struct pk_config *config);
void pk_roster_set_state(struct pk_roster *roster, const char *camera, enum pk_camera_state state,
	const char *cause);

// Another number after each change.
uint64_t pk_roster_version(struct pk_roster *roster);
// The camera with index *at among those of sink, or the next one; *at is moved past it. False: no
// more. Begin with 0; read all in one go.
bool pk_roster_next(struct pk_roster *roster, const char *sink, size_t *at,
	struct pk_roster_camera *out) pk_must_check;
