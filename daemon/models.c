// SPDX-License-Identifier: Apache-2.0
// The list of models.
#include "daemon/models.h"

#include <string.h>

#include "base/log.h"

#define MAX_RUNTIMES 8

void pk_models_init(struct pk_models *models, const struct pk_model_env *env)
{
	*models = (struct pk_models){.env = *env};
}

void pk_models_finish(struct pk_models *models)
{
	for (size_t i = 0; i < models->items.n; i++)
		pk_model_destroy(models->items.items[i]);
	pk_array_finish(&models->items);
}

struct pk_model *pk_models_find(const struct pk_models *models, const char *name)
{
	for (size_t i = 0; i < models->items.n; i++) {
		if (strcmp(pk_model_name(models->items.items[i]), name) == 0)
			return models->items.items[i];
	}
	return NULL;
}

static void remove_gone(struct pk_models *models, const struct pk_config *config)
{
	size_t kept = 0;
	for (size_t i = 0; i < models->items.n; i++) {
		struct pk_model *model = models->items.items[i];
		if (pk_config_model(config, pk_model_name(model)))
			models->items.items[kept++] = model;
		else
			pk_model_destroy(model);
	}
	models->items.n = kept;
}

static void add(struct pk_models *models, const struct pk_model_config *config,
	const struct pk_target_choice *target)
{
	struct pk_err err = {0};
	struct pk_model *model = NULL;
	int r = pk_model_create(&models->env, config, target, &model, &err);
	struct pk_model **slot = r == 0 ? pk_array_push(&models->items) : NULL;
	if (!slot) {
		pk_log_err("model %s is left out: %s", config->name, pk_err_text(&err, r));
		pk_model_destroy(model);
		return;
	}
	*slot = model;
	if (pk_supervisor_is_up(models->env.supervisor))
		pk_model_worker_up(model);
}

void pk_models_apply(struct pk_models *models, const struct pk_config *config)
{
	struct pk_runtime_status statuses[MAX_RUNTIMES];
	size_t n = pk_engine_runtimes(statuses, MAX_RUNTIMES);
	if (n > MAX_RUNTIMES)
		n = MAX_RUNTIMES;
	remove_gone(models, config);
	for (size_t i = 0; i < config->n_models; i++) {
		const struct pk_model_config *item = &config->models[i];
		struct pk_target_choice target;
		pk_target_choose(item, config->build.opt_level, statuses, n, &target);
		struct pk_model *model = pk_models_find(models, item->name);
		if (model)
			pk_model_update(model, item, &target);
		else
			add(models, item, &target);
	}
}

void pk_models_worker_up(struct pk_models *models)
{
	for (size_t i = 0; i < models->items.n; i++)
		pk_model_worker_up(models->items.items[i]);
}

void pk_models_worker_down(
	struct pk_models *models, const char *cause, bool crashed, const char *blamed)
{
	bool known = blamed && pk_models_find(models, blamed);
	for (size_t i = 0; i < models->items.n; i++) {
		struct pk_model *model = models->items.items[i];
		bool guilty = !known || strcmp(pk_model_name(model), blamed) == 0;
		pk_model_worker_down(model, cause, crashed && guilty);
	}
}

void pk_models_message(struct pk_models *models, const char *type, const json_t *message)
{
	const char *name = json_string_value(json_object_get(message, "model"));
	struct pk_model *model = name ? pk_models_find(models, name) : NULL;
	if (model)
		pk_model_message(model, type, message);
}

void pk_models_heartbeat(struct pk_models *models, const json_t *message)
{
	const json_t *cameras = json_object_get(message, "cameras");
	for (size_t i = 0; i < models->items.n; i++)
		pk_model_heartbeat(models->items.items[i], cameras);
}

void pk_models_stopping(struct pk_models *models)
{
	for (size_t i = 0; i < models->items.n; i++)
		pk_model_stopping(models->items.items[i]);
}

json_t *pk_models_engines(const struct pk_models *models)
{
	json_t *names = json_array();
	bool all = names;
	for (size_t i = 0; i < models->items.n; i++)
		all = pk_model_engines(models->items.items[i], names) && all;
	if (!all)
		json_decref(names);
	return all ? names : NULL;
}

json_t *pk_models_json(const struct pk_models *models)
{
	json_t *list = json_array();
	for (size_t i = 0; i < models->items.n; i++)
		json_array_append_new(list, pk_model_json(models->items.items[i]));
	return list;
}

json_t *pk_models_alarms(const struct pk_models *models)
{
	json_t *list = json_array();
	for (size_t i = 0; i < models->items.n; i++) {
		json_t *alarm = pk_model_alarm_json(models->items.items[i]);
		if (alarm)
			json_array_append_new(list, alarm);
	}
	return list;
}
