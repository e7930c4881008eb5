// SPDX-License-Identifier: Apache-2.0
// What a model needs done that blocks: asking a registry, fetching, verifying, hashing what lies in
// the store. Each job is a copy of all it needs and runs on an agent's thread.
#pragma once

#include "daemon/agent.h"
#include "daemon/model_private.h"
#include "daemon/registries.h"
#include "registry/registry.h"

enum pk_model_job_kind {
	PK_JOB_RESOLVE, // what the reference names
	PK_JOB_FETCH,   // a digest into the store
	PK_JOB_VERIFY,  // its signatures
	PK_JOB_PREPARE, // the artifact of a digest in the store
};

struct pk_model_job {
	struct pk_agent_job job;
	struct pk_model *model;      // loop's thread only; NULL: nobody waits for it
	struct pk_model_job **place; // where the model keeps it
	void (*finish)(struct pk_model *model, struct pk_model_job *job);
	enum pk_model_job_kind kind;
	int64_t serial; // of the update's effect
	atomic_bool cancel;

	// In: copies.
	char *ref;
	char digest[PK_DIGEST_TEXT];
	char *store, *engines, *timing;
	int64_t quota_bytes, reserve_bytes;
	struct pk_target_choice target;
	struct pk_registries registries;
	struct pk_registry_options options;
	struct pk_verify_policy *policy; // VERIFY

	// Out.
	struct pk_resolved resolved;
	struct pk_registry_report report;
	struct pk_byte_budget budget;
	atomic_llong done_bytes, total_bytes; // while it runs
	bool was_local;                       // FETCH: all of it was there
	struct pk_artifact *artifact;         // PREPARE
	struct {
		int64_t seq;
		double rollout; // percent
		bool trusted;   // no signature was asked for
		char by[160];
	} verified;
	bool permanent;
	struct pk_err err;
	int code;
};

// Posts a job; its place must be NULL. What cannot be posted (no memory) comes back as a failure,
// in the loop's next turn. digest: NULL for RESOLVE.
void pk_model_job_post(struct pk_model *model, enum pk_model_job_kind kind,
	struct pk_model_job **place, const char *digest,
	void (*finish)(struct pk_model *model, struct pk_model_job *job));
// Nobody waits for it any more; safe when there is none.
void pk_model_job_forget(struct pk_model_job **place);

// "…:tag" → "…:tag@sha256:…"; what names a digest already stays. malloc'ed; NULL: no memory.
char *pk_model_ref_of(const char *ref, const char *digest) pk_must_check;
// Comes over a network and names no digest itself.
bool pk_model_ref_is_open(const char *ref);
