// SPDX-License-Identifier: Apache-2.0
// Opens an engine and its model side by side, judges, and keeps the verdict in the file.
#include "engine/compile/gate_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/json.h"
#include "engine/compile/compile.h"

const struct pk_gate_profile *pk_gate_profile_of_key(const char *key_json)
{
	pk_auto_json key = json_loads(key_json, JSON_REJECT_DUPLICATES, NULL);
	const json_t *options = json_object_get(key, "options");
	const char *word = json_string_value(json_object_get(options, "precision"));
	for (int i = PK_PRECISION_FP32; word && i <= PK_PRECISION_INT8; i++) {
		if (strcmp(word, pk_precision_name((enum pk_precision)i)) == 0)
			return pk_gate_profile_of((enum pk_precision)i);
	}
	return NULL;
}

static int choose_profile(const struct pk_gate_file_options *options, const char *key_json,
	struct pk_gate_profile *out, struct pk_err *err)
{
	const struct pk_gate_profile *profile = pk_gate_profile_of_key(key_json);
	if (!profile)
		return pk_fail(err, -EINVAL, "gate: the engine's key has no precision");
	*out = *profile;
	pk_gate_profile_limit(out, options->max_rel_err, options->min_cosine);
	out->latency_ns = options->latency_ns;
	out->memory_bytes = options->memory_bytes;
	return 0;
}

static int check_model(
	const struct pk_source_model *model, const char *key_json, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	pk_digest_format(&model->digest, digest);
	pk_auto_json key = json_loads(key_json, JSON_REJECT_DUPLICATES, NULL);
	const char *wanted = json_string_value(json_object_get(key, "model"));
	if (wanted && strcmp(wanted, digest) == 0)
		return 0;
	return pk_fail(err, -EINVAL, "gate: the engine was built from another model (%.20s…)",
		wanted ? wanted : "unknown");
}

static int open_model(const struct pk_gate_file_options *options, const struct pk_engine_info *info,
	struct pk_source_model *model, struct pk_err *err)
{
	struct pk_input_shape shapes[PK_ENGINE_MAX_BINDINGS];
	size_t n = PK_MIN(info->n_inputs, (size_t)PK_ENGINE_MAX_BINDINGS);
	for (size_t i = 0; i < n; i++)
		shapes[i] = (struct pk_input_shape){info->inputs[i].name, info->inputs[i].shape};
	int r = options->n_shapes
			? pk_source_model_open(model, options->onnx_path, options->shapes,
				  options->n_shapes, NULL, err)
			: pk_source_model_open(model, options->onnx_path, shapes, n, NULL, err);
	return r < 0 ? r : check_model(model, info->key_json, err);
}

static int judge(const struct pk_gate_file_options *options, const struct pk_engine_info *info,
	const struct pk_graph *reference, struct pk_gate_verdict *verdict, struct pk_err *err)
{
	pk_auto(pk_plan) plan = NULL;
	enum pk_mismatch mismatch;
	struct pk_gate_profile profile;
	struct pk_loaded_info loaded;
	int r = choose_profile(options, info->key_json, &profile, err);
	if (r == 0)
		r = pk_plan_open(options->engine_path, &plan, &mismatch, err);
	if (r < 0)
		return r;
	struct pk_gate_job job = {
		.runtime = pk_runtime_by_name(info->runtime),
		.reference = reference,
		.profile = &profile,
		.patterns = PK_GATE_ALL_PATTERNS,
		.samples = options->samples,
		.n_samples = options->n_samples,
		.progress = options->progress,
		.ctx = options->ctx,
	};
	return pk_gate_judge(&job, plan, verdict, &loaded, err);
}

int pk_gate_file(const struct pk_gate_file_options *options, struct pk_gate_verdict *verdict,
	struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	enum pk_mismatch mismatch;
	struct pk_source_model model = {0};
	int r = pk_engine_load(options->engine_path, NULL, &engine, &mismatch, err);
	if (r == 0)
		r = open_model(options, pk_engine_info(engine), &model, err);
	if (r == 0)
		r = judge(options, pk_engine_info(engine), model.graph, verdict, err);
	pk_source_model_close(&model);
	return r;
}

static int copy_sections(const struct pk_plan *plan, struct pk_plan_writer *writer)
{
	for (int type = PK_SECTION_KEY; type <= PK_SECTION_KERNELS; type++) {
		struct pk_plan_section section = pk_plan_section(plan, (enum pk_section)type);
		if (section.data && pk_plan_writer_add(writer, (enum pk_section)type, section.data,
					    section.size) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pk_gate_file_record(
	const char *engine_path, const struct pk_gate_verdict *verdict, struct pk_err *err)
{
	pk_auto(pk_plan) plan = NULL;
	enum pk_mismatch mismatch;
	int r = pk_plan_open(engine_path, &plan, &mismatch, err);
	if (r < 0)
		return r;
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	pk_auto_json json = pk_gate_verdict_json(verdict);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	if (!writer || !text || copy_sections(plan, writer) < 0 ||
		pk_plan_writer_add(writer, PK_SECTION_GATE, text, strlen(text)) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_plan_writer_finish(writer, engine_path, NULL, err);
}
