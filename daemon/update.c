// SPDX-License-Identifier: Apache-2.0
// The update state machine: which model is active, and how another becomes it. Whatever changes
// what serves is written down before it is done; whatever fails leaves the active model active.
#include "daemon/update.h"

#include <assert.h>
#include <string.h>

#include "daemon/text.h"

static const struct pk_up_slot no_slot = {.seq = -1};

void pk_update_init(struct pk_update *update)
{
	*update = (struct pk_update){0};
	pk_up_record_init(&update->record);
}

bool pk_update_pending(const struct pk_update *update)
{
	return update->phase >= PK_UP_FETCH && update->phase <= PK_UP_WAIT;
}

static bool same(const char *a, const char *b)
{
	return a[0] && strcmp(a, b) == 0;
}

static void copy_digest(char out[PK_DIGEST_TEXT], const char *digest)
{
	pk_text_format(out, PK_DIGEST_TEXT, "%s", digest ? digest : "");
}

static void set_reason(struct pk_update *update, const char *reason)
{
	pk_text_format(update->reason, sizeof(update->reason), "%s", reason ? reason : "");
}

static struct pk_up_action *act(struct pk_up_actions *actions, enum pk_up_action_type type)
{
	assert(actions->n < PK_UP_MAX_ACTIONS);
	struct pk_up_action *action = &actions->items[actions->n++];
	*action = (struct pk_up_action){.type = type};
	return action;
}

static void tell(struct pk_up_actions *actions, enum pk_up_tell what, const char *digest)
{
	struct pk_up_action *action = act(actions, PK_UP_DO_TELL);
	action->what = what;
	copy_digest(action->digest, digest);
}

static void poll_later(struct pk_update *update, struct pk_up_actions *actions)
{
	act(actions, PK_UP_DO_POLL)->n_failures = update->n_failures;
}

static void begin_effect(
	struct pk_update *update, enum pk_up_action_type type, struct pk_up_actions *actions)
{
	update->serial = ++update->last_serial;
	act(actions, type)->serial = update->serial;
}

static void save(struct pk_update *update, struct pk_up_actions *actions)
{
	act(actions, PK_UP_DO_SAVE)->serial = ++update->last_serial;
}

static void stop_work(struct pk_update *update, struct pk_up_actions *actions)
{
	if (update->serial)
		act(actions, PK_UP_DO_STOP);
	update->serial = update->save_serial = 0;
}

static void go(struct pk_update *update, enum pk_update_phase phase, struct pk_up_actions *actions)
{
	update->phase = phase;
	act(actions, PK_UP_DO_DEADLINE);
}

// The phase's effect begins once the record is on disk.
static void go_saved(
	struct pk_update *update, enum pk_update_phase phase, struct pk_up_actions *actions)
{
	bool ends = phase == PK_UP_COMMIT || phase == PK_UP_REJECT;
	update->record.phase = ends ? PK_UP_IDLE : phase;
	update->serial = 0;
	go(update, phase, actions);
	save(update, actions);
	update->save_serial = update->last_serial;
}

// From one phase to another.

static void check(struct pk_update *update, int64_t now_s, struct pk_up_actions *actions);

static void rest(struct pk_update *update, int64_t now_s, struct pk_up_actions *actions)
{
	bool wished = update->wish[0];
	update->wish[0] = '\0';
	stop_work(update, actions);
	go(update, PK_UP_IDLE, actions);
	poll_later(update, actions);
	if (wished)
		check(update, now_s, actions);
}

static void drop_candidate(struct pk_update *update)
{
	update->record.candidate = no_slot;
	update->record.attempts = update->record.builds = 0;
	update->record.verified = update->record.any_seq = false;
}

static void tell_no_model(struct pk_update *update, struct pk_up_actions *actions)
{
	if (!update->record.active.digest[0])
		act(actions, PK_UP_DO_NO_MODEL);
}

static void begin(
	struct pk_update *update, const char *digest, bool any_seq, struct pk_up_actions *actions)
{
	stop_work(update, actions);
	drop_candidate(update);
	copy_digest(update->record.candidate.digest, digest);
	update->record.any_seq = any_seq;
	set_reason(update, "");
	tell(actions, PK_UP_TELL_FOUND, digest);
	go_saved(update, PK_UP_FETCH, actions);
}

// What was begun for it is still right.
static void resume(struct pk_update *update, struct pk_up_actions *actions)
{
	go(update, PK_UP_FETCH, actions);
	begin_effect(update, PK_UP_DO_FETCH, actions);
}

// Nothing of it is wanted any more, and nothing is held against it.
static void withdraw(struct pk_update *update, struct pk_up_actions *actions)
{
	stop_work(update, actions);
	drop_candidate(update);
	go_saved(update, PK_UP_REJECT, actions);
}

static void fail_for_now(
	struct pk_update *update, const char *reason, int64_t now_s, struct pk_up_actions *actions)
{
	set_reason(update, reason);
	update->n_failures++;
	tell(actions, PK_UP_TELL_FAILED, update->record.candidate.digest);
	tell_no_model(update, actions);
	rest(update, now_s, actions);
}

static void reject(struct pk_update *update, const struct pk_up_event *event, const char *reason,
	bool soft, struct pk_up_actions *actions)
{
	char digest[PK_DIGEST_TEXT];
	enum pk_up_tell what = update->phase == PK_UP_VERIFY  ? PK_UP_TELL_REFUSED
			       : update->phase == PK_UP_ADMIT ? PK_UP_TELL_UNFIT
							      : PK_UP_TELL_REJECTED;
	copy_digest(digest, update->record.candidate.digest);
	set_reason(update, reason);
	tell(actions, what, digest);
	pk_up_quarantine_add(&update->record, digest, reason, soft, event->now_s);
	tell(actions, PK_UP_TELL_QUARANTINED, digest);
	tell_no_model(update, actions);
	withdraw(update, actions);
}

static void roll_back(struct pk_update *update, const struct pk_up_event *event, const char *reason,
	bool soft, struct pk_up_actions *actions)
{
	char digest[PK_DIGEST_TEXT];
	copy_digest(digest, update->record.candidate.digest);
	set_reason(update, reason);
	pk_up_quarantine_add(&update->record, digest, reason, soft, event->now_s);
	tell(actions, PK_UP_TELL_QUARANTINED, digest);
	stop_work(update, actions);
	go_saved(update, PK_UP_ROLLBACK, actions);
}

static void end_rollback(struct pk_update *update, int64_t now_s, struct pk_up_actions *actions)
{
	tell(actions, PK_UP_TELL_ROLLED_BACK, update->record.candidate.digest);
	drop_candidate(update);
	update->record.phase = PK_UP_IDLE;
	update->hurry = false;
	save(update, actions);
	act(actions, PK_UP_DO_GC);
	rest(update, now_s, actions);
}

static void activate(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (update->record.attempts >= PK_UP_MAX_ATTEMPTS) {
		reject(update, event, "restarts", true, actions);
		return;
	}
	if (event->baseline.fps > 0)
		update->record.baseline = event->baseline;
	pk_up_raise_seq(&update->record);
	update->record.attempts++;
	go_saved(update, PK_UP_ACTIVATE, actions);
}

static void commit(struct pk_update *update, struct pk_up_actions *actions)
{
	struct pk_up_record *record = &update->record;
	stop_work(update, actions);
	pk_up_raise_seq(record);
	pk_up_promote(record);
	drop_candidate(update);
	go_saved(update, PK_UP_COMMIT, actions);
}

static void end_commit(struct pk_update *update, int64_t now_s, struct pk_up_actions *actions)
{
	bool first = !update->record.previous.digest[0];
	set_reason(update, "");
	update->hurry = false;
	update->n_failures = 0;
	tell(actions, PK_UP_TELL_COMMITTED, update->record.active.digest);
	// The first model is adopted as it is: there is nothing that it could be worse than, and
	// the chain makes its engine. Any other serves already.
	if (first)
		act(actions, PK_UP_DO_SERVE_ACTIVE);
	act(actions, PK_UP_DO_GC);
	rest(update, now_s, actions);
}

// Wishes.

static void hold(struct pk_update *update, const char *digest, const char *reason,
	struct pk_up_actions *actions)
{
	bool known = same(digest, update->held) && strcmp(reason, update->reason) == 0;
	copy_digest(update->held, digest);
	set_reason(update, reason);
	if (!known)
		tell(actions, PK_UP_TELL_HELD, digest);
	tell_no_model(update, actions);
	if (pk_update_pending(update) || update->record.candidate.digest[0])
		withdraw(update, actions);
}

static void want(struct pk_update *update, const struct pk_up_event *event, const char *digest,
	struct pk_up_actions *actions)
{
	const struct pk_up_record *record = &update->record;
	if (update->phase >= PK_UP_ACTIVATE) {
		if (!same(digest, record->candidate.digest))
			copy_digest(update->wish, digest);
		return;
	}
	if (update->hurry)
		pk_up_quarantine_forget(&update->record, digest, true);
	const struct pk_up_quarantine *bad = pk_up_quarantined(record, digest, event->now_s);
	if (same(digest, record->active.digest)) {
		update->held[0] = '\0';
		update->hurry = false;
		if (record->candidate.digest[0])
			withdraw(update, actions);
		else
			set_reason(update, "");
	} else if (bad) {
		char reason[PK_UP_REASON_MAX];
		pk_text_format(reason, sizeof(reason), "quarantined: %s", bad->reason);
		hold(update, digest, reason, actions);
	} else if (event->held && !update->hurry) {
		hold(update, digest, "not in the rollout yet", actions);
	} else if (same(digest, record->candidate.digest)) {
		if (!pk_update_pending(update))
			resume(update, actions);
	} else {
		update->held[0] = '\0';
		begin(update, digest, event->any_seq, actions);
	}
}

static void check(struct pk_update *update, int64_t now_s, struct pk_up_actions *actions)
{
	const struct pk_up_event event = {.now_s = now_s, .any_seq = update->record.pin_any_seq};
	if (update->record.pinned[0]) {
		char pinned[PK_DIGEST_TEXT];
		copy_digest(pinned, update->record.pinned);
		want(update, &event, pinned, actions);
		poll_later(update, actions);
		return;
	}
	if (update->resolve_serial)
		return;
	update->resolve_serial = ++update->last_serial;
	act(actions, PK_UP_DO_RESOLVE)->serial = update->resolve_serial;
	if (update->phase == PK_UP_IDLE)
		go(update, PK_UP_RESOLVE, actions);
}

// One handler per event; a handler ignores what does not fit the state.
typedef void handler_fn(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions);

// The phase waits for its effect, and this answers it.
static bool answers(
	const struct pk_update *update, const struct pk_up_event *event, enum pk_update_phase phase)
{
	return update->phase == phase && update->serial && event->serial == update->serial;
}

static void on_start(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	struct pk_up_record *record = &update->record;
	enum pk_update_phase phase = record->phase;
	if (same(record->candidate.digest, record->active.digest))
		drop_candidate(update);
	if (phase == PK_UP_ROLLBACK && record->active.digest[0]) {
		go(update, PK_UP_ROLLBACK, actions);
		begin_effect(update, PK_UP_DO_SERVE_ACTIVE, actions);
		return;
	}
	if (record->active.digest[0])
		act(actions, PK_UP_DO_SERVE_ACTIVE);
	poll_later(update, actions);
	if (!record->candidate.digest[0])
		return;
	if (record->attempts >= PK_UP_MAX_ATTEMPTS && record->active.digest[0])
		roll_back(update, event, "restarts", true, actions);
	else
		resume(update, actions);
}

static void on_check(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (event->operator_)
		update->n_failures = 0;
	if (event->hurry) {
		update->hurry = true;
		if (update->phase == PK_UP_WAIT)
			begin_effect(update, PK_UP_DO_WAIT, actions);
	}
	check(update, event->now_s, actions);
}

static void end_resolve(struct pk_update *update, struct pk_up_actions *actions)
{
	update->resolve_serial = 0;
	if (update->phase == PK_UP_RESOLVE)
		go(update, PK_UP_IDLE, actions);
}

static void on_resolved(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!update->resolve_serial || event->serial != update->resolve_serial || !event->digest)
		return;
	end_resolve(update, actions);
	update->n_failures = update->record.candidate.digest[0] ? update->n_failures : 0;
	poll_later(update, actions);
	if (!update->record.pinned[0])
		want(update, event, event->digest, actions);
}

static void on_resolve_failed(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!update->resolve_serial || event->serial != update->resolve_serial)
		return;
	end_resolve(update, actions);
	update->n_failures++;
	poll_later(update, actions);
	if (update->phase != PK_UP_IDLE)
		return;
	set_reason(update, event->reason);
	tell(actions, PK_UP_TELL_FAILED, "");
	tell_no_model(update, actions);
}

static void on_fetched(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!answers(update, event, PK_UP_FETCH))
		return;
	update->n_failures = 0;
	tell(actions, PK_UP_TELL_FETCHED, update->record.candidate.digest);
	bool verified = update->record.verified;
	go(update, verified ? PK_UP_ADMIT : PK_UP_VERIFY, actions);
	begin_effect(update, verified ? PK_UP_DO_ADMIT : PK_UP_DO_VERIFY, actions);
}

static void on_verified(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	char text[PK_UP_REASON_MAX];
	if (!answers(update, event, PK_UP_VERIFY))
		return;
	bool free = event->trusted || update->record.any_seq;
	const char *reason = free ? NULL : pk_up_judge_seq(&update->record, event->seq, text);
	if (reason) {
		reject(update, event, reason, false, actions);
		return;
	}
	if (event->held && !update->hurry) {
		char digest[PK_DIGEST_TEXT];
		copy_digest(digest, update->record.candidate.digest);
		hold(update, digest, "not in the rollout yet", actions);
		return;
	}
	tell(actions, PK_UP_TELL_VERIFIED, update->record.candidate.digest);
	update->record.candidate.seq = event->trusted ? -1 : event->seq;
	update->record.verified = true;
	go_saved(update, PK_UP_ADMIT, actions);
}

static void on_admitted(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!answers(update, event, PK_UP_ADMIT))
		return;
	if (!update->record.active.digest[0]) {
		commit(update, actions);
		return;
	}
	go(update, PK_UP_BUILD, actions);
	begin_effect(update, PK_UP_DO_FIND_ENGINE, actions);
}

// Counted before it is begun: a build that takes the machine down is not tried for ever.
static void build(struct pk_update *update, const struct pk_up_event *event, const char *reason,
	struct pk_up_actions *actions)
{
	if (update->record.builds >= PK_UP_MAX_BUILDS) {
		reject(update, event, reason, true, actions);
		return;
	}
	stop_work(update, actions);
	update->record.builds++;
	go_saved(update, PK_UP_BUILD, actions);
}

static void on_engine_missing(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (answers(update, event, PK_UP_BUILD))
		build(update, event, "its build never ends", actions);
}

static void on_gating(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (answers(update, event, PK_UP_BUILD))
		go(update, PK_UP_GOLDEN, actions);
}

static void on_built(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!answers(update, event, PK_UP_BUILD) && !answers(update, event, PK_UP_GOLDEN))
		return;
	update->record.builds = 0; // written with the next step
	tell(actions, PK_UP_TELL_BUILT, update->record.candidate.digest);
	go(update, PK_UP_WAIT, actions);
	begin_effect(update, PK_UP_DO_WAIT, actions);
}

static void on_open(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (answers(update, event, PK_UP_WAIT))
		activate(update, event, actions);
}

static void on_activated(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!answers(update, event, PK_UP_ACTIVATE))
		return;
	tell(actions, PK_UP_TELL_ACTIVATED, update->record.candidate.digest);
	go(update, PK_UP_OBSERVE, actions);
	begin_effect(update, PK_UP_DO_OBSERVE, actions);
}

static void on_observed(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!answers(update, event, PK_UP_OBSERVE))
		return;
	if (event->baseline.fps > 0)
		update->record.baseline = event->baseline;
	commit(update, actions);
}

static void on_served(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (answers(update, event, PK_UP_ROLLBACK))
		end_rollback(update, event->now_s, actions);
}

static void fail_phase(struct pk_update *update, const struct pk_up_event *event,
	const char *reason, struct pk_up_actions *actions)
{
	switch (update->phase) {
	case PK_UP_ADMIT: // a model that takes the parser down each time is not tried for ever
		if (event->permanent || ++update->record.builds >= PK_UP_MAX_BUILDS)
			reject(update, event, reason, !event->permanent, actions);
		else
			fail_for_now(update, reason, event->now_s, actions);
		break;
	case PK_UP_FETCH:
	case PK_UP_VERIFY:
		if (event->permanent)
			reject(update, event, reason, false, actions);
		else
			fail_for_now(update, reason, event->now_s, actions);
		break;
	case PK_UP_BUILD:
	case PK_UP_GOLDEN:
		if (event->permanent)
			reject(update, event, reason, false, actions);
		else
			build(update, event, reason, actions);
		break;
	case PK_UP_ACTIVATE:
	case PK_UP_OBSERVE:
		roll_back(update, event, reason, !event->permanent, actions);
		break;
	case PK_UP_ROLLBACK:
		tell(actions, PK_UP_TELL_DEGRADED, update->record.active.digest);
		end_rollback(update, event->now_s, actions);
		break;
	default:
		break;
	}
}

static void on_failed(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (answers(update, event, update->phase))
		fail_phase(
			update, event, event->reason ? event->reason : "no reason given", actions);
}

static void on_saved(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	static const enum pk_up_action_type effects[PK_N_UP_PHASES] = {
		[PK_UP_FETCH] = PK_UP_DO_FETCH,
		[PK_UP_ADMIT] = PK_UP_DO_ADMIT,
		[PK_UP_BUILD] = PK_UP_DO_BUILD,
		[PK_UP_ACTIVATE] = PK_UP_DO_ACTIVATE,
		[PK_UP_ROLLBACK] = PK_UP_DO_SERVE_ACTIVE,
	};
	if (!update->save_serial || event->serial != update->save_serial)
		return;
	update->save_serial = 0;
	if (update->phase == PK_UP_COMMIT)
		end_commit(update, event->now_s, actions);
	else if (update->phase == PK_UP_REJECT)
		rest(update, event->now_s, actions);
	else
		begin_effect(update, effects[update->phase], actions);
}

// Without its record on disk nothing new is begun; the way back is gone in any case.
static void on_save_failed(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!update->save_serial || event->serial != update->save_serial)
		return;
	update->save_serial = 0;
	tell(actions, PK_UP_TELL_UNSAVED, update->record.candidate.digest);
	switch (update->phase) {
	case PK_UP_COMMIT: // it serves; the deadline tries again
		break;
	case PK_UP_REJECT:
		rest(update, event->now_s, actions);
		break;
	case PK_UP_ROLLBACK:
		begin_effect(update, PK_UP_DO_SERVE_ACTIVE, actions);
		break;
	case PK_UP_ACTIVATE:
		update->record.attempts--; // it was none
		update->record.phase = PK_UP_BUILD;
		fail_for_now(update, "the state cannot be written", event->now_s, actions);
		break;
	default:
		fail_for_now(update, "the state cannot be written", event->now_s, actions);
		break;
	}
}

static void on_deadline(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	const struct pk_up_event late = {.now_s = event->now_s};
	char reason[PK_UP_REASON_MAX];
	pk_text_format(
		reason, sizeof(reason), "%s took too long", pk_update_phase_name(update->phase));
	switch (update->phase) {
	case PK_UP_IDLE:
		break;
	case PK_UP_RESOLVE:
		on_resolve_failed(update,
			&(struct pk_up_event){.serial = update->resolve_serial,
				.reason = reason,
				.now_s = event->now_s},
			actions);
		break;
	case PK_UP_WAIT:
		go(update, PK_UP_WAIT, actions);
		begin_effect(update, PK_UP_DO_WAIT, actions);
		break;
	case PK_UP_OBSERVE: // nothing was to be seen, so nothing bad was
		commit(update, actions);
		break;
	case PK_UP_COMMIT:
		go_saved(update, PK_UP_COMMIT, actions);
		break;
	case PK_UP_REJECT:
		rest(update, event->now_s, actions);
		break;
	default:
		fail_phase(update, &late, reason, actions);
		break;
	}
}

static void on_policy(struct pk_update *update, pk_unused const struct pk_up_event *event,
	struct pk_up_actions *actions)
{
	update->held[0] = '\0';
	if (!pk_update_pending(update))
		return;
	stop_work(update, actions);
	update->record.verified = false;
	go_saved(update, PK_UP_FETCH, actions);
}

static void on_pin(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	struct pk_up_record *record = &update->record;
	char digest[PK_DIGEST_TEXT];
	copy_digest(
		digest, event->digest && event->digest[0] ? event->digest : record->active.digest);
	if (!digest[0])
		return;
	pk_up_quarantine_forget(record, digest, false);
	memcpy(record->pinned, digest, sizeof(record->pinned));
	record->pin_any_seq = event->any_seq;
	tell(actions, PK_UP_TELL_PINNED, digest);
	if (update->phase == PK_UP_RESOLVE)
		end_resolve(update, actions);
	save(update, actions);
	if (same(digest, record->candidate.digest))
		record->any_seq |= event->any_seq;
	want(update, &(struct pk_up_event){.now_s = event->now_s, .any_seq = event->any_seq},
		digest, actions);
	poll_later(update, actions);
}

static void on_unpin(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	if (!update->record.pinned[0])
		return;
	tell(actions, PK_UP_TELL_UNPINNED, update->record.pinned);
	update->record.pinned[0] = '\0';
	save(update, actions);
	check(update, event->now_s, actions);
}

static void on_cancel(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	char digest[PK_DIGEST_TEXT];
	if (!pk_update_pending(update))
		return;
	copy_digest(digest, update->record.candidate.digest);
	pk_up_quarantine_add(&update->record, digest, "cancelled", true, event->now_s);
	set_reason(update, "cancelled");
	tell(actions, PK_UP_TELL_CANCELLED, digest);
	tell_no_model(update, actions);
	withdraw(update, actions);
}

static void on_roll_back(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	struct pk_up_record *record = &update->record;
	if (update->phase == PK_UP_ACTIVATE || update->phase == PK_UP_OBSERVE) {
		roll_back(update, event, "rolled back by the operator", false, actions);
		return;
	}
	bool possible = update->phase <= PK_UP_WAIT && record->previous.digest[0];
	if (!possible)
		return;
	if (update->phase == PK_UP_RESOLVE)
		end_resolve(update, actions);
	stop_work(update, actions);
	drop_candidate(update);
	// What is left stays the candidate until the way back is done: events speak of it.
	pk_up_demote(record);
	roll_back(update, event, "rolled back by the operator", false, actions);
}

static void on_stopping(struct pk_update *update, pk_unused const struct pk_up_event *event,
	struct pk_up_actions *actions)
{
	bool begun = update->phase == PK_UP_ACTIVATE || update->phase == PK_UP_OBSERVE;
	if (!begun || update->record.attempts == 0)
		return;
	update->record.attempts--;
	save(update, actions);
}

static handler_fn *const handlers[PK_N_UP_EVENTS] = {
	[PK_UP_START] = on_start,
	[PK_UP_CHECK] = on_check,
	[PK_UP_RESOLVED] = on_resolved,
	[PK_UP_RESOLVE_FAILED] = on_resolve_failed,
	[PK_UP_FETCHED] = on_fetched,
	[PK_UP_VERIFIED] = on_verified,
	[PK_UP_ADMITTED] = on_admitted,
	[PK_UP_ENGINE_MISSING] = on_engine_missing,
	[PK_UP_GATING] = on_gating,
	[PK_UP_BUILT] = on_built,
	[PK_UP_OPEN] = on_open,
	[PK_UP_ACTIVATED] = on_activated,
	[PK_UP_OBSERVED] = on_observed,
	[PK_UP_SERVED] = on_served,
	[PK_UP_FAILED] = on_failed,
	[PK_UP_SAVED] = on_saved,
	[PK_UP_SAVE_FAILED] = on_save_failed,
	[PK_UP_DEADLINE] = on_deadline,
	[PK_UP_POLICY] = on_policy,
	[PK_UP_PIN] = on_pin,
	[PK_UP_UNPIN] = on_unpin,
	[PK_UP_CANCEL] = on_cancel,
	[PK_UP_ROLL_BACK] = on_roll_back,
	[PK_UP_STOPPING] = on_stopping,
};

void pk_update_step(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions)
{
	actions->n = 0;
	handlers[event->type](update, event, actions);
}
