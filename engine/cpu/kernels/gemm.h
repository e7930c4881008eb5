// SPDX-License-Identifier: Apache-2.0
// What gemm and matmul nodes ask for, as one strided batched product.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernels/walk.h"
#include "engine/ir/graph.h"

// y[b][m][n] = alpha * sum over k of A[b][m][k] * B[b][k][n] + beta * C[m][n]. Strides in elements.
struct pk_gemm {
	enum pk_dtype dtype;
	int64_t m, n, k;
	int64_t a_m, a_k, b_k, b_n; // strides within one matrix
	int64_t c_m, c_n;           // strides of C, 0 where it broadcasts
	bool has_c;
	double alpha, beta;
	struct pk_walk batch; // over matrices; operands: y, a, b
};

// From a verified gemm or matmul node; false when shapes do not fit together.
bool pk_gemm_init(struct pk_gemm *g, const struct pk_node *node);
