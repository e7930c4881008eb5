// SPDX-License-Identifier: Apache-2.0
// Getting a model's artifact: first what the store remembers, then what its reference names; tried
// again until it is there.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/model_private.h"

#define PULL_RETRY_MIN_NS (5 * PK_NS_PER_S)
#define PULL_RETRY_MAX_NS (600 * PK_NS_PER_S)

// Everything that the agent's thread reads is a copy.
struct pk_model_pull {
	struct pk_agent_job job;
	struct pk_model *model; // loop's thread only; NULL: nobody waits for it
	char *ref;              // NULL: digest, from the store
	char digest[PK_DIGEST_TEXT];
	char *store, *engines, *timing;
	int64_t quota_bytes, reserve_bytes;
	struct pk_target_choice target;
	struct pk_artifact *artifact; // result
	struct pk_err err;
	int code;
};

static void pull_free(struct pk_model_pull *pull)
{
	free(pull->ref);
	free(pull->store);
	free(pull->engines);
	free(pull->timing);
	pk_artifact_destroy(pull->artifact);
	free(pull);
}

static void work(struct pk_agent_job *job, const atomic_bool *cancel)
{
	struct pk_model_pull *pull = pk_container_of(job, struct pk_model_pull, job);
	const struct pk_artifact_request request = {
		.ref = pull->ref,
		.digest = pull->digest,
		.store = pull->store,
		.engines = pull->engines,
		.timing = pull->timing,
		.quota_bytes = pull->quota_bytes,
		.reserve_bytes = pull->reserve_bytes,
		.targets = {[PK_ENGINE_QUICK] = {.runtime = pull->target.quick_ok ? "cpu" : ""},
			[PK_ENGINE_TUNED] = {.runtime = pull->target.runtime,
				.opt_level = pull->target.opt_level}},
		.cancel = cancel,
	};
	pull->code = pk_artifact_prepare(&request, &pull->artifact, &pull->err);
}

static void tell_ready(struct pk_model *model, const struct pk_artifact *artifact, bool local)
{
	pk_events_post(model->env->events, PK_EVENT_ARTIFACT_READY,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_DIGEST", artifact->digest},
			{"PICKET_ARTIFACT", model->ref}),
		"model %s: %s %s", model->name, artifact->digest,
		local ? "was found in the store" : "is in the store");
}

static void on_ready(struct pk_model *model, struct pk_model_pull *pull)
{
	if (model->current && pk_artifact_equal(model->current, pull->artifact))
		return; // nothing new
	tell_ready(model, pull->artifact, !pull->ref);
	pk_artifact_destroy(model->next);
	model->next = pk_steal(pull->artifact);
	if (!model->state.digest[0]) {
		memcpy(model->state.digest, model->next->digest, sizeof(model->state.digest));
		pk_model_save(model);
	}
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_ARTIFACT_READY});
}

static void on_failed(struct pk_model *model, const struct pk_model_pull *pull)
{
	const char *cause = pk_err_text(&pull->err, pull->code);
	char wait[PK_DURATION_MAX];
	int64_t delay_ns =
		pk_model_delay_ns(PULL_RETRY_MIN_NS, PULL_RETRY_MAX_NS, ++model->n_pull_failures);
	pk_loop_start_timer(model->env->loop, &model->pull_timer, delay_ns);
	pk_format_duration(delay_ns, wait);
	pk_events_post(model->env->events, PK_EVENT_ARTIFACT_FAILED,
		PK_FIELDS({"PICKET_MODEL", model->name}, {"PICKET_ARTIFACT", model->ref},
			{"PICKET_CAUSE", cause}),
		"model %s: %s; tried again in %s", model->name, cause, wait);
	pk_model_post(model, &(struct pk_fb_event){.type = PK_FB_ARTIFACT_FAILED, .cause = cause});
}

static void begin_pull(struct pk_model *model, const char *digest);

static void done(struct pk_agent_job *job, bool aborted)
{
	struct pk_model_pull *pull = pk_container_of(job, struct pk_model_pull, job);
	struct pk_model *model = pull->model;
	if (!model || aborted) {
		if (model)
			model->pull = NULL;
		pull_free(pull);
		return;
	}
	model->pull = NULL;
	bool local = !pull->ref;
	if (pull->code == 0) {
		model->n_pull_failures = 0;
		on_ready(model, pull);
	} else if (!local) {
		on_failed(model, pull);
	} else {
		pk_log_notice("model %s: what served last is not to be had from the store: %s",
			model->name, pk_err_text(&pull->err, pull->code));
	}
	pull_free(pull);
	if (local)
		begin_pull(model, NULL);
}

static struct pk_model_pull *pull_create(struct pk_model *model, const char *digest)
{
	const struct pk_paths *paths = model->env->paths;
	struct pk_model_pull *pull = calloc(1, sizeof(*pull));
	if (!pull)
		return NULL;
	pull->job = (struct pk_agent_job){.work = work, .done = done};
	pull->model = model;
	pull->target = model->target;
	pull->quota_bytes = model->env->quota_bytes;
	pull->reserve_bytes = model->env->reserve_bytes;
	pull->ref = digest ? NULL : strdup(model->ref);
	snprintf(pull->digest, sizeof(pull->digest), "%s", digest ? digest : "");
	pull->store = strdup(paths->lib);
	pull->engines = strdup(paths->engines);
	pull->timing = strdup(paths->timing);
	if ((digest || pull->ref) && pull->store && pull->engines && pull->timing)
		return pull;
	pull_free(pull);
	return NULL;
}

static void forget_pull(struct pk_model *model)
{
	if (model->pull)
		model->pull->model = NULL;
	model->pull = NULL;
}

// digest NULL: what the reference names.
static void begin_pull(struct pk_model *model, const char *digest)
{
	forget_pull(model);
	pk_loop_stop_timer(&model->pull_timer);
	struct pk_model_pull *pull = pull_create(model, digest);
	if (pull && pk_agent_post(model->env->agent, &pull->job) == 0) {
		model->pull = pull;
		return;
	}
	if (pull)
		pull_free(pull);
	pk_loop_start_timer(model->env->loop, &model->pull_timer, PULL_RETRY_MIN_NS);
}

static void on_pull_timer(void *ctx)
{
	begin_pull(ctx, NULL);
}

void pk_model_artifact_begin(struct pk_model *model)
{
	model->pull_timer = (struct pk_timer){.fire = on_pull_timer, .ctx = model};
	begin_pull(model, model->state.digest[0] ? model->state.digest : NULL);
}

void pk_model_artifact_refresh(struct pk_model *model)
{
	model->n_pull_failures = 0;
	begin_pull(model, NULL);
}

void pk_model_artifact_end(struct pk_model *model)
{
	forget_pull(model);
	pk_loop_stop_timer(&model->pull_timer);
}
