// SPDX-License-Identifier: Apache-2.0
// What the files of a model share: model.c (facts in, decisions out), model_artifact.c (pulling),
// model_build.c (building), model_json.c (telling).
#pragma once

#include "daemon/artifact.h"
#include "daemon/model.h"
#include "daemon/state.h"

#define PK_MODEL_MAX_PENDING 16

struct pk_model_pull; // one job of the agent

struct pk_model {
	const struct pk_model_env *env;
	char *name, *ref;
	struct pk_target_choice target;
	struct pk_fallback fallback;
	struct pk_state state;
	int64_t since_ns; // realtime of the last change of rung or cause

	// Artifacts: the current one, and the next until the chain takes it.
	struct pk_artifact *current, *next;
	struct pk_engine_file old; // what PK_ENGINE_OLD serves from
	char old_digest[PK_DIGEST_TEXT];
	struct pk_model_pull *pull; // under way; NULL: none
	struct pk_timer pull_timer;
	unsigned n_pull_failures;

	// Builds, by kind.
	struct pk_model_side {
		struct pk_model *model;
		enum pk_engine_kind kind;
		struct pk_build_job job;
		struct pk_timer retry_timer;
		struct pk_build_progress progress;
		bool building;            // it runs, not only queued
		int64_t told_progress_ns; // monotonic, of the last event
	} sides[PK_N_MADE_KINDS];

	// Assignments.
	int64_t serial, load_serial; // load_serial 0: no load is under way
	enum pk_engine_kind load_kind;
	struct pk_timer proof_timer;

	// Events that came while another was being handled.
	struct pk_model_pending {
		struct pk_fb_event event;
		char cause[PK_CAUSE_MAX];
	} pending[PK_MODEL_MAX_PENDING];
	size_t n_pending;
	bool busy;
};

// Feeds the chain and does what it decides. event->cause is copied.
void pk_model_post(struct pk_model *model, const struct pk_fb_event *event);
const struct pk_engine_file *pk_model_file(
	const struct pk_model *model, enum pk_engine_kind kind); // NULL: there is none
void pk_model_save(struct pk_model *model);
// min doubled n - 1 times, at most max.
int64_t pk_model_delay_ns(int64_t min_ns, int64_t max_ns, unsigned n);

void pk_model_artifact_begin(struct pk_model *model);   // timers and the first job
void pk_model_artifact_refresh(struct pk_model *model); // ref or target is another one
void pk_model_artifact_end(struct pk_model *model);

void pk_model_build_init(struct pk_model *model);
void pk_model_build(struct pk_model *model, enum pk_engine_kind kind);
void pk_model_build_cancel(struct pk_model *model);
