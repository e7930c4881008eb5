// SPDX-License-Identifier: Apache-2.0
// Engines of the cuda runtime on the test double (tests/lib/fake_cuda/).
#pragma once

#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/plan/plan.h"
#include "engine/runtime.h"
#include "tests/lib/fake_cuda/fake_cuda.h"

// Before anything else: from here on the double's libraries are those that dlopen finds by soname.
const struct pk_fake_cuda *cuda_case_begin(void);

// A cuda engine in memory.
struct cuda_engine {
	void *image;
	struct pk_plan *plan;
	void *loaded;
};
// Builds (rewriting the graph) and loads. Errors as they come; what was made is finished again.
int cuda_engine_make(struct pk_graph *graph, enum pk_dtype float_type, struct cuda_engine *engine,
	struct pk_err *err);
void cuda_engine_finish(struct cuda_engine *engine);

// The graph of an IR text; fails the test when it does not parse.
struct pk_graph *cuda_case_graph(const char *text);
// Fills input idx of a graph with numbers that depend on idx only.
void cuda_case_fill(const struct pk_value *value, int idx, void *data);
// One run of slot 0 and what the reference makes of the same inputs: the largest difference of any
// output, as a part of its range (integers: 1 when any differs).
double cuda_case_difference(const struct cuda_engine *engine, const struct pk_graph *reference);
// How many nodes of the engine are carried out by a kernel of that name ("cpu": islands).
int cuda_case_count(const struct cuda_engine *engine, const char *kernel);
