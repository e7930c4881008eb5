// SPDX-License-Identifier: Apache-2.0
// The functions of PK_FN_LIST on single numbers.
#include "engine/cpu/kernels/scalar.h"

#include <math.h>
#include <stddef.h>

#define UNARY(name, expr)                                                                          \
	static double u_##name(double x, double alpha, double beta)                                \
	{                                                                                          \
		return expr;                                                                       \
	}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}
static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double elu(double x, double alpha)
{
	return x < 0 ? alpha * expm1(x) : x;
}
// Keeps NaN, and gives high when low > high.
static double clip(double x, double low, double high)
{
	x = x < low ? low : x;
	return x > high ? high : x;
}
static double sign(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

UNARY(none, x)
UNARY(relu, x < 0 ? 0 : x)
UNARY(leaky_relu, x < 0 ? alpha * x : x)
UNARY(clip, clip(x, alpha, beta))
UNARY(sigmoid, sigmoid(x))
UNARY(tanh, tanh(x))
UNARY(silu, x *sigmoid(x))
UNARY(hard_sigmoid, clip(alpha *x + beta, 0, 1))
UNARY(hard_swish, x *clip(x / 6 + 0.5, 0, 1))
UNARY(elu, elu(x, alpha))
UNARY(selu, beta *elu(x, alpha))
UNARY(gelu, 0.5 * x * (1 + erf(x * 0.70710678118654752440)))
UNARY(gelu_tanh, gelu_tanh(x))
UNARY(mish, x *tanh(softplus(x)))
UNARY(softplus, softplus(x))
UNARY(softsign, x / (1 + fabs(x)))
UNARY(exp, exp(x))
UNARY(log, log(x))
UNARY(sqrt, sqrt(x))
UNARY(reciprocal, 1 / x)
UNARY(abs, fabs(x))
UNARY(neg, -x)
UNARY(sign, sign(x))
UNARY(floor, floor(x))
UNARY(ceil, ceil(x))
UNARY(round, rint(x))
UNARY(erf, erf(x))
UNARY(sin, sin(x))
UNARY(cos, cos(x))
UNARY(not, x == 0)

pk_scalar_unary *pk_scalar_unary_fn(enum pk_fn fn)
{
	static pk_scalar_unary *const table[PK_N_FNS] = {
		[PK_FN_NONE] = u_none,
		[PK_FN_RELU] = u_relu,
		[PK_FN_LEAKY_RELU] = u_leaky_relu,
		[PK_FN_CLIP] = u_clip,
		[PK_FN_SIGMOID] = u_sigmoid,
		[PK_FN_TANH] = u_tanh,
		[PK_FN_SILU] = u_silu,
		[PK_FN_HARD_SIGMOID] = u_hard_sigmoid,
		[PK_FN_HARD_SWISH] = u_hard_swish,
		[PK_FN_ELU] = u_elu,
		[PK_FN_SELU] = u_selu,
		[PK_FN_GELU] = u_gelu,
		[PK_FN_GELU_TANH] = u_gelu_tanh,
		[PK_FN_MISH] = u_mish,
		[PK_FN_SOFTPLUS] = u_softplus,
		[PK_FN_SOFTSIGN] = u_softsign,
		[PK_FN_EXP] = u_exp,
		[PK_FN_LOG] = u_log,
		[PK_FN_SQRT] = u_sqrt,
		[PK_FN_RECIPROCAL] = u_reciprocal,
		[PK_FN_ABS] = u_abs,
		[PK_FN_NEG] = u_neg,
		[PK_FN_SIGN] = u_sign,
		[PK_FN_FLOOR] = u_floor,
		[PK_FN_CEIL] = u_ceil,
		[PK_FN_ROUND] = u_round,
		[PK_FN_ERF] = u_erf,
		[PK_FN_SIN] = u_sin,
		[PK_FN_COS] = u_cos,
		[PK_FN_NOT] = u_not,
	};
	return (unsigned)fn < PK_N_FNS ? table[fn] : NULL;
}

#define BINARY(name, expr)                                                                         \
	static double b_##name(double a, double b)                                                 \
	{                                                                                          \
		return expr;                                                                       \
	}
static double python_mod(double a, double b)
{
	double r = fmod(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// NaN in either operand gives NaN.
static double min_f(double a, double b)
{
	return isnan(a) || a < b ? a : b;
}
static double max_f(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(pow, pow(a, b))
BINARY(mod, python_mod(a, b))
BINARY(fmod, fmod(a, b))
BINARY(min, min_f(a, b))
BINARY(max, max_f(a, b))
BINARY(equal, a == b)
BINARY(less, a < b)
BINARY(less_equal, a <= b)
BINARY(greater, a > b)
BINARY(greater_equal, a >= b)
BINARY(and, a != 0 && b != 0)
BINARY(or, a != 0 || b != 0)
BINARY(xor, (a != 0) != (b != 0))

pk_scalar_binary *pk_scalar_binary_fn(enum pk_fn fn)
{
	static pk_scalar_binary *const table[PK_N_FNS] = {
		[PK_FN_ADD] = b_add,
		[PK_FN_SUB] = b_sub,
		[PK_FN_MUL] = b_mul,
		[PK_FN_DIV] = b_div,
		[PK_FN_POW] = b_pow,
		[PK_FN_MOD] = b_mod,
		[PK_FN_FMOD] = b_fmod,
		[PK_FN_MIN] = b_min,
		[PK_FN_MAX] = b_max,
		[PK_FN_EQUAL] = b_equal,
		[PK_FN_LESS] = b_less,
		[PK_FN_LESS_EQUAL] = b_less_equal,
		[PK_FN_GREATER] = b_greater,
		[PK_FN_GREATER_EQUAL] = b_greater_equal,
		[PK_FN_AND] = b_and,
		[PK_FN_OR] = b_or,
		[PK_FN_XOR] = b_xor,
	};
	return (unsigned)fn < PK_N_FNS ? table[fn] : NULL;
}

#define BINARY_INT(name, expr)                                                                     \
	static int64_t i_##name(int64_t a, int64_t b)                                              \
	{                                                                                          \
		return expr;                                                                       \
	}
// Unsigned arithmetic, because signed overflow is not defined.
static int64_t div_int(int64_t a, int64_t b)
{
	if (b == 0)
		return 0;
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t rem_int(int64_t a, int64_t b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}
static int64_t mod_int(int64_t a, int64_t b)
{
	int64_t r = rem_int(a, b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static int64_t pow_int(int64_t a, int64_t b)
{
	uint64_t base = (uint64_t)a, r = 1;
	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (uint64_t e = (uint64_t)b; e; e >>= 1) {
		if (e & 1)
			r *= base;
		base *= base;
	}
	return (int64_t)r;
}
BINARY_INT(add, (int64_t)((uint64_t)a + (uint64_t)b))
BINARY_INT(sub, (int64_t)((uint64_t)a - (uint64_t)b))
BINARY_INT(mul, (int64_t)((uint64_t)a *(uint64_t)b))
BINARY_INT(div, div_int(a, b))
BINARY_INT(pow, pow_int(a, b))
BINARY_INT(mod, mod_int(a, b))
BINARY_INT(fmod, rem_int(a, b))
BINARY_INT(min, a < b ? a : b)
BINARY_INT(max, a > b ? a : b)
BINARY_INT(equal, a == b)
BINARY_INT(less, a < b)
BINARY_INT(less_equal, a <= b)
BINARY_INT(greater, a > b)
BINARY_INT(greater_equal, a >= b)
BINARY_INT(and, a &&b)
BINARY_INT(or, a || b)
BINARY_INT(xor, !a != !b)

pk_scalar_binary_int *pk_scalar_binary_int_fn(enum pk_fn fn)
{
	static pk_scalar_binary_int *const table[PK_N_FNS] = {
		[PK_FN_ADD] = i_add,
		[PK_FN_SUB] = i_sub,
		[PK_FN_MUL] = i_mul,
		[PK_FN_DIV] = i_div,
		[PK_FN_POW] = i_pow,
		[PK_FN_MOD] = i_mod,
		[PK_FN_FMOD] = i_fmod,
		[PK_FN_MIN] = i_min,
		[PK_FN_MAX] = i_max,
		[PK_FN_EQUAL] = i_equal,
		[PK_FN_LESS] = i_less,
		[PK_FN_LESS_EQUAL] = i_less_equal,
		[PK_FN_GREATER] = i_greater,
		[PK_FN_GREATER_EQUAL] = i_greater_equal,
		[PK_FN_AND] = i_and,
		[PK_FN_OR] = i_or,
		[PK_FN_XOR] = i_xor,
	};
	return (unsigned)fn < PK_N_FNS ? table[fn] : NULL;
}
