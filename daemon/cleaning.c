// SPDX-License-Identifier: Apache-2.0
// The cleaning job: blobs that no record names, engines that belong to no model.
#include "daemon/cleaning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "registry/gc.h"

#define WAIT_NS  (2 * PK_NS_PER_S)
#define AGAIN_NS (60 * PK_NS_PER_S)

struct pk_cleaning_job {
	struct pk_agent_job job;
	struct pk_cleaning *cleaning; // loop's thread only; NULL: nobody waits
	char *store, *state, *engines;
	json_t *names; // of engines to keep; NULL: not known, none is removed
	struct pk_store_gc_report report;
	struct pk_store_part_usage swept;
	struct pk_err err;
	int code;
};

static void job_free(struct pk_cleaning_job *job)
{
	free(job->store);
	free(job->state);
	free(job->engines);
	json_decref(job->names);
	free(job);
}

static int sweep(struct pk_cleaning_job *job)
{
	size_t n = json_array_size(job->names);
	const char **keep = calloc(n + 1, sizeof(*keep));
	if (!keep)
		return pk_fail(&job->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		keep[i] = json_string_value(json_array_get(job->names, i));
	const struct pk_store_sweep options = {
		.folder = job->engines, .suffix = ".engine", .keep = keep, .n_keep = n};
	int r = pk_store_sweep_folder(&options, &job->swept, &job->err);
	free(keep);
	return r;
}

static int clean(struct pk_cleaning_job *job)
{
	pk_auto(pk_store) store = NULL;
	struct pk_store_roots roots = {0};
	int r = pk_store_open(job->store, 0, &store, &job->err);
	if (r == 0)
		r = pk_store_roots_read(job->state, &roots, &job->err);
	PK_FAULT("gc");
	if (r == 0)
		r = pk_store_gc(store, &roots, false, &job->report, &job->err);
	PK_FAULT("gc-done");
	if (r == 0 && job->names)
		r = sweep(job);
	pk_store_roots_finish(&roots);
	return r;
}

static void work(struct pk_agent_job *agent_job, pk_unused const atomic_bool *cancel)
{
	struct pk_cleaning_job *job = pk_container_of(agent_job, struct pk_cleaning_job, job);
	job->code = clean(job);
}

static void tell(const struct pk_cleaning *cleaning, const struct pk_cleaning_job *job)
{
	char bytes[32], files[32];
	int64_t n_bytes = job->report.blobs.bytes + job->report.bad.bytes +
			  job->report.parts.bytes + job->swept.bytes;
	int n_files = job->report.blobs.n_files + job->report.bad.n_files +
		      job->report.parts.n_files + job->swept.n_files;
	snprintf(bytes, sizeof(bytes), "%lld", (long long)n_bytes);
	snprintf(files, sizeof(files), "%d", n_files);
	if (n_files > 0)
		pk_events_post(cleaning->models->env.events, PK_EVENT_STORE_GC,
			PK_FIELDS({"PICKET_BYTES", bytes}, {"PICKET_FILES", files}),
			"%s files, %s bytes were removed from the store", files, bytes);
}

static void done(struct pk_agent_job *agent_job, bool aborted)
{
	struct pk_cleaning_job *job = pk_container_of(agent_job, struct pk_cleaning_job, job);
	struct pk_cleaning *cleaning = job->cleaning;
	if (cleaning) {
		cleaning->job = NULL;
		if (!aborted && job->code == 0)
			tell(cleaning, job);
		else if (!aborted && job->code == -EBUSY)
			pk_loop_start_timer(cleaning->loop, &cleaning->timer, AGAIN_NS);
		else if (!aborted)
			pk_log_warning("cleaning the store: %s", pk_err_text(&job->err, job->code));
	}
	job_free(job);
}

static void begin(void *ctx)
{
	struct pk_cleaning *cleaning = ctx;
	const struct pk_paths *paths = cleaning->models->env.paths;
	if (cleaning->job) {
		pk_loop_start_timer(cleaning->loop, &cleaning->timer, WAIT_NS);
		return;
	}
	struct pk_cleaning_job *job = calloc(1, sizeof(*job));
	if (!job)
		return;
	job->job = (struct pk_agent_job){.work = work, .done = done};
	job->cleaning = cleaning;
	job->store = strdup(paths->lib);
	job->state = strdup(paths->state);
	job->engines = strdup(paths->engines);
	job->names = pk_models_engines(cleaning->models);
	if (job->store && job->state && job->engines &&
		pk_agent_post(cleaning->agent, &job->job) == 0)
		cleaning->job = job;
	else
		job_free(job);
}

void pk_cleaning_init(struct pk_cleaning *cleaning, struct pk_loop *loop, struct pk_agent *agent,
	const struct pk_models *models)
{
	*cleaning = (struct pk_cleaning){.agent = agent, .models = models, .loop = loop};
	cleaning->timer = (struct pk_timer){.fire = begin, .ctx = cleaning};
}

void pk_cleaning_finish(struct pk_cleaning *cleaning)
{
	pk_loop_stop_timer(&cleaning->timer);
	if (cleaning->job)
		cleaning->job->cleaning = NULL;
	cleaning->job = NULL;
}

// Asking again does not put it off: who asks every second must get it, too.
void pk_cleaning_want(struct pk_cleaning *cleaning)
{
	int64_t left_ns = pk_timer_left_ns(&cleaning->timer);
	if (left_ns <= 0 || left_ns > WAIT_NS)
		pk_loop_start_timer(cleaning->loop, &cleaning->timer, WAIT_NS);
}
