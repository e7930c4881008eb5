// SPDX-License-Identifier: Apache-2.0
// Kernel, stride, dilation and padding attributes of windowed operators, made explicit.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/onnx/importer.h"

#define PK_WINDOW_MAX_AXES (PK_MAX_RANK - 2)

enum pk_auto_pad {
	PK_AUTO_PAD_NOTSET,
	PK_AUTO_PAD_SAME_UPPER,
	PK_AUTO_PAD_SAME_LOWER,
	PK_AUTO_PAD_VALID,
};

// Per spatial axis of x (which has rank n_axes + 2).
struct pk_window {
	int n_axes;
	enum pk_auto_pad auto_pad;
	int64_t in[PK_WINDOW_MAX_AXES];
	int64_t kernel[PK_WINDOW_MAX_AXES];
	int64_t strides[PK_WINDOW_MAX_AXES];
	int64_t dilations[PK_WINDOW_MAX_AXES];
	int64_t extent[PK_WINDOW_MAX_AXES];   // (kernel - 1) * dilation + 1
	int64_t pads[2 * PK_WINDOW_MAX_AXES]; // begins, then ends
};

// Reads and checks the attributes. w: the weights whose trailing dims are the kernel (kernel_shape
// may be absent then, or must agree), or NULL. pads are as given; SAME is not resolved yet.
void pk_window_read(struct pk_importer *im, const struct pk_value *x, const struct pk_value *w,
	struct pk_window *window);
// SAME_UPPER and SAME_LOWER: out = ceil(in / stride); the odd cell goes to the end for UPPER.
void pk_window_resolve_same(struct pk_window *window);
void pk_window_set(struct pk_node *node, const struct pk_window *window); // strides dilations pads
