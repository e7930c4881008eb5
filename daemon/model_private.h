// SPDX-License-Identifier: Apache-2.0
// What the files of a model share: model.c (the fallback chain's decisions carried out),
// model_update.c (the update's), model_serve.c (the active artifact into the chain), model_job.c
// (what blocks), model_build.c (building), model_watch.c (how well it does), model_tell.c (events
// and history), model_json.c.
#pragma once

#include "base/array.h"
#include "daemon/artifact.h"
#include "daemon/model.h"
#include "daemon/model_watch.h"
#include "daemon/state.h"
#include "daemon/update.h"
#include "daemon/update_policy.h"
#include "registry/registry.h"

#define PK_MODEL_MAX_PENDING 16

struct pk_model_job; // one job of an agent; model_job.h

struct pk_model {
	const struct pk_model_env *env;
	const struct pk_model_config *config; // the daemon's; another one after each update
	char *name, *ref;
	struct pk_target_choice target;
	struct pk_fallback fallback;
	struct pk_state state;
	int64_t since_ns; // realtime of the last change of rung or cause

	// Artifacts of the chain: what it serves, and the next until it takes it.
	struct pk_artifact *current, *next;
	struct pk_engine_file old; // what PK_ENGINE_OLD serves from
	char old_digest[PK_DIGEST_TEXT];

	// Builds, by kind; and the one that the chain knows nothing of: the candidate's, or the
	// previous model's after the target has changed.
	struct pk_model_side {
		struct pk_model *model;
		enum pk_engine_kind kind;
		struct pk_build_job job;
		struct pk_timer retry_timer;
		struct pk_build_progress progress;
		bool building;            // it runs, not only queued
		int64_t told_progress_ns; // monotonic, of the last event
	} sides[PK_N_MADE_KINDS], apart;
	struct pk_artifact *apart_artifact; // whose engine `apart` makes
	void (*apart_done)(struct pk_model *model, const struct pk_build_result *result);
	struct pk_build_job admit_job;

	// Assignments.
	int64_t serial, load_serial; // load_serial 0: no load is under way
	enum pk_engine_kind load_kind;
	struct pk_timer proof_timer;

	// Updates.
	struct pk_update update;
	struct pk_artifact *active, *candidate, *previous; // of the record's slots, once prepared
	struct pk_model_job *resolve_job, *work_job, *serve_job, *warm_job; // NULL: none
	struct pk_timer poll_timer, deadline_timer, wait_timer, serve_timer;
	bool started; // the first poll is behind us
	unsigned n_serve_failures;
	int64_t retry_after_ns;   // the server's wish; 0: none
	int64_t wait_until_s;     // wall clock, of WAIT; 0: it does not wait
	int64_t holdoff_until_ns; // monotonic; 0: not drawn yet
	int64_t phase_ns;         // monotonic, when the phase began
	int64_t checked_ns;       // realtime of the last poll; 0: none yet
	double signed_rollout;    // percent, of `signed_rollout_of`; 100 unless told
	char signed_rollout_of[PK_DIGEST_TEXT];
	char verified_by[160]; // in words
	struct pk_resolved_memo {
		char etag[256];
		char digest[PK_DIGEST_TEXT];
	} memo;                       // of the last poll; in the run folder
	struct pk_byte_budget budget; // likewise: its clock ends with the boot
	struct pk_model_watch watch;
	int64_t begun_ns; // monotonic, when the candidate was found
	char *policy;     // what judges a candidate, as text
	char *entry;      // all that the config says of it, as text

	// Events that came while another was being handled.
	struct pk_model_pending {
		struct pk_fb_event event;
		char cause[PK_CAUSE_MAX];
	} pending[PK_MODEL_MAX_PENDING];
	size_t n_pending;
	bool busy;
	struct pk_model_update_pending {
		struct pk_up_event event;
		char digest[PK_DIGEST_TEXT], reason[PK_UP_REASON_MAX];
	} update_pending[PK_MODEL_MAX_PENDING];
	size_t n_update_pending;
	bool update_busy;
};

// Feeds the chain and does what it decides. event->cause is copied.
void pk_model_post(struct pk_model *model, const struct pk_fb_event *event);
const struct pk_engine_file *pk_model_file(
	const struct pk_model *model, enum pk_engine_kind kind); // NULL: there is none
bool pk_model_save(struct pk_model *model);
// min doubled n - 1 times, at most max.
int64_t pk_model_delay_ns(int64_t min_ns, int64_t max_ns, unsigned n);
bool pk_model_is_file(const char *path);

// Feeds the update and does what it decides; now_s is filled in, texts are copied.
void pk_model_update_post(struct pk_model *model, const struct pk_up_event *event);
void pk_model_update_begin(struct pk_model *model); // timers, the record, START
void pk_model_update_end(struct pk_model *model);   // cancels what runs
// The operator changed the config. fresh: artifact or target is another one.
void pk_model_update_config(struct pk_model *model, bool fresh);
void pk_model_update_admitted(struct pk_model *model, const struct pk_build_result *result);
// What the chain learned of the worker.
void pk_model_update_served(struct pk_model *model, enum pk_engine_kind kind);
void pk_model_update_refused(struct pk_model *model, const char *cause, bool stale);
void pk_model_update_fault(struct pk_model *model, const char *cause);
void pk_model_update_crash(struct pk_model *model, const char *cause);
int64_t pk_model_wall_s(const struct pk_model *model); // certain, for quarantines

bool pk_model_window(const struct pk_model *model, struct pk_window *out); // false: always open
bool pk_model_ref_is_fixed(const char *ref);                               // names a digest
// The engine of the model before, while there is nothing else to do.
void pk_model_warm(struct pk_model *model);
// What the last poll said, kept in the run folder: it is gone with the power, and needs no flash.
void pk_model_memo_load(struct pk_model *model);
void pk_model_memo_keep(struct pk_model *model, const char *etag, const char *digest);
void pk_model_memo_write(const struct pk_model *model);

// Hands the active artifact to the chain, from the store or, when it is damaged, from where it
// came.
void pk_model_serve(struct pk_model *model);
bool pk_model_serves_active(const struct pk_model *model);
void pk_model_hand_over(struct pk_model *model, struct pk_artifact *artifact);

void pk_model_build_init(struct pk_model *model);
void pk_model_build(struct pk_model *model, enum pk_engine_kind kind);
void pk_model_build_cancel(struct pk_model *model);
// The tuned engine of an artifact that the chain does not serve.
void pk_model_build_apart(struct pk_model *model, struct pk_artifact *artifact,
	void (*done)(struct pk_model *model, const struct pk_build_result *result));
void pk_model_build_apart_cancel(struct pk_model *model);
void pk_model_admit(struct pk_model *model);

// Events of the update, and the file of what became of models.
void pk_model_tell(struct pk_model *model, enum pk_up_tell what, const char *digest);
void pk_model_tell_fetched(struct pk_model *model, const struct pk_model_job *job);
void pk_model_tell_waiting(struct pk_model *model, int64_t wait_ns);
void pk_model_tell_observed(
	struct pk_model *model, const struct pk_watch_result *result, const char *verdict);
json_t *pk_model_history_json(const struct pk_model *model); // array, newest last
json_t *pk_model_update_json(const struct pk_model *model);
