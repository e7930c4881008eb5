// SPDX-License-Identifier: Apache-2.0
// A million random events against the update machine and the fallback chain together: models that
// come and go, power cuts, full disks, crashing workers, operators. Each storm is followed by a
// calm: then the active model must serve, or an alarm stand. PICKET_SEED=N repeats a run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fallback.h"
#include "tests/unit/daemon/update_world.h"

#define N_EVENTS 1000000u
#define STORM    200u

struct sim {
	struct world w;
	struct pk_fallback f;
	uint64_t random;
	char handed[PK_DIGEST_TEXT]; // what the chain's engines are of
	bool checking[2], building[2];
	enum pk_engine_kind loading;
	unsigned long n_served, n_alarmed, n_crashes, n_calms;
};

static uint64_t next(struct sim *s)
{
	// xorshift64* (Vigna 2016)
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * UINT64_C(2685821657736338717);
}

static unsigned below(struct sim *s, unsigned n)
{
	return (unsigned)((next(s) >> 33) % n);
}

static void chain_act(struct sim *s, const struct pk_fb_action *action)
{
	if (action->type == PK_FB_CHECK_ENGINE) {
		s->checking[action->kind] = true;
	} else if (action->type == PK_FB_BUILD) {
		s->building[action->kind] = true;
	} else if (action->type == PK_FB_CANCEL_BUILDS) {
		memset(s->building, 0, sizeof(s->building));
	} else if (action->type == PK_FB_RENEW) {
		memset(s->checking, 0, sizeof(s->checking));
		s->loading = PK_ENGINE_NONE;
		memcpy(s->handed, s->w.chain, sizeof(s->handed));
	} else if (action->type == PK_FB_ASSIGN && action->kind != PK_ENGINE_NONE &&
		   s->f.engines[action->kind].state == PK_ENGINE_LOADING) {
		s->loading = action->kind;
	}
}

static void chain_feed(struct sim *s, const struct pk_fb_event *event)
{
	struct pk_fb_actions actions;
	pk_fallback_step(&s->f, event, &actions);
	for (size_t i = 0; i < actions.n; i++)
		chain_act(s, &actions.items[i]);
}

// As picketd does it: what becomes active is an artifact for the chain.
static void on_update_action(struct world *w, const struct pk_up_action *action)
{
	struct sim *s = w->ctx;
	bool hands = action->type == PK_UP_DO_ACTIVATE || action->type == PK_UP_DO_SERVE_ACTIVE;
	if (hands && w->chain[0] && strcmp(w->chain, s->handed) != 0)
		chain_feed(s, &(struct pk_fb_event){.type = PK_FB_ARTIFACT_READY});
	else if (action->type == PK_UP_DO_NO_MODEL)
		chain_feed(s,
			&(struct pk_fb_event){.type = PK_FB_ARTIFACT_FAILED, .cause = w->u.reason});
}

static bool chain_answer(struct sim *s, bool well)
{
	int model = world_index(s->handed);
	for (int kind = 0; kind < 2; kind++) {
		enum pk_engine_kind k = (enum pk_engine_kind)kind;
		bool tuned = k == PK_ENGINE_TUNED;
		if (s->checking[k]) {
			s->checking[k] = false;
			bool there = tuned && model >= 0 && s->w.engine[model];
			chain_feed(s, &(struct pk_fb_event){.type = there ? PK_FB_ENGINE_FOUND
									  : PK_FB_ENGINE_MISSING,
					      .kind = k});
			return true;
		}
		if (s->building[k]) {
			s->building[k] = false;
			if (well && tuned && model >= 0)
				s->w.engine[model] = true;
			chain_feed(s, &(struct pk_fb_event){
					      .type = well ? PK_FB_BUILD_DONE : PK_FB_BUILD_FAILED,
					      .kind = k,
					      .cause = "build failed"});
			return true;
		}
	}
	if (s->loading == PK_ENGINE_NONE)
		return false;
	enum pk_engine_kind kind = s->loading;
	s->loading = PK_ENGINE_NONE;
	chain_feed(s, &(struct pk_fb_event){.type = well ? PK_FB_ASSIGNED : PK_FB_ASSIGN_FAILED,
			      .kind = kind,
			      .cause = "engine unusable"});
	return true;
}

// ACTIVATE and ROLLBACK are answered by what the chain says, as picketd does.
static bool update_answer(struct sim *s, bool well, bool save)
{
	struct world *w = &s->w;
	bool by_chain = w->in_effect &&
			(w->effect == PK_UP_DO_ACTIVATE || w->effect == PK_UP_DO_SERVE_ACTIVE);
	if (!by_chain || w->resolving)
		return world_answer(w, well, save);
	bool serves = strcmp(s->handed, w->chain) == 0 &&
		      pk_fallback_serving(&s->f) != PK_ENGINE_NONE &&
		      pk_fallback_serving(&s->f) != PK_ENGINE_OLD;
	if (serves)
		return world_answer(w, true, save);
	return well ? false : world_answer(w, false, save);
}

static void surprise(struct sim *s)
{
	char digest[PK_DIGEST_TEXT];
	world_digest((int)below(s, WORLD_DIGESTS), digest);
	const struct pk_up_event event = {
		.type = (enum pk_up_event_type)(1 + below(s, PK_N_UP_EVENTS - 1)),
		.serial = s->w.u.last_serial - (int64_t)below(s, 4) - 1000, // long forgotten
		.digest = below(s, 3) ? digest : "",
		.reason = "surprise",
		.any_seq = below(s, 2),
		.operator_ = below(s, 2),
		.hurry = below(s, 4) == 0,
	};
	if (event.type == PK_UP_STOPPING)
		return; // only before the end
	world_feed(&s->w, &event, below(s, 8) != 0);
}

static void begin_process(struct sim *s)
{
	s->handed[0] = '\0';
	memset(s->checking, 0, sizeof(s->checking));
	memset(s->building, 0, sizeof(s->building));
	s->loading = PK_ENGINE_NONE;
	pk_fallback_init(&s->f, true, "");
	chain_feed(s, &(struct pk_fb_event){.type = PK_FB_WORKER_UP});
}

static void crash(struct sim *s)
{
	if (below(s, 4) == 0)
		world_feed(&s->w, &(struct pk_up_event){.type = PK_UP_STOPPING}, true);
	begin_process(s);
	world_crash(&s->w);
	s->n_crashes++;
}

static void worker_crash(struct sim *s)
{
	s->loading = PK_ENGINE_NONE;
	chain_feed(s, &(struct pk_fb_event){
			      .type = PK_FB_WORKER_DOWN, .cause = "killed", .crashed = true});
	chain_feed(s, &(struct pk_fb_event){.type = PK_FB_WORKER_UP});
}

static void storm(struct sim *s)
{
	for (unsigned i = 0; i < STORM; i++) {
		unsigned dice = below(s, 100);
		bool well = below(s, 5) != 0, save = below(s, 20) != 0;
		if (dice < 40 && chain_answer(s, well))
			continue;
		if (dice < 85 && update_answer(s, well, save))
			continue;
		if (dice < 88)
			s->w.wanted = (int)below(s, WORLD_DIGESTS);
		else if (dice < 89)
			s->w.held = !s->w.held;
		else if (dice < 90)
			s->w.now_s += below(s, 100000);
		else if (dice < 92)
			crash(s);
		else if (dice < 93)
			worker_crash(s);
		else if (dice < 98 && s->w.poll_armed)
			world_feed(&s->w, &(struct pk_up_event){.type = PK_UP_CHECK}, save);
		else
			surprise(s);
	}
}

static void settle_chain(struct sim *s)
{
	for (int i = 0; i < 200 && chain_answer(s, true); i++)
		;
	for (int kind = 0; kind < 2; kind++)
		chain_feed(s, &(struct pk_fb_event){
				      .type = PK_FB_RETRY, .kind = (enum pk_engine_kind)kind});
	for (int i = 0; i < 200 && chain_answer(s, true); i++)
		;
}

static void calm(struct sim *s)
{
	settle_chain(s);
	world_calm(&s->w);
	settle_chain(s);
	s->n_calms++;
	if (!s->w.u.record.active.digest[0]) {
		assert_true(s->f.alarm);
		s->n_alarmed++;
		return;
	}
	assert_string_equal(s->handed, s->w.u.record.active.digest);
	assert_int_equal(pk_fallback_serving(&s->f), PK_ENGINE_TUNED);
	s->n_served++;
}

static uint64_t seed(void)
{
	const char *text = getenv("PICKET_SEED");
	return text ? strtoull(text, NULL, 10) | 1 : UINT64_C(0x5eed0fa11b0d5eed);
}

static void test_a_million_events(void **ctx)
{
	(void)ctx;
	static struct sim s;
	s.random = seed();
	unsigned long n = 0;
	print_message("seed %" PRIu64 "\n", s.random);
	while (n < N_EVENTS) {
		unsigned long before = s.w.n_steps;
		if (below(&s, 4) == 0 || !s.w.n_steps) { // a new node
			world_init(&s.w);
			before = 0;
			s.w.acted = on_update_action;
			s.w.ctx = &s;
			begin_process(&s);
			world_feed(&s.w, &(struct pk_up_event){.type = PK_UP_START}, true);
		}
		storm(&s);
		calm(&s);
		n += s.w.n_steps - before;
	}
	print_message("%lu steps, %lu calms: %lu served, %lu alarmed; %lu crashes; of the last "
		      "node: %lu committed, %lu rolled back, %lu quarantined\n",
		n, s.n_calms, s.n_served, s.n_alarmed, s.n_crashes,
		s.w.n_told[PK_UP_TELL_COMMITTED], s.w.n_told[PK_UP_TELL_ROLLED_BACK],
		s.w.n_told[PK_UP_TELL_QUARANTINED]);
	assert_true(s.n_served > s.n_calms / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_events)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
