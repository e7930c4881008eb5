// SPDX-License-Identifier: Apache-2.0
// One model of the config at work: what its fallback chain decides is done here, and what comes of
// it is told to the chain. Loop's thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "daemon/agent.h"
#include "daemon/builder.h"
#include "daemon/events.h"
#include "daemon/fallback.h"
#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/supervisor.h"
#include "daemon/target.h"

// What all models use; outlives them.
struct pk_model_env {
	struct pk_loop *loop;
	struct pk_agent *agent;
	struct pk_builder *builder;
	struct pk_supervisor *supervisor;
	struct pk_events *events;
	const struct pk_paths *paths;
	int64_t quota_bytes, reserve_bytes; // of the store
	int64_t retry_min_ns, retry_max_ns;
	void (*changed)(void *ctx); // a rung or an alarm is another one
	void *ctx;
};

struct pk_model;

// Begins at once: what is remembered of it in the store first, then its artifact.
int pk_model_create(const struct pk_model_env *env, const struct pk_model_config *config,
	const struct pk_target_choice *target, struct pk_model **out, struct pk_err *err)
	pk_must_check;
void pk_model_destroy(struct pk_model *model); // cancels what runs for it
PK_DEFINE_AUTO(pk_model, pk_model_destroy);
// Another artifact, other policy, other target: what serves goes on until there is something new.
void pk_model_update(struct pk_model *model, const struct pk_model_config *config,
	const struct pk_target_choice *target);

const char *pk_model_name(const struct pk_model *model);
void pk_model_worker_up(struct pk_model *model);
void pk_model_worker_down(struct pk_model *model, const char *cause, bool crashed);
// assign_done, fault and serving of worker_proto.h.
void pk_model_message(struct pk_model *model, const char *type, const json_t *message);
void pk_model_rebuild(struct pk_model *model);

enum pk_rung pk_model_rung(const struct pk_model *model);
const char *pk_model_cause(const struct pk_model *model); // "" on engine
bool pk_model_alarm(const struct pk_model *model);
json_t *pk_model_json(const struct pk_model *model);       // as control_api.h says; new reference
json_t *pk_model_alarm_json(const struct pk_model *model); // {model, rung, cause, since}; or NULL
