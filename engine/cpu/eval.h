// SPDX-License-Identifier: Apache-2.0
// Runs single nodes and whole graphs with the reference kernels: constant folding, the oracle.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/evaluator.h"
#include "engine/ir/graph.h"

// Folds one node of constants; used as import and pass evaluator. -ENOTSUP without a reference row.
extern const struct pk_evaluator pk_cpu_evaluator;

// Runs a whole graph, one fresh buffer per value, reference rows only. inputs: one dense buffer per
// graph input; outputs: one per graph output, to be filled. Slow and plain on purpose.
int pk_cpu_eval_graph(const struct pk_graph *graph, const void *const *inputs, void *const *outputs,
	struct pk_err *err) pk_must_check;

// The same with a choice of rows and a look at every value.
struct pk_eval_options {
	bool fast; // the rows that an untuned engine would take, instead of the reference ones
	// Called for each value that a node has made; data is valid during the call. May be NULL.
	void (*watch)(void *ctx, const struct pk_value *value, const void *data);
	void *ctx;
};
int pk_cpu_eval_with(const struct pk_graph *graph, const struct pk_eval_options *options,
	const void *const *inputs, void *const *outputs, struct pk_err *err) pk_must_check;

// The same, with every value kept for as long as the object lives (inputs: as long as theirs).
struct pk_cpu_values;
int pk_cpu_values_compute(const struct pk_graph *graph, const void *const *inputs,
	struct pk_cpu_values **out, struct pk_err *err) pk_must_check;
const void *pk_cpu_values_get(const struct pk_cpu_values *values, const struct pk_value *value);
void pk_cpu_values_destroy(struct pk_cpu_values *values); // takes NULL
PK_DEFINE_AUTO(pk_cpu_values, pk_cpu_values_destroy);

// Runs one node by one row. operands: by input, NULL for those left out; constants of the node must
// have their bytes. 1: done, 0: the row does not take this node.
struct pk_cpu_kernel;
int pk_cpu_eval_row(const struct pk_cpu_kernel *row, const struct pk_node *node,
	const void *const *operands, void *const *outputs, struct pk_err *err) pk_must_check;
// All rows, NULL-ended, and a row's name.
extern const struct pk_cpu_kernel *const pk_cpu_kernels[];
const char *pk_cpu_kernel_name(const struct pk_cpu_kernel *row);
