// SPDX-License-Identifier: Apache-2.0
// Binary arithmetic and prelu on f32 where each run of the walk is dense or one number.
#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/walk.h"

// gcc vectorises loops of unknown length from -O3 on only. y may be a or b exactly (in place), else
// they are apart: either way no step of a loop depends on another.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" // sanitizers keep loops as they are
#define STEPS_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")
#define STEPS_APART _Pragma("GCC ivdep")
#endif

// y[i] = f(a[i * a_step], b[i * b_step]); a step is 0 or 1. Where it is 0 over more than one i,
// that operand is apart from y.
typedef void run_fn(
	float *y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n);

#define BINARY(name, expr)                                                                         \
	static void name##_run(float *y, const float *a, int64_t a_step, const float *b,           \
		int64_t b_step, int64_t n)                                                         \
	{                                                                                          \
		if (a_step && b_step) {                                                            \
			STEPS_APART                                                                \
			for (int64_t i = 0; i < n; i++) {                                          \
				float u = a[i], v = b[i];                                          \
				y[i] = expr;                                                       \
			}                                                                          \
		} else if (a_step) {                                                               \
			float v = *b;                                                              \
			STEPS_APART                                                                \
			for (int64_t i = 0; i < n; i++) {                                          \
				float u = a[i];                                                    \
				y[i] = expr;                                                       \
			}                                                                          \
		} else {                                                                           \
			float u = *a;                                                              \
			STEPS_APART                                                                \
			for (int64_t i = 0; i < n; i++) {                                          \
				float v = b[i * b_step];                                           \
				y[i] = expr;                                                       \
			}                                                                          \
		}                                                                                  \
	}
BINARY(add, u + v)
BINARY(sub, u - v)
BINARY(mul, u *v)
BINARY(div, u / v)
BINARY(min, u != u || u < v ? u : v)
BINARY(max, u != u || u > v ? u : v)
BINARY(prelu, u < 0 ? v * u : u)

BINARY(general_pow, powf(u, v))

// The exponents that models are full of.
static void pow_run(
	float *y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n)
{
	if (!b_step && *b == 2)
		mul_run(y, a, a_step, a, a_step, n);
	else
		general_pow_run(y, a, a_step, b, b_step, n);
}

static run_fn *run_of(const struct pk_node *node)
{
	static run_fn *const table[PK_N_FNS] = {
		[PK_FN_ADD] = add_run,
		[PK_FN_SUB] = sub_run,
		[PK_FN_MUL] = mul_run,
		[PK_FN_DIV] = div_run,
		[PK_FN_MIN] = min_run,
		[PK_FN_MAX] = max_run,
		[PK_FN_POW] = pow_run,
	};
	if (node->op == PK_OP_PRELU)
		return prelu_run;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	return (unsigned)fn < PK_N_FNS ? table[fn] : NULL;
}

struct binary {
	struct pk_walk walk; // operands: output, a, b
	run_fn *run;
};

static bool supports(const struct pk_node *node)
{
	struct pk_shape joint;
	if (!pk_check_all_dtype(node, PK_F32) || !run_of(node) ||
		!pk_shape_broadcast(pk_check_in_shape(node, 0), pk_check_in_shape(node, 1), &joint))
		return false;
	return pk_shape_equal(&joint, pk_check_out_shape(node));
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct binary *s = pk_arena_new(arena, struct binary);
	if (!s)
		return -ENOMEM;
	pk_walk_init(&s->walk, pk_check_out_shape(node));
	pk_walk_add_shape(&s->walk, pk_check_out_shape(node));
	pk_walk_add_shape(&s->walk, pk_check_in_shape(node, 0));
	pk_walk_add_shape(&s->walk, pk_check_in_shape(node, 1));
	pk_walk_fold(&s->walk);
	s->run = run_of(node);
	*state = s;
	return 0;
}

// The output is dense, so the innermost axis has stride 1 there and 0 or 1 in the operands.
static void run(const struct pk_cpu_call *call)
{
	const struct binary *s = call->state;
	const struct pk_walk *w = &s->walk;
	struct pk_walk_pos pos = {0};
	if (!w->n)
		return;
	do {
		s->run((float *)call->outputs[0] + pos.off[0],
			(const float *)call->inputs[0] + pos.off[1], pk_walk_stride(w, 1),
			(const float *)call->inputs[1] + pos.off[2], pk_walk_stride(w, 2),
			pk_walk_inner(w));
	} while (pk_walk_next(w, &pos));
}

const struct pk_cpu_kernel pk_kernel_binary_run = {
	.op = PK_OP_BINARY,
	.name = "binary_run",
	.in_place = true,
	.rank = 10,
	.supports = supports,
	.setup = setup,
	.run = run,
};

const struct pk_cpu_kernel pk_kernel_prelu_run = {
	.op = PK_OP_PRELU,
	.name = "prelu_run",
	.in_place = true,
	.rank = 10,
	.supports = supports,
	.setup = setup,
	.run = run,
};
