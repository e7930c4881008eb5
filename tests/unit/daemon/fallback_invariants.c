// SPDX-License-Identifier: Apache-2.0
// The laws of the fallback chain, said once for the exhaustive test and the simulation.
#include "tests/unit/daemon/fallback_invariants.h"

#include <stdio.h>
#include <string.h>

const char *const fallback_event_names[PK_N_FB_EVENTS] = {"worker-up", "worker-down",
	"artifact-ready", "artifact-failed", "engine-found", "engine-missing", "engine-broken",
	"build-done", "build-failed", "assigned", "assign-failed", "run-fault", "proven", "retry",
	"rebuild", "policy"};

static const char *const states[PK_N_ENGINE_STATES] = {"unknown", "checking", "missing", "building",
	"ready", "loading", "serving", "failed", "broken"};

const char *describe_fallback(const struct pk_fallback *f)
{
	static char texts[2][1024];
	static int turn;
	char *out = texts[turn ^= 1];
	snprintf(out, sizeof(texts[0]),
		"worker %d artifact %d cpu_ok %d better '%s' quick %s tuned %s old %s(%d) rung %s "
		"'%s' "
		"alarm %d told %d",
		f->worker_up, f->artifact_ready, f->cpu_ok, f->better_cause,
		states[f->engines[PK_ENGINE_QUICK].state],
		states[f->engines[PK_ENGINE_TUNED].state], states[f->engines[PK_ENGINE_OLD].state],
		f->old_tuned, pk_rung_name(f->rung), f->cause, f->alarm, f->told.kind);
	return out;
}

static const struct pk_fallback *law_before, *law_after;
static const struct pk_fb_event *law_event;

static void law(bool holds, const char *text)
{
	if (holds)
		return;
	print_error("broken: %s\n  before: %s\n  event: %s kind %d permanent %d stale %d crashed "
		    "%d\n  after: %s\n",
		text, describe_fallback(law_before), fallback_event_names[law_event->type],
		law_event->kind, law_event->permanent, law_event->stale, law_event->crashed,
		describe_fallback(law_after));
	fail();
}

static unsigned count(
	const struct pk_fb_actions *actions, enum pk_fb_action_type type, enum pk_engine_kind kind)
{
	unsigned n = 0;
	for (size_t i = 0; i < actions->n; i++)
		n += actions->items[i].type == type &&
		     (kind == PK_N_ENGINE_KINDS + 1 || actions->items[i].kind == kind);
	return n;
}
#define ANY_KIND ((enum pk_engine_kind)(PK_N_ENGINE_KINDS + 1))

static unsigned n_in(const struct pk_fallback *f, enum pk_engine_state state)
{
	unsigned n = 0;
	for (int i = 0; i < PK_N_ENGINE_KINDS; i++)
		n += f->engines[i].state == state;
	return n;
}

static void check_shape(const struct pk_fallback *f)
{
	enum pk_engine_state old = f->engines[PK_ENGINE_OLD].state;
	law(n_in(f, PK_ENGINE_SERVING) <= 1, "at most one engine serves");
	law(n_in(f, PK_ENGINE_LOADING) <= 1, "at most one engine is being loaded");
	law(f->worker_up || n_in(f, PK_ENGINE_SERVING) + n_in(f, PK_ENGINE_LOADING) == 0,
		"without a worker nothing serves or loads");
	law(old == PK_ENGINE_UNKNOWN || old == PK_ENGINE_READY || old == PK_ENGINE_LOADING ||
			old == PK_ENGINE_SERVING,
		"an old engine is never checked, built or retried");
	enum pk_engine_state quick = f->engines[PK_ENGINE_QUICK].state;
	law(old == PK_ENGINE_UNKNOWN ||
			(f->engines[PK_ENGINE_TUNED].state != PK_ENGINE_SERVING &&
				quick != PK_ENGINE_SERVING && quick != PK_ENGINE_LOADING),
		"an old engine goes when another one serves");
	law(f->engines[PK_ENGINE_TUNED].state != PK_ENGINE_SERVING ||
			n_in(f, PK_ENGINE_LOADING) == 0,
		"nothing is loaded over a tuned engine");
}

// Every state in which something is awaited was entered together with the request for it.
static void check_requests(const struct pk_fallback *before, const struct pk_fallback *after,
	const struct pk_fb_actions *actions)
{
	static const struct {
		enum pk_engine_state state;
		enum pk_fb_action_type request;
		const char *text;
	} rows[] = {
		{PK_ENGINE_CHECKING, PK_FB_CHECK_ENGINE, "checking is asked for"},
		{PK_ENGINE_BUILDING, PK_FB_BUILD, "building is asked for"},
		{PK_ENGINE_LOADING, PK_FB_ASSIGN, "loading is asked for"},
		{PK_ENGINE_FAILED, PK_FB_START_TIMER, "a failure starts a timer"},
	};
	bool renewed = count(actions, PK_FB_RENEW, ANY_KIND) > 0;
	for (int kind = 0; kind < PK_N_ENGINE_KINDS; kind++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			bool entered = after->engines[kind].state == rows[i].state &&
				       (renewed || before->engines[kind].state != rows[i].state);
			law(!entered || count(actions, rows[i].request,
						(enum pk_engine_kind)kind) == 1,
				rows[i].text);
		}
	}
}

static bool quick_wanted(const struct pk_fallback *f)
{
	enum pk_engine_state tuned = f->engines[PK_ENGINE_TUNED].state;
	return f->cpu_ok && f->engines[PK_ENGINE_OLD].state == PK_ENGINE_UNKNOWN &&
	       (tuned == PK_ENGINE_MISSING || tuned == PK_ENGINE_BUILDING ||
		       tuned == PK_ENGINE_FAILED || tuned == PK_ENGINE_BROKEN);
}

// No dead end: what could go on by itself has gone on.
static void check_progress(const struct pk_fallback *f)
{
	enum pk_engine_state quick = f->engines[PK_ENGINE_QUICK].state;
	enum pk_engine_state tuned = f->engines[PK_ENGINE_TUNED].state;
	enum pk_engine_state old = f->engines[PK_ENGINE_OLD].state;
	if (!f->artifact_ready)
		return;
	law(tuned != PK_ENGINE_UNKNOWN, "the tuned engine is looked for");
	law(tuned != PK_ENGINE_MISSING || quick == PK_ENGINE_CHECKING ||
			quick == PK_ENGINE_BUILDING,
		"a missing tuned engine waits only for the quick one");
	law(!quick_wanted(f) || (quick != PK_ENGINE_UNKNOWN && quick != PK_ENGINE_MISSING),
		"a wanted quick engine is being made");
	if (!f->worker_up || n_in(f, PK_ENGINE_LOADING) > 0)
		return;
	law(tuned != PK_ENGINE_READY, "a tuned engine that is there serves");
	law(old != PK_ENGINE_READY, "an old engine that is there serves");
	law(quick != PK_ENGINE_READY || !quick_wanted(f), "a wanted quick engine serves");
}

static void check_rung(const struct pk_fallback *f)
{
	enum pk_engine_kind serving = pk_fallback_serving(f);
	bool tuned = serving == PK_ENGINE_TUNED || (serving == PK_ENGINE_OLD && f->old_tuned);
	bool better = f->better_cause[0] == '\0';
	law((f->rung == PK_RUNG_ENGINE) == (tuned && better), "engine means: tuned, as meant");
	law(f->rung != PK_RUNG_PASSTHROUGH || serving == PK_ENGINE_NONE,
		"passthrough means: nothing serves");
	law(f->rung != PK_RUNG_CPU || serving != PK_ENGINE_NONE, "cpu means: something serves");
	law(f->rung == PK_RUNG_ENGINE || f->cause[0], "every rung below engine has a cause");
	if (f->worker_up && n_in(f, PK_ENGINE_LOADING) == 0)
		law(f->told.kind == serving && f->told.rung == f->rung &&
				strcmp(f->told.cause, f->cause) == 0,
			"the worker knows its rung and cause");
}

static void check_alarm(const struct pk_fallback *f)
{
	bool starting =
		f->worker_up ? !f->artifact_ready && !f->artifact_cause[0] : !f->worker_cause[0];
	law(f->alarm == (f->rung == PK_RUNG_PASSTHROUGH && !starting),
		"alarm means: passthrough, and not only at the start");
	law(pk_fallback_serving(f) != PK_ENGINE_NONE || f->alarm || f->rung == PK_RUNG_BUILDING ||
			starting,
		"whoever does not serve is building, starting or alarmed");
}

static void check_tellings(const struct pk_fallback *before, const struct pk_fallback *after,
	const struct pk_fb_actions *actions)
{
	bool changed = before->rung != after->rung || strcmp(before->cause, after->cause) != 0;
	law(count(actions, PK_FB_TELL_RUNG, ANY_KIND) == changed, "a change is told, once");
	law(count(actions, PK_FB_ALARM_ON, ANY_KIND) == (!before->alarm && after->alarm),
		"an alarm is raised once");
	law(count(actions, PK_FB_ALARM_OFF, ANY_KIND) == (before->alarm && !after->alarm),
		"an alarm is cleared once");
	law(count(actions, PK_FB_ASSIGN, ANY_KIND) <= 1 ||
			count(actions, PK_FB_RENEW, ANY_KIND) > 0,
		"one assignment a step");
	law(after->worker_up || count(actions, PK_FB_ASSIGN, ANY_KIND) == 0,
		"nobody is told without a worker");
}

// A bad new model, another target or a rebuild never takes down what serves.
static void check_keeps(const struct pk_fallback *before, const struct pk_fb_event *event,
	const struct pk_fallback *after)
{
	bool gentle = event->type == PK_FB_ARTIFACT_READY || event->type == PK_FB_ARTIFACT_FAILED ||
		      event->type == PK_FB_POLICY || event->type == PK_FB_REBUILD ||
		      event->type == PK_FB_BUILD_FAILED || event->type == PK_FB_BUILD_DONE ||
		      event->type == PK_FB_ASSIGN_FAILED || event->type == PK_FB_RETRY;
	law(!gentle || pk_fallback_serving(before) == PK_ENGINE_NONE ||
			pk_fallback_serving(after) != PK_ENGINE_NONE,
		"what serves goes on");
}

// No flapping: what failed rests until its timer, a new model or the operator says otherwise.
static void check_rest(const struct pk_fallback *before, const struct pk_fb_event *event,
	const struct pk_fallback *after)
{
	bool anew = event->type == PK_FB_REBUILD || event->type == PK_FB_ARTIFACT_READY;
	for (int kind = 0; kind < PK_N_ENGINE_KINDS; kind++) {
		enum pk_engine_state was = before->engines[kind].state;
		enum pk_engine_state is = after->engines[kind].state;
		bool retried = event->type == PK_FB_RETRY && (int)event->kind == kind;
		law(was != PK_ENGINE_FAILED || is == was || anew || retried,
			"a failed engine rests until its timer");
		law(was != PK_ENGINE_BROKEN || is == was || anew,
			"a broken engine rests until there is something new");
	}
}

void check_step(const struct pk_fallback *before, const struct pk_fb_event *event,
	const struct pk_fallback *after, const struct pk_fb_actions *actions)
{
	law_before = before;
	law_after = after;
	law_event = event;
	check_shape(after);
	check_requests(before, after, actions);
	check_progress(after);
	check_rung(after);
	check_alarm(after);
	check_tellings(before, after, actions);
	check_keeps(before, event, after);
	check_rest(before, event, after);
}
