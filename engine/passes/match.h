// SPDX-License-Identifier: Apache-2.0
// Questions that passes ask of a graph; private to engine/passes.
#pragma once

#include <stdbool.h>

#include "engine/ir/graph.h"

// Producer when value is used exactly once and is no graph output, so that it may vanish into its
// user; else NULL.
struct pk_node *pk_match_inner(const struct pk_value *value);
// The same, of a given operator or function.
struct pk_node *pk_match_inner_op(const struct pk_value *value, enum pk_op op);
struct pk_node *pk_match_inner_fn(const struct pk_value *value, enum pk_op op, enum pk_fn fn);
bool pk_match_fn(const struct pk_node *node, enum pk_op op, enum pk_fn fn);
// Constant of one element, of a float type.
bool pk_match_scalar(const struct pk_value *value, double *out);
// a and b differ by no more than rounding to dtype and exporters' sloppy constants do.
bool pk_match_near(enum pk_dtype dtype, double a, double b);
// Constant scalar near want.
bool pk_match_number(const struct pk_value *value, double want);
// Float constant that, broadcast against out, varies along axis only and does not enlarge out.
// *stride: 1 when it holds one element per index of axis, 0 when one for all.
bool pk_match_channels(
	const struct pk_value *value, const struct pk_shape *out, int axis, int *stride);
bool pk_match_same_type(const struct pk_value *a, const struct pk_value *b);
