// SPDX-License-Identifier: Apache-2.0
// The decisions of a model's update, carried out.
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "config/config_table.h"
#include "daemon/chance.h"
#include "daemon/model_job.h"
#include "daemon/text.h"
#include "daemon/update_policy.h"

#define RELOAD_SPREAD_NS (60 * PK_NS_PER_S)
#define LOOK_AGAIN_S     3600 // windows are looked at anew: clocks are set, zones change
#define DAY_NS           (86400 * PK_NS_PER_S)

static int64_t deadline_ns(const struct pk_model *model)
{
	static const int64_t limits[PK_N_UP_PHASES] = {
		[PK_UP_RESOLVE] = 90 * PK_NS_PER_S,
		[PK_UP_FETCH] = 7 * 3600 * PK_NS_PER_S,
		[PK_UP_VERIFY] = 180 * PK_NS_PER_S,
		[PK_UP_ADMIT] = 600 * PK_NS_PER_S,
		[PK_UP_BUILD] = DAY_NS, // the builder has its own
		[PK_UP_GOLDEN] = DAY_NS,
		[PK_UP_WAIT] = DAY_NS,
		[PK_UP_ACTIVATE] = 60 * PK_NS_PER_S,
		[PK_UP_OBSERVE] = DAY_NS,
		[PK_UP_COMMIT] = 30 * PK_NS_PER_S,
		[PK_UP_REJECT] = 30 * PK_NS_PER_S,
		[PK_UP_ROLLBACK] = 60 * PK_NS_PER_S,
	};
	int64_t extra_ns =
		model->update.phase == PK_UP_OBSERVE ? model->config->check.observe_ns : 0;
	return limits[model->update.phase] + extra_ns;
}

int64_t pk_model_wall_s(const struct pk_model *model)
{
	struct pk_clock_facts facts;
	pk_wallclock_facts(model->env->clock, &facts);
	return pk_clock_certain_s(&facts);
}

static void answer(struct pk_model *model, enum pk_up_event_type type, int64_t serial)
{
	pk_model_update_post(model, &(struct pk_up_event){.type = type, .serial = serial});
}

// Paths of blobs say nothing to a person and leave no room for what does.
static void shorten(const char *reason, char out[PK_UP_REASON_MAX])
{
	static const char mark[] = "/blobs/sha256/";
	const char *at = strstr(reason, mark);
	const char *hex = at ? at + sizeof(mark) - 1 : NULL;
	if (!at || strspn(hex, "0123456789abcdef") < 64) {
		pk_text_format(out, PK_UP_REASON_MAX, "%s", reason);
		return;
	}
	while (at > reason && at[-1] != ' ')
		at--;
	pk_text_format(out, PK_UP_REASON_MAX, "%.*sblob %.12s%s", (int)(at - reason), reason, hex,
		hex + 64);
}

static void fail(struct pk_model *model, int64_t serial, const char *long_reason, bool permanent)
{
	char reason[PK_UP_REASON_MAX];
	shorten(long_reason, reason);
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_FAILED,
					    .serial = serial,
					    .reason = reason,
					    .permanent = permanent});
}

static void do_save(struct pk_model *model, const struct pk_up_action *action)
{
	struct pk_up_record *record = &model->update.record;
	size_t n_kept = (size_t)model->config->keep - 1; // beside `previous`
	PK_FAULT("update-save");
	record->n_older = record->n_older < n_kept ? record->n_older : n_kept;
	model->state.update = model->update.record;
	bool saved = pk_model_save(model);
	PK_FAULT("update-saved");
	answer(model, saved ? PK_UP_SAVED : PK_UP_SAVE_FAILED, action->serial);
}

// Whether this node takes part in a digest's rollout: by the config's percentage, and by the one
// that stands in the signed model once that is known.
static bool is_held(const struct pk_model *model, const char *digest)
{
	double percent = model->config->rollout;
	if (strcmp(model->signed_rollout_of, digest) == 0 && model->signed_rollout < percent)
		percent = model->signed_rollout;
	return pk_rollout_bucket(digest, model->env->node_id) >= percent;
}

static void resolved(struct pk_model *model, int64_t serial, const char *digest)
{
	pk_model_update_post(model, &(struct pk_up_event){
					    .type = PK_UP_RESOLVED,
					    .serial = serial,
					    .digest = digest,
					    .held = is_held(model, digest),
					    .any_seq = pk_model_ref_is_fixed(model->ref),
				    });
}

static void do_resolve(struct pk_model *model, const struct pk_up_action *action);

static void on_resolved(struct pk_model *model, struct pk_model_job *job)
{
	char digest[PK_DIGEST_TEXT];
	if (strcmp(job->ref, model->ref) != 0) { // the config names another one meanwhile
		do_resolve(model, &(struct pk_up_action){.serial = job->serial});
		return;
	}
	model->checked_ns = pk_realtime_ns();
	model->retry_after_ns = job->resolved.retry_after_ns;
	if (job->code < 0) {
		pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_RESOLVE_FAILED,
						    .serial = job->serial,
						    .reason = pk_err_text(&job->err, job->code)});
		return;
	}
	if (job->resolved.not_modified)
		snprintf(digest, sizeof(digest), "%s", model->memo.digest);
	else
		pk_digest_format(&job->resolved.digest, digest);
	pk_model_memo_keep(model, job->resolved.etag, digest);
	resolved(model, job->serial, digest);
}

static void do_resolve(struct pk_model *model, const struct pk_up_action *action)
{
	pk_model_job_forget(&model->resolve_job);
	if (pk_model_ref_is_fixed(model->ref) && model->memo.digest[0]) {
		resolved(model, action->serial, model->memo.digest); // nothing can change
		return;
	}
	pk_model_job_post(model, PK_JOB_RESOLVE, &model->resolve_job, NULL, on_resolved);
	if (model->resolve_job)
		model->resolve_job->serial = action->serial;
	else
		pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_RESOLVE_FAILED,
						    .serial = action->serial,
						    .reason = "out of memory"});
}

static void post_work(struct pk_model *model, enum pk_model_job_kind kind, int64_t serial,
	void (*finish)(struct pk_model *model, struct pk_model_job *job))
{
	pk_model_job_forget(&model->work_job);
	pk_model_job_post(
		model, kind, &model->work_job, model->update.record.candidate.digest, finish);
	if (model->work_job)
		model->work_job->serial = serial;
	else
		fail(model, serial, "out of memory", false);
}

static bool failed(struct pk_model *model, const struct pk_model_job *job)
{
	if (job->code < 0)
		fail(model, job->serial, pk_err_text(&job->err, job->code), job->permanent);
	return job->code < 0;
}

static void on_fetched(struct pk_model *model, struct pk_model_job *job)
{
	model->retry_after_ns = job->report.retry_after_ns;
	if (job->code == -ENOSPC) // what a kill kept from being removed; the next try finds room
		model->env->gc(model->env->ctx);
	if (failed(model, job))
		return;
	pk_model_tell_fetched(model, job);
	answer(model, PK_UP_FETCHED, job->serial);
}

static void do_fetch(struct pk_model *model, const struct pk_up_action *action)
{
	post_work(model, PK_JOB_FETCH, action->serial, on_fetched);
}

static void on_verified(struct pk_model *model, struct pk_model_job *job)
{
	if (failed(model, job))
		return;
	pk_text_format(model->verified_by, sizeof(model->verified_by), "%s", job->verified.by);
	model->signed_rollout = job->verified.rollout;
	memcpy(model->signed_rollout_of, job->digest, sizeof(model->signed_rollout_of));
	pk_model_update_post(model, &(struct pk_up_event){
					    .type = PK_UP_VERIFIED,
					    .serial = job->serial,
					    .seq = job->verified.seq,
					    .trusted = job->verified.trusted,
					    .held = is_held(model, job->digest),
				    });
}

static void do_verify(struct pk_model *model, const struct pk_up_action *action)
{
	post_work(model, PK_JOB_VERIFY, action->serial, on_verified);
}

static void on_admit_prepared(struct pk_model *model, struct pk_model_job *job)
{
	if (failed(model, job))
		return;
	pk_artifact_unref(model->candidate);
	model->candidate = pk_artifact_ref(job->artifact);
	pk_model_admit(model);
}

void pk_model_update_admitted(struct pk_model *model, const struct pk_build_result *result)
{
	if (result->code == 0)
		answer(model, PK_UP_ADMITTED, model->update.serial);
	else
		fail(model, model->update.serial, result->error ? result->error : "no reason given",
			result->permanent);
}

static void do_admit(struct pk_model *model, const struct pk_up_action *action)
{
	PK_FAULT("admit");
	post_work(model, PK_JOB_PREPARE, action->serial, on_admit_prepared);
}

static void do_find_engine(struct pk_model *model, const struct pk_up_action *action)
{
	const struct pk_engine_file *file =
		model->candidate ? &model->candidate->files[PK_ENGINE_TUNED] : NULL;
	const char *broken =
		file && file->path ? pk_state_broken_cause(&model->state, file->digest) : NULL;
	if (!file || !file->path)
		fail(model, action->serial,
			model->target.better_cause[0] ? model->target.better_cause
						      : "no runtime for it",
			false);
	else if (broken)
		fail(model, action->serial, broken, true);
	else
		answer(model, pk_model_is_file(file->path) ? PK_UP_BUILT : PK_UP_ENGINE_MISSING,
			action->serial);
}

static void on_candidate_built(struct pk_model *model, const struct pk_build_result *result)
{
	if (result->code == 0)
		answer(model, PK_UP_BUILT, model->update.serial);
	else
		fail(model, model->update.serial, result->error ? result->error : "no reason given",
			result->permanent);
}

static void do_build(struct pk_model *model, const struct pk_up_action *action)
{
	PK_FAULT("build");
	if (model->candidate)
		pk_model_build_apart(model, model->candidate, on_candidate_built);
	else
		fail(model, action->serial, "it is not prepared", false);
}

static int minutes_of(const char *text, int otherwise)
{
	int hours = 0, minutes = 0;
	return sscanf(text, "%d:%d", &hours, &minutes) == 2 ? hours * 60 + minutes : otherwise;
}

bool pk_model_window(const struct pk_model *model, struct pk_window *out)
{
	static const char days[] = "sun mon tue wed thu fri sat";
	const struct pk_window_config *config = &model->config->window;
	*out = (struct pk_window){.days = config->n_days ? 0 : PK_DAYS_ALL, .utc = config->utc};
	for (size_t i = 0; i < config->n_days; i++) {
		const char *at = strstr(days, config->days[i]);
		out->days |= at ? 1u << ((at - days) / 4) : 0;
	}
	out->from_min = minutes_of(config->from, 0);
	out->to_min = minutes_of(config->to, out->from_min);
	return config->n_days || config->from[0] || config->to[0];
}

static bool nothing_serves(const struct pk_model *model)
{
	return pk_fallback_serving(&model->fallback) == PK_ENGINE_NONE;
}

// Seconds of wall time until the window opens; 0: now.
static int64_t window_wait_s(const struct pk_model *model, int64_t now_s)
{
	struct pk_window window;
	return pk_model_window(model, &window) ? pk_window_wait_s(&window, now_s) : 0;
}

static int64_t holdoff_left_ns(struct pk_model *model)
{
	int64_t holdoff_ns = model->config->window.holdoff_ns, now_ns = pk_boottime_ns();
	if (holdoff_ns <= 0)
		return 0;
	if (!model->holdoff_until_ns)
		model->holdoff_until_ns = now_ns + (int64_t)(pk_chance() * (double)holdoff_ns);
	return model->holdoff_until_ns > now_ns ? model->holdoff_until_ns - now_ns : 0;
}

static void open_now(struct pk_model *model)
{
	struct pk_up_event event = {.type = PK_UP_OPEN, .serial = model->update.serial};
	model->wait_until_s = model->holdoff_until_ns = 0;
	pk_watch_baseline(&model->watch, &event.baseline);
	pk_model_update_post(model, &event);
}

static void look_at_window(void *ctx)
{
	struct pk_model *model = ctx;
	struct pk_clock_facts facts;
	pk_wallclock_facts(model->env->clock, &facts);
	int64_t now_s = pk_clock_likely_s(&facts), wait_s = window_wait_s(model, now_s);
	if (model->update.phase != PK_UP_WAIT)
		return;
	if (model->update.hurry || nothing_serves(model)) {
		open_now(model);
		return;
	}
	int64_t wait_ns = (wait_s < LOOK_AGAIN_S ? wait_s : LOOK_AGAIN_S) * PK_NS_PER_S;
	bool tell = model->wait_until_s == 0;
	model->wait_until_s = wait_s > 0 ? now_s + wait_s : 0;
	if (wait_s == 0)
		wait_ns = holdoff_left_ns(model);
	if (wait_ns <= 0) {
		open_now(model);
		return;
	}
	if (tell)
		pk_model_tell_waiting(model, wait_s > 0 ? wait_s * PK_NS_PER_S : wait_ns);
	pk_loop_start_timer(model->env->loop, &model->wait_timer, wait_ns + PK_NS_PER_S / 100);
}

static void do_wait(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	model->wait_until_s = 0;
	look_at_window(model);
}

static void do_activate(struct pk_model *model, const struct pk_up_action *action)
{
	PK_FAULT("activate");
	if (!model->candidate) {
		fail(model, action->serial, "it is not prepared", false);
		return;
	}
	pk_model_hand_over(model, model->candidate);
	PK_FAULT("handed-over");
}

static void do_observe(struct pk_model *model, const struct pk_up_action *action)
{
	PK_FAULT("observe");
	pk_watch_begin(&model->watch, pk_now_ns());
	if (model->config->check.observe_ns == 0)
		answer(model, PK_UP_OBSERVED, action->serial);
}

static void do_serve_active(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	pk_model_serve(model);
}

static void do_stop(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	pk_model_job_forget(&model->work_job);
	pk_builder_cancel(model->env->builder, &model->admit_job);
	pk_model_build_apart_cancel(model);
	pk_loop_stop_timer(&model->wait_timer);
	model->wait_until_s = model->holdoff_until_ns = 0;
	pk_watch_end(&model->watch);
}

static int64_t poll_delay_ns(struct pk_model *model, unsigned n_failures)
{
	const struct pk_poll_config *poll = &model->config->poll;
	const struct pk_poll_policy policy = {.interval_ns = poll->interval_ns,
		.backoff_max_ns = poll->backoff_max_ns,
		.jitter = poll->jitter};
	int64_t asked_ns = model->retry_after_ns;
	bool first = !model->started;
	model->started = true;
	model->retry_after_ns = 0;
	if (n_failures > 0)
		return pk_poll_backoff_ns(&policy, n_failures, asked_ns, pk_chance());
	if (!first)
		return pk_poll_next_ns(&policy, pk_chance());
	// A fleet that starts at once asks at once, but for what nobody else is asked for, and for
	// a first model.
	bool alone = !pk_model_ref_is_open(model->ref) || !model->update.record.active.digest[0];
	return alone ? 0 : pk_poll_first_ns(&policy, pk_chance());
}

static void do_poll(struct pk_model *model, const struct pk_up_action *action)
{
	pk_loop_start_timer(
		model->env->loop, &model->poll_timer, poll_delay_ns(model, action->n_failures));
}

static void on_poll(void *ctx)
{
	pk_model_update_post(ctx, &(struct pk_up_event){.type = PK_UP_CHECK});
}

static void do_deadline(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	model->phase_ns = pk_now_ns();
	if (model->update.phase == PK_UP_IDLE)
		pk_loop_stop_timer(&model->deadline_timer);
	else
		pk_loop_start_timer(model->env->loop, &model->deadline_timer, deadline_ns(model));
}

static void on_deadline(void *ctx)
{
	pk_model_update_post(ctx, &(struct pk_up_event){.type = PK_UP_DEADLINE});
}

static void do_no_model(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	pk_model_post(model, &(struct pk_fb_event){
				     .type = PK_FB_ARTIFACT_FAILED, .cause = model->update.reason});
}

static void do_gc(struct pk_model *model, pk_unused const struct pk_up_action *action)
{
	model->env->gc(model->env->ctx);
}

static void do_tell(struct pk_model *model, const struct pk_up_action *action)
{
	if (action->what == PK_UP_TELL_FOUND)
		model->begun_ns = pk_now_ns();
	pk_model_tell(model, action->what, action->digest);
}

static void (*const doers[])(struct pk_model *model, const struct pk_up_action *action) = {
	[PK_UP_DO_SAVE] = do_save,
	[PK_UP_DO_RESOLVE] = do_resolve,
	[PK_UP_DO_FETCH] = do_fetch,
	[PK_UP_DO_VERIFY] = do_verify,
	[PK_UP_DO_ADMIT] = do_admit,
	[PK_UP_DO_FIND_ENGINE] = do_find_engine,
	[PK_UP_DO_BUILD] = do_build,
	[PK_UP_DO_WAIT] = do_wait,
	[PK_UP_DO_ACTIVATE] = do_activate,
	[PK_UP_DO_OBSERVE] = do_observe,
	[PK_UP_DO_SERVE_ACTIVE] = do_serve_active,
	[PK_UP_DO_STOP] = do_stop,
	[PK_UP_DO_POLL] = do_poll,
	[PK_UP_DO_DEADLINE] = do_deadline,
	[PK_UP_DO_NO_MODEL] = do_no_model,
	[PK_UP_DO_GC] = do_gc,
	[PK_UP_DO_TELL] = do_tell,
};

static struct pk_artifact *pick(struct pk_artifact *const have[3], const struct pk_up_slot *slot)
{
	for (size_t i = 0; i < 3; i++) {
		if (have[i] && slot->digest[0] && strcmp(have[i]->digest, slot->digest) == 0)
			return pk_artifact_ref(have[i]);
	}
	return NULL;
}

// Prepared artifacts follow the record's slots.
static void sort_artifacts(struct pk_model *model)
{
	const struct pk_up_record *record = &model->update.record;
	struct pk_artifact *const have[3] = {model->active, model->candidate, model->previous};
	model->active = pick(have, &record->active);
	model->candidate = pick(have, &record->candidate);
	model->previous = pick(have, &record->previous);
	for (size_t i = 0; i < 3; i++)
		pk_artifact_unref(have[i]);
}

static void step(struct pk_model *model, const struct pk_up_event *event)
{
	struct pk_up_actions actions;
	pk_update_step(&model->update, event, &actions);
	sort_artifacts(model);
	// In memory the record is what it will be: readers of slots need not know of the disk.
	model->state.update = model->update.record;
	for (size_t i = 0; i < actions.n; i++)
		doers[actions.items[i].type](model, &actions.items[i]);
}

// Actions may post further events: they wait until this one is done with.
void pk_model_update_post(struct pk_model *model, const struct pk_up_event *event)
{
	assert(model->n_update_pending < PK_MODEL_MAX_PENDING);
	struct pk_model_update_pending *pending = &model->update_pending[model->n_update_pending++];
	pending->event = *event;
	pk_text_format(
		pending->digest, sizeof(pending->digest), "%s", event->digest ? event->digest : "");
	pk_text_format(
		pending->reason, sizeof(pending->reason), "%s", event->reason ? event->reason : "");
	if (model->update_busy)
		return;
	model->update_busy = true;
	while (model->n_update_pending > 0) {
		struct pk_model_update_pending now = model->update_pending[0];
		now.event.digest = now.digest;
		now.event.reason = now.reason;
		now.event.now_s = pk_model_wall_s(model);
		memmove(model->update_pending, model->update_pending + 1,
			--model->n_update_pending * sizeof(model->update_pending[0]));
		step(model, &now.event);
	}
	model->update_busy = false;
}

// What the chain says.

void pk_model_update_served(struct pk_model *model, enum pk_engine_kind kind)
{
	const struct pk_update *update = &model->update;
	bool candidate = kind < PK_N_MADE_KINDS && model->current &&
			 strcmp(model->current->digest, update->record.candidate.digest) == 0;
	PK_FAULT("served");
	if (update->phase == PK_UP_ACTIVATE && update->serial && candidate)
		answer(model, PK_UP_ACTIVATED, update->serial);
	else if (update->phase == PK_UP_ROLLBACK && update->serial && pk_model_serves_active(model))
		answer(model, PK_UP_SERVED, update->serial);
	else if (kind == PK_ENGINE_TUNED && pk_model_serves_active(model))
		pk_model_warm(model);
}

void pk_model_update_refused(struct pk_model *model, const char *cause, bool stale)
{
	if (model->update.phase == PK_UP_ACTIVATE)
		fail(model, model->update.serial, cause, !stale);
}

static bool on_probation(const struct pk_model *model)
{
	return model->update.phase == PK_UP_ACTIVATE || model->update.phase == PK_UP_OBSERVE;
}

void pk_model_update_fault(struct pk_model *model, const char *cause)
{
	if (on_probation(model))
		fail(model, model->update.serial, cause, true);
}

void pk_model_update_crash(struct pk_model *model, const char *cause)
{
	char reason[PK_UP_REASON_MAX];
	if (!on_probation(model))
		return;
	model->watch.n_restarts++;
	if (model->update.phase == PK_UP_OBSERVE &&
		model->watch.n_restarts <= (unsigned)model->config->check.max_restarts)
		return;
	pk_text_format(reason, sizeof(reason), "the worker ended with it: %s", cause);
	fail(model, model->update.serial, reason, true);
}

void pk_model_heartbeat(struct pk_model *model, const json_t *cameras)
{
	const struct pk_update *update = &model->update;
	struct pk_watch_result result;
	char reason[PK_UP_REASON_MAX];
	int64_t now_ns = pk_now_ns();
	pk_watch_heartbeat(&model->watch, model->name, cameras, !nothing_serves(model), now_ns);
	if (update->phase != PK_UP_OBSERVE || !update->serial || !model->watch.probation_ns)
		return;
	enum pk_watch_verdict verdict = pk_watch_judge(&model->watch, &model->config->check,
		&update->record.baseline, now_ns, &result, reason);
	if (verdict == PK_WATCH_GOES_ON)
		return;
	pk_model_tell_observed(model, &result, verdict == PK_WATCH_WELL ? "well" : reason);
	if (verdict == PK_WATCH_WORSE)
		fail(model, update->serial, reason, true);
	else
		pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_OBSERVED,
						    .serial = update->serial,
						    .baseline = result.is});
}

static char *policy_text(const struct pk_model *model);
static char *entry_text(const struct pk_model *model);

static void on_serve_timer(void *ctx)
{
	pk_model_serve(ctx);
}

void pk_model_update_begin(struct pk_model *model)
{
	model->poll_timer = (struct pk_timer){.fire = on_poll, .ctx = model};
	model->deadline_timer = (struct pk_timer){.fire = on_deadline, .ctx = model};
	model->wait_timer = (struct pk_timer){.fire = look_at_window, .ctx = model};
	model->serve_timer = (struct pk_timer){.fire = on_serve_timer, .ctx = model};
	model->signed_rollout = 100;
	model->policy = policy_text(model);
	model->entry = entry_text(model);
	pk_update_init(&model->update);
	model->update.record = model->state.update;
	pk_model_memo_load(model);
	pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_START});
}

void pk_model_update_end(struct pk_model *model)
{
	struct pk_model_job **const jobs[] = {
		&model->resolve_job, &model->work_job, &model->serve_job, &model->warm_job};
	struct pk_timer *const timers[] = {&model->poll_timer, &model->deadline_timer,
		&model->wait_timer, &model->serve_timer};
	for (size_t i = 0; i < PK_ARRAY_LEN(jobs); i++)
		pk_model_job_forget(jobs[i]);
	for (size_t i = 0; i < PK_ARRAY_LEN(timers); i++)
		pk_loop_stop_timer(timers[i]);
	pk_builder_cancel(model->env->builder, &model->admit_job);
	pk_watch_finish(&model->watch);
	free(model->policy);
	free(model->entry);
	pk_artifact_unref(model->active);
	pk_artifact_unref(model->candidate);
	pk_artifact_unref(model->previous);
}

static void forget_artifacts(struct pk_model *model)
{
	struct pk_artifact **const all[] = {&model->active, &model->candidate, &model->previous};
	for (size_t i = 0; i < PK_ARRAY_LEN(all); i++) {
		pk_artifact_unref(*all[i]);
		*all[i] = NULL;
	}
}

// What judges a candidate, as text.
static char *policy_text(const struct pk_model *model)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 64u << 10);
	pk_buf_printf(&text, "%s\n%g\n", model->ref, model->config->rollout);
	pk_schema_dump(&pk_config_signature_schema, &model->config->signature, &text);
	pk_schema_dump(&pk_config_limits_schema, &model->config->limits, &text);
	return pk_buf_error(&text) ? NULL : strdup(pk_buf_cstr(&text));
}

// All that the config says of it.
static char *entry_text(const struct pk_model *model)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 64u << 10);
	pk_schema_dump(&pk_config_model_schema, model->config, &text);
	return pk_buf_error(&text) ? NULL : strdup(pk_buf_cstr(&text));
}

// Takes the text over; whether it is what *kept was.
static bool keep_text(char **kept, char *text)
{
	bool same = text && *kept && strcmp(text, *kept) == 0;
	free(*kept);
	*kept = text;
	return same;
}

// A tag may have moved: the operator who reloads wants to know. Who changed the model waits for the
// answer; any other reload may be a whole fleet's, which must not ask in one second.
static void look_after_reload(struct pk_model *model, bool same_entry)
{
	const struct pk_poll_config *poll = &model->config->poll;
	int64_t spread_ns = PK_MIN(poll->interval_ns, RELOAD_SPREAD_NS);
	int64_t left_ns = pk_timer_left_ns(&model->poll_timer);
	if (!same_entry || !pk_model_ref_is_open(model->ref)) {
		pk_model_update_post(
			model, &(struct pk_up_event){.type = PK_UP_CHECK, .operator_ = true});
	} else if (left_ns >= 0) {
		int64_t wait_ns = (int64_t)(pk_chance() * (double)spread_ns);
		pk_loop_start_timer(model->env->loop, &model->poll_timer, PK_MIN(wait_ns, left_ns));
	}
}

void pk_model_update_config(struct pk_model *model, bool fresh)
{
	bool same = keep_text(&model->policy, policy_text(model));
	bool same_entry = keep_text(&model->entry, entry_text(model));
	if (fresh) { // their engines are others now
		pk_model_build_apart_cancel(model);
		forget_artifacts(model);
		pk_model_serve(model);
	}
	if (fresh || !same)
		pk_model_update_post(model, &(struct pk_up_event){.type = PK_UP_POLICY});
	look_after_reload(model, same_entry && !fresh);
}
