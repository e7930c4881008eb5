// SPDX-License-Identifier: Apache-2.0
// Sinks as picketd knows them: from the config, heartbeats and fault messages.
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/array.h"
#include "config/config.h"
#include "daemon/events.h"
#include "daemon/fallback.h"

struct pk_sink_entry {
	char name[64];
	int kind; // enum pk_sink_kind
	bool failing;
	char cause[PK_CAUSE_MAX];
	json_t *figures; // its object of the last heartbeat; NULL: none since the worker started
};

struct pk_sinks {
	struct pk_events *events;
	PK_ARRAY(struct pk_sink_entry) items; // in the config's order
};

void pk_sinks_init(struct pk_sinks *sinks, struct pk_events *events);
void pk_sinks_finish(struct pk_sinks *sinks);
void pk_sinks_apply(struct pk_sinks *sinks, const struct pk_config *config);
void pk_sinks_heartbeat(struct pk_sinks *sinks, const json_t *message);
void pk_sinks_message(struct pk_sinks *sinks, const json_t *message); // type "sink"
void pk_sinks_worker_down(struct pk_sinks *sinks);

json_t *pk_sinks_json(const struct pk_sinks *sinks); // array, new reference
