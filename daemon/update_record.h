// SPDX-License-Identifier: Apache-2.0
// What a node remembers of one model's updates, and the rules that need nothing else: quarantine
// and sequence numbers. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"

enum pk_update_phase {
	PK_UP_IDLE,     // the poll timer runs
	PK_UP_RESOLVE,  // what does the reference name now?
	PK_UP_FETCH,    // manifest and blobs into the store
	PK_UP_VERIFY,   // who signed it, is it newer?
	PK_UP_ADMIT,    // parsed by picket-build, card against model
	PK_UP_BUILD,    // its engine
	PK_UP_GOLDEN,   // the engine's gate
	PK_UP_WAIT,     // for the window
	PK_UP_ACTIVATE, // the worker loads it beside the old one
	PK_UP_OBSERVE,  // probation; the active one is still the old one
	PK_UP_COMMIT,   // one write makes it the active one
	PK_UP_REJECT,   // one write makes it a bad one
	PK_UP_ROLLBACK, // back to the active one
	PK_N_UP_PHASES,
};
const char *pk_update_phase_name(enum pk_update_phase phase); // "idle", "resolve", …
bool pk_update_phase_parse(const char *name, enum pk_update_phase *out);

#define PK_UP_REASON_MAX     256
#define PK_UP_VERDICT_MAX    96 // of a reason that is kept on disk
#define PK_UP_MAX_QUARANTINE 8  // the oldest goes first
#define PK_UP_MAX_OLDER      7  // models before `previous`
#define PK_UP_MAX_ATTEMPTS   3  // activations that were begun and never ended
#define PK_UP_MAX_BUILDS     2  // builds that ended without a verdict
// A signed sequence number may be so far above the last one: a stolen key cannot end all updates.
#define PK_UP_MAX_SEQ_JUMP INT64_C(1000000)
#define PK_UP_MAX_SEQ      (INT64_C(1) << 53)
// How long a soft quarantine holds.
#define PK_UP_SOFT_S INT64_C(86400)

struct pk_up_slot {
	char digest[PK_DIGEST_TEXT]; // of the manifest; "": none
	int64_t seq;                 // signed; -1: none
};

// What the active model did with its cameras, to compare the next one with.
struct pk_up_baseline {
	double fps;        // results per second over all cameras; 0: nothing is known
	double captured;   // frames per second that the cameras delivered meanwhile
	double p95_ms;     // of a result
	double detections; // per result
};

// What survives a power cut. One write of it is the only way from one truth to the next.
struct pk_up_record {
	enum pk_update_phase phase; // IDLE, or where the candidate was
	struct pk_up_slot active, previous, candidate;
	struct pk_up_slot older[PK_UP_MAX_OLDER]; // before `previous`, newest first; only kept
	size_t n_older;
	char pinned[PK_DIGEST_TEXT]; // by the operator; "": the reference decides
	bool pin_any_seq;            // the pinned one may be older: the operator said so
	bool any_seq;                // the candidate may
	int64_t seq_high;            // highest signed seq that was ever to be activated; -1: none
	char seq_digest[PK_DIGEST_TEXT]; // whose that was
	unsigned attempts;               // activations of the candidate that were begun
	unsigned builds;                 // of it that were begun
	bool verified;                   // the candidate's signature was good
	struct pk_up_quarantine {
		char digest[PK_DIGEST_TEXT];
		char reason[PK_UP_VERDICT_MAX];
		unsigned count;  // how often it went in
		int64_t until_s; // wall clock; 0: for ever
	} quarantine[PK_UP_MAX_QUARANTINE];
	size_t n_quarantine;
	struct pk_up_baseline baseline;
};

void pk_up_record_init(struct pk_up_record *record); // as of a new node

// The entry that forbids this digest at that time, or NULL.
const struct pk_up_quarantine *pk_up_quarantined(
	const struct pk_up_record *record, const char *digest, int64_t now_s);
// soft: it is tried once more when PK_UP_SOFT_S are over. A pin on it goes.
void pk_up_quarantine_add(struct pk_up_record *record, const char *digest, const char *reason,
	bool soft, int64_t now_s);
// soft_only: one that never ends stays.
void pk_up_quarantine_forget(struct pk_up_record *record, const char *digest, bool soft_only);

// The candidate becomes the active one, the active one `previous`, and that one the first of the
// older ones, each at most once.
void pk_up_promote(struct pk_up_record *record);
// The other way: `previous`, which must be there, becomes active, and the first of the older ones
// `previous`. What was active becomes the candidate.
void pk_up_demote(struct pk_up_record *record);

// Why the candidate may not have this signed sequence number (-1: none), or NULL; text may hold it.
const char *pk_up_judge_seq(
	const struct pk_up_record *record, int64_t seq, char text[PK_UP_REASON_MAX]);
// The candidate is about to be activated: its number is the highest that was seen, or below it.
void pk_up_raise_seq(struct pk_up_record *record);
