// SPDX-License-Identifier: Apache-2.0
// How one model becomes another, as a pure state machine: no I/O, no clock, no allocation,
// (state, event) → (state, actions). It decides *which* model is to be active; daemon/fallback.c
// keeps whatever is active served. Until ACTIVATE the chain knows nothing of the candidate.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/update_record.h"

struct pk_update {
	struct pk_up_record record; // as it was last given to SAVE, or will be
	enum pk_update_phase phase;
	int64_t serial;         // of the effect that is under way; 0: none
	int64_t resolve_serial; // of the poll that is under way; 0: none
	int64_t save_serial;    // of the save that the phase waits for; 0: none
	int64_t last_serial;
	char wish[PK_DIGEST_TEXT];     // came while the candidate could not be left; "": none
	char held[PK_DIGEST_TEXT];     // what the reference names and is not taken; "": nothing
	char reason[PK_UP_REASON_MAX]; // why nothing happens, or what went wrong last; ""
	unsigned n_failures;           // polls and fetches in a row that failed
	bool hurry;                    // the operator wants it now: no window, no rollout
};

enum pk_up_event_type {
	PK_UP_START,          // the record was loaded into the struct
	PK_UP_CHECK,          // the poll timer, or the operator (operator, hurry)
	PK_UP_RESOLVED,       // digest, held (not in the rollout), any_seq (a pinned reference)
	PK_UP_RESOLVE_FAILED, // reason
	PK_UP_FETCHED,
	PK_UP_VERIFIED, // seq; trusted: no signature is asked for, seq means nothing; held
	PK_UP_ADMITTED,
	PK_UP_ENGINE_MISSING, // BUILD: there is none for this node yet
	PK_UP_GATING,         // BUILD: compiled, being gated
	PK_UP_BUILT,          // the engine is there and passed its gate
	PK_UP_OPEN,           // WAIT: now
	PK_UP_ACTIVATED,      // the worker serves the candidate
	PK_UP_OBSERVED,       // probation is over and well; baseline
	PK_UP_SERVED,         // ROLLBACK: the active one serves again
	PK_UP_FAILED,         // the effect that is under way: reason, permanent
	PK_UP_SAVED,
	PK_UP_SAVE_FAILED,
	PK_UP_DEADLINE, // of the phase
	PK_UP_POLICY,   // keys or limits are others: what is not active yet is judged anew
	PK_UP_PIN,      // digest ("": the active one), any_seq
	PK_UP_UNPIN,
	PK_UP_CANCEL,
	PK_UP_ROLL_BACK, // operator
	PK_UP_STOPPING,  // picketd ends as told: this is no crash
	PK_N_UP_EVENTS,
};

struct pk_up_event {
	enum pk_up_event_type type;
	int64_t serial;                 // of the effect, poll or save that this answers; 0: of none
	const char *digest;             // RESOLVED, PIN; may be NULL
	const char *reason;             // may be NULL
	int64_t seq;                    // VERIFIED; -1: none
	int64_t now_s;                  // wall clock as far as it can be trusted, for quarantines
	bool permanent;                 // FAILED: this digest will never do
	bool held;                      // RESOLVED, VERIFIED: this node is not in its rollout
	bool any_seq;                   // RESOLVED, PIN
	bool trusted;                   // VERIFIED
	bool operator_;                 // CHECK: a person asks
	bool hurry;                     // CHECK
	struct pk_up_baseline baseline; // OPEN (of the active one), OBSERVED (of the candidate)
};

enum pk_up_action_type {
	PK_UP_DO_SAVE,    // write record, durably; answer SAVED or SAVE_FAILED
	PK_UP_DO_RESOLVE, // answer RESOLVED or RESOLVE_FAILED
	PK_UP_DO_FETCH,   // the candidate, from the store as far as it is there
	PK_UP_DO_VERIFY,
	PK_UP_DO_ADMIT,
	PK_UP_DO_FIND_ENGINE,  // answer BUILT or ENGINE_MISSING
	PK_UP_DO_BUILD,        // answer GATING, then BUILT
	PK_UP_DO_WAIT,         // answer OPEN when the window is, at once with `hurry`
	PK_UP_DO_ACTIVATE,     // hand the candidate to the chain; answer ACTIVATED
	PK_UP_DO_OBSERVE,      // answer OBSERVED
	PK_UP_DO_SERVE_ACTIVE, // hand the active one to the chain; in ROLLBACK answer SERVED
	PK_UP_DO_STOP,         // whatever is under way for the candidate
	PK_UP_DO_POLL,     // start the poll timer: n_failures 0: the interval, else the back-off
	PK_UP_DO_DEADLINE, // start the phase's timer; answer DEADLINE. In IDLE: stop it
	PK_UP_DO_NO_MODEL, // there is nothing to serve yet, and this is why: tell the chain
	PK_UP_DO_GC,       // the record names other models than before
	PK_UP_DO_TELL,     // what
};

enum pk_up_tell {
	PK_UP_TELL_FOUND, // another model is wanted
	PK_UP_TELL_HELD,  // … and is not taken, for `reason`
	PK_UP_TELL_FETCHED,
	PK_UP_TELL_VERIFIED,
	PK_UP_TELL_REFUSED,  // VERIFY
	PK_UP_TELL_UNFIT,    // ADMIT
	PK_UP_TELL_REJECTED, // any other phase
	PK_UP_TELL_FAILED,   // for now
	PK_UP_TELL_BUILT,
	PK_UP_TELL_ACTIVATED,
	PK_UP_TELL_COMMITTED,
	PK_UP_TELL_ROLLED_BACK,
	PK_UP_TELL_QUARANTINED,
	PK_UP_TELL_CANCELLED,
	PK_UP_TELL_PINNED,
	PK_UP_TELL_UNPINNED,
	PK_UP_TELL_DEGRADED, // the way back takes too long; the chain goes on trying
	PK_UP_TELL_UNSAVED,  // the record cannot be written
	PK_N_UP_TELLS,
};

#define PK_UP_MAX_ACTIONS 24

struct pk_up_actions {
	size_t n;
	struct pk_up_action {
		enum pk_up_action_type type;
		int64_t serial; // SAVE, RESOLVE and what answers
		unsigned n_failures;
		enum pk_up_tell what;
		char digest[PK_DIGEST_TEXT]; // TELL: of which model; "": of none
	} items[PK_UP_MAX_ACTIONS];          // to be done in this order
};

// An empty record is what a new node has.
void pk_update_init(struct pk_update *update);
void pk_update_step(
	struct pk_update *update, const struct pk_up_event *event, struct pk_up_actions *actions);

// A candidate is being worked on and does not serve yet.
bool pk_update_pending(const struct pk_update *update);
