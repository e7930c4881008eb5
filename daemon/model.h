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
#include "daemon/wallclock.h"

// What all models use; outlives them.
struct pk_model_env {
	struct pk_loop *loop;
	struct pk_agent *agent;   // disk
	struct pk_agent *network; // whatever may take long
	struct pk_builder *builder;
	struct pk_supervisor *supervisor;
	struct pk_events *events;
	const struct pk_paths *paths;
	const struct pk_wallclock *clock;
	const struct pk_config *config; // in force; another one before models are updated
	const char *node_id;            // for rollouts
	void (*changed)(void *ctx);     // a rung or an alarm is another one
	void (*gc)(void *ctx);          // records name other models than before
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
void pk_model_heartbeat(struct pk_model *model, const json_t *cameras); // of a heartbeat
void pk_model_rebuild(struct pk_model *model);
void pk_model_stopping(struct pk_model *model); // picketd ends as told

// What the operator can do with its updates. 0, or a negative errno and why not: -EBUSY (not in
// this phase), -ENOENT (nothing there to go back to), -EINVAL.
enum pk_model_verb {
	PK_MODEL_CHECK, // look now
	PK_MODEL_PULL,  // look now, and take it whatever window and rollout say
	PK_MODEL_PIN,   // digest or NULL: the active one; any_seq
	PK_MODEL_UNPIN,
	PK_MODEL_CANCEL,
	PK_MODEL_ROLLBACK,
};
int pk_model_command(struct pk_model *model, enum pk_model_verb verb, const char *digest,
	bool any_seq, struct pk_err *err) pk_must_check;
json_t *pk_model_explain_json(const struct pk_model *model); // {model, lines:[text], …}
json_t *pk_model_history(const struct pk_model *model);      // {history:[…]}
// Adds the engine file names of its models; false: not all of them are known yet.
bool pk_model_engines(const struct pk_model *model, json_t *names);

enum pk_rung pk_model_rung(const struct pk_model *model);
const char *pk_model_cause(const struct pk_model *model);  // "" on engine
json_t *pk_model_json(const struct pk_model *model);       // as control_api.h says; new reference
json_t *pk_model_alarm_json(const struct pk_model *model); // {model, rung, cause, since}; or NULL
