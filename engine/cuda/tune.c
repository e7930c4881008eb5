// SPDX-License-Identifier: Apache-2.0
// Chooses by trial.
#include "engine/cuda/tune.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/compile/op_key.h"
#include "engine/compile/timing_cache.h"

#define MAX_KEY_BYTES      8192
#define MAX_TACTIC         256
#define MAX_PLANS_PER_MODE 3 // each may cost seconds of compiling
#define SAVE_EVERY         8 // measurements between saves, so that a killed build resumes cheaply

struct search {
	struct pk_cuda_tuner *tuner;
	struct pk_cuda_trial trial;
	struct pk_buf key;
	struct pk_cuda_choice *best;
	char best_tactic[MAX_TACTIC];
	double best_us; // negative: none yet
	bool all_cached;
	int error; // what ended a walk over plans
	struct pk_err *err;
};

// The same node costs something else with other float types.
static int make_key(const struct pk_cuda_call *call, struct pk_buf *key)
{
	pk_buf_printf(key, "%s ", pk_dtype_name(call->float_type));
	return pk_op_key(call->node, key);
}

static int keep_best(struct search *search, const char *tactic, double us)
{
	if (search->best_us >= 0 && us >= search->best_us)
		return 0;
	const struct pk_cuda_bytes *json = search->trial.json;
	search->best_us = us;
	search->best->row = search->trial.row;
	snprintf(search->best_tactic, sizeof(search->best_tactic), "%s", tactic);
	pk_buf_clear(&search->best->json);
	return json ? pk_buf_append(&search->best->json, json->data, json->n) : 0;
}

static int put_time(struct search *search, const char *tactic, double us)
{
	struct pk_runtime_build *build = search->tuner->build;
	int r = pk_timing_cache_put(build->timing, pk_buf_cstr(&search->key), tactic, us);
	if (r == 0 && ++build->n_measured % SAVE_EVERY == 0)
		(void)pk_timing_cache_save(build->timing, NULL);
	return r == -ENOSPC ? 0 : r; // a full cache keeps no more
}

// A time that is known was measured after its results had been compared.
static int try_trial(struct search *search, const char *tactic)
{
	struct pk_cuda_tuner *tuner = search->tuner;
	double us = pk_timing_cache_get(tuner->build->timing, pk_buf_cstr(&search->key), tactic);
	if (us >= 0)
		return keep_best(search, tactic, us);
	search->all_cached = false;
	int r = tuner->lab->try_way(tuner->lab, &search->trial, &us, search->err);
	if (r == -EBADE)
		tuner->n_rejected++;
	if (r == -EBADE || r == -ENOTSUP || r == -ESTALE)
		return 0;
	if (r == 0)
		r = put_time(search, tactic, us);
	return r < 0 ? r : keep_best(search, tactic, us);
}

static int visit_plan(void *ctx, const char *tag, const struct pk_cuda_bytes *json)
{
	struct search *search = ctx;
	char tactic[MAX_TACTIC];
	snprintf(tactic, sizeof(tactic), "%s %s", search->trial.row->name, tag);
	search->trial.json = json;
	search->error = try_trial(search, tactic);
	search->trial.json = NULL;
	return search->error;
}

static int try_row(struct search *search)
{
	const struct pk_cuda_plan_visit visit = {
		.max_per_mode = MAX_PLANS_PER_MODE, .visit = visit_plan, .ctx = search};
	struct pk_cuda_lab *lab = search->tuner->lab;
	if (!search->trial.row->plan)
		return try_trial(search, search->trial.row->name);
	int r = lab->each_plan(lab, &search->trial, &visit, search->err);
	if (search->error < 0)
		return search->error;
	return r == -ENOTSUP ? 0 : r;
}

static int measure_all(struct search *search)
{
	const struct pk_cuda_row *row = pk_cuda_row_next(search->trial.call, INT_MAX);
	int r = 0;
	for (; r == 0 && row; row = pk_cuda_row_next(search->trial.call, row->rank)) {
		search->trial.row = row;
		r = try_row(search);
	}
	search->tuner->build->n_cache_hits += r == 0 && search->all_cached;
	if (r < 0 || search->best_us < 0)
		return r;
	r = pk_timing_cache_put_winner(search->tuner->build->timing, pk_buf_cstr(&search->key),
		search->best_tactic, pk_buf_cstr(&search->best->json));
	return r == -ENOSPC || r == -ENOENT ? 0 : r;
}

// The row of "NAME" or "NAME PLAN".
static const struct pk_cuda_row *row_of(const char *tactic)
{
	char name[MAX_TACTIC];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(tactic, " "), tactic);
	return pk_cuda_row_by_name(name);
}

// Whatever is wrong with what was kept is a miss.
static bool take_kept(struct search *search)
{
	struct pk_cuda_lab *lab = search->tuner->lab;
	const char *tactic = NULL, *plan = NULL;
	if (!pk_timing_cache_winner(
		    search->tuner->build->timing, pk_buf_cstr(&search->key), &tactic, &plan))
		return false;
	const struct pk_cuda_row *row = row_of(tactic);
	struct pk_cuda_bytes json = {plan, strlen(plan)};
	if (!row || row->op != search->trial.call->node->op || !row->supports(search->trial.call) ||
		(row->plan != NULL) != (json.n > 0))
		return false;
	struct pk_cuda_trial trial = {search->trial.call, row, row->plan ? &json : NULL};
	if (row->plan && lab->open_plan(lab, &trial, NULL) < 0)
		return false;
	search->best->row = row;
	return pk_buf_append(&search->best->json, json.data, json.n) == 0;
}

int pk_cuda_tune(struct pk_cuda_tuner *tuner, const struct pk_cuda_call *call,
	struct pk_cuda_choice *choice, struct pk_err *err)
{
	struct search search = {
		.tuner = tuner,
		.trial.call = call,
		.best = choice,
		.best_us = -1,
		.all_cached = true,
		.err = err,
	};
	choice->row = NULL;
	pk_buf_clear(&choice->json);
	pk_buf_init(&search.key, MAX_KEY_BYTES);
	int r = make_key(call, &search.key);
	if (r == 0 && take_kept(&search))
		tuner->build->n_cache_hits++;
	else if (r == 0)
		r = measure_all(&search);
	pk_buf_finish(&search.key);
	return r < 0 && err && !err->text[0] ? pk_fail(err, r, "tuning: %s", strerror(-r)) : r;
}
