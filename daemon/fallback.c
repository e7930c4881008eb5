// SPDX-License-Identifier: Apache-2.0
// Events change facts; from the facts follow what is still to be done, the rung and its cause. So
// every order of events ends in the same place.
#include "daemon/fallback.h"

#include <assert.h>
#include <string.h>

#include "base/attr.h"
#include "daemon/text.h"

const char *pk_rung_name(enum pk_rung rung)
{
	static const char *const names[] = {"passthrough", "cpu", "building", "engine"};
	return (size_t)rung < PK_ARRAY_LEN(names) ? names[rung] : "passthrough";
}

const char *pk_engine_kind_name(enum pk_engine_kind kind)
{
	static const char *const names[] = {"quick", "tuned", "old"};
	return (size_t)kind < PK_ARRAY_LEN(names) ? names[kind] : "none";
}

static void copy(char *out, const char *text)
{
	pk_text_format(out, PK_CAUSE_MAX, "%s", text ? text : "");
}

static void act(struct pk_fb_actions *actions, enum pk_fb_action_type type,
	enum pk_engine_kind kind, unsigned n_failures)
{
	assert(actions->n < PK_FB_MAX_ACTIONS);
	actions->items[actions->n++] =
		(struct pk_fb_action){.type = type, .kind = kind, .n_failures = n_failures};
}

static bool is(
	const struct pk_fallback *fallback, enum pk_engine_kind kind, enum pk_engine_state state)
{
	return fallback->engines[kind].state == state;
}

// The engine that an event speaks of, when it is in the state in which that event is expected;
// else NULL: a late answer of something that was cancelled.
static struct pk_fallback_engine *expecting(
	struct pk_fallback *fallback, const struct pk_fb_event *event, enum pk_engine_state state)
{
	if (event->kind >= PK_N_ENGINE_KINDS || !is(fallback, event->kind, state))
		return NULL;
	return &fallback->engines[event->kind];
}

static enum pk_engine_kind kind_in(const struct pk_fallback *fallback, enum pk_engine_state state)
{
	static const enum pk_engine_kind best_first[] = {
		PK_ENGINE_TUNED, PK_ENGINE_OLD, PK_ENGINE_QUICK};
	for (size_t i = 0; i < PK_ARRAY_LEN(best_first); i++) {
		if (is(fallback, best_first[i], state))
			return best_first[i];
	}
	return PK_ENGINE_NONE;
}

enum pk_engine_kind pk_fallback_serving(const struct pk_fallback *fallback)
{
	return kind_in(fallback, PK_ENGINE_SERVING);
}

static void drop_old(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	if (is(fallback, PK_ENGINE_OLD, PK_ENGINE_UNKNOWN))
		return;
	fallback->engines[PK_ENGINE_OLD] = (struct pk_fallback_engine){.state = PK_ENGINE_UNKNOWN};
	act(actions, PK_FB_DROP_OLD, PK_ENGINE_OLD, 0);
}

// Nobody can make an old engine again: it goes. The others are tried again later.
static void fail_engine(struct pk_fallback *fallback, enum pk_engine_kind kind, const char *cause,
	struct pk_fb_actions *actions)
{
	if (kind == PK_ENGINE_OLD) {
		drop_old(fallback, actions);
		return;
	}
	struct pk_fallback_engine *engine = &fallback->engines[kind];
	engine->state = PK_ENGINE_FAILED;
	copy(engine->cause, cause);
	engine->n_failures++;
	act(actions, PK_FB_START_TIMER, kind, engine->n_failures);
}

static bool with_worker(enum pk_engine_state state)
{
	return state == PK_ENGINE_SERVING || state == PK_ENGINE_LOADING;
}

// What only the worker knew is gone; files are still there.
static void forget_worker(struct pk_fallback *fallback)
{
	for (int i = 0; i < PK_N_ENGINE_KINDS; i++) {
		if (with_worker(fallback->engines[i].state))
			fallback->engines[i].state = PK_ENGINE_READY;
	}
	fallback->told = (struct pk_fallback_label){.kind = PK_ENGINE_NONE};
}

// That engine stays in service as OLD until what replaces it serves; it is about to be reset.
static void keep_as_old(
	struct pk_fallback *fallback, enum pk_engine_kind kind, struct pk_fb_actions *actions)
{
	bool serves = is(fallback, kind, PK_ENGINE_SERVING);
	fallback->engines[PK_ENGINE_OLD] =
		(struct pk_fallback_engine){.state = serves ? PK_ENGINE_SERVING : PK_ENGINE_READY};
	fallback->old_tuned = kind == PK_ENGINE_TUNED;
	if (fallback->told.kind == kind)
		fallback->told.kind = PK_ENGINE_OLD;
	act(actions, PK_FB_KEEP_OLD, kind, 0);
}

// What is worth keeping when both are reset: what serves, else what could. NONE: OLD is it, or
// there is nothing.
static enum pk_engine_kind worth_keeping(const struct pk_fallback *fallback)
{
	enum pk_engine_kind kind = pk_fallback_serving(fallback);
	if (kind == PK_ENGINE_NONE && is(fallback, PK_ENGINE_OLD, PK_ENGINE_UNKNOWN))
		kind = kind_in(fallback, PK_ENGINE_LOADING);
	if (kind == PK_ENGINE_NONE && is(fallback, PK_ENGINE_OLD, PK_ENGINE_UNKNOWN))
		kind = kind_in(fallback, PK_ENGINE_READY);
	return kind == PK_ENGINE_OLD ? PK_ENGINE_NONE : kind;
}

static void renew_engines(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	enum pk_engine_kind kept = worth_keeping(fallback);
	if (kept != PK_ENGINE_NONE)
		keep_as_old(fallback, kept, actions);
	act(actions, PK_FB_CANCEL_BUILDS, PK_ENGINE_NONE, 0);
	act(actions, PK_FB_RENEW, PK_ENGINE_NONE, 0);
	fallback->engines[PK_ENGINE_QUICK] =
		(struct pk_fallback_engine){.state = PK_ENGINE_UNKNOWN};
	fallback->engines[PK_ENGINE_TUNED] =
		(struct pk_fallback_engine){.state = PK_ENGINE_UNKNOWN};
	// What was on its way to the worker is no more; its answer will mean nothing.
	if (is(fallback, PK_ENGINE_OLD, PK_ENGINE_LOADING))
		fallback->engines[PK_ENGINE_OLD].state = PK_ENGINE_READY;
}

// One handler per event; a handler ignores what does not fit the state.
typedef void handler_fn(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions);

static void on_worker_up(struct pk_fallback *fallback, pk_unused const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	forget_worker(fallback);
	fallback->worker_up = true;
	copy(fallback->worker_cause, "");
}

static void blame_engine(struct pk_fallback *fallback, enum pk_engine_kind kind, const char *cause,
	struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = &fallback->engines[kind];
	if (!with_worker(engine->state) || ++engine->n_crashes < PK_FB_MAX_CRASHES)
		return;
	char text[PK_CAUSE_MAX];
	pk_text_format(text, sizeof(text), "the worker died %u times with this engine: %s",
		engine->n_crashes, cause ? cause : "");
	engine->n_crashes = 0;
	fail_engine(fallback, kind, text, actions);
}

static void on_worker_down(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	for (int i = 0; event->crashed && i < PK_N_ENGINE_KINDS; i++)
		blame_engine(fallback, (enum pk_engine_kind)i, event->cause, actions);
	forget_worker(fallback);
	fallback->worker_up = false;
	copy(fallback->worker_cause, event->cause);
}

static void on_artifact_ready(struct pk_fallback *fallback,
	pk_unused const struct pk_fb_event *event, struct pk_fb_actions *actions)
{
	fallback->artifact_ready = true;
	copy(fallback->artifact_cause, "");
	renew_engines(fallback, actions);
}

static void on_artifact_failed(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	copy(fallback->artifact_cause,
		event->cause && event->cause[0] ? event->cause : "artifact cannot be had");
}

static void on_engine_found(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_CHECKING);
	if (engine)
		engine->state = PK_ENGINE_READY;
}

static void on_engine_missing(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_CHECKING);
	if (engine)
		engine->state = PK_ENGINE_MISSING;
}

static void on_engine_broken(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_CHECKING);
	if (!engine)
		return;
	engine->state = PK_ENGINE_BROKEN;
	copy(engine->cause, event->cause);
}

static void on_build_done(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_BUILDING);
	if (!engine)
		return;
	engine->state = PK_ENGINE_READY;
	copy(engine->cause, "");
}

static void on_build_failed(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_BUILDING);
	if (!engine)
		return;
	if (!event->permanent) {
		fail_engine(fallback, event->kind, event->cause, actions);
		return;
	}
	engine->state = PK_ENGINE_BROKEN;
	copy(engine->cause, event->cause);
	act(actions, PK_FB_REMEMBER_BROKEN, event->kind, 0);
}

// The facts once `kind` serves; the others give way.
static void serve(struct pk_fallback *fallback, enum pk_engine_kind kind)
{
	for (int i = 0; i < PK_N_ENGINE_KINDS; i++) {
		if (fallback->engines[i].state == PK_ENGINE_SERVING)
			fallback->engines[i].state = PK_ENGINE_READY;
	}
	fallback->engines[kind].state = PK_ENGINE_SERVING;
	fallback->engines[kind].refused = false;
	copy(fallback->engines[kind].cause, "");
}

static void on_assigned(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	if (!expecting(fallback, event, PK_ENGINE_LOADING))
		return;
	serve(fallback, event->kind);
	if (event->kind != PK_ENGINE_OLD)
		drop_old(fallback, actions);
}

static void on_assign_failed(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_LOADING);
	if (!engine)
		return;
	if (event->stale && event->kind != PK_ENGINE_OLD)
		act(actions, PK_FB_REMOVE_ENGINE, event->kind, 0);
	// One rebuild at once; an engine that is refused again right after it waits like any
	// failure.
	if (!event->stale || event->kind == PK_ENGINE_OLD || engine->refused) {
		fail_engine(fallback, event->kind, event->cause, actions);
		return;
	}
	engine->refused = true;
	engine->state = PK_ENGINE_MISSING;
	copy(engine->cause, event->cause);
}

static void on_run_fault(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	enum pk_engine_kind serving = pk_fallback_serving(fallback);
	if (serving != PK_ENGINE_NONE)
		fail_engine(fallback, serving, event->cause, actions);
}

static void on_proven(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_SERVING);
	if (engine)
		engine->n_failures = engine->n_crashes = 0;
}

static void on_retry(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = expecting(fallback, event, PK_ENGINE_FAILED);
	if (engine)
		engine->state = PK_ENGINE_UNKNOWN;
}

static void on_rebuild(struct pk_fallback *fallback, pk_unused const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	act(actions, PK_FB_FORGET_BROKEN, PK_ENGINE_NONE, 0);
	struct pk_fallback_engine *quick = &fallback->engines[PK_ENGINE_QUICK];
	struct pk_fallback_engine *tuned = &fallback->engines[PK_ENGINE_TUNED];
	if (quick->state == PK_ENGINE_BROKEN || quick->state == PK_ENGINE_FAILED)
		*quick = (struct pk_fallback_engine){.state = PK_ENGINE_UNKNOWN};
	if (tuned->state == PK_ENGINE_BUILDING || tuned->state == PK_ENGINE_CHECKING)
		return;
	if (worth_keeping(fallback) == PK_ENGINE_TUNED)
		keep_as_old(fallback, PK_ENGINE_TUNED, actions);
	*tuned = (struct pk_fallback_engine){.state = PK_ENGINE_MISSING};
	copy(tuned->cause, "rebuild was asked for");
}

static void on_policy(struct pk_fallback *fallback, const struct pk_fb_event *event,
	pk_unused struct pk_fb_actions *actions)
{
	fallback->cpu_ok = event->cpu_ok;
	copy(fallback->better_cause, event->cause);
}

static handler_fn *const handlers[PK_N_FB_EVENTS] = {
	[PK_FB_WORKER_UP] = on_worker_up,
	[PK_FB_WORKER_DOWN] = on_worker_down,
	[PK_FB_ARTIFACT_READY] = on_artifact_ready,
	[PK_FB_ARTIFACT_FAILED] = on_artifact_failed,
	[PK_FB_ENGINE_FOUND] = on_engine_found,
	[PK_FB_ENGINE_MISSING] = on_engine_missing,
	[PK_FB_ENGINE_BROKEN] = on_engine_broken,
	[PK_FB_BUILD_DONE] = on_build_done,
	[PK_FB_BUILD_FAILED] = on_build_failed,
	[PK_FB_ASSIGNED] = on_assigned,
	[PK_FB_ASSIGN_FAILED] = on_assign_failed,
	[PK_FB_RUN_FAULT] = on_run_fault,
	[PK_FB_PROVEN] = on_proven,
	[PK_FB_RETRY] = on_retry,
	[PK_FB_REBUILD] = on_rebuild,
	[PK_FB_POLICY] = on_policy,
};

static bool tuned_at_hand(const struct pk_fallback *fallback)
{
	enum pk_engine_state tuned = fallback->engines[PK_ENGINE_TUNED].state;
	return tuned == PK_ENGINE_UNKNOWN || tuned == PK_ENGINE_CHECKING ||
	       tuned == PK_ENGINE_READY || with_worker(tuned);
}

// Quick engines are made only while nothing better is at hand.
static bool quick_wanted(const struct pk_fallback *fallback)
{
	return fallback->cpu_ok && !tuned_at_hand(fallback) &&
	       is(fallback, PK_ENGINE_OLD, PK_ENGINE_UNKNOWN);
}

// The quick engine goes first: it needs seconds, the tuned one minutes.
static bool quick_settled(const struct pk_fallback *fallback)
{
	enum pk_engine_state quick = fallback->engines[PK_ENGINE_QUICK].state;
	return !quick_wanted(fallback) || quick == PK_ENGINE_READY || with_worker(quick) ||
	       quick == PK_ENGINE_FAILED || quick == PK_ENGINE_BROKEN;
}

static void check_or_build(struct pk_fallback *fallback, enum pk_engine_kind kind, bool may_build,
	struct pk_fb_actions *actions)
{
	struct pk_fallback_engine *engine = &fallback->engines[kind];
	if (engine->state == PK_ENGINE_UNKNOWN) {
		engine->state = PK_ENGINE_CHECKING;
		act(actions, PK_FB_CHECK_ENGINE, kind, 0);
	} else if (engine->state == PK_ENGINE_MISSING && may_build) {
		engine->state = PK_ENGINE_BUILDING;
		act(actions, PK_FB_BUILD, kind, 0);
	}
}

// Work on the way to the tuned engine, in words.
static const char *const work_words[PK_N_ENGINE_STATES] = {
	[PK_ENGINE_UNKNOWN] = "loading the engine",
	[PK_ENGINE_CHECKING] = "loading the engine",
	[PK_ENGINE_MISSING] = "building the engine",
	[PK_ENGINE_BUILDING] = "building the engine",
	[PK_ENGINE_READY] = "loading the engine",
	[PK_ENGINE_LOADING] = "loading the engine",
};

static enum pk_rung judge_served(const struct pk_fallback *fallback, char *cause)
{
	copy(cause, fallback->better_cause);
	return fallback->better_cause[0] ? PK_RUNG_CPU : PK_RUNG_ENGINE;
}

static enum pk_rung judge_old(const struct pk_fallback *fallback, char *cause)
{
	const struct pk_fallback_engine *tuned = &fallback->engines[PK_ENGINE_TUNED];
	enum pk_rung rung = judge_served(fallback, cause);
	if (!work_words[tuned->state] && tuned->cause[0])
		pk_text_format(cause, PK_CAUSE_MAX, "still the old engine: %s", tuned->cause);
	return rung;
}

// Rung and cause, from the facts alone.
static enum pk_rung judge(const struct pk_fallback *fallback, char *cause)
{
	const struct pk_fallback_engine *tuned = &fallback->engines[PK_ENGINE_TUNED];
	enum pk_engine_kind serving = pk_fallback_serving(fallback);
	if (serving == PK_ENGINE_TUNED)
		return judge_served(fallback, cause);
	if (serving == PK_ENGINE_OLD && fallback->old_tuned)
		return judge_old(fallback, cause);
	if (!fallback->worker_up) {
		const char *why = fallback->worker_cause;
		pk_text_format(
			cause, PK_CAUSE_MAX, "worker is %s%s", why[0] ? "down: " : "starting", why);
		return PK_RUNG_PASSTHROUGH;
	}
	if (!fallback->artifact_ready) {
		copy(cause, fallback->artifact_cause[0] ? fallback->artifact_cause
							: "model is being fetched");
		return PK_RUNG_PASSTHROUGH;
	}
	if (work_words[tuned->state]) {
		pk_text_format(cause, PK_CAUSE_MAX, "%s%s%s", work_words[tuned->state],
			tuned->cause[0] ? ": " : "", tuned->cause);
		return PK_RUNG_BUILDING;
	}
	copy(cause, tuned->cause[0] ? tuned->cause : "no engine");
	return serving == PK_ENGINE_NONE ? PK_RUNG_PASSTHROUGH : PK_RUNG_CPU;
}

// The worker gets, with an engine, the rung and cause that hold from the moment it serves.
static void tell_worker(
	struct pk_fallback *fallback, enum pk_engine_kind kind, struct pk_fb_actions *actions)
{
	struct pk_fallback then = *fallback;
	if (kind != PK_ENGINE_NONE)
		serve(&then, kind);
	fallback->told.kind = kind;
	fallback->told.rung = judge(&then, fallback->told.cause);
	act(actions, PK_FB_ASSIGN, kind, 0);
}

// Which engine goes to the worker next, if any.
static void assign_best(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	if (!fallback->worker_up || kind_in(fallback, PK_ENGINE_LOADING) != PK_ENGINE_NONE)
		return;
	enum pk_engine_kind best = kind_in(fallback, PK_ENGINE_READY);
	if (best == PK_ENGINE_NONE || is(fallback, PK_ENGINE_TUNED, PK_ENGINE_SERVING) ||
		(best == PK_ENGINE_QUICK && !quick_wanted(fallback)))
		return;
	fallback->engines[best].state = PK_ENGINE_LOADING;
	tell_worker(fallback, best, actions);
}

// At the start nothing serves for a moment, and nobody needs to be woken for it.
static bool only_starting(const struct pk_fallback *fallback)
{
	return fallback->worker_up ? !fallback->artifact_ready && !fallback->artifact_cause[0]
				   : !fallback->worker_cause[0];
}

static void tell_rung(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	char cause[PK_CAUSE_MAX];
	enum pk_rung rung = judge(fallback, cause);
	if (rung == fallback->rung && strcmp(cause, fallback->cause) == 0)
		return;
	fallback->rung = rung;
	copy(fallback->cause, cause);
	act(actions, PK_FB_TELL_RUNG, PK_ENGINE_NONE, 0);
}

// Tells the world, and the worker's labels, what has become of it.
static void publish(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	tell_rung(fallback, actions);
	enum pk_engine_kind serving = pk_fallback_serving(fallback);
	const struct pk_fallback_label *told = &fallback->told;
	if (fallback->worker_up && kind_in(fallback, PK_ENGINE_LOADING) == PK_ENGINE_NONE &&
		(told->kind != serving || told->rung != fallback->rung ||
			strcmp(told->cause, fallback->cause) != 0))
		tell_worker(fallback, serving, actions);
	bool alarm = fallback->rung == PK_RUNG_PASSTHROUGH && !only_starting(fallback);
	if (alarm != fallback->alarm)
		act(actions, alarm ? PK_FB_ALARM_ON : PK_FB_ALARM_OFF, PK_ENGINE_NONE, 0);
	fallback->alarm = alarm;
}

static void reconcile(struct pk_fallback *fallback, struct pk_fb_actions *actions)
{
	if (fallback->artifact_ready) {
		check_or_build(fallback, PK_ENGINE_TUNED, quick_settled(fallback), actions);
		if (quick_wanted(fallback))
			check_or_build(fallback, PK_ENGINE_QUICK, true, actions);
		assign_best(fallback, actions);
	}
	publish(fallback, actions);
}

void pk_fallback_init(struct pk_fallback *fallback, bool cpu_ok, const char *better_cause)
{
	*fallback = (struct pk_fallback){
		.cpu_ok = cpu_ok,
		.rung = PK_RUNG_PASSTHROUGH,
		.told = {.kind = PK_ENGINE_NONE},
	};
	copy(fallback->better_cause, better_cause);
	copy(fallback->cause, "starting");
}

void pk_fallback_step(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions)
{
	actions->n = 0;
	handlers[event->type](fallback, event, actions);
	reconcile(fallback, actions);
}
