// SPDX-License-Identifier: Apache-2.0
// Resize coordinates and filter taps along one axis, as ONNX Resize-19 defines them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "engine/ir/graph.h"

// Output index i reads idx[i * n_taps + t] with weights[i * n_taps + t], for t below n_taps.
struct pk_resize_axis {
	int64_t n_taps;
	int64_t *idx; // always inside the input
	double *weights;
	bool *outside; // tf_crop_and_resize: the coordinate lies outside, extrapolate
};

// The attributes are usable along this axis and the input is not empty (unless the output is).
bool pk_resize_axis_ok(const struct pk_node *node, int axis);
// Linear and cubic taps along this axis: how many an output index has, and those of index i. True:
// the coordinate lies outside, extrapolate.
#define PK_RESIZE_TAPS_MAX 4096
int64_t pk_resize_n_taps(const struct pk_node *node, int axis);
bool pk_resize_taps(const struct pk_node *node, int axis, int64_t i, int64_t *idx, double *weights);
// The taps of all output indices. -ENOMEM.
int pk_resize_axis_init(
	struct pk_resize_axis *out, const struct pk_node *node, int axis, struct pk_arena *arena);
// Input index of output index i in nearest mode, or -1: extrapolate.
int64_t pk_resize_nearest(const struct pk_node *node, int axis, int64_t i);
