// SPDX-License-Identifier: Apache-2.0
// A node run by a row of the cuda runtime on the host build of its kernels, against the cpu
// reference, in every order of threads.
#pragma once

#include "engine/cuda/row.h"
#include "tests/unit/engine/cpu/node_case.h"

// How a row lays a value (row.h states the rule).
struct pk_cuda_tensor gpu_case_tensor(const struct pk_value *value, enum pk_dtype float_type);

// The named row takes the node, and its results are the reference's: floats within tolerance x the
// largest magnitude of the reference, others exactly; channels of padding hold zeros, guard bytes
// stay. f16 as float_type: float operands of rank 4 are rounded in the case first.
void gpu_case_check(
	struct node_case *c, const char *row, enum pk_dtype float_type, double tolerance);
// Every barrier that the row's kernels meet in this case is needed: without it some order of
// threads gives another result. At least one barrier is met.
void gpu_case_check_barriers(
	struct node_case *c, const char *row, enum pk_dtype float_type, double tolerance);
// Whether the row takes the node.
bool gpu_case_supported(struct node_case *c, const char *row, enum pk_dtype float_type);
