// SPDX-License-Identifier: Apache-2.0
// The active artifact into the chain: from the store; when it is damaged there, fetched again by
// its digest, and meanwhile the one before serves.
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/model_job.h"

#define RETRY_MIN_NS (5 * PK_NS_PER_S)
#define RETRY_MAX_NS (600 * PK_NS_PER_S)

static void tell_ready(struct pk_model *model, const struct pk_artifact *artifact)
{
	bool coarse = model->config->int8 && !artifact->calibration;
	pk_events_post(model->env->events, PK_EVENT_ARTIFACT_READY,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_DIGEST", artifact->digest},
			{"PICKET_ARTIFACT", model->ref}),
		"model %s: %s is in the store%s", model->name, artifact->digest,
		coarse ? "; int8 is wanted and it brings no calibration: its engine is fp32" : "");
}

void pk_model_hand_over(struct pk_model *model, struct pk_artifact *artifact)
{
	if (!model->next && model->current && pk_artifact_equal(model->current, artifact))
		return; // nothing new
	tell_ready(model, artifact);
	pk_artifact_unref(model->next);
	model->next = pk_artifact_ref(artifact);
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_ARTIFACT_READY});
}

bool pk_model_serves_active(const struct pk_model *model)
{
	enum pk_engine_kind serving = pk_fallback_serving(&model->fallback);
	return serving < PK_N_MADE_KINDS && model->current &&
	       strcmp(model->current->digest, model->state.update.active.digest) == 0;
}

static void prepare(struct pk_model *model);

static void try_later(struct pk_model *model, const struct pk_err *err, int code)
{
	const char *cause = pk_err_text(err, code);
	int64_t delay_ns = pk_model_delay_ns(RETRY_MIN_NS, RETRY_MAX_NS, ++model->n_serve_failures);
	char wait[PK_DURATION_MAX];
	pk_format_duration(delay_ns, wait);
	pk_events_post(model->env->events, PK_EVENT_ARTIFACT_FAILED,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_ARTIFACT", model->ref},
			{"PICKET_DIGEST", model->state.update.active.digest},
			{"PICKET_CAUSE", cause}),
		"model %s: the active model is not to be had: %s; tried again in %s", model->name,
		cause, wait);
	pk_loop_start_timer(model->env->loop, &model->serve_timer, delay_ns);
	if (!model->current && !model->next)
		pk_model_post(model,
			&(struct pk_fb_event){.type = PK_FB_ARTIFACT_FAILED, .cause = cause});
}

// Better the one before than nothing.
static void on_previous(struct pk_model *model, struct pk_model_job *job)
{
	if (job->code < 0 || model->current || model->next)
		return;
	pk_artifact_unref(model->previous);
	model->previous = pk_artifact_ref(job->artifact);
	pk_model_hand_over(model, model->previous);
}

static void serve_previous(struct pk_model *model)
{
	const char *digest = model->state.update.previous.digest;
	if (digest[0] && !model->current && !model->next && !model->warm_job)
		pk_model_job_post(model, PK_JOB_PREPARE, &model->warm_job, digest, on_previous);
}

static void on_fetched(struct pk_model *model, struct pk_model_job *job)
{
	if (job->code < 0)
		try_later(model, &job->err, job->code);
	else
		prepare(model);
}

static void on_prepared(struct pk_model *model, struct pk_model_job *job)
{
	const char *digest = model->state.update.active.digest;
	if (strcmp(job->digest, digest) != 0) {
		prepare(model); // another one became active meanwhile
		return;
	}
	if (job->code == 0) {
		model->n_serve_failures = 0;
		pk_artifact_unref(model->active);
		model->active = pk_artifact_ref(job->artifact);
		pk_model_hand_over(model, model->active);
		pk_model_update_served(model, PK_ENGINE_NONE);
		return;
	}
	pk_log_warning("model %s: %s in the store: %s", model->name, digest,
		pk_err_text(&job->err, job->code));
	serve_previous(model);
	if (job->code != -EBADMSG && job->code != -ENOENT)
		try_later(model, &job->err, job->code);
	else
		pk_model_job_post(model, PK_JOB_FETCH, &model->serve_job, digest, on_fetched);
}

static void prepare(struct pk_model *model)
{
	pk_model_job_post(model, PK_JOB_PREPARE, &model->serve_job,
		model->state.update.active.digest, on_prepared);
}

void pk_model_serve(struct pk_model *model)
{
	const char *digest = model->state.update.active.digest;
	pk_loop_stop_timer(&model->serve_timer);
	if (!digest[0])
		return;
	if (model->active && strcmp(model->active->digest, digest) == 0) {
		pk_model_hand_over(model, model->active);
		pk_model_update_served(model, PK_ENGINE_NONE);
	} else {
		pk_model_job_forget(&model->serve_job);
		prepare(model);
	}
}
