// SPDX-License-Identifier: Apache-2.0
// Loading, checking and running what a model is served with.
#include "pipeline/serving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "pipeline/input_spec.h"

static int pk_serving_read_card(struct pk_serving *serving, struct pk_err *err)
{
	const struct pk_engine_info *info = pk_engine_info(serving->engine);
	if (!info->card || info->card_size == 0)
		return pk_fail(err, -EINVAL, "the engine carries no model card");
	struct pk_problems problems = {0};
	int r = pk_card_parse(info->card, info->card_size, "card.yaml", &serving->card, &problems);
	if (r < 0 && problems.n)
		pk_fail(err, r, "%s:%d:%d: %s", problems.items[0].file, problems.items[0].line,
			problems.items[0].column, problems.items[0].text);
	else if (r < 0)
		pk_fail(err, r, "the engine's model card cannot be read");
	pk_problems_finish(&problems);
	return r;
}

int pk_serving_make_decoder(
	const struct pk_serving *serving, double conf, struct pk_decoder **out, struct pk_err *err)
{
	const struct pk_engine_info *info = pk_engine_info(serving->engine);
	return pk_decoder_create(serving->card, conf, info->outputs, info->n_outputs, out, err);
}

static int pk_serving_check(struct pk_serving *serving, double conf, struct pk_err *err)
{
	const struct pk_engine_info *info = pk_engine_info(serving->engine);
	int r = pk_input_spec_check(serving->card, info->inputs, info->n_inputs, err);
	if (r == 0)
		r = pk_input_spec_from_card(serving->card, &serving->spec, err);
	if (r == 0 && info->n_outputs > PK_ENGINE_MAX_BINDINGS)
		r = pk_fail(err, -EINVAL, "the engine has more than %d outputs",
			PK_ENGINE_MAX_BINDINGS);
	if (r == 0)
		r = pk_serving_make_decoder(serving, conf, &serving->decoder, err);
	serving->n_outputs = info->n_outputs;
	return r;
}

static int pk_serving_infer(struct pk_serving *serving, struct pk_err *err)
{
	int r = pk_context_submit(serving->context, 0, err);
	return r < 0 ? r : pk_context_wait(serving->context, 0, err);
}

static int pk_serving_warm_up(struct pk_serving *serving, struct pk_err *err)
{
	const struct pk_binding *input = &pk_engine_info(serving->engine)->inputs[0];
	memset(pk_context_input(serving->context, 0, 0), 0, input->bytes);
	int r = pk_serving_infer(serving, err);
	if (r < 0)
		pk_err_prefix(err, "first run");
	return r;
}

const char *pk_load_phase_name(enum pk_load_phase phase)
{
	static const char *const names[] = {
		[PK_LOAD_READ] = "read", [PK_LOAD_PREPARE] = "prepare", [PK_LOAD_RUN] = "run"};
	return (size_t)phase < PK_ARRAY_LEN(names) ? names[phase] : "?";
}

static void pk_serving_tell(
	const struct pk_pipeline_events *events, const char *model, enum pk_load_phase phase)
{
	if (events->loading)
		events->loading(events->ctx, model, phase);
}

static int pk_serving_load(struct pk_serving *serving, const struct pk_assignment *assignment,
	double conf, struct pk_cpu_pool *pool, const struct pk_pipeline_events *events,
	struct pk_err *err)
{
	enum pk_mismatch mismatch = PK_MATCH;
	pk_serving_tell(events, assignment->model, PK_LOAD_READ);
	int r = pk_engine_load(
		assignment->engine_path, assignment->engine_key, &serving->engine, &mismatch, err);
	if (r < 0)
		return r;
	snprintf(serving->runtime, sizeof(serving->runtime), "%s",
		pk_engine_info(serving->engine)->runtime);
	r = pk_serving_read_card(serving, err);
	if (r == 0)
		r = pk_serving_check(serving, conf, err);
	if (r < 0)
		return r;
	pk_serving_tell(events, assignment->model, PK_LOAD_PREPARE);
	r = pk_context_create(serving->engine, 1, &serving->context, err);
	if (r == 0)
		r = pk_context_set_pool(serving->context, pool, err);
	if (r < 0)
		return r;
	pk_serving_tell(events, assignment->model, PK_LOAD_RUN);
	return pk_serving_warm_up(serving, err);
}

static void pk_serving_set_text(struct pk_serving *serving, const struct pk_assignment *a)
{
	snprintf(serving->rung, sizeof(serving->rung), "%s",
		a->rung          ? a->rung
		: a->engine_path ? "engine"
				 : "passthrough");
	snprintf(serving->cause, sizeof(serving->cause), "%s", a->cause ? a->cause : "");
	snprintf(serving->digest, sizeof(serving->digest), "%s",
		a->model_digest ? a->model_digest : "");
}

int pk_serving_create(const struct pk_assignment *assignment, double conf, struct pk_cpu_pool *pool,
	const struct pk_pipeline_events *events, struct pk_serving **out, struct pk_err *err)
{
	pk_auto(pk_serving) serving = calloc(1, sizeof(*serving));
	if (!serving)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_serving_set_text(serving, assignment);
	if (assignment->engine_path) {
		int r = pk_serving_load(serving, assignment, conf, pool, events, err);
		if (r < 0)
			return r;
	}
	*out = pk_steal(serving);
	return 0;
}

void pk_serving_destroy(struct pk_serving *serving)
{
	if (!serving)
		return;
	for (size_t i = 0; i < PK_SERVING_PREPROCESS; i++)
		pk_preprocess_destroy(serving->tables[i].pre);
	pk_decoder_destroy(serving->decoder);
	pk_context_destroy(serving->context);
	pk_card_destroy(serving->card);
	pk_engine_unload(serving->engine);
	free(serving);
}

void pk_serving_init_passthrough(struct pk_serving *serving, const char *cause)
{
	*serving = (struct pk_serving){.rung = "passthrough"};
	snprintf(serving->cause, sizeof(serving->cause), "%s", cause);
}

static int pk_serving_preprocess(struct pk_serving *serving, const struct pk_image *image,
	struct pk_preprocess **out, struct pk_err *err)
{
	size_t oldest = 0;
	serving->turn++;
	for (size_t i = 0; i < PK_SERVING_PREPROCESS; i++) {
		struct pk_preprocess *pre = serving->tables[i].pre;
		if (pre && pk_preprocess_fits(pre, image)) {
			serving->tables[i].used = serving->turn;
			*out = pre;
			return 0;
		}
		if (serving->tables[i].used < serving->tables[oldest].used)
			oldest = i;
	}
	struct pk_preprocess *pre = NULL;
	int r = pk_preprocess_create(&serving->spec, image, &pre, err);
	if (r < 0)
		return r;
	pk_preprocess_destroy(serving->tables[oldest].pre);
	serving->tables[oldest].pre = pre;
	serving->tables[oldest].used = serving->turn;
	*out = pre;
	return 0;
}

int pk_serving_run(struct pk_serving *serving, struct pk_decoder *decoder, struct pk_frame *frame,
	struct pk_detection *out, size_t *n, struct pk_err *err)
{
	struct pk_preprocess *pre = NULL;
	struct pk_image seen;
	int left, top;
	pk_image_crop(&frame->image, &frame->roi, &seen, &left, &top);
	int r = pk_serving_preprocess(serving, &seen, &pre, err);
	if (r < 0)
		return r;
	pk_preprocess_run(pre, &seen, pk_context_input(serving->context, 0, 0));
	r = pk_serving_infer(serving, err);
	frame->at_ns[PK_STAGE_INFERRED] = pk_now_ns();
	if (r < 0)
		return r;
	const void *tensors[PK_ENGINE_MAX_BINDINGS];
	for (size_t i = 0; i < serving->n_outputs; i++)
		tensors[i] = pk_context_output(serving->context, 0, i);
	struct pk_image_map map = *pk_preprocess_map(pre);
	map.left = left;
	map.top = top;
	*n = pk_decoder_run(decoder, tensors, &map, out);
	frame->at_ns[PK_STAGE_DECODED_RESULT] = pk_now_ns();
	return 0;
}
