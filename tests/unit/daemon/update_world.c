// SPDX-License-Identifier: Apache-2.0
// The laws of an update, checked at every step.
#include "tests/unit/daemon/update_world.h"

#include <stdio.h>
#include <string.h>

#define CALM_LIMIT 80

void world_digest(int i, char out[PK_DIGEST_TEXT])
{
	snprintf(out, PK_DIGEST_TEXT, "sha256:%064d", i + 1);
}

int world_index(const char *digest)
{
	char text[PK_DIGEST_TEXT];
	for (int i = 0; i < WORLD_DIGESTS; i++) {
		world_digest(i, text);
		if (strcmp(text, digest) == 0)
			return i;
	}
	return -1;
}

void world_init(struct world *w)
{
	*w = (struct world){.now_s = WORLD_NOW_S, .highest_seq = -1};
	pk_update_init(&w->u);
	w->disk = w->u.record;
}

static const char *short_name(const char *digest)
{
	static char names[8][12];
	static unsigned next;
	char *name = names[next++ % 8];
	int i = world_index(digest);
	snprintf(name, 12, "%s", "-");
	if (i >= 0)
		snprintf(name, 12, "%d", i);
	return name;
}

const char *world_describe(const struct world *w)
{
	static char text[512];
	const struct pk_up_record *r = &w->u.record;
	snprintf(text, sizeof(text),
		"phase %s (record %s, disk %s) active %s/%s previous %s candidate %s/%s pinned %s "
		"wish %s held %s attempts %u/%u builds %u seq %lld reason `%s` effect %d",
		pk_update_phase_name(w->u.phase), pk_update_phase_name(r->phase),
		pk_update_phase_name(w->disk.phase), short_name(r->active.digest),
		short_name(w->disk.active.digest), short_name(r->previous.digest),
		short_name(r->candidate.digest), short_name(w->disk.candidate.digest),
		short_name(r->pinned), short_name(w->u.wish), short_name(w->u.held), r->attempts,
		w->disk.attempts, r->builds, (long long)r->seq_high, w->u.reason,
		w->in_effect ? (int)w->effect : -1);
	return text;
}

static void demand(const struct world *w, bool holds, const char *law)
{
	if (holds)
		return;
	print_error("%s: %s\n", law, world_describe(w));
	fail_msg("%s", law);
}

static void write_disk(struct world *w)
{
	const struct pk_up_record *before = &w->disk, *after = &w->u.record;
	demand(w, after->seq_high >= w->highest_seq, "the high-water mark never falls");
	w->highest_seq = after->seq_high;
	if (before->active.digest[0]) {
		bool same = strcmp(before->active.digest, after->active.digest) == 0;
		bool candidate = strcmp(before->candidate.digest, after->active.digest) == 0;
		bool previous = strcmp(before->previous.digest, after->active.digest) == 0;
		demand(w, after->active.digest[0], "the active model is never lost");
		demand(w, same || previous || (candidate && w->activated),
			"only what served, or the one before, becomes active");
	}
	demand(w, after->attempts <= PK_UP_MAX_ATTEMPTS, "attempts are bounded");
	demand(w, after->builds <= PK_UP_MAX_BUILDS, "builds are bounded");
	w->disk = *after;
	w->has_disk = true;
}

static void check_activate(const struct world *w)
{
	const struct pk_up_record *r = &w->u.record;
	demand(w, w->disk.phase == PK_UP_ACTIVATE && w->disk.attempts > 0,
		"the attempt is on disk before the swap");
	demand(w, strcmp(w->disk.candidate.digest, r->candidate.digest) == 0,
		"the candidate is on disk before the swap");
	demand(w, r->verified, "only what was verified is activated");
	demand(w, w->disk.seq_high >= r->candidate.seq, "the mark is on disk before the swap");
	demand(w, !pk_up_quarantined(&w->disk, r->candidate.digest, w->now_s),
		"nothing quarantined is activated");
	demand(w, w->engine[world_index(r->candidate.digest)], "its engine was built");
}

static void begin(struct world *w, const struct pk_up_action *action)
{
	w->effect = action->type;
	w->in_effect = true;
	w->effect_serial = action->serial;
}

static void act(struct world *w, const struct pk_up_action *action, bool save)
{
	switch (action->type) {
	case PK_UP_DO_SAVE:
		w->saving = true;
		w->save_serial = action->serial;
		if (save)
			write_disk(w);
		break;
	case PK_UP_DO_RESOLVE:
		w->resolving = true;
		w->resolve_serial = action->serial;
		break;
	case PK_UP_DO_POLL:
		w->poll_armed = true;
		break;
	case PK_UP_DO_DEADLINE:
		w->deadline_armed = w->u.phase != PK_UP_IDLE;
		break;
	case PK_UP_DO_STOP:
		w->in_effect = false;
		break;
	case PK_UP_DO_NO_MODEL:
		w->no_model = true;
		break;
	case PK_UP_DO_SERVE_ACTIVE:
		snprintf(w->chain, sizeof(w->chain), "%s", w->u.record.active.digest);
		if (action->serial)
			begin(w, action);
		break;
	case PK_UP_DO_ACTIVATE:
		check_activate(w);
		snprintf(w->chain, sizeof(w->chain), "%s", w->u.record.candidate.digest);
		w->activated = true;
		begin(w, action);
		break;
	case PK_UP_DO_TELL:
		w->n_told[action->what]++;
		break;
	case PK_UP_DO_GC:
		break;
	default:
		begin(w, action);
		break;
	}
	if (action->type == PK_UP_DO_BUILD)
		demand(w, w->disk.builds > 0, "a build is counted before it begins");
}

static void check_state(const struct world *w)
{
	const struct pk_update *u = &w->u;
	bool busy = u->phase != PK_UP_IDLE && u->phase != PK_UP_RESOLVE;
	if (u->phase == PK_UP_IDLE)
		demand(w, w->poll_armed || w->resolving, "an idle update polls");
	else
		demand(w, w->deadline_armed, "every phase has a deadline");
	if (busy && u->phase != PK_UP_COMMIT)
		demand(w, u->serial || u->save_serial, "something is under way");
	if (u->phase == PK_UP_RESOLVE)
		demand(w, u->resolve_serial, "a poll is under way");
	if (u->serial)
		demand(w, w->in_effect && w->effect_serial == u->serial, "its effect runs");
	if (pk_update_pending(u))
		demand(w, u->record.candidate.digest[0], "there is a candidate");
	demand(w, u->record.n_quarantine <= PK_UP_MAX_QUARANTINE, "quarantine is bounded");
	bool serves_other = w->chain[0] && u->record.active.digest[0] &&
			    strcmp(w->chain, u->record.active.digest) != 0;
	if (u->phase < PK_UP_ACTIVATE)
		demand(w, !serves_other, "what serves is what is active");
}

// What the world knows of what is under way, before and after a step.
static void note_event(struct world *w, const struct pk_up_event *event)
{
	if (event->type == PK_UP_CHECK && !event->operator_)
		w->poll_armed = false;
	if (event->type == PK_UP_DEADLINE)
		w->deadline_armed = false;
	if (event->type == PK_UP_RESOLVED || event->type == PK_UP_RESOLVE_FAILED)
		w->resolving = w->resolving && event->serial != w->resolve_serial;
}

static void note_answer(struct world *w, const struct pk_up_event *event, int64_t effect)
{
	if (event->serial && event->serial == effect && w->u.serial != effect)
		w->in_effect = false; // this was its answer
	if (event->type == PK_UP_BUILT && w->u.phase == PK_UP_WAIT)
		w->engine[world_index(w->u.record.candidate.digest)] = true;
}

void world_feed(struct world *w, const struct pk_up_event *event, bool save)
{
	struct pk_up_actions actions;
	struct pk_up_event now = *event;
	int64_t effect = w->u.serial;
	now.now_s = w->now_s;
	note_event(w, &now);
	pk_update_step(&w->u, &now, &actions);
	w->n_steps++;
	note_answer(w, &now, effect);
	w->saving = false;
	for (size_t i = 0; i < actions.n; i++) {
		act(w, &actions.items[i], save);
		if (w->acted)
			w->acted(w, &actions.items[i]);
	}
	if (!w->saving) {
		check_state(w);
		return;
	}
	// Saving answers at once, as it does in picketd: after all actions of the step.
	w->saving = false;
	world_feed(w,
		&(struct pk_up_event){
			.type = save ? PK_UP_SAVED : PK_UP_SAVE_FAILED, .serial = w->save_serial},
		save);
}

void world_crash(struct world *w)
{
	struct pk_up_record disk = w->disk;
	w->in_effect = w->resolving = w->saving = w->poll_armed = w->deadline_armed = false;
	w->chain[0] = '\0';
	w->activated = w->no_model = false;
	pk_update_init(&w->u);
	w->u.record = disk;
	world_feed(w, &(struct pk_up_event){.type = PK_UP_START}, true);
}

static void answer_resolve(struct world *w, bool well, bool save)
{
	char digest[PK_DIGEST_TEXT];
	world_digest(w->wanted, digest);
	world_feed(w,
		&(struct pk_up_event){
			.type = well ? PK_UP_RESOLVED : PK_UP_RESOLVE_FAILED,
			.serial = w->resolve_serial,
			.digest = digest,
			.held = w->held,
			.reason = "no route to host",
		},
		save);
}

static enum pk_up_event_type good_answer(struct world *w)
{
	int i = world_index(w->u.record.candidate.digest);
	switch (w->effect) {
	case PK_UP_DO_FETCH:
		return PK_UP_FETCHED;
	case PK_UP_DO_VERIFY:
		return PK_UP_VERIFIED;
	case PK_UP_DO_ADMIT:
		return PK_UP_ADMITTED;
	case PK_UP_DO_FIND_ENGINE:
		return w->engine[i] ? PK_UP_BUILT : PK_UP_ENGINE_MISSING;
	case PK_UP_DO_BUILD:
		w->engine[i] = true;
		return PK_UP_BUILT;
	case PK_UP_DO_WAIT:
		return PK_UP_OPEN;
	case PK_UP_DO_ACTIVATE:
		return PK_UP_ACTIVATED;
	case PK_UP_DO_OBSERVE:
		return PK_UP_OBSERVED;
	default:
		return PK_UP_SERVED;
	}
}

bool world_answer(struct world *w, bool well, bool save)
{
	if (w->resolving) {
		answer_resolve(w, well, save);
		return true;
	}
	if (!w->in_effect)
		return false;
	struct pk_up_event event = {
		.type = well ? good_answer(w) : PK_UP_FAILED,
		.serial = w->effect_serial,
		.seq = world_index(w->u.record.candidate.digest),
		.reason = "something is wrong",
		.permanent = (w->n_steps & 1) != 0,
		.baseline = {.fps = 10},
	};
	w->n_rollbacks += event.type == PK_UP_SERVED;
	world_feed(w, &event, save);
	return true;
}

void world_calm(struct world *w)
{
	w->held = false;
	bool polled = false;
	for (int i = 0; i < CALM_LIMIT; i++) {
		if (world_answer(w, true, true))
			continue;
		bool rests = w->u.phase == PK_UP_IDLE && !w->u.record.candidate.digest[0];
		if (rests && polled)
			break;
		polled = polled || w->u.phase == PK_UP_IDLE;
		enum pk_up_event_type type =
			w->u.phase == PK_UP_IDLE ? PK_UP_CHECK : PK_UP_DEADLINE;
		world_feed(w, &(struct pk_up_event){.type = type}, true);
	}
	demand(w, w->u.phase == PK_UP_IDLE && w->poll_armed, "it comes to rest");
	demand(w, !w->u.record.candidate.digest[0], "no candidate is left behind");
	demand(w, strcmp(w->disk.active.digest, w->u.record.active.digest) == 0,
		"the disk knows the active one");
	demand(w, strcmp(w->chain, w->u.record.active.digest) == 0, "the active one serves");
	char wanted[PK_DIGEST_TEXT];
	world_digest(w->wanted, wanted);
	if (strcmp(wanted, w->u.record.active.digest) != 0)
		demand(w, w->u.record.pinned[0] || w->u.reason[0], "there is a reason");
	demand(w, w->u.record.active.digest[0] || w->no_model, "it serves, or says why not");
}
