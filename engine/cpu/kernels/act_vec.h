// SPDX-License-Identifier: Apache-2.0
// Activations over rows of floats, for the instruction set that vec.h is compiled for.
#pragma once

#include <stddef.h>

#include "engine/cpu/kernels/math_vec.h"
#include "engine/cpu/kernels/scalar.h"
#include "engine/cpu/kernels/vec.h"

// y = f(x) over n floats; x may be y.
typedef void pk_act_run(const float *x, float *y, int64_t n, float alpha, float beta);

#define PK_ACT(name, expr)                                                                         \
	PK_VEC_FN pk_vec pk_act_##name##_vec(pk_vec x, pk_vec alpha, pk_vec beta)                  \
	{                                                                                          \
		return expr;                                                                       \
	}                                                                                          \
	static void pk_act_##name(const float *x, float *y, int64_t n, float alpha, float beta)    \
	{                                                                                          \
		pk_vec a = pk_vec_splat(alpha), b = pk_vec_splat(beta);                            \
		int64_t i = 0;                                                                     \
		for (; i + PK_VEC_LANES <= n; i += PK_VEC_LANES)                                   \
			pk_vec_store(y + i, pk_act_##name##_vec(pk_vec_load(x + i), a, b));        \
		if (i < n)                                                                         \
			pk_vec_store_part(y + i,                                                   \
				pk_act_##name##_vec(pk_vec_load_part(x + i, n - i), a, b), n - i); \
	}

PK_VEC_FN pk_vec pk_act_clamp01(pk_vec x)
{
	return pk_vec_at_most(pk_vec_at_least(x, pk_vec_splat(0)), pk_vec_splat(1));
}

PK_ACT(relu, pk_vec_at_least(x, pk_vec_splat(0)))
PK_ACT(leaky_relu, pk_vec_select(x < pk_vec_splat(0), alpha *x, x))
PK_ACT(clip, pk_vec_at_most(pk_vec_at_least(x, alpha), beta))
PK_ACT(sigmoid, pk_vec_sigmoid(x))
PK_ACT(tanh, pk_vec_tanh(x))
PK_ACT(silu, x *pk_vec_sigmoid(x))
PK_ACT(hard_sigmoid, pk_act_clamp01(alpha *x + beta))
PK_ACT(hard_swish, x *pk_act_clamp01(x *(1.0F / 6) + 0.5F))
PK_ACT(exp, pk_vec_exp(x))
PK_ACT(abs, pk_vec_abs(x))
PK_ACT(neg, -x)
PK_ACT(reciprocal, 1.0F / x)
PK_ACT(elu, pk_vec_select(x < pk_vec_splat(0), alpha *pk_vec_expm1(x), x))
PK_ACT(selu, beta *pk_vec_select(x < pk_vec_splat(0), alpha *pk_vec_expm1(x), x))
PK_ACT(gelu, pk_vec_gelu(x))
PK_ACT(gelu_tanh, pk_vec_gelu_tanh(x))
PK_ACT(mish, pk_vec_mish(x))
PK_ACT(softplus, pk_vec_softplus(x))
PK_ACT(softsign, x / (1.0F + pk_vec_abs(x)))
PK_ACT(log, pk_vec_log(x))
PK_ACT(sqrt, pk_vec_sqrt(x))
PK_ACT(erf, pk_vec_erf(x))
PK_ACT(floor, pk_vec_floor(x))
PK_ACT(ceil, -pk_vec_floor(-x))
PK_ACT(round, pk_vec_round(x))

// NULL: no vector form (PK_FN_NONE too).
static inline pk_act_run *pk_act_vec_fn(enum pk_fn fn)
{
	static pk_act_run *const table[PK_N_FNS] = {
		[PK_FN_RELU] = pk_act_relu,
		[PK_FN_LEAKY_RELU] = pk_act_leaky_relu,
		[PK_FN_CLIP] = pk_act_clip,
		[PK_FN_SIGMOID] = pk_act_sigmoid,
		[PK_FN_TANH] = pk_act_tanh,
		[PK_FN_SILU] = pk_act_silu,
		[PK_FN_HARD_SIGMOID] = pk_act_hard_sigmoid,
		[PK_FN_HARD_SWISH] = pk_act_hard_swish,
		[PK_FN_EXP] = pk_act_exp,
		[PK_FN_ABS] = pk_act_abs,
		[PK_FN_NEG] = pk_act_neg,
		[PK_FN_RECIPROCAL] = pk_act_reciprocal,
		[PK_FN_ELU] = pk_act_elu,
		[PK_FN_SELU] = pk_act_selu,
		[PK_FN_GELU] = pk_act_gelu,
		[PK_FN_GELU_TANH] = pk_act_gelu_tanh,
		[PK_FN_MISH] = pk_act_mish,
		[PK_FN_SOFTPLUS] = pk_act_softplus,
		[PK_FN_SOFTSIGN] = pk_act_softsign,
		[PK_FN_LOG] = pk_act_log,
		[PK_FN_SQRT] = pk_act_sqrt,
		[PK_FN_ERF] = pk_act_erf,
		[PK_FN_FLOOR] = pk_act_floor,
		[PK_FN_CEIL] = pk_act_ceil,
		[PK_FN_ROUND] = pk_act_round,
	};
	return table[fn];
}

// Any function of class U, in place: by vectors or one by one.
static inline void pk_act_apply(enum pk_fn fn, float *y, int64_t n, float alpha, float beta)
{
	pk_act_run *run = pk_act_vec_fn(fn);
	if (run) {
		run(y, y, n, alpha, beta);
		return;
	}
	pk_scalar_unary *scalar = pk_scalar_unary_fn(fn);
	for (int64_t i = 0; fn != PK_FN_NONE && i < n; i++)
		y[i] = (float)scalar((double)y[i], (double)alpha, (double)beta);
}
