// SPDX-License-Identifier: Apache-2.0
// What the vector forms of unary functions and softmax share, and their entry points per ISA.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/ir/op.h"

struct pk_math_unary {
	enum pk_fn fn;
	float alpha, beta;
	int64_t n;
};

// x as [outer, n, inner], softmax over n.
struct pk_math_softmax {
	int64_t outer, n, inner;
};

// Columns of the inner axis that are worked on together.
#define PK_MATH_COLUMNS 64

void pk_math_unary_run_plain(const struct pk_cpu_call *call);
void pk_math_softmax_run_plain(const struct pk_cpu_call *call);
bool pk_math_has_unary(enum pk_fn fn); // there is a vector form
#if defined(__x86_64__)
void pk_math_unary_run_avx2(const struct pk_cpu_call *call);
void pk_math_softmax_run_avx2(const struct pk_cpu_call *call);
#endif
