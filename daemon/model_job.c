// SPDX-License-Identifier: Apache-2.0
// The blocking work of a model, off the loop's thread.
#include "daemon/model_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "daemon/model_verify.h"

#define RESOLVE_DEADLINE_NS (60 * PK_NS_PER_S)
#define FETCH_DEADLINE_NS   (6 * 3600 * PK_NS_PER_S)

static void job_free(struct pk_model_job *job)
{
	free(job->ref);
	free(job->store);
	free(job->engines);
	free(job->timing);
	pk_registries_finish(&job->registries);
	pk_verify_policy_destroy(job->policy);
	pk_artifact_unref(job->artifact);
	free(job);
}

char *pk_model_ref_of(const char *ref, const char *digest)
{
	struct pk_ref parsed;
	char *text = NULL;
	if (pk_ref_parse(ref, &parsed, NULL) < 0)
		return strdup(ref);
	bool fixed = parsed.has_digest;
	pk_ref_finish(&parsed);
	if (fixed)
		return strdup(ref);
	return asprintf(&text, "%s@%s", ref, digest) < 0 ? NULL : text;
}

bool pk_model_ref_is_open(const char *ref)
{
	struct pk_ref parsed;
	if (pk_ref_parse(ref, &parsed, NULL) < 0)
		return true;
	bool local = strcmp(parsed.scheme, "oci") == 0 || strcmp(parsed.scheme, "file") == 0;
	bool open = !local && !parsed.has_digest;
	pk_ref_finish(&parsed);
	return open;
}

static int on_bytes(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct pk_model_job *job = ctx;
	atomic_store(&job->done_bytes, done_bytes);
	atomic_store(&job->total_bytes, total_bytes);
	return atomic_load(&job->cancel);
}

static void resolve(struct pk_model_job *job)
{
	job->options.deadline_ns = RESOLVE_DEADLINE_NS;
	job->code = pk_resolve(job->ref, &job->options, &job->resolved, &job->err);
}

static int open_store(struct pk_model_job *job, struct pk_store **out)
{
	const struct pk_store_options options = {.quota_bytes = job->quota_bytes,
		.reserve_bytes = job->reserve_bytes,
		.for_engines = true};
	return pk_store_open_with(job->store, &options, out, &job->err);
}

static int pull(struct pk_model_job *job, struct pk_store *store)
{
	const struct pk_pull_progress progress = {.update = on_bytes, .ctx = job};
	pk_auto(pk_manifest) manifest = NULL;
	pk_auto_free char *ref = pk_model_ref_of(job->ref, job->digest);
	char digest[PK_DIGEST_TEXT];
	if (!ref)
		return pk_fail(&job->err, -ENOMEM, "out of memory");
	int r = pk_pull(ref, &job->options, store, &progress, &manifest, &job->err);
	if (r < 0)
		return r;
	pk_digest_format(&manifest->digest, digest);
	if (strcmp(digest, job->digest) != 0)
		return pk_fail(&job->err, -EBADMSG, "%s names %s now", job->ref, digest);
	return 0;
}

// What will never parse is no matter of trying again. What is too large is refused before it is
// fetched, and fits once the limits are others.
static bool is_final(int code)
{
	return code == -ENOTSUP || code == -EINVAL;
}

static void fetch(struct pk_model_job *job)
{
	pk_auto(pk_store) store = NULL;
	job->options.deadline_ns = FETCH_DEADLINE_NS;
	job->code = open_store(job, &store);
	if (job->code == 0)
		job->was_local = pk_artifact_is_complete(store, job->digest);
	PK_FAULT("fetch");
	if (job->code == 0 && !job->was_local)
		job->code = pull(job, store);
	PK_FAULT("fetched");
	job->permanent = is_final(job->code);
}

static void verify(struct pk_model_job *job)
{
	pk_auto(pk_store) store = NULL;
	pk_auto(pk_manifest) manifest = NULL;
	job->options.deadline_ns = RESOLVE_DEADLINE_NS;
	job->code = open_store(job, &store);
	if (job->code == 0)
		job->code = pk_artifact_manifest(store, job->digest, &manifest, &job->err);
	if (job->code == 0)
		pk_model_verify(job, manifest);
}

static void prepare(struct pk_model_job *job)
{
	const struct pk_artifact_request request = {
		.digest = job->digest,
		.store = job->store,
		.engines = job->engines,
		.timing = job->timing,
		.quota_bytes = job->quota_bytes,
		.reserve_bytes = job->reserve_bytes,
		.targets = {[PK_ENGINE_QUICK] = {.runtime = job->target.quick_ok ? "cpu" : ""},
			[PK_ENGINE_TUNED] = {.runtime = job->target.runtime,
				.opt_level = job->target.opt_level,
				.int8 = job->target.int8}},
	};
	job->code = pk_artifact_prepare(&request, &job->artifact, &job->err);
	job->permanent = is_final(job->code);
}

static void work(struct pk_agent_job *agent_job, pk_unused const atomic_bool *cancel)
{
	static void (*const kinds[])(struct pk_model_job * job) = {
		[PK_JOB_RESOLVE] = resolve,
		[PK_JOB_FETCH] = fetch,
		[PK_JOB_VERIFY] = verify,
		[PK_JOB_PREPARE] = prepare,
	};
	struct pk_model_job *job = pk_container_of(agent_job, struct pk_model_job, job);
	if (atomic_load(&job->cancel))
		job->code = pk_fail(&job->err, -ECANCELED, "cancelled");
	else
		kinds[job->kind](job);
}

static void done(struct pk_agent_job *agent_job, bool aborted)
{
	struct pk_model_job *job = pk_container_of(agent_job, struct pk_model_job, job);
	struct pk_model *model = job->model;
	if (model) {
		*job->place = NULL;
		bool received = job->budget.used_bytes != model->budget.used_bytes;
		model->budget.used_bytes = job->budget.used_bytes;
		model->budget.window_end_ns = job->budget.window_end_ns;
		if (received)
			pk_model_memo_write(model);
		if (!aborted)
			job->finish(model, job);
	}
	job_free(job);
}

static void copy_options(const struct pk_model *model, struct pk_model_job *job)
{
	const struct pk_limits_config *limits = &model->config->limits;
	job->budget = model->budget;
	job->budget.limit_bytes = limits->bytes_per_day;
	job->options = (struct pk_registry_options){
		.hosts = job->registries.hosts,
		.n_hosts = job->registries.n,
		.bandwidth_bytes_per_s = limits->bandwidth_bytes_per_s,
		.artifact_max_bytes = limits->artifact_bytes,
		.budget = &job->budget,
		.cancel = &job->cancel,
		.report = &job->report,
	};
}

static bool copy_inputs(struct pk_model *model, struct pk_model_job *job)
{
	const struct pk_model_env *env = model->env;
	job->ref = strdup(model->ref);
	job->store = strdup(env->paths->lib);
	job->engines = strdup(env->paths->engines);
	job->timing = strdup(env->paths->timing);
	job->quota_bytes = env->config->store.quota_bytes;
	job->reserve_bytes = env->config->store.reserve_bytes;
	job->target = model->target;
	bool ok = job->ref && job->store && job->engines && job->timing &&
		  pk_registries_copy(env->config, &job->registries) == 0;
	if (ok && job->kind == PK_JOB_VERIFY)
		ok = pk_verify_policy_create(model, &job->policy) == 0;
	copy_options(model, job);
	return ok;
}

void pk_model_job_post(struct pk_model *model, enum pk_model_job_kind kind,
	struct pk_model_job **place, const char *digest,
	void (*finish)(struct pk_model *model, struct pk_model_job *job))
{
	struct pk_agent *agent = kind == PK_JOB_PREPARE ? model->env->agent : model->env->network;
	struct pk_model_job *job = calloc(1, sizeof(*job));
	if (!job)
		return; // the phase's deadline, or a timer, tries again
	job->job = (struct pk_agent_job){.work = work, .done = done};
	job->model = model;
	job->place = place;
	job->finish = finish;
	job->kind = kind;
	snprintf(job->digest, sizeof(job->digest), "%s", digest ? digest : "");
	snprintf(job->resolved.etag, sizeof(job->resolved.etag), "%s", model->memo.etag);
	if (copy_inputs(model, job) && pk_agent_post(agent, &job->job) == 0)
		*place = job;
	else
		job_free(job);
}

void pk_model_job_forget(struct pk_model_job **place)
{
	if (!*place)
		return;
	atomic_store(&(*place)->cancel, true);
	(*place)->model = NULL;
	*place = NULL;
}
