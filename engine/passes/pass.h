// SPDX-License-Identifier: Apache-2.0
// The graph rewrites in their order; each can be switched off by name.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/evaluator.h"
#include "engine/ir/graph.h"

struct pk_pass_ctx;
struct pk_pass {
	const char *name;
	int group; // passes of one group run in turn until none changes anything
	int (*run)(struct pk_graph *graph, struct pk_pass_ctx *ctx); // rewrites made, or an error
	const char *what;
};

// Zero means default everywhere.
struct pk_pass_options {
	const char *const *disabled; // names of passes that shall not run
	size_t n_disabled;
	bool verify;                          // pk_verify_graph after each pass
	const struct pk_evaluator *evaluator; // folds constants; NULL: fold_const does nothing
	size_t max_folded_bytes; // bound of all constants that folding makes; 0: 64 MiB
	// Called after each run of a pass that changed something.
	void (*trace)(void *ctx, const char *pass, int n_changes, const struct pk_graph *graph);
	void *ctx;
	int max_steps; // stop after so many runs of passes that changed something; 0: no bound
	const struct pk_pass *passes; // another table (tests, bisect); NULL: the house's
	size_t n_passes;
};

#define PK_MAX_PASSES 40

struct pk_pass_count {
	const char *name;
	int n_changes; // rewrites made, over all rounds
};
struct pk_pass_report {
	struct pk_pass_count passes[PK_MAX_PASSES]; // each name once, in order
	int n_passes;
};

// Rewrites the graph in place. Input and output names, types and order stay. report may be NULL.
// -EINVAL: an elided constant or a blocked value; an unknown disabled name (the error lists the
// names); with verify, a pass that broke a rule (the error names it). -ENOMEM. What the evaluator
// fails with. After an error the graph can only be destroyed.
int pk_passes_run(struct pk_graph *graph, const struct pk_pass_options *options,
	struct pk_pass_report *report, struct pk_err *err) pk_must_check;

// The house's table.
const struct pk_pass *pk_passes_table(size_t *n);
// "name  what it does" lines, in order.
void pk_passes_list(struct pk_buf *out);
