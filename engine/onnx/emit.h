// SPDX-License-Identifier: Apache-2.0
// Emits IR nodes for one ONNX node and folds those whose operands are constants.
#pragma once

#include "base/attr.h"
#include "engine/onnx/importer.h"

// Where an emitted value goes: the index of the ONNX node's output, or this for a value in between.
#define PK_TEMP (-1)

// A node with neutral attributes; NULL after a failure. Give it its attributes, then finish it.
struct pk_node *pk_emit_begin(struct pk_importer *im, enum pk_op op, struct pk_value *const *inputs,
	int n_inputs) pk_must_check;
// Infers, folds, and binds the first output to `out`. node NULL: nothing, so that a failed begin
// needs no check of its own. Gives the value, NULL after a failure.
struct pk_value *pk_emit_end(
	struct pk_importer *im, struct pk_node *node, int out, const struct pk_shape *shape);
// The same for a node of two outputs, bound to ONNX outputs 0 and 1.
void pk_emit_end_pair(struct pk_importer *im, struct pk_node *node);
// The ONNX output is this value, as it stands.
struct pk_value *pk_emit_alias(struct pk_importer *im, int out, struct pk_value *value);

// Constants. data is copied.
struct pk_value *pk_emit_const(struct pk_importer *im, int out, enum pk_dtype dtype,
	const struct pk_shape *shape, const void *data);
struct pk_value *pk_emit_const_ints(
	struct pk_importer *im, int out, const int64_t *v, int n); // i64, rank 1
// A rank 0 constant of dtype (f32, i32, i64, u8, i8, bool).
struct pk_value *pk_emit_scalar(struct pk_importer *im, int out, enum pk_dtype dtype, double v);

// Common nodes; x NULL gives NULL. Those that change nothing give x itself.
struct pk_value *pk_emit_unary(struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *x);
struct pk_value *pk_emit_binary(
	struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *a, struct pk_value *b);
struct pk_value *pk_emit_cast(
	struct pk_importer *im, int out, struct pk_value *x, enum pk_dtype dtype);
struct pk_value *pk_emit_reshape(
	struct pk_importer *im, int out, struct pk_value *x, const struct pk_shape *shape);
struct pk_value *pk_emit_expand(
	struct pk_importer *im, int out, struct pk_value *x, const struct pk_shape *shape);
// axes: sorted, in range.
struct pk_value *pk_emit_reduce(struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *x,
	const struct pk_ints *axes, bool keepdims);
