// SPDX-License-Identifier: Apache-2.0
// One node with its operands, run by any kernel row between guard bytes: what kernel tests share.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/ir/graph.h"

#define NODE_CASE_MAX 8

struct node_case {
	struct pk_graph *graph;
	struct pk_node *node;
	struct pk_value *values[NODE_CASE_MAX];
	void *data[NODE_CASE_MAX]; // of the operands, exact size, NULL for those left out
	int n_inputs;
};

#define SHAPE(...)                                                                                 \
	((struct pk_shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),      \
		.dims = {__VA_ARGS__}})

// Numbers that are the same in every run.
uint32_t random_u32(void);
void random_seed(uint32_t seed);
int64_t random_range(int64_t low, int64_t high); // both included
float random_float(void);                        // -1..1

void node_case_begin(struct node_case *c);
// Operand of random numbers (f32: -1..1, integers: -20..20, bool: 0 or 1). constant: its data can
// be packed.
void *node_case_operand(
	struct node_case *c, enum pk_dtype dtype, struct pk_shape shape, bool constant);
void node_case_omit(struct node_case *c); // an operand left out
// Makes the node; attributes are set on it before node_case_finish (shape as in
// pk_graph_finish_node; NULL when implied).
struct pk_node *node_case_node(struct node_case *c, enum pk_op op);
void node_case_finish(struct node_case *c, const struct pk_shape *shape);
void node_case_end(struct node_case *c);

// Runs the row; returns output buffers (output 0, and 1 when there is one) that the caller frees.
// Fails the test when guard bytes around outputs, workspace or packed weights change, or when
// the row does not support the node.
void node_case_run(struct node_case *c, const struct pk_cpu_kernel *kernel, void *outputs[2]);
// The same; shared: on three threads.
void node_case_run_shared(
	struct node_case *c, const struct pk_cpu_kernel *kernel, bool shared, void *outputs[2]);
// Output 0 by the reference row; to be freed.
void *node_case_reference(struct node_case *c);
// Runs every other row that supports the node and compares with the reference: f32 outputs within
// tolerance x (largest magnitude of the reference), others exactly; rows that declare it, in place
// too. Number of rows compared.
int node_case_check_rows(struct node_case *c, double tolerance);

// Runs every row that knows of layouts, with each choice of blocked operands and output that it
// supports, and compares with the reference on plain ones. Number of runs.
int node_case_check_blocks(struct node_case *c, double tolerance);

// |a - b| <= tolerance * max(|b|) over n floats, NaN equal to NaN; fails the test with `what`.
void assert_close(const float *a, const float *b, int64_t n, double tolerance, const char *what);
