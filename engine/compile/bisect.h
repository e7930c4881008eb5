// SPDX-License-Identifier: Apache-2.0
// Finds what makes a model's result wrong: the first pass, and the node it spoils, or the kernel
// row and its node. The reference is the imported graph by the plain kernels.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/ir/graph.h"
#include "engine/passes/pass.h"

struct pk_cpu_kernel;

// Zero means default everywhere but for open and close.
struct pk_bisect_options {
	// Makes the imported graph anew: it is called once per try, with at most three alive.
	int (*open)(void *ctx, struct pk_graph **graph, struct pk_err *err);
	void (*close)(void *ctx, struct pk_graph *graph);
	// Writes one input; the same bytes each time. NULL: seeded noise in 0..1, integers 0.
	int (*fill)(void *ctx, const struct pk_value *input, void *data, struct pk_err *err);
	// Called before each evaluation of the graph; non-zero cancels.
	int (*progress)(void *ctx, const char *what, int done);
	void *ctx;
	double max_rel_err;          // of the reference's range, per tensor; 0: 1e-4
	const char *const *disabled; // passes left out
	size_t n_disabled;
	const struct pk_pass *passes; // NULL: the house's
	size_t n_passes;
	const struct pk_cpu_kernel *const *kernels; // NULL-ended; NULL: all rows
};

enum pk_bisect_culprit {
	PK_BISECT_NONE,   // neither passes nor kernels leave the tolerance
	PK_BISECT_PASS,   // `pass` does, first seen at the output of `node`
	PK_BISECT_KERNEL, // row `kernel` does, on `node`
};

struct pk_bisect_result {
	enum pk_bisect_culprit culprit;
	char pass[64], kernel[64];
	char node[256]; // ONNX names it stands for
	char op[32];
	char value[256];    // the tensor that is off
	double max_rel_err; // of it; infinite: NaN or infinite where the reference is finite
	int n_steps;        // runs of passes that changed the graph
	int step;           // the guilty one, from 1
	int n_evaluations;
	int n_rows; // kernel rows tried
};

// 0 with the result; -ECANCELED; errors of open, passes and evaluation (-ENOTSUP without a
// reference kernel). Runs for about log2(n_steps) + 4 reference evaluations.
int pk_bisect_run(const struct pk_bisect_options *options, struct pk_bisect_result *result,
	struct pk_err *err) pk_must_check;
