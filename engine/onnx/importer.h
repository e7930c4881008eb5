// SPDX-License-Identifier: Apache-2.0
// What a handler of one ONNX operator sees while it emits IR.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/onnx/import.h"
#include "engine/onnx/model.h"
#include "engine/onnx/names.h"
#include "engine/onnx/op_table.h"

// Shared by the whole import.
struct pk_import_state {
	const struct pk_onnx_model *model;
	const struct pk_import_options *options;
	struct pk_graph *graph;
	struct pk_arena *scratch; // dies with the import
	size_t max_folded_bytes;
	size_t n_denormals;
	size_t n_unsupported; // nodes in the report
	int depth;            // of nested bodies
	int64_t n_calls;      // of the model's own functions
	int64_t n_iterations; // of loops, unrolled so far
};

// One node. The first failure sticks in rc: emitting after it does nothing, so a handler may emit
// a chain and look once at the end; but a value that was just emitted may be NULL and must not be
// looked into without a check.
struct pk_importer {
	struct pk_import_state *state;
	struct pk_graph *graph;
	struct pk_names *names; // in scope
	const struct pk_onnx_node *node;
	const struct pk_op_row *row;
	int opset;                // of the node's domain
	struct pk_value **inputs; // resolved; NULL: left out
	int n_inputs;
	struct pk_value **outputs; // set by the handler; NULL: not supported
	int n_outputs;
	bool poisoned; // needs what an unsupported node makes: so is what it makes itself
	int rc;
	struct pk_err *err;
};

// Sets rc and the text unless there is one already; returns rc.
int pk_importer_fail(struct pk_importer *im, int code, const char *fmt, ...) pk_printf(3, 4);

// Operand i, NULL when it is left out.
struct pk_value *pk_importer_input(const struct pk_importer *im, int i);

// Attributes. The row says what names and types there are and which are required; they were checked
// before the handler ran, so these cannot fail.
const struct pk_onnx_attr *pk_importer_attr(const struct pk_importer *im, const char *name);
int64_t pk_importer_int(const struct pk_importer *im, const char *name, int64_t absent);
double pk_importer_float(const struct pk_importer *im, const char *name, double absent);
// Which of words (NULL-ended) the attribute is; absent: the index when it is not there. An unknown
// word fails: no mode falls through to another one.
int pk_importer_word(
	struct pk_importer *im, const char *name, const char *const *words, int absent);

// A list of ints from an attribute or a constant operand.
struct pk_ints {
	bool present;
	int n;
	int64_t v[PK_ATTR_MAX_ITEMS];
};
void pk_importer_ints(struct pk_importer *im, const char *name, struct pk_ints *out);
// Operand i, which must be a constant of i32 or i64, rank 0 or 1; what: for messages ("axes").
void pk_importer_const_ints(struct pk_importer *im, int i, const char *what, struct pk_ints *out);
// Attribute or operand, by opset: for what moved from one to the other.
void pk_importer_ints_from(struct pk_importer *im, const char *name, int i, struct pk_ints *out);
// Operand i as floats (constant f32, rank 0 or 1).
struct pk_floats {
	bool present;
	int n;
	double v[PK_ATTR_MAX_ITEMS];
};
void pk_importer_const_floats(
	struct pk_importer *im, int i, const char *what, struct pk_floats *out);
// One number of any type from a constant of one element.
bool pk_value_scalar(const struct pk_value *value, double *out);
bool pk_value_scalar_int(const struct pk_value *value, int64_t *out);

// -rank..rank-1 to 0..rank-1; fails when it is outside.
int pk_importer_axis(struct pk_importer *im, int64_t axis, int rank);
// The same for a list, sorted, without doubles.
void pk_importer_axes(struct pk_importer *im, struct pk_ints *axes, int rank);
