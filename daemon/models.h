// SPDX-License-Identifier: Apache-2.0
// All models of the config.
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/array.h"
#include "base/attr.h"
#include "config/config.h"
#include "daemon/model.h"

struct pk_models {
	struct pk_model_env env;
	PK_ARRAY(struct pk_model *) items;
};

void pk_models_init(struct pk_models *models, const struct pk_model_env *env);
void pk_models_finish(struct pk_models *models);
// Creates, updates and removes models so that they are those of the config. Runtimes are probed
// anew. Failures (no memory) leave a model out and are logged.
void pk_models_apply(struct pk_models *models, const struct pk_config *config);

struct pk_model *pk_models_find(const struct pk_models *models, const char *name); // or NULL
void pk_models_worker_up(struct pk_models *models);
void pk_models_heartbeat(struct pk_models *models, const json_t *message);
void pk_models_stopping(struct pk_models *models); // picketd ends as told
// blamed: the one model that a crash counts against; NULL: each that the worker had.
void pk_models_worker_down(
	struct pk_models *models, const char *cause, bool crashed, const char *blamed);
void pk_models_message(struct pk_models *models, const char *type, const json_t *message);
// Names of all engine files that belong to a model; NULL: not all of them are known yet, or no
// memory.
json_t *pk_models_engines(const struct pk_models *models);
json_t *pk_models_json(const struct pk_models *models);   // array, new reference
json_t *pk_models_alarms(const struct pk_models *models); // array, new reference
