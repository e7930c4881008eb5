// SPDX-License-Identifier: Apache-2.0
// Tries ways on the device: an operation alone becomes an engine in memory, by the same code that
// makes and runs whole ones; its outputs are held against the cpu's reference, its time comes from
// the device's own events.
#pragma once

#include "engine/cuda/driver.h"
#include "engine/cuda/tune.h"

// cuda must be retained and outlive it. NULL: no memory.
struct pk_cuda_lab *pk_cuda_lab_create(struct pk_cuda *cuda) pk_must_check;
void pk_cuda_lab_destroy(struct pk_cuda_lab *lab); // takes NULL

// The node by itself: its operands are inputs, or constants as they are; its results are outputs.
// Constants stay where they lie. NULL: no memory.
struct pk_graph *pk_cuda_lab_graph(const struct pk_node *node) pk_must_check;

// Whether got is expected, as the float type and the output's own allow: half floats to 1% of the
// output's range, f32 to 0.01%, quantised values to one step, all others to the bit. NaN never is.
bool pk_cuda_lab_agrees(const struct pk_value *output, enum pk_dtype float_type,
	const void *expected, const void *got);
