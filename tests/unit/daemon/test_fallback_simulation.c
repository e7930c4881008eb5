// SPDX-License-Identifier: Apache-2.0
// A million random events against the fallback chain, with a world that answers late, wrongly or
// not at all. Each storm is followed by a calm in which everything works: then it must serve, or
// have raised its alarm. PICKET_SEED=N repeats a run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/daemon/fallback_invariants.h"

#define N_EVENTS       1000000u
#define STORM          300u
#define CALM_LIMIT     64u
#define N_MADE         PK_ENGINE_OLD
#define PERMANENT_PART 8 // one of so many failures

struct world {
	struct pk_fallback f;
	uint64_t random;
	bool checking[N_MADE], building[N_MADE], timer[N_MADE], file[N_MADE], broken[N_MADE];
	enum pk_engine_kind loading; // what the worker was told; NONE: nothing
	unsigned long n_events, n_calms, n_served, n_alarmed, n_old_kept;
};

static uint64_t next(struct world *w)
{
	// xorshift64* (Vigna 2016)
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * UINT64_C(2685821657736338717);
}

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)((next(w) >> 33) % n);
}

static void act(struct world *w, const struct pk_fb_action *action)
{
	enum pk_engine_kind kind = action->kind;
	switch (action->type) {
	case PK_FB_CHECK_ENGINE:
		w->checking[kind] = true;
		break;
	case PK_FB_BUILD:
		w->building[kind] = true;
		break;
	case PK_FB_CANCEL_BUILDS:
		memset(w->building, 0, sizeof(w->building));
		break;
	case PK_FB_RENEW: // another key: no file, no failure of before, no answer under way
		memset(w->file, 0, sizeof(w->file));
		memset(w->broken, 0, sizeof(w->broken));
		memset(w->checking, 0, sizeof(w->checking));
		w->loading = PK_ENGINE_NONE;
		break;
	case PK_FB_REMOVE_ENGINE:
		w->file[kind] = false;
		break;
	case PK_FB_REMEMBER_BROKEN:
		w->broken[kind] = true;
		break;
	case PK_FB_FORGET_BROKEN:
		memset(w->broken, 0, sizeof(w->broken));
		break;
	case PK_FB_ASSIGN:
		if (kind != PK_ENGINE_NONE && w->f.engines[kind].state == PK_ENGINE_LOADING)
			w->loading = kind;
		break;
	case PK_FB_START_TIMER:
		w->timer[kind] = true;
		break;
	case PK_FB_KEEP_OLD:
		w->n_old_kept++;
		break;
	default:
		break;
	}
}

static void feed(struct world *w, const struct pk_fb_event *event)
{
	struct pk_fallback before = w->f;
	struct pk_fb_actions actions;
	pk_fallback_step(&w->f, event, &actions);
	w->n_events++;
	for (size_t i = 0; i < actions.n; i++)
		act(w, &actions.items[i]);
	check_step(&before, event, &w->f, &actions);
}

static void answer_check(struct world *w, enum pk_engine_kind kind)
{
	enum pk_fb_event_type type = w->broken[kind] ? PK_FB_ENGINE_BROKEN
				     : w->file[kind] ? PK_FB_ENGINE_FOUND
						     : PK_FB_ENGINE_MISSING;
	w->checking[kind] = false;
	feed(w, &(struct pk_fb_event){.type = type, .kind = kind, .cause = "build failed: y"});
}

static void answer_build(struct world *w, enum pk_engine_kind kind, bool well)
{
	w->building[kind] = false;
	w->file[kind] = w->file[kind] || well;
	feed(w, &(struct pk_fb_event){.type = well ? PK_FB_BUILD_DONE : PK_FB_BUILD_FAILED,
			.kind = kind,
			.cause = "build failed: x",
			.permanent = below(w, PERMANENT_PART) == 0});
}

static void answer_load(struct world *w, bool well)
{
	enum pk_engine_kind kind = w->loading;
	w->loading = PK_ENGINE_NONE;
	feed(w, &(struct pk_fb_event){.type = well ? PK_FB_ASSIGNED : PK_FB_ASSIGN_FAILED,
			.kind = kind,
			.cause = "engine file corrupt",
			.stale = below(w, 2)});
}

static void fire_timer(struct world *w, enum pk_engine_kind kind)
{
	w->timer[kind] = false;
	feed(w, &(struct pk_fb_event){.type = PK_FB_RETRY, .kind = kind});
}

static void worker_goes(struct world *w)
{
	w->loading = PK_ENGINE_NONE;
	feed(w, &(struct pk_fb_event){.type = PK_FB_WORKER_DOWN,
			.cause = below(w, 4) ? "killed by SIGKILL" : "",
			.crashed = below(w, 4) != 0});
}

// One thing that is under way gets its answer. False: nothing is under way.
static bool answer_one(struct world *w, bool well)
{
	enum pk_engine_kind first = (enum pk_engine_kind)below(w, N_MADE);
	for (int i = 0; i < N_MADE; i++) {
		enum pk_engine_kind kind = (enum pk_engine_kind)((first + i) % N_MADE);
		if (w->checking[kind])
			return answer_check(w, kind), true;
		if (w->building[kind] && below(w, 2))
			return answer_build(w, kind, well), true;
	}
	if (w->loading != PK_ENGINE_NONE)
		return answer_load(w, well), true;
	for (int kind = 0; kind < N_MADE; kind++) {
		if (w->building[kind])
			return answer_build(w, (enum pk_engine_kind)kind, well), true;
		if (w->timer[kind])
			return fire_timer(w, (enum pk_engine_kind)kind), true;
	}
	return false;
}

// Something that nobody asked for, or an answer that comes twice or too late.
static void surprise(struct world *w)
{
	struct pk_fb_event event = {
		.type = (enum pk_fb_event_type)below(w, PK_N_FB_EVENTS),
		.kind = (enum pk_engine_kind)below(w, PK_N_ENGINE_KINDS + 1),
		.cause = below(w, 2) ? "surprise" : "",
		.permanent = below(w, PERMANENT_PART) == 0,
		.crashed = below(w, 2),
		.cpu_ok = below(w, 2),
	};
	// Answers of the world must be true; only facts and commands come out of the blue.
	if (event.type >= PK_FB_ENGINE_FOUND && event.type <= PK_FB_ASSIGN_FAILED) {
		event.kind = PK_ENGINE_NONE;
	} else if (event.type == PK_FB_WORKER_DOWN || event.type == PK_FB_WORKER_UP) {
		w->loading = PK_ENGINE_NONE;
	}
	feed(w, &event);
}

static void storm(struct world *w)
{
	for (unsigned i = 0; i < STORM; i++) {
		unsigned dice = below(w, 10);
		if (dice < 6 && answer_one(w, below(w, 3) != 0))
			continue;
		if (dice == 6 && w->f.worker_up)
			worker_goes(w);
		else if (dice < 9 && !w->f.worker_up)
			feed(w, &(struct pk_fb_event){.type = PK_FB_WORKER_UP});
		else
			surprise(w);
	}
}

static void calm(struct world *w)
{
	if (!w->f.worker_up)
		feed(w, &(struct pk_fb_event){.type = PK_FB_WORKER_UP});
	if (!w->f.artifact_ready)
		feed(w, &(struct pk_fb_event){.type = PK_FB_ARTIFACT_READY});
	unsigned n = 0;
	while (answer_one(w, true))
		assert_true(++n < CALM_LIMIT); // it comes to rest
	enum pk_engine_kind serving = pk_fallback_serving(&w->f);
	bool broken = w->f.engines[PK_ENGINE_TUNED].state == PK_ENGINE_BROKEN;
	if (serving != PK_ENGINE_TUNED && !broken)
		print_error("came to rest as %s\n", describe_fallback(&w->f));
	assert_true(serving == PK_ENGINE_TUNED || broken);
	assert_true(serving != PK_ENGINE_NONE || w->f.alarm);
	w->n_calms++;
	w->n_served += serving != PK_ENGINE_NONE;
	w->n_alarmed += w->f.alarm;
}

static uint64_t choose_seed(void)
{
	const char *text = getenv("PICKET_SEED");
	return text ? strtoull(text, NULL, 10) : UINT64_C(20261130);
}

static void test_million_events(void **ctx)
{
	(void)ctx;
	struct world w = {.random = choose_seed() | 1, .loading = PK_ENGINE_NONE};
	print_message("PICKET_SEED=%" PRIu64 "\n", w.random);
	pk_fallback_init(&w.f, true, "");
	while (w.n_events < N_EVENTS) {
		storm(&w);
		calm(&w);
	}
	print_message(
		"%lu events, %lu calms: %lu serving, %lu alarmed; %lu times an old engine was "
		"kept\n",
		w.n_events, w.n_calms, w.n_served, w.n_alarmed, w.n_old_kept);
	// The storms reach both ends; else this test proves little.
	assert_true(w.n_served > w.n_calms / 2 && w.n_alarmed > 0 && w.n_old_kept > 100);
	assert_int_equal(w.n_calms, w.n_served + w.n_alarmed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_million_events)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
