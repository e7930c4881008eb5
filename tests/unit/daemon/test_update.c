// SPDX-License-Identifier: Apache-2.0
// The update machine: every phase with every event against the laws, the crash matrix row by row,
// and the stories by hand.
#include <stdio.h>
#include <string.h>

#include "tests/unit/daemon/update_world.h"

#define EVENT(...)                                                                                 \
	&(struct pk_up_event)                                                                      \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const char *digest_text(int i)
{
	static char text[4][PK_DIGEST_TEXT];
	static unsigned next;
	char *out = text[next++ % 4];
	world_digest(i, out);
	return out;
}

static void slot(struct pk_up_slot *out, int i)
{
	*out = (struct pk_up_slot){.seq = i};
	world_digest(i, out->digest);
}

// n models become active one after the other; then all the way back.
static void test_older_models_are_remembered(void **state)
{
	(void)state;
	struct pk_up_record record;
	pk_up_record_init(&record);
	for (int i = 1; i <= 12; i++) {
		slot(&record.candidate, i);
		pk_up_promote(&record);
	}
	assert_string_equal(record.active.digest, digest_text(12));
	assert_string_equal(record.previous.digest, digest_text(11));
	assert_int_equal(record.n_older, PK_UP_MAX_OLDER);
	for (int i = 0; i < PK_UP_MAX_OLDER; i++)
		assert_int_equal(record.older[i].seq, 10 - i);
	slot(&record.candidate, 8); // one of them comes back
	pk_up_promote(&record);
	assert_string_equal(record.previous.digest, digest_text(12));
	static const int left[] = {11, 10, 9, 7, 6, 5, 4};
	for (int i = 0; i < PK_UP_MAX_OLDER; i++)
		assert_int_equal(record.older[i].seq, left[i]);
	for (int i = -1; i < PK_UP_MAX_OLDER; i++) {
		pk_up_demote(&record);
		assert_int_equal(record.active.seq, i < 0 ? 12 : left[i]);
	}
	assert_string_equal(record.previous.digest, "");
	assert_int_equal(record.n_older, 0);
}

static void poll(struct world *w)
{
	world_feed(w, EVENT(.type = PK_UP_CHECK), true);
}

// Well answered until the phase is reached.
static void run_to(struct world *w, enum pk_update_phase phase)
{
	for (int i = 0; i < 40 && w->u.phase != phase; i++)
		assert_true(world_answer(w, true, true));
	assert_int_equal(w->u.phase, phase);
}

// A node whose active model is 1, the one before was 0.
static void begin(struct world *w)
{
	world_init(w);
	world_feed(w, EVENT(.type = PK_UP_START), true);
	for (int i = 0; i < 2; i++) {
		w->wanted = i;
		poll(w);
		world_calm(w);
		assert_string_equal(w->u.record.active.digest, digest_text(i));
	}
	assert_string_equal(w->u.record.previous.digest, digest_text(0));
	assert_int_equal(w->u.record.seq_high, 1);
	memset(w->n_told, 0, sizeof(w->n_told));
}

static void begin_update(struct world *w, enum pk_update_phase phase)
{
	begin(w);
	w->wanted = 2;
	poll(w);
	run_to(w, phase);
}

// Every state with every event.

struct point {
	unsigned phase, attempts, builds;
	bool active, previous, pinned, resolving, wish, hurry, verified, quarantined, stalled;
};

static bool is_begun(enum pk_update_phase phase)
{
	return phase == PK_UP_ACTIVATE || phase == PK_UP_OBSERVE || phase == PK_UP_ROLLBACK;
}

static bool needs_active(enum pk_update_phase phase)
{
	return phase >= PK_UP_BUILD && phase != PK_UP_REJECT;
}

static bool possible(const struct point *p)
{
	enum pk_update_phase phase = (enum pk_update_phase)p->phase;
	bool verified = phase >= PK_UP_ADMIT && phase <= PK_UP_OBSERVE;
	const bool never[] = {
		phase == PK_UP_RESOLVE && !p->resolving,
		!p->active && (p->previous || needs_active(phase)),
		p->wish && phase < PK_UP_ACTIVATE,
		verified && !p->verified,
		is_begun(phase) && p->attempts == 0,
		p->stalled && phase > PK_UP_RESOLVE,
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(never); i++) {
		if (never[i])
			return false;
	}
	return true;
}

static const enum pk_up_action_type effect_of[PK_N_UP_PHASES] = {
	[PK_UP_FETCH] = PK_UP_DO_FETCH,
	[PK_UP_VERIFY] = PK_UP_DO_VERIFY,
	[PK_UP_ADMIT] = PK_UP_DO_ADMIT,
	[PK_UP_BUILD] = PK_UP_DO_BUILD,
	[PK_UP_GOLDEN] = PK_UP_DO_BUILD,
	[PK_UP_WAIT] = PK_UP_DO_WAIT,
	[PK_UP_ACTIVATE] = PK_UP_DO_ACTIVATE,
	[PK_UP_OBSERVE] = PK_UP_DO_OBSERVE,
	[PK_UP_ROLLBACK] = PK_UP_DO_SERVE_ACTIVE,
};

static void put_slots(struct pk_up_record *r, const struct point *p)
{
	bool candidate = p->phase >= PK_UP_FETCH || p->stalled;
	if (p->active)
		slot(&r->active, 1);
	if (p->previous)
		slot(&r->previous, 0);
	if (candidate && p->phase != PK_UP_COMMIT && p->phase != PK_UP_REJECT)
		slot(&r->candidate, 2);
	if (p->pinned && p->active)
		world_digest(1, r->pinned);
	r->attempts = candidate ? p->attempts : 0;
	r->builds = candidate ? p->builds : 0;
}

static void put_records(struct world *w, const struct point *p)
{
	struct pk_up_record *r = &w->u.record;
	put_slots(r, p);
	r->verified = p->verified;
	r->seq_high = p->active ? 1 : -1;
	if (p->active)
		world_digest(1, r->seq_digest);
	if (p->quarantined)
		pk_up_quarantine_add(r, digest_text(3), "bad", false, 0);
	if (p->phase >= PK_UP_ACTIVATE)
		pk_up_raise_seq(r);
}

static void make(struct world *w, const struct point *p)
{
	struct pk_update *u = &w->u;
	world_init(w);
	put_records(w, p);
	u->phase = (enum pk_update_phase)p->phase;
	bool persisted = u->phase == PK_UP_ACTIVATE || u->phase == PK_UP_OBSERVE;
	u->record.phase = persisted                    ? PK_UP_ACTIVATE
			  : u->phase == PK_UP_ROLLBACK ? PK_UP_ROLLBACK
						       : PK_UP_IDLE;
	u->last_serial = 100;
	u->hurry = p->hurry;
	if (p->wish)
		world_digest(4, u->wish);
	if (p->resolving) {
		u->resolve_serial = w->resolve_serial = 7;
		w->resolving = true;
	}
	if (effect_of[u->phase] != PK_UP_DO_SAVE) {
		u->serial = w->effect_serial = 8;
		w->effect = effect_of[u->phase];
		w->in_effect = true;
	} else if (u->phase == PK_UP_COMMIT || u->phase == PK_UP_REJECT) {
		u->save_serial = w->save_serial = 9;
	}
	w->poll_armed = true;
	w->deadline_armed = u->phase != PK_UP_IDLE;
	w->engine[2] = u->phase >= PK_UP_WAIT;
	w->activated = persisted;
	w->disk = u->record;
	w->highest_seq = u->record.seq_high;
	bool candidate = persisted;
	snprintf(w->chain, sizeof(w->chain), "%s",
		candidate ? u->record.candidate.digest : u->record.active.digest);
}

static unsigned long n_steps;

static void try_event(const struct world *start, const struct pk_up_event *event, bool save)
{
	struct world w = *start;
	w.wanted = 5;
	world_feed(&w, event, save);
	n_steps++;
	if (event->permanent || event->held)
		return; // a variant: the way on is the same
	if (n_steps % 2)
		world_crash(&w); // there is always a way on, from the disk too
	world_calm(&w);
}

static bool has_serial(int type)
{
	return type >= PK_UP_RESOLVED && type <= PK_UP_SAVE_FAILED;
}

static bool has_digest(int type)
{
	return type == PK_UP_RESOLVED || type == PK_UP_PIN;
}

static void try_variants(const struct world *start, int type, int64_t serial, int digest)
{
	for (unsigned flags = 0; flags < 4; flags++) {
		const struct pk_up_event event = {
			.type = (enum pk_up_event_type)type,
			.serial = serial,
			.digest = digest_text(digest),
			.seq = digest == 5 ? -1 : digest,
			.permanent = flags & 1,
			.held = flags & 2,
			.any_seq = flags & 1,
			.trusted = flags & 2,
			.operator_ = flags & 1,
			.hurry = flags & 2,
		};
		try_event(start, &event, flags != 3);
	}
}

static void try_all_events(const struct world *start)
{
	static const int64_t serials[] = {7, 8, 9};
	static const int digests[] = {1, 2, 3, 5};
	for (int type = PK_UP_CHECK; type < PK_N_UP_EVENTS; type++) { // START: world_crash
		size_t n_serials = has_serial(type) ? PK_ARRAY_LEN(serials) : 1;
		size_t n_digests = has_digest(type) || type == PK_UP_VERIFIED ? 4 : 1;
		for (size_t i = 0; i < n_serials * n_digests; i++)
			try_variants(start, type, serials[i % n_serials], digests[i / n_serials]);
	}
}

static void test_every_state_with_every_event(void **ctx)
{
	(void)ctx;
	unsigned n_states = 0;
	for (unsigned n = 0; n < PK_N_UP_PHASES * 3 * 2 * 512; n++) {
		unsigned bits = n / (PK_N_UP_PHASES * 6);
		struct point p = {
			.phase = n % PK_N_UP_PHASES,
			.attempts = (unsigned[]){0, 1, PK_UP_MAX_ATTEMPTS}[n / PK_N_UP_PHASES % 3],
			.builds = n / PK_N_UP_PHASES / 3 % 2 * PK_UP_MAX_BUILDS,
			.active = bits & 1,
			.previous = bits & 2,
			.pinned = bits & 4,
			.resolving = bits & 8,
			.wish = bits & 16,
			.hurry = bits & 32,
			.verified = bits & 64,
			.quarantined = bits & 128,
			.stalled = bits & 256,
		};
		if (!possible(&p) || (p.attempts && p.builds) || (p.hurry && p.wish))
			continue;
		struct world w;
		make(&w, &p);
		n_states++;
		try_all_events(&w);
	}
	print_message("%u states, %lu steps\n", n_states, n_steps);
	assert_true(n_states > 800);
}

// Stories.

static void test_first_model_is_adopted_once_admitted(void **ctx)
{
	(void)ctx;
	struct world w;
	world_init(&w);
	world_feed(&w, EVENT(.type = PK_UP_START), true);
	poll(&w);
	run_to(&w, PK_UP_ADMIT);
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	assert_string_equal(w.disk.active.digest, digest_text(0));
	assert_string_equal(w.chain, digest_text(0));
	assert_int_equal(w.disk.seq_high, 0);
}

static void test_update_goes_through_every_phase(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_FETCH);
	run_to(&w, PK_UP_VERIFY);
	run_to(&w, PK_UP_ADMIT);
	run_to(&w, PK_UP_BUILD);
	assert_int_equal(w.effect, PK_UP_DO_FIND_ENGINE);
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.effect, PK_UP_DO_BUILD);
	world_feed(&w, EVENT(.type = PK_UP_GATING, .serial = w.effect_serial), true);
	assert_int_equal(w.u.phase, PK_UP_GOLDEN);
	run_to(&w, PK_UP_WAIT);
	assert_int_equal(w.disk.seq_high, 1);
	run_to(&w, PK_UP_ACTIVATE);
	assert_int_equal(w.disk.seq_high, 2);
	run_to(&w, PK_UP_OBSERVE);
	assert_string_equal(w.disk.active.digest, digest_text(1)); // still
	run_to(&w, PK_UP_IDLE);
	assert_string_equal(w.disk.active.digest, digest_text(2));
	assert_string_equal(w.disk.previous.digest, digest_text(1));
	assert_int_equal(w.n_told[PK_UP_TELL_COMMITTED], 1);
}

static void test_newer_wish_wins_before_activate(void **ctx)
{
	(void)ctx;
	for (int phase = PK_UP_FETCH; phase <= PK_UP_WAIT; phase++) {
		struct world w;
		if (phase == PK_UP_GOLDEN)
			continue; // as BUILD
		begin_update(&w, (enum pk_update_phase)phase);
		w.wanted = 3;
		poll(&w);
		assert_true(world_answer(&w, true, true)); // the poll
		assert_string_equal(w.u.record.candidate.digest, digest_text(3));
		assert_int_equal(w.u.phase, PK_UP_FETCH);
		world_calm(&w);
		assert_string_equal(w.disk.active.digest, digest_text(3));
	}
}

static void test_newer_wish_waits_while_observing(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_OBSERVE);
	w.wanted = 3;
	poll(&w);
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_OBSERVE);
	assert_true(world_answer(&w, true, true)); // observed, committed, polls at once
	assert_string_equal(w.disk.active.digest, digest_text(2));
	assert_true(w.resolving);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(3));
}

static void test_tag_that_goes_back_withdraws_the_candidate(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_WAIT);
	w.wanted = 1;
	poll(&w);
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	assert_string_equal(w.disk.candidate.digest, "");
	assert_int_equal(w.disk.n_quarantine, 0);
}

static void fail_with(struct world *w, const char *reason, bool permanent)
{
	world_feed(w,
		EVENT(.type = PK_UP_FAILED, .serial = w->effect_serial, .reason = reason,
			.permanent = permanent),
		true);
}

static void test_bad_model_is_rejected_and_never_offered_again(void **ctx)
{
	(void)ctx;
	static const enum pk_update_phase phases[] = {
		PK_UP_FETCH, PK_UP_VERIFY, PK_UP_ADMIT, PK_UP_BUILD};
	for (size_t i = 0; i < PK_ARRAY_LEN(phases); i++) {
		struct world w;
		begin_update(&w, phases[i]);
		fail_with(&w, "wrong classes", true);
		assert_int_equal(w.u.phase, PK_UP_IDLE);
		assert_string_equal(w.disk.active.digest, digest_text(1));
		assert_string_equal(w.disk.quarantine[0].digest, digest_text(2));
		assert_string_equal(w.disk.quarantine[0].reason, "wrong classes");
		poll(&w);
		assert_true(world_answer(&w, true, true));
		assert_int_equal(w.u.phase, PK_UP_IDLE);
		assert_string_equal(w.u.reason, "quarantined: wrong classes");
		// Pushed again under the same tag it is another digest, and is tried.
		w.wanted = 3;
		poll(&w);
		world_calm(&w);
		assert_string_equal(w.disk.active.digest, digest_text(3));
	}
}

static void test_worse_model_is_rolled_back(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_OBSERVE);
	assert_string_equal(w.chain, digest_text(2));
	fail_with(&w, "detections per frame: 0.1 of the last model's", true);
	assert_int_equal(w.u.phase, PK_UP_ROLLBACK);
	assert_int_equal(w.disk.phase, PK_UP_ROLLBACK);
	assert_string_equal(w.chain, digest_text(1));
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	assert_int_equal(w.disk.phase, PK_UP_IDLE);
	assert_int_equal(w.n_told[PK_UP_TELL_ROLLED_BACK], 1);
	assert_non_null(pk_up_quarantined(&w.disk, digest_text(2), w.now_s + 1000000000));
	assert_int_equal(w.disk.seq_high, 2); // never lowered
}

static void test_three_restarts_are_a_soft_quarantine(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_ACTIVATE);
	for (unsigned i = 1; i < PK_UP_MAX_ATTEMPTS; i++) {
		assert_int_equal(w.disk.attempts, i);
		world_crash(&w);
		assert_string_equal(w.chain, digest_text(1)); // the active one first
		run_to(&w, PK_UP_ACTIVATE);
	}
	assert_int_equal(w.disk.attempts, PK_UP_MAX_ATTEMPTS);
	world_crash(&w);
	assert_int_equal(w.u.phase, PK_UP_ROLLBACK);
	world_calm(&w);
	const struct pk_up_quarantine *entry = pk_up_quarantined(&w.disk, digest_text(2), w.now_s);
	assert_non_null(entry);
	assert_string_equal(entry->reason, "restarts");
	assert_null(pk_up_quarantined(&w.disk, digest_text(2), w.now_s + PK_UP_SOFT_S));
	// Tried once more the next day; a second time is for ever.
	w.now_s += PK_UP_SOFT_S;
	poll(&w);
	run_to(&w, PK_UP_OBSERVE);
	fail_with(&w, "slow", true);
	world_calm(&w);
	assert_non_null(pk_up_quarantined(&w.disk, digest_text(2), w.now_s + 100 * PK_UP_SOFT_S));
}

static void test_told_stop_is_no_crash(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_OBSERVE);
	for (int i = 0; i < 5; i++) {
		world_feed(&w, EVENT(.type = PK_UP_STOPPING), true);
		world_crash(&w);
		run_to(&w, PK_UP_OBSERVE);
	}
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
}

static void test_sequence_numbers(void **ctx)
{
	(void)ctx;
	static const struct {
		int64_t seq;
		bool trusted;
		const char *reason; // NULL: taken
	} rows[] = {
		{2, false, NULL},
		{1 + PK_UP_MAX_SEQ_JUMP, false, NULL},
		{2 + PK_UP_MAX_SEQ_JUMP, false, "too far ahead: sequence number 1000002, seen 1"},
		{1, false, "equivocation, two models under one number: sequence number 1, seen 1"},
		{0, false, "older than what was seen: sequence number 0, seen 1"},
		{-1, false, "it has no sequence number, and an earlier model had one"},
		{PK_UP_MAX_SEQ + 1, false, "its sequence number is above 2^53"},
		{-1, true, NULL},
		{0, true, NULL},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct world w;
		begin_update(&w, PK_UP_VERIFY);
		world_feed(&w,
			EVENT(.type = PK_UP_VERIFIED, .serial = w.effect_serial, .seq = rows[i].seq,
				.trusted = rows[i].trusted),
			true);
		assert_int_equal(w.u.phase, rows[i].reason ? PK_UP_IDLE : PK_UP_ADMIT);
		if (rows[i].reason)
			assert_string_equal(w.u.reason, rows[i].reason);
	}
}

static void test_pin_and_unpin(void **ctx)
{
	(void)ctx;
	struct world w;
	begin(&w);
	// To an older one: only when the operator says so.
	world_feed(&w, EVENT(.type = PK_UP_PIN, .digest = digest_text(0)), true);
	run_to(&w, PK_UP_VERIFY);
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	assert_string_equal(w.disk.pinned, ""); // it is quarantined: no sense in going on
	world_feed(&w, EVENT(.type = PK_UP_PIN, .digest = digest_text(0), .any_seq = true), true);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(0));
	assert_string_equal(w.disk.pinned, digest_text(0));
	assert_int_equal(w.disk.seq_high, 1);
	// Pinned, the tag means nothing.
	w.wanted = 2;
	poll(&w);
	assert_false(w.resolving);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(0));
	world_feed(&w, EVENT(.type = PK_UP_UNPIN), true);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
}

static void test_cancel_holds_until_asked_for(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_BUILD);
	world_feed(&w, EVENT(.type = PK_UP_CANCEL), true);
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	assert_false(w.in_effect);
	poll(&w);
	assert_true(world_answer(&w, true, true));
	assert_string_equal(w.u.reason, "quarantined: cancelled");
	world_feed(&w, EVENT(.type = PK_UP_CHECK, .operator_ = true, .hurry = true), true);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
	// While it serves already there is nothing to cancel.
	begin_update(&w, PK_UP_OBSERVE);
	world_feed(&w, EVENT(.type = PK_UP_CANCEL), true);
	assert_int_equal(w.u.phase, PK_UP_OBSERVE);
}

static void test_operator_rolls_back(void **ctx)
{
	(void)ctx;
	struct world w;
	begin(&w);
	world_feed(&w, EVENT(.type = PK_UP_ROLL_BACK), true);
	assert_string_equal(w.chain, digest_text(0));
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(0));
	assert_non_null(pk_up_quarantined(&w.disk, digest_text(1), w.now_s));
	assert_int_equal(w.disk.seq_high, 1);
	world_feed(&w, EVENT(.type = PK_UP_ROLL_BACK), true); // there is none before
	assert_string_equal(w.disk.active.digest, digest_text(0));
}

static void test_rollout_holds_back(void **ctx)
{
	(void)ctx;
	struct world w;
	begin(&w);
	w.wanted = 2;
	w.held = true;
	for (int i = 0; i < 3; i++) {
		poll(&w);
		assert_true(world_answer(&w, true, true));
		assert_int_equal(w.u.phase, PK_UP_IDLE);
	}
	assert_string_equal(w.u.reason, "not in the rollout yet");
	assert_int_equal(w.n_told[PK_UP_TELL_HELD], 1); // told once
	w.held = false;
	poll(&w);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
}

static void test_builds_that_never_end_are_bounded(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_BUILD);
	for (unsigned i = 1; i <= PK_UP_MAX_BUILDS; i++) {
		assert_true(world_answer(&w, true, true)); // there is no engine
		assert_int_equal(w.disk.builds, i);
		world_crash(&w);
		run_to(&w, PK_UP_BUILD);
	}
	assert_true(world_answer(&w, true, true));
	assert_int_equal(w.u.phase, PK_UP_IDLE);
	const struct pk_up_quarantine *entry = pk_up_quarantined(&w.disk, digest_text(2), w.now_s);
	assert_non_null(entry);
	assert_true(entry->until_s > 0);
}

static void test_a_parser_that_crashes_is_bounded(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_ADMIT);
	fail_with(&w, "picket-build: killed by SIGSEGV", false);
	assert_int_equal(w.disk.n_quarantine, 0);
	poll(&w);
	run_to(&w, PK_UP_ADMIT);
	fail_with(&w, "picket-build: killed by SIGSEGV", false);
	const struct pk_up_quarantine *entry = pk_up_quarantined(&w.disk, digest_text(2), w.now_s);
	assert_non_null(entry);
	assert_true(entry->until_s > 0);
	assert_string_equal(w.disk.active.digest, digest_text(1));
}

static void test_waiting_over_many_restarts_is_no_failure(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_WAIT);
	for (int i = 0; i < 10; i++) {
		world_crash(&w);
		run_to(&w, PK_UP_WAIT);
	}
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
}

static void test_full_disk_changes_nothing(void **ctx)
{
	(void)ctx;
	struct world w;
	for (int phase = PK_UP_RESOLVE; phase <= PK_UP_OBSERVE; phase++) {
		if (phase == PK_UP_GOLDEN)
			continue;
		begin(&w);
		w.wanted = 2;
		poll(&w);
		run_to(&w, (enum pk_update_phase)phase);
		for (int i = 0; i < 10 && world_answer(&w, true, false); i++)
			;
		assert_string_equal(w.disk.active.digest, digest_text(1));
		if (phase < PK_UP_ACTIVATE)
			assert_string_equal(w.chain, digest_text(1)); // not activated unwritten
		world_calm(&w);
		assert_string_equal(w.disk.active.digest, digest_text(2));
	}
}

// facts 4.4: what a crash in each phase leaves, and what the next start does.
static void test_crash_matrix(void **ctx)
{
	(void)ctx;
	static const struct {
		enum pk_update_phase at, disk, next;
	} rows[] = {
		{PK_UP_RESOLVE, PK_UP_IDLE, PK_UP_IDLE},
		{PK_UP_FETCH, PK_UP_FETCH, PK_UP_FETCH},
		{PK_UP_VERIFY, PK_UP_FETCH, PK_UP_FETCH},
		{PK_UP_ADMIT, PK_UP_ADMIT, PK_UP_FETCH},
		{PK_UP_BUILD, PK_UP_ADMIT, PK_UP_FETCH},
		{PK_UP_WAIT, PK_UP_BUILD, PK_UP_FETCH},
		{PK_UP_ACTIVATE, PK_UP_ACTIVATE, PK_UP_FETCH},
		{PK_UP_OBSERVE, PK_UP_ACTIVATE, PK_UP_FETCH},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct world w;
		begin_update(&w, rows[i].at);
		assert_int_equal(w.disk.phase, rows[i].disk);
		world_crash(&w);
		assert_int_equal(w.u.phase, rows[i].next);
		assert_string_equal(w.chain, digest_text(1)); // served first, whatever was going on
		poll(&w);
		world_calm(&w);
		assert_string_equal(w.disk.active.digest, digest_text(2));
		assert_string_equal(w.disk.previous.digest, digest_text(1));
	}
	struct world w;
	begin_update(&w, PK_UP_OBSERVE);
	fail_with(&w, "slow", true);
	assert_int_equal(w.disk.phase, PK_UP_ROLLBACK);
	world_crash(&w);
	assert_int_equal(w.u.phase, PK_UP_ROLLBACK); // it goes on, and is done again whole
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(1));
	assert_non_null(pk_up_quarantined(&w.disk, digest_text(2), w.now_s));
}

static void test_changed_keys_judge_the_candidate_anew(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_WAIT);
	world_feed(&w, EVENT(.type = PK_UP_POLICY), true);
	assert_int_equal(w.u.phase, PK_UP_FETCH);
	assert_false(w.disk.verified);
	run_to(&w, PK_UP_VERIFY);
	world_calm(&w);
	assert_string_equal(w.disk.active.digest, digest_text(2));
}

static void test_transient_failures_back_off_and_go_on(void **ctx)
{
	(void)ctx;
	struct world w;
	begin_update(&w, PK_UP_FETCH);
	for (unsigned i = 1; i <= 3; i++) {
		fail_with(&w, "connection reset", false);
		assert_int_equal(w.u.phase, PK_UP_IDLE);
		assert_int_equal(w.u.n_failures, i);
		assert_string_equal(w.u.reason, "connection reset");
		poll(&w);
		assert_true(world_answer(&w, true, true));
		assert_int_equal(w.u.phase, PK_UP_FETCH);
	}
	world_calm(&w);
	assert_int_equal(w.u.n_failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_model_is_adopted_once_admitted),
		cmocka_unit_test(test_update_goes_through_every_phase),
		cmocka_unit_test(test_newer_wish_wins_before_activate),
		cmocka_unit_test(test_newer_wish_waits_while_observing),
		cmocka_unit_test(test_tag_that_goes_back_withdraws_the_candidate),
		cmocka_unit_test(test_bad_model_is_rejected_and_never_offered_again),
		cmocka_unit_test(test_worse_model_is_rolled_back),
		cmocka_unit_test(test_three_restarts_are_a_soft_quarantine),
		cmocka_unit_test(test_told_stop_is_no_crash),
		cmocka_unit_test(test_sequence_numbers),
		cmocka_unit_test(test_pin_and_unpin),
		cmocka_unit_test(test_cancel_holds_until_asked_for),
		cmocka_unit_test(test_operator_rolls_back),
		cmocka_unit_test(test_rollout_holds_back),
		cmocka_unit_test(test_builds_that_never_end_are_bounded),
		cmocka_unit_test(test_a_parser_that_crashes_is_bounded),
		cmocka_unit_test(test_waiting_over_many_restarts_is_no_failure),
		cmocka_unit_test(test_full_disk_changes_nothing),
		cmocka_unit_test(test_crash_matrix),
		cmocka_unit_test(test_changed_keys_judge_the_candidate_anew),
		cmocka_unit_test(test_transient_failures_back_off_and_go_on),
		cmocka_unit_test(test_older_models_are_remembered),
		cmocka_unit_test(test_every_state_with_every_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
