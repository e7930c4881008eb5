// SPDX-License-Identifier: Apache-2.0
// Runs picket-build: one engine at a time, quick ones first, niced and bounded; a crash costs a
// build. A quick job does not wait for a long one that runs: that one is set back, and goes on from
// its timing cache.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/list.h"
#include "daemon/loop.h"

// Zero: none, or the default in brackets.
struct pk_builder_limits {
	int64_t wall_ns;      // of one build
	int64_t silence_ns;   // without a line (60 s)
	int64_t memory_bytes; // address space
	int nice;
};

struct pk_build_progress {
	char phase[32];
	int done, total;
	int64_t started_ns; // of the build, monotonic
	int64_t eta_ns;     // of this phase; -1: not known
};

struct pk_build_result {
	int code;          // 0 or -errno
	const char *error; // a person's reason; NULL when code is 0
	bool permanent;
	const json_t *report; // the result line of build_proto.h; NULL when there was none
};

// One build; the caller's memory, zero-initialised, until done was called or it was cancelled.
struct pk_build_job {
	json_t *request;            // as build_proto.h says, without "v"; owned by the job
	bool quick;                 // before all that are not
	void (*started)(void *ctx); // may be NULL; again after it was set back
	void (*progress)(void *ctx, const struct pk_build_progress *progress);
	// request is released before; the job may be used again from here on.
	void (*done)(void *ctx, const struct pk_build_result *result);
	void *ctx;
	bool queued;         // read only: from add to done or cancel
	unsigned n_set_back; // the builder's
	unsigned thrift;     // the builder's: PK_BUILD_THRIFT_*
	struct pk_list link;
};

#define PK_BUILD_CAUSE_MAX 192

enum pk_build_verdict {
	PK_BUILD_GO,
	PK_BUILD_WAIT,  // not now: it does not start; one that runs is stopped where it stands
	PK_BUILD_YIELD, // its memory is needed: one that runs ends, and starts again later
};

// Who says whether the moment is right. Each may be NULL.
struct pk_build_governor {
	// Asked before a start and each second of a build; with a reason when it is not GO.
	enum pk_build_verdict (*judge)(
		void *ctx, const struct pk_build_job *job, char cause[PK_BUILD_CAUSE_MAX]);
	// A process is about to start for the job: -errno with the reason holds it back.
	int (*begin)(void *ctx, const struct pk_build_job *job, struct pk_err *err);
	void (*started)(void *ctx, pid_t pid);
	// good: it ended by itself, whatever came of it.
	void (*ended)(void *ctx, const struct pk_build_job *job, bool good);
	// Did the kernel end it for want of memory?
	bool (*out_of_memory)(void *ctx);
	// What is otherwise not seen: a build waits or goes on (cause ""), or is tried again with
	// settings that spare memory.
	void (*told)(void *ctx, const char *state, const char *cause);
	void *ctx;
};

struct pk_builder;

int pk_builder_create(struct pk_loop *loop, const char *program, struct pk_builder **out,
	struct pk_err *err) pk_must_check;
void pk_builder_destroy(struct pk_builder *builder); // kills; done is not called
PK_DEFINE_AUTO(pk_builder, pk_builder_destroy);
void pk_builder_set_limits(
	struct pk_builder *builder, const struct pk_builder_limits *limits); // from the next build

// The folder that builds write to (daemon/build_folder.h); NULL: they write where the job says.
// Copied. 0 or -ENOMEM.
int pk_builder_set_folder(struct pk_builder *builder, const char *folder) pk_must_check;
void pk_builder_set_governor(
	struct pk_builder *builder, const struct pk_build_governor *governor); // copied
// {state: "idle", "waiting", "building", "paused", cause, queued, pid, thrift, seccomp, landlock};
// new reference.
json_t *pk_builder_json(const struct pk_builder *builder);
// The job is the one that runs, or is paused.
bool pk_builder_runs(const struct pk_builder *builder, const struct pk_build_job *job);
bool pk_builder_is_busy(const struct pk_builder *builder); // a process runs, not paused

void pk_builder_add(struct pk_builder *builder, struct pk_build_job *job);
// Forgets the job, kills it when it runs. Safe when it is not queued.
void pk_builder_cancel(struct pk_builder *builder, struct pk_build_job *job);
