// SPDX-License-Identifier: Apache-2.0
// The fallback chain: every state with every event against the laws, and the stories by hand.
#include <stdio.h>
#include <string.h>

#include "tests/unit/daemon/fallback_invariants.h"

// An event that fits no state: it only lets the machine look again.
static const struct pk_fb_event nothing = {.type = PK_FB_PROVEN, .kind = PK_ENGINE_NONE};

struct point {
	enum pk_engine_state quick, tuned, old;
	bool worker_up, artifact_ready, cpu_ok, better, old_tuned, fragile;
};

static bool is_with_worker(enum pk_engine_state state)
{
	return state == PK_ENGINE_SERVING || state == PK_ENGINE_LOADING;
}

// An old engine goes when another serves, and a quick one is not loaded over it.
static bool old_fits(const struct point *p)
{
	if (p->old == PK_ENGINE_UNKNOWN)
		return !p->old_tuned;
	return (p->old == PK_ENGINE_READY || is_with_worker(p->old)) &&
	       p->tuned != PK_ENGINE_SERVING && !is_with_worker(p->quick);
}

static bool possible(const struct point *p)
{
	const enum pk_engine_state states[] = {p->quick, p->tuned, p->old};
	unsigned serving = 0, loading = 0;
	for (size_t i = 0; i < 3; i++) {
		serving += states[i] == PK_ENGINE_SERVING;
		loading += states[i] == PK_ENGINE_LOADING;
		if (states[i] != PK_ENGINE_UNKNOWN && !p->artifact_ready)
			return false;
	}
	if (serving + loading > 0 && !p->worker_up)
		return false;
	if (p->tuned == PK_ENGINE_SERVING && loading > 0)
		return false; // nothing is better
	return old_fits(p) && serving <= 1 && loading <= 1;
}

static void put(struct pk_fallback *f, enum pk_engine_kind kind, enum pk_engine_state state,
	const struct point *p)
{
	f->engines[kind].state = state;
	if (state == PK_ENGINE_FAILED || state == PK_ENGINE_BROKEN)
		snprintf(f->engines[kind].cause, PK_CAUSE_MAX, "build failed: x");
	if (state == PK_ENGINE_FAILED)
		f->engines[kind].n_failures = 1;
	if (p->fragile)
		f->engines[kind].n_crashes = PK_FB_MAX_CRASHES - 1;
	f->engines[kind].refused = p->fragile;
	if (is_with_worker(state))
		f->told.kind = kind;
}

static void make(struct pk_fallback *f, const struct point *p)
{
	struct pk_fb_actions actions;
	pk_fallback_init(f, p->cpu_ok, p->better ? "" : "cuda: not in this build");
	f->worker_up = p->worker_up;
	f->artifact_ready = p->artifact_ready;
	f->old_tuned = p->old_tuned;
	put(f, PK_ENGINE_QUICK, p->quick, p);
	put(f, PK_ENGINE_TUNED, p->tuned, p);
	put(f, PK_ENGINE_OLD, p->old, p);
	pk_fallback_step(f, &nothing, &actions);
}

static unsigned long n_steps;

static void try_event(const struct pk_fallback *start, const struct pk_fb_event *event)
{
	struct pk_fallback after = *start;
	struct pk_fb_actions actions;
	pk_fallback_step(&after, event, &actions);
	check_step(start, event, &after, &actions);
	n_steps++;
	// It has settled: looking again finds nothing to do.
	struct pk_fallback again = after;
	pk_fallback_step(&again, &nothing, &actions);
	if (actions.n != 0)
		print_error("not settled after %s: %s\n", fallback_event_names[event->type],
			describe_fallback(&after));
	assert_int_equal(actions.n, 0);
}

static void try_all_events(const struct pk_fallback *start)
{
	for (int type = 0; type < PK_N_FB_EVENTS; type++) {
		for (int kind = 0; kind <= PK_ENGINE_NONE; kind++) {
			for (unsigned flags = 0; flags < 4; flags++) {
				struct pk_fb_event event = {
					.type = (enum pk_fb_event_type)type,
					.kind = (enum pk_engine_kind)kind,
					.cause = flags & 2 ? "why" : NULL,
					.crashed = flags & 1,
					.permanent = flags & 1,
					.stale = flags & 1,
					.cpu_ok = flags & 1,
				};
				try_event(start, &event);
			}
		}
	}
}

static bool point_from(unsigned n, struct point *p)
{
	*p = (struct point){
		.quick = (enum pk_engine_state)(n % 9),
		.tuned = (enum pk_engine_state)(n / 9 % 9),
		.old = (enum pk_engine_state)(n / 81 % 9),
		.worker_up = n / 729 & 1,
		.artifact_ready = n / 729 & 2,
		.cpu_ok = n / 729 & 4,
		.better = n / 729 & 8,
		.old_tuned = n / 729 & 16,
		.fragile = n / 729 & 32,
	};
	return possible(p);
}

static void test_every_state_with_every_event(void **ctx)
{
	(void)ctx;
	unsigned n_states = 0;
	for (unsigned n = 0; n < 729 * 64; n++) {
		struct point p;
		struct pk_fallback start;
		if (!point_from(n, &p))
			continue;
		make(&start, &p);
		n_states++;
		try_all_events(&start);
	}
	print_message("%u states, %lu steps\n", n_states, n_steps);
	assert_true(n_states > 3000);
}

// Stories.

struct story {
	struct pk_fallback f;
	struct pk_fb_actions actions;
};

static void step(struct story *s, struct pk_fb_event event)
{
	struct pk_fallback before = s->f;
	pk_fallback_step(&s->f, &event, &s->actions);
	check_step(&before, &event, &s->f, &s->actions);
}

static bool did(const struct story *s, enum pk_fb_action_type type, enum pk_engine_kind kind)
{
	for (size_t i = 0; i < s->actions.n; i++) {
		if (s->actions.items[i].type == type && s->actions.items[i].kind == kind)
			return true;
	}
	return false;
}

#define EVENT(...)                                                                                 \
	(struct pk_fb_event)                                                                       \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void begin(struct story *s, bool cpu_ok, const char *better_cause)
{
	pk_fallback_init(&s->f, cpu_ok, better_cause);
	step(s, EVENT(.type = PK_FB_WORKER_UP));
	assert_false(s->f.alarm); // it is only starting
	step(s, EVENT(.type = PK_FB_ARTIFACT_READY));
	assert_true(did(s, PK_FB_CHECK_ENGINE, PK_ENGINE_TUNED));
}

static void begin_serving(struct story *s)
{
	begin(s, true, "");
	step(s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
	assert_true(did(s, PK_FB_ASSIGN, PK_ENGINE_TUNED));
	step(s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	assert_int_equal(s->f.rung, PK_RUNG_ENGINE);
	assert_string_equal(s->f.cause, "");
}

static void test_first_start_builds_quick_then_tuned(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, true, "");
	step(&s, EVENT(.type = PK_FB_ENGINE_MISSING, .kind = PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_CHECK_ENGINE, PK_ENGINE_QUICK));
	assert_false(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED)); // the quick one goes first
	step(&s, EVENT(.type = PK_FB_ENGINE_MISSING, .kind = PK_ENGINE_QUICK));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_QUICK));
	assert_int_equal(s.f.rung, PK_RUNG_BUILDING);
	step(&s, EVENT(.type = PK_FB_BUILD_DONE, .kind = PK_ENGINE_QUICK));
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_QUICK));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_QUICK));
	assert_int_equal(s.f.rung, PK_RUNG_BUILDING);
	step(&s, EVENT(.type = PK_FB_BUILD_DONE, .kind = PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_TUNED));
	assert_int_equal(s.f.told.rung, PK_RUNG_ENGINE); // what holds once it serves
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	assert_false(did(&s, PK_FB_ASSIGN, PK_ENGINE_TUNED)); // it knows already
}

static void test_warm_start_loads_at_once(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	assert_int_equal(s.f.engines[PK_ENGINE_QUICK].state, PK_ENGINE_UNKNOWN);
}

static void test_cpu_that_is_too_slow_passes_through_while_building(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, false, "");
	step(&s, EVENT(.type = PK_FB_ENGINE_MISSING, .kind = PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_BUILDING);
	assert_int_equal(pk_fallback_serving(&s.f), PK_ENGINE_NONE);
	step(&s, EVENT(.type = PK_FB_BUILD_FAILED, .kind = PK_ENGINE_TUNED,
			 .cause = "build failed: oom"));
	assert_int_equal(s.f.rung, PK_RUNG_PASSTHROUGH);
	assert_string_equal(s.f.cause, "build failed: oom");
	assert_true(s.f.alarm);
	assert_true(did(&s, PK_FB_START_TIMER, PK_ENGINE_TUNED));
}

static void test_better_runtime_missing_is_cpu_with_its_cause(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, true, "cuda: no driver");
	step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_CPU);
	assert_string_equal(s.f.cause, "cuda: no driver");
	step(&s, EVENT(.type = PK_FB_POLICY, .cpu_ok = true, .cause = ""));
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_TUNED)); // only its label is new
}

static void test_permanent_failure_is_remembered_and_not_tried_again(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, true, "");
	step(&s, EVENT(.type = PK_FB_ENGINE_MISSING, .kind = PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_QUICK));
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_QUICK));
	step(&s, EVENT(.type = PK_FB_BUILD_FAILED, .kind = PK_ENGINE_TUNED, .permanent = true,
			 .cause = "build failed: gate"));
	assert_true(did(&s, PK_FB_REMEMBER_BROKEN, PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_CPU);
	assert_string_equal(s.f.cause, "build failed: gate");
	step(&s, EVENT(.type = PK_FB_RETRY, .kind = PK_ENGINE_TUNED));
	assert_false(did(&s, PK_FB_CHECK_ENGINE, PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_REBUILD));
	assert_true(did(&s, PK_FB_FORGET_BROKEN, PK_ENGINE_NONE));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED));
	assert_int_equal(pk_fallback_serving(&s.f), PK_ENGINE_QUICK);
}

static void test_retry_delay_grows_until_proven(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	for (unsigned i = 1; i <= 3; i++) {
		step(&s, EVENT(.type = PK_FB_RUN_FAULT, .cause = "run fault: x"));
		assert_true(did(&s, PK_FB_START_TIMER, PK_ENGINE_TUNED));
		assert_int_equal(s.f.engines[PK_ENGINE_TUNED].n_failures, i);
		step(&s, EVENT(.type = PK_FB_RETRY, .kind = PK_ENGINE_TUNED));
		step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
		step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	}
	step(&s, EVENT(.type = PK_FB_PROVEN, .kind = PK_ENGINE_TUNED));
	assert_int_equal(s.f.engines[PK_ENGINE_TUNED].n_failures, 0);
}

static void test_corrupt_file_is_built_anew_once_at_once(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, false, "");
	step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ASSIGN_FAILED, .kind = PK_ENGINE_TUNED, .stale = true,
			 .cause = "engine file corrupt"));
	assert_true(did(&s, PK_FB_REMOVE_ENGINE, PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_BUILDING);
	assert_non_null(strstr(s.f.cause, "corrupt"));
	step(&s, EVENT(.type = PK_FB_BUILD_DONE, .kind = PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ASSIGN_FAILED, .kind = PK_ENGINE_TUNED, .stale = true,
			 .cause = "engine file corrupt"));
	assert_false(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED)); // not for ever
	assert_true(did(&s, PK_FB_START_TIMER, PK_ENGINE_TUNED));
	assert_true(s.f.alarm);
}

static void test_worker_crash_and_return(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	step(&s, EVENT(.type = PK_FB_WORKER_DOWN, .crashed = true, .cause = "killed by SIGKILL"));
	assert_int_equal(s.f.rung, PK_RUNG_PASSTHROUGH);
	assert_string_equal(s.f.cause, "worker is down: killed by SIGKILL");
	assert_true(s.f.alarm);
	step(&s, EVENT(.type = PK_FB_WORKER_UP));
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_TUNED)); // no check, no build in between
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	assert_false(s.f.alarm);
}

static void test_engine_that_kills_the_worker_rests(void **ctx)
{
	(void)ctx;
	struct story s;
	begin(&s, true, "");
	step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
	for (int i = 0; i < PK_FB_MAX_CRASHES; i++) {
		assert_int_equal(s.f.engines[PK_ENGINE_TUNED].state, PK_ENGINE_LOADING);
		step(&s, EVENT(.type = PK_FB_WORKER_DOWN, .crashed = true,
				 .cause = "killed by SIGSEGV"));
		step(&s, EVENT(.type = PK_FB_WORKER_UP));
	}
	assert_int_equal(s.f.engines[PK_ENGINE_TUNED].state, PK_ENGINE_FAILED);
	assert_non_null(strstr(s.f.engines[PK_ENGINE_TUNED].cause, "SIGSEGV"));
	assert_int_equal(s.f.engines[PK_ENGINE_QUICK].state, PK_ENGINE_CHECKING);
}

static void test_wanted_restart_raises_no_alarm(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	step(&s, EVENT(.type = PK_FB_WORKER_DOWN));
	assert_false(s.f.alarm);
	assert_int_equal(s.f.engines[PK_ENGINE_TUNED].n_crashes, 0);
}

static void test_bad_new_model_leaves_the_old_one_serving(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	step(&s, EVENT(.type = PK_FB_ARTIFACT_READY));
	assert_true(did(&s, PK_FB_KEEP_OLD, PK_ENGINE_TUNED));
	assert_int_equal(s.actions.items[0].type, PK_FB_KEEP_OLD); // before the new one is taken
	assert_int_equal(pk_fallback_serving(&s.f), PK_ENGINE_OLD);
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	step(&s, EVENT(.type = PK_FB_ENGINE_MISSING, .kind = PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_BUILD, PK_ENGINE_TUNED)); // no quick one: the old one is better
	step(&s, EVENT(.type = PK_FB_BUILD_FAILED, .kind = PK_ENGINE_TUNED, .permanent = true,
			 .cause = "build failed: bad model"));
	assert_int_equal(pk_fallback_serving(&s.f), PK_ENGINE_OLD);
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	assert_non_null(strstr(s.f.cause, "bad model"));
	assert_false(s.f.alarm);
	// It survives the worker too.
	step(&s, EVENT(.type = PK_FB_WORKER_DOWN, .crashed = true, .cause = "exit code 1"));
	step(&s, EVENT(.type = PK_FB_WORKER_UP));
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_OLD));
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_OLD));
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	// A good one after it takes over, and the old one goes.
	step(&s, EVENT(.type = PK_FB_ARTIFACT_READY));
	assert_false(did(&s, PK_FB_KEEP_OLD, PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ENGINE_FOUND, .kind = PK_ENGINE_TUNED));
	step(&s, EVENT(.type = PK_FB_ASSIGNED, .kind = PK_ENGINE_TUNED));
	assert_true(did(&s, PK_FB_DROP_OLD, PK_ENGINE_OLD));
	assert_string_equal(s.f.cause, "");
}

static void test_artifact_failure_does_not_stop_what_serves(void **ctx)
{
	(void)ctx;
	struct story s;
	begin_serving(&s);
	step(&s, EVENT(.type = PK_FB_ARTIFACT_FAILED, .cause = "registry unreachable"));
	assert_int_equal(s.f.rung, PK_RUNG_ENGINE);
	assert_int_equal(s.actions.n, 0);
}

static void test_no_artifact_is_an_alarm_with_its_cause(void **ctx)
{
	(void)ctx;
	struct story s;
	pk_fallback_init(&s.f, true, "");
	step(&s, EVENT(.type = PK_FB_WORKER_UP));
	assert_string_equal(s.f.cause, "model is being fetched");
	assert_true(did(&s, PK_FB_ASSIGN, PK_ENGINE_NONE)); // results say why
	step(&s, EVENT(.type = PK_FB_ARTIFACT_FAILED, .cause = "no such tag"));
	assert_string_equal(s.f.cause, "no such tag");
	assert_true(s.f.alarm);
}

static void test_long_and_cut_causes_stay_text(void **ctx)
{
	(void)ctx;
	struct story s;
	char cause[600];
	for (size_t i = 0; i + 3 <= sizeof(cause) - 1; i += 3)
		memcpy(cause + i, "\u2026", 3);
	cause[597] = '\0';
	begin_serving(&s);
	step(&s, EVENT(.type = PK_FB_RUN_FAULT, .cause = cause));
	size_t n = strlen(s.f.engines[PK_ENGINE_TUNED].cause);
	assert_true(n > 240 && n < PK_CAUSE_MAX);
	assert_int_equal(n % 3, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_state_with_every_event),
		cmocka_unit_test(test_first_start_builds_quick_then_tuned),
		cmocka_unit_test(test_warm_start_loads_at_once),
		cmocka_unit_test(test_cpu_that_is_too_slow_passes_through_while_building),
		cmocka_unit_test(test_better_runtime_missing_is_cpu_with_its_cause),
		cmocka_unit_test(test_permanent_failure_is_remembered_and_not_tried_again),
		cmocka_unit_test(test_retry_delay_grows_until_proven),
		cmocka_unit_test(test_corrupt_file_is_built_anew_once_at_once),
		cmocka_unit_test(test_worker_crash_and_return),
		cmocka_unit_test(test_engine_that_kills_the_worker_rests),
		cmocka_unit_test(test_wanted_restart_raises_no_alarm),
		cmocka_unit_test(test_bad_new_model_leaves_the_old_one_serving),
		cmocka_unit_test(test_artifact_failure_does_not_stop_what_serves),
		cmocka_unit_test(test_no_artifact_is_an_alarm_with_its_cause),
		cmocka_unit_test(test_long_and_cut_causes_stay_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
