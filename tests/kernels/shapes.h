// SPDX-License-Identifier: Apache-2.0
// Random nodes of each operator that has faster rows than its reference.
#pragma once

#include "tests/unit/engine/cpu/node_case.h"

// Builds a node between node_case_begin and node_case_end; shapes and attributes are random.
typedef void make_case_fn(struct node_case *c);

struct kernel_family {
	const char *name;
	make_case_fn *make;
	int n_cases;
	double tolerance; // of the largest output; integers are compared exactly
};

// NULL-named row at the end.
extern const struct kernel_family kernel_families[];

#define KERNEL_MAX_ROWS 512
// The node once more with its pictures in blocks; counts the rows run, by place in pk_cpu_kernels.
void check_blocked(
	struct node_case *c, const struct kernel_family *family, int n_runs[KERNEL_MAX_ROWS]);

make_case_fn make_conv, make_pointwise, make_3x3, make_depthwise, make_stem, make_conv_transpose;
make_case_fn make_pool, make_resize, make_qconv;
make_case_fn make_gemm, make_matmul, make_unary, make_binary, make_prelu, make_softmax;
make_case_fn make_reduce, make_quantize, make_dequantize, make_qmatmul, make_reorder;
make_case_fn make_small_qconv, make_byte_pool, make_qbinary, make_lookup, make_norm;
