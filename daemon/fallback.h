// SPDX-License-Identifier: Apache-2.0
// The fallback chain of one model as a pure state machine: engine → building → cpu → passthrough.
// No I/O, no clock, no allocation: (state, event) → (state, actions).
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum pk_rung {
	PK_RUNG_PASSTHROUGH, // no engine serves: video flows, results say so
	PK_RUNG_CPU,         // untuned, or on the cpu although the chain names something better
	PK_RUNG_BUILDING,    // the tuned engine is being made; what serves meanwhile, if anything,
			     // is less
	PK_RUNG_ENGINE,      // the tuned engine of the runtime meant for this node serves
};
const char *pk_rung_name(enum pk_rung rung); // "passthrough", "cpu", "building", "engine"

enum pk_engine_kind {
	PK_ENGINE_QUICK, // cpu, opt level 0: ready in seconds
	PK_ENGINE_TUNED, // the first usable runtime of the chain, measured and gated
	PK_ENGINE_OLD,   // what was at hand when artifact or target changed, until its successor
			 // serves
	PK_N_ENGINE_KINDS,
	PK_ENGINE_NONE = PK_N_ENGINE_KINDS,
};
const char *pk_engine_kind_name(enum pk_engine_kind kind); // "quick", "tuned", "old", "none"

enum pk_engine_state {
	PK_ENGINE_UNKNOWN,  // nobody has looked for the file yet; OLD: there is none
	PK_ENGINE_CHECKING, // being looked for
	PK_ENGINE_MISSING,  // has to be built
	PK_ENGINE_BUILDING, // queued or running
	PK_ENGINE_READY,    // the file is there
	PK_ENGINE_LOADING,  // the worker was told
	PK_ENGINE_SERVING,
	PK_ENGINE_FAILED, // transient; a timer is running
	PK_ENGINE_BROKEN, // permanent for this key
	PK_N_ENGINE_STATES,
};

#define PK_CAUSE_MAX 256

// So often may the worker die with an engine, before it has proven itself, until that engine rests.
#define PK_FB_MAX_CRASHES 5

struct pk_fallback {
	// Policy, set by pk_fallback_init and PK_FB_POLICY.
	bool cpu_ok;                     // a quick cpu engine is useful meanwhile
	char better_cause[PK_CAUSE_MAX]; // why the chain's best runtime cannot be used here; "": it
					 // can
	// Facts.
	bool worker_up;
	char worker_cause[PK_CAUSE_MAX]; // why it went down; "": it is only starting
	bool artifact_ready;
	char artifact_cause[PK_CAUSE_MAX]; // why there is none; "": it is being fetched
	struct pk_fallback_engine {
		enum pk_engine_state state;
		char cause[PK_CAUSE_MAX]; // of FAILED, BROKEN, or why it is built anew
		unsigned n_failures;      // since it was last proven: the timer grows with it
		unsigned n_crashes;       // of the worker, since it was last proven
		bool refused;             // its file was, once, since it last served
	} engines[PK_N_ENGINE_KINDS];
	bool old_tuned; // OLD was TUNED (else QUICK)
	// Derived, kept to tell changes.
	enum pk_rung rung;
	char cause[PK_CAUSE_MAX]; // "" on engine, unless a newer model failed
	bool alarm;               // passthrough, and not only for a moment at the start
	struct pk_fallback_label {
		enum pk_engine_kind kind;
		enum pk_rung rung;
		char cause[PK_CAUSE_MAX];
	} told; // what the worker was last told
};

enum pk_fb_event_type {
	PK_FB_WORKER_UP,       // (re)started: knows nothing
	PK_FB_WORKER_DOWN,     // cause ("": on purpose), crashed
	PK_FB_ARTIFACT_READY,  // a model is in the store, or another one, or is meant for another
			       // target than before
	PK_FB_ARTIFACT_FAILED, // cause; keeps what serves
	PK_FB_ENGINE_FOUND,    // kind: its file exists
	PK_FB_ENGINE_MISSING,  // kind
	PK_FB_ENGINE_BROKEN,   // kind, cause: a remembered permanent failure
	PK_FB_BUILD_DONE,      // kind
	PK_FB_BUILD_FAILED,    // kind, cause, permanent
	PK_FB_ASSIGNED,        // kind: the worker serves it
	PK_FB_ASSIGN_FAILED,   // kind, cause, stale: the file is not one for here (rebuild)
	PK_FB_RUN_FAULT,       // cause: the serving engine failed at run time
	PK_FB_PROVEN,          // kind: it has served well for a while
	PK_FB_RETRY,           // kind: its timer fired
	PK_FB_REBUILD,         // operator: forget failures, build anew
	PK_FB_POLICY,          // cpu_ok, cause (better_cause)
	PK_N_FB_EVENTS,
};

struct pk_fb_event {
	enum pk_fb_event_type type;
	enum pk_engine_kind kind;
	const char *cause; // may be NULL
	bool crashed;      // WORKER_DOWN: nobody asked it to end
	bool permanent;    // BUILD_FAILED
	bool stale;        // ASSIGN_FAILED
	bool cpu_ok;       // POLICY
};

enum pk_fb_action_type {
	PK_FB_KEEP_OLD,        // kind: what is known of this engine is from now on OLD's
	PK_FB_DROP_OLD,        // OLD is not needed any more
	PK_FB_CANCEL_BUILDS,   // of this model
	PK_FB_RENEW,           // from here on actions mean the new artifact, the new target
	PK_FB_CHECK_ENGINE,    // kind: answer with FOUND, MISSING or BROKEN
	PK_FB_BUILD,           // kind: answer with BUILD_DONE or BUILD_FAILED
	PK_FB_REMOVE_ENGINE,   // kind: its file is bad
	PK_FB_FORGET_BROKEN,   // drop remembered permanent failures of this model
	PK_FB_REMEMBER_BROKEN, // kind: under its key, with the engine's cause
	PK_FB_ASSIGN,          // kind or NONE, as `told` says. A kind in state LOADING: answer
			       // ASSIGNED or ASSIGN_FAILED; else only rung and cause changed
	PK_FB_START_TIMER,     // kind, n_failures: answer RETRY
	PK_FB_TELL_RUNG,       // rung or cause changed: event, STATUS
	PK_FB_ALARM_ON,
	PK_FB_ALARM_OFF,
};

#define PK_FB_MAX_ACTIONS 16

struct pk_fb_actions {
	size_t n;
	struct pk_fb_action {
		enum pk_fb_action_type type;
		enum pk_engine_kind kind;
		unsigned n_failures;
	} items[PK_FB_MAX_ACTIONS]; // to be done in this order
};

// better_cause: NULL or "" when the chain's first runtime can be used here.
void pk_fallback_init(struct pk_fallback *fallback, bool cpu_ok, const char *better_cause);
void pk_fallback_step(struct pk_fallback *fallback, const struct pk_fb_event *event,
	struct pk_fb_actions *actions);
// What serves now: TUNED, QUICK, OLD or NONE.
enum pk_engine_kind pk_fallback_serving(const struct pk_fallback *fallback);
