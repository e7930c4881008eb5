// SPDX-License-Identifier: Apache-2.0
// What the rows of our own GPU kernels share: what they ask of a node, and how a launch is filled.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/cuda/kernels/params.h"
#include "engine/cuda/row.h"

// The reference row of the cpu runtime takes the node, so its attributes and shapes are right, and
// every operand and result is small enough for the kernels' int offsets and not empty.
bool pk_cu_node_ok(const struct pk_cuda_call *call);

// PK_CU_* of an element type; 0: no kernel computes with it.
int pk_cu_dtype(enum pk_dtype dtype);
bool pk_cu_is_float(enum pk_dtype dtype); // f32 or f16: what activations are kept in

// Operand idx, or NULL when it is left out.
const struct pk_cuda_tensor *pk_cu_input(const struct pk_cuda_call *call, int idx);

// Zeroed, with one block of PK_CU_BLOCK threads for every PK_CU_BLOCK of n.
void pk_cu_launch(struct pk_cuda_launch *out, const char *function, int64_t n);
void pk_cu_pointer(struct pk_cuda_launch *out, enum pk_cuda_pointer_kind kind, int idx);
void pk_cu_params(struct pk_cuda_launch *out, const void *params, size_t n);

// Channels of padding in a result; when there are any and the kernels of a row do not write them,
// this launch does. False: there are none.
bool pk_cu_has_pads(const struct pk_cuda_tensor *y);
void pk_cu_launch_pads(const struct pk_cuda_tensor *y, struct pk_cuda_launch *out);

// Axes of a tensor from the outermost to the innermost in memory; order has PK_MAX_RANK entries.
void pk_cu_axis_order(const struct pk_cuda_tensor *t, int order[]);
