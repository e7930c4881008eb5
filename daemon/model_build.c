// SPDX-License-Identifier: Apache-2.0
// A model's builds: the request, what is told of it, how it ended.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/model_private.h"
#include "daemon/text.h"

#define TELL_PROGRESS_NS (10 * PK_NS_PER_S)

// The side apart is for an artifact that the chain does not serve.
static const struct pk_engine_file *file_of(const struct pk_model_side *side)
{
	const struct pk_model *model = side->model;
	if (side != &model->apart)
		return pk_model_file(model, side->kind);
	return model->apart_artifact ? &model->apart_artifact->files[side->kind] : NULL;
}

static void on_started(void *ctx)
{
	struct pk_model_side *side = ctx;
	struct pk_model *model = side->model;
	const struct pk_engine_file *file = file_of(side);
	side->building = true;
	side->told_progress_ns = pk_now_ns();
	side->progress = (struct pk_build_progress){
		.phase = "start", .started_ns = pk_now_ns(), .eta_ns = -1};
	pk_events_post(model->env->events, PK_EVENT_BUILD_STARTED,
		PK_FIELDS({"PICKET_MODEL", model->name},
			{"PICKET_KIND", pk_engine_kind_name(side->kind)},
			{"PICKET_RUNTIME", file ? file->runtime : NULL},
			{"PICKET_ENGINE_KEY", file ? file->digest : NULL}),
		"model %s: building the %s engine for %s", model->name,
		pk_engine_kind_name(side->kind), file ? file->runtime : "?");
}

static void tell_progress(struct pk_model_side *side)
{
	const struct pk_build_progress *progress = &side->progress;
	char elapsed[PK_DURATION_MAX], eta[PK_DURATION_MAX] = "", done[32];
	pk_format_duration(pk_now_ns() - progress->started_ns, elapsed);
	if (progress->eta_ns >= 0)
		pk_format_duration(progress->eta_ns, eta);
	snprintf(done, sizeof(done), "%d of %d", progress->done, progress->total);
	pk_events_post(side->model->env->events, PK_EVENT_BUILD_PROGRESS,
		PK_FIELDS({"PICKET_MODEL", side->model->name},
			{"PICKET_KIND", pk_engine_kind_name(side->kind)},
			{"PICKET_PHASE", progress->phase}, {"PICKET_DONE", done},
			{"PICKET_ELAPSED", elapsed}, {"PICKET_ETA", eta[0] ? eta : NULL}),
		"model %s: %s engine: %s %s after %s%s%s", side->model->name,
		pk_engine_kind_name(side->kind), progress->phase, done, elapsed,
		eta[0] ? ", left about " : "", eta);
}

static void on_progress(void *ctx, const struct pk_build_progress *progress)
{
	struct pk_model_side *side = ctx;
	side->progress = *progress;
	pk_text_mend(side->progress.phase);
	if (side == &side->model->apart && strcmp(side->progress.phase, "gate") == 0)
		pk_model_update_post(side->model, &(struct pk_up_event){.type = PK_UP_GATING,
							  .serial = side->model->update.serial});
	if (pk_now_ns() - side->told_progress_ns < TELL_PROGRESS_NS)
		return;
	side->told_progress_ns = pk_now_ns();
	tell_progress(side);
}

static void tell_done(struct pk_model_side *side, const struct pk_build_result *result)
{
	char wall[PK_DURATION_MAX], ms[32], measured[32], hits[32];
	int64_t n_measured = 0, n_hits = 0;
	(void)pk_json_opt_int(result->report, "n_measured", &n_measured, NULL);
	(void)pk_json_opt_int(result->report, "n_cache_hits", &n_hits, NULL);
	int64_t elapsed_ns = pk_now_ns() - side->progress.started_ns;
	pk_format_duration(elapsed_ns, wall);
	snprintf(ms, sizeof(ms), "%lld", (long long)(elapsed_ns / PK_NS_PER_MS));
	snprintf(measured, sizeof(measured), "%lld", (long long)n_measured);
	snprintf(hits, sizeof(hits), "%lld", (long long)n_hits);
	pk_events_post(side->model->env->events, PK_EVENT_BUILD_DONE,
		PK_FIELDS({"PICKET_MODEL", side->model->name},
			{"PICKET_KIND", pk_engine_kind_name(side->kind)}, {"PICKET_ELAPSED_MS", ms},
			{"PICKET_MEASURED", measured}, {"PICKET_CACHE_HITS", hits}),
		"model %s: %s engine built in %s, %s measured, %s from the timing cache",
		side->model->name, pk_engine_kind_name(side->kind), wall, measured, hits);
}

static void tell_failed(
	struct pk_model_side *side, const struct pk_build_result *result, const char *cause)
{
	pk_events_post(side->model->env->events, PK_EVENT_BUILD_FAILED,
		PK_FIELDS({"PICKET_MODEL", side->model->name},
			{"PICKET_KIND", pk_engine_kind_name(side->kind)}, {"PICKET_CAUSE", cause},
			{"PICKET_PERMANENT", result->permanent ? "1" : "0"}),
		"model %s: %s engine: %s (%s)", side->model->name, pk_engine_kind_name(side->kind),
		cause, result->permanent ? "not tried again" : "tried again later");
}

static void on_apart_done(void *ctx, const struct pk_build_result *result)
{
	struct pk_model_side *side = ctx;
	struct pk_model *model = side->model;
	side->building = false;
	if (result->code == 0)
		tell_done(side, result);
	else
		tell_failed(side, result, result->error ? result->error : "no reason given");
	pk_artifact_unref(model->apart_artifact);
	model->apart_artifact = NULL;
	model->apart_done(model, result);
}

static void on_done(void *ctx, const struct pk_build_result *result)
{
	struct pk_model_side *side = ctx;
	char cause[PK_CAUSE_MAX];
	struct pk_fb_event event = {.kind = side->kind, .permanent = result->permanent};
	side->building = false;
	if (result->code == 0) {
		event.type = PK_FB_BUILD_DONE;
		tell_done(side, result);
	} else {
		pk_text_format(cause, sizeof(cause), "build failed: %s",
			result->error ? result->error : "no reason given");
		event.type = PK_FB_BUILD_FAILED;
		event.cause = cause;
		tell_failed(side, result, cause);
	}
	pk_model_post(side->model, &event);
}

static void on_retry(void *ctx)
{
	struct pk_model_side *side = ctx;
	pk_model_post(side->model, &(struct pk_fb_event){.type = PK_FB_RETRY, .kind = side->kind});
}

static void on_admitted(void *ctx, const struct pk_build_result *result)
{
	pk_model_update_admitted(ctx, result);
}

void pk_model_build_init(struct pk_model *model)
{
	for (int i = 0; i < PK_N_MADE_KINDS; i++) {
		struct pk_model_side *side = &model->sides[i];
		side->model = model;
		side->kind = (enum pk_engine_kind)i;
		side->retry_timer = (struct pk_timer){.fire = on_retry, .ctx = side};
		side->job = (struct pk_build_job){
			.quick = i == PK_ENGINE_QUICK,
			.started = on_started,
			.progress = on_progress,
			.done = on_done,
			.ctx = side,
		};
	}
	struct pk_model_side *apart = &model->apart;
	apart->model = model;
	apart->kind = PK_ENGINE_TUNED;
	apart->job = (struct pk_build_job){.started = on_started,
		.progress = on_progress,
		.done = on_apart_done,
		.ctx = apart};
	model->admit_job = (struct pk_build_job){.quick = true, .done = on_admitted, .ctx = model};
}

static json_t *request_json(const struct pk_artifact *artifact, const struct pk_engine_file *file)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:O, s:O?, s:s*}", "onnx", artifact->onnx,
		"card", artifact->card, "runtime", file->runtime, "opt_level", file->opt_level,
		"engine", file->path, "timing", file->timing, "shapes", artifact->shapes, "golden",
		artifact->golden, "int8", file->int8 ? artifact->calibration : NULL);
}

void pk_model_build(struct pk_model *model, enum pk_engine_kind kind)
{
	const struct pk_engine_file *file = pk_model_file(model, kind);
	struct pk_model_side *side = &model->sides[kind];
	pk_builder_cancel(model->env->builder, &side->job);
	side->job.request = file ? request_json(model->current, file) : NULL;
	if (side->job.request) {
		pk_builder_add(model->env->builder, &side->job);
		return;
	}
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_BUILD_FAILED,
				     .kind = kind,
				     .cause = "build failed: no request could be made"});
}

void pk_model_build_cancel(struct pk_model *model)
{
	for (int i = 0; i < PK_N_MADE_KINDS; i++) {
		pk_builder_cancel(model->env->builder, &model->sides[i].job);
		model->sides[i].building = false;
	}
}

void pk_model_build_apart(struct pk_model *model, struct pk_artifact *artifact,
	void (*done)(struct pk_model *model, const struct pk_build_result *result))
{
	struct pk_model_side *side = &model->apart;
	const struct pk_engine_file *file = &artifact->files[side->kind];
	pk_model_build_apart_cancel(model);
	model->apart_artifact = pk_artifact_ref(artifact);
	model->apart_done = done;
	side->job.request = file->path ? request_json(artifact, file) : NULL;
	if (side->job.request)
		pk_builder_add(model->env->builder, &side->job);
	else
		on_apart_done(side, &(struct pk_build_result){
					    .code = -ENOMEM, .error = "no request could be made"});
}

void pk_model_build_apart_cancel(struct pk_model *model)
{
	pk_builder_cancel(model->env->builder, &model->apart.job);
	model->apart.building = false;
	pk_artifact_unref(model->apart_artifact);
	model->apart_artifact = NULL;
}

// The engine's place is named though none is made: the builder keeps to the folder that it has.
void pk_model_admit(struct pk_model *model)
{
	const struct pk_artifact *artifact = model->candidate;
	const struct pk_engine_file *file = &artifact->files[PK_ENGINE_TUNED];
	if (!file->path)
		file = &artifact->files[PK_ENGINE_QUICK];
	json_t *request = file->path ? request_json(artifact, file) : NULL;
	if (request)
		json_object_set_new(request, "admit", json_true());
	pk_builder_cancel(model->env->builder, &model->admit_job);
	model->admit_job.request = request;
	if (request)
		pk_builder_add(model->env->builder, &model->admit_job);
	else // no runtime of the chain can be used here: nothing to hold it against
		on_admitted(model, &(struct pk_build_result){.code = 0});
}
