// SPDX-License-Identifier: Apache-2.0
// Loading and running engines: the users' door over plan, key and runtime.
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compile/key.h"
#include "engine/runtime.h"

struct pk_engine {
	const struct pk_runtime_ops *runtime;
	struct pk_plan *plan;
	void *loaded;
	char *key_json;
	char *layers_json;
	char *gate_json;
	struct pk_binding *bindings; // inputs, then outputs
	struct pk_engine_info info;
};

struct pk_context {
	struct pk_engine *engine;
	void *runtime_context;
};

// A section's text as a string of our own; "" when it is absent.
static char *section_text(const struct pk_plan *plan, enum pk_section type)
{
	struct pk_plan_section section = pk_plan_section(plan, type);
	return strndup(section.data ? (const char *)section.data : "", section.size);
}

static int check_key(struct pk_engine *engine, const char *expect, enum pk_mismatch *mismatch,
	struct pk_err *err)
{
	pk_auto_free char *runtime = pk_key_runtime(engine->key_json);
	engine->runtime = runtime ? pk_runtime_by_name(runtime) : NULL;
	if (!engine->runtime) {
		*mismatch = runtime ? PK_MISMATCH_TARGET : PK_MISMATCH_CORRUPT;
		return pk_fail(err, runtime ? -ESTALE : -EBADMSG, "no runtime `%s` in this build",
			runtime ? runtime : "");
	}
	if (expect) {
		*mismatch = pk_key_compare(expect, engine->key_json, err);
	} else {
		struct pk_target target = {0};
		int r = engine->runtime->probe(&target, err);
		*mismatch = r < 0 ? PK_MISMATCH_TARGET
				  : pk_key_check_target(engine->key_json, &target, err);
	}
	if (*mismatch == PK_MATCH)
		return 0;
	return *mismatch == PK_MISMATCH_CORRUPT ? -EBADMSG : -ESTALE;
}

static void describe_binding(const struct pk_value *value, struct pk_binding *out)
{
	*out = (struct pk_binding){
		.name = value->name,
		.dtype = value->dtype,
		.shape = value->shape,
		.bytes = pk_tensor_bytes(value->dtype, &value->shape),
	};
}

static int describe(struct pk_engine *engine, struct pk_err *err)
{
	struct pk_loaded_info loaded = {0};
	const struct pk_graph *graph = engine->runtime->describe(engine->loaded, &loaded);
	size_t n_inputs = (size_t)graph->n_inputs, n_outputs = (size_t)graph->n_outputs;
	engine->bindings = calloc(n_inputs + n_outputs + 1, sizeof(*engine->bindings));
	engine->layers_json = section_text(engine->plan, PK_SECTION_LAYERS);
	engine->gate_json = section_text(engine->plan, PK_SECTION_GATE);
	if (!engine->bindings || !engine->layers_json || !engine->gate_json)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n_inputs; i++)
		describe_binding(graph->inputs[i], &engine->bindings[i]);
	for (size_t i = 0; i < n_outputs; i++)
		describe_binding(graph->outputs[i], &engine->bindings[n_inputs + i]);
	struct pk_plan_section card = pk_plan_section(engine->plan, PK_SECTION_CARD);
	engine->info = (struct pk_engine_info){
		.runtime = engine->runtime->name,
		.key_json = engine->key_json,
		.inputs = engine->bindings,
		.n_inputs = n_inputs,
		.outputs = engine->bindings + n_inputs,
		.n_outputs = n_outputs,
		.card = card.data,
		.card_size = card.size,
		.layers_json = engine->layers_json,
		.gate_json = engine->gate_json,
		.weight_bytes = loaded.weight_bytes,
		.activation_bytes = loaded.activation_bytes,
		.lower_bound_bytes = loaded.lower_bound_bytes,
	};
	return pk_digest_bytes(engine->key_json, strlen(engine->key_json), &engine->info.key);
}

int pk_engine_load(const char *path, const char *expect, struct pk_engine **out,
	enum pk_mismatch *mismatch, struct pk_err *err)
{
	*mismatch = PK_MATCH;
	pk_auto(pk_engine) engine = calloc(1, sizeof(*engine));
	if (!engine)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_plan_open(path, &engine->plan, mismatch, err);
	if (r < 0)
		return r;
	engine->key_json = section_text(engine->plan, PK_SECTION_KEY);
	if (!engine->key_json)
		return pk_fail(err, -ENOMEM, "out of memory");
	r = check_key(engine, expect, mismatch, err);
	if (r == 0) {
		r = engine->runtime->load(engine->plan, &engine->loaded, err);
		if (r == -EBADMSG)
			*mismatch = PK_MISMATCH_CORRUPT;
		if (r == -ESTALE) // the driver or a library refuses its device code
			*mismatch = PK_MISMATCH_LIBRARY;
	}
	if (r == 0)
		r = describe(engine, err);
	if (r < 0) {
		pk_err_prefix(err, "%s", path);
		return r;
	}
	*out = pk_steal(engine);
	return 0;
}

bool pk_engine_is_lost(int error)
{
	return error == -ENOTRECOVERABLE || error == -ETIME;
}

void pk_engine_unload(struct pk_engine *engine)
{
	if (!engine)
		return;
	if (engine->loaded)
		engine->runtime->unload(engine->loaded);
	pk_plan_close(engine->plan);
	free(engine->bindings);
	free(engine->layers_json);
	free(engine->gate_json);
	free(engine->key_json);
	free(engine);
}

const struct pk_graph *pk_engine_graph(const struct pk_engine *engine)
{
	return engine->runtime->describe(engine->loaded, NULL);
}

const struct pk_engine_info *pk_engine_info(const struct pk_engine *engine)
{
	return &engine->info;
}

int pk_context_create(
	struct pk_engine *engine, int n_slots, struct pk_context **out, struct pk_err *err)
{
	if (n_slots < 1 || n_slots > PK_ENGINE_MAX_SLOTS)
		return pk_fail(err, -EINVAL, "%d slots: 1 to %d", n_slots, PK_ENGINE_MAX_SLOTS);
	struct pk_context *context = calloc(1, sizeof(*context));
	if (!context)
		return pk_fail(err, -ENOMEM, "out of memory");
	context->engine = engine;
	int r = engine->runtime->context_create(
		engine->loaded, n_slots, &context->runtime_context, err);
	if (r < 0) {
		free(context);
		return r;
	}
	*out = context;
	return 0;
}

void pk_context_destroy(struct pk_context *context)
{
	if (!context)
		return;
	context->engine->runtime->context_destroy(context->runtime_context);
	free(context);
}

void *pk_context_input(struct pk_context *context, int slot, size_t input_idx)
{
	return context->engine->runtime->input(context->runtime_context, slot, (int)input_idx);
}

int pk_context_submit(struct pk_context *context, int slot, struct pk_err *err)
{
	return context->engine->runtime->submit(context->runtime_context, slot, err);
}

int pk_context_wait(struct pk_context *context, int slot, struct pk_err *err)
{
	return context->engine->runtime->wait(context->runtime_context, slot, err);
}

const void *pk_context_output(const struct pk_context *context, int slot, size_t output_idx)
{
	return context->engine->runtime->output(context->runtime_context, slot, (int)output_idx);
}

int pk_context_profile(
	struct pk_context *context, int slot, int64_t *ns, int n_layers, struct pk_err *err)
{
	const struct pk_runtime_ops *runtime = context->engine->runtime;
	if (!runtime->profile)
		return pk_fail(err, -ENOTSUP, "runtime `%s` has no profile", runtime->name);
	return runtime->profile(context->runtime_context, slot, ns, n_layers, err);
}

int pk_context_set_poison(struct pk_context *context, bool on, struct pk_err *err)
{
	const struct pk_runtime_ops *runtime = context->engine->runtime;
	if (!runtime->set_poison)
		return pk_fail(err, -ENOTSUP, "runtime `%s` has no poison mode", runtime->name);
	return runtime->set_poison(context->runtime_context, on, err);
}

int pk_context_set_pool(struct pk_context *context, struct pk_cpu_pool *pool, struct pk_err *err)
{
	const struct pk_runtime_ops *runtime = context->engine->runtime;
	return runtime->set_pool ? runtime->set_pool(context->runtime_context, pool, err) : 0;
}

size_t pk_engine_runtimes(struct pk_runtime_status *out, size_t max)
{
	size_t n = 0;
	for (const struct pk_runtime_ops *const *ops = pk_runtime_table; *ops && n < max; ops++) {
		struct pk_target target = {0};
		struct pk_err err = {0};
		out[n] = (struct pk_runtime_status){.name = (*ops)->name};
		out[n].error = (*ops)->probe(&target, &err);
		memcpy(out[n].text, target.identity, sizeof(out[n].text));
		if (out[n].error < 0)
			memcpy(out[n].text, err.text, sizeof(err.text));
		n++;
	}
	return n;
}
