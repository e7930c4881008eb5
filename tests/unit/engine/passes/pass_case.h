// SPDX-License-Identifier: Apache-2.0
// Text in, text out: what one pass makes of a graph.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "engine/ir/graph.h"
#include "engine/passes/pass_impl.h"

typedef int pk_pass_fn(struct pk_graph *graph, struct pk_pass_ctx *ctx); // a function, no struct

struct pk_graph *pass_case_parse(const char *body); // "graph { body }"; fails the test on error

struct pass_case {
	const char *what; // for failures
	const char *in;   // statements inside the graph
	const char *out;  // the same after the pass; NULL: the pass must leave the graph alone
};
// Runs the pass until it changes nothing, verifies after each run, compares canonical texts.
void pass_case_check(pk_pass_fn *pass, const struct pk_evaluator *evaluator,
	const struct pass_case *cases, size_t n);
