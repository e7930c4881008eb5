// SPDX-License-Identifier: Apache-2.0
// Logarithm, error function and what is made of them, for the instruction set that vec.h is
// compiled for. Errors are a few units in the last place
// (tests/unit/engine/cpu/test_math_kernels.c).
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/cpu/kernels/vec.h"

// Coefficients from the highest power down.
#define PK_VEC_POLY(x, coefficients)                                                               \
	__extension__({                                                                            \
		pk_vec sum_ = pk_vec_splat((coefficients)[0]);                                     \
		PK_VEC_UNROLL                                                                      \
		for (size_t i_ = 1; i_ < sizeof(coefficients) / sizeof(float); i_++)               \
			sum_ = pk_vec_fma(sum_, x, pk_vec_splat((coefficients)[i_]));              \
		sum_;                                                                              \
	})

PK_VEC_FN pk_vec pk_vec_sqrt(pk_vec x)
{
#if defined(PK_VEC_AVX2)
	return (pk_vec)_mm256_sqrt_ps((__m256)x);
#elif defined(__aarch64__)
	return (pk_vec)vsqrtq_f32((float32x4_t)x);
#else
	for (int i = 0; i < PK_VEC_LANES; i++)
		x[i] = __builtin_sqrtf(x[i]);
	return x;
#endif
}

// Half to even; adding 2^23 leaves no bits for a fraction. The sign stays, of zeros too.
PK_VEC_FN pk_vec pk_vec_round(pk_vec x)
{
	const pk_vec magic = pk_vec_splat(0x1p23F);
	pk_veci sign = (pk_veci)x & INT32_MIN;
	pk_vec near = (pk_vec)((pk_veci)((pk_vec_abs(x) + magic) - magic) | sign);
	return pk_vec_select(pk_vec_abs(x) < magic, near, x);
}

PK_VEC_FN pk_vec pk_vec_floor(pk_vec x)
{
	pk_vec near = pk_vec_round(x);
	return near - pk_vec_select(near > x, pk_vec_splat(1), pk_vec_splat(0));
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh((m - 1) / (m + 1)) by its series to
// the ninth power.
PK_VEC_FN pk_vec pk_vec_log(pk_vec x)
{
	static const float series[] = {2.0F / 9, 2.0F / 7, 2.0F / 5, 2.0F / 3};
	pk_veci tiny = x < pk_vec_splat(0x1p-126F);
	pk_vec scaled = pk_vec_select(tiny, x * 0x1p23F, x);
	pk_veci e = ((pk_veci)scaled - 0x3f3504f3) >> 23; // of sqrt(1/2) on
	pk_vec m = (pk_vec)((pk_veci)scaled - (e << 23));
	pk_vec power = __builtin_convertvector(e - (tiny & 23), pk_vec);
	pk_vec s = (m - 1.0F) / (m + 1.0F), z = s * s;
	pk_vec tail = PK_VEC_POLY(z, series) * z * s;
	tail = pk_vec_fma(power, pk_vec_splat(-0x1.bd0106p-13F), tail);
	pk_vec y = pk_vec_fma(power, pk_vec_splat(0x1.63p-1F), tail + (s + s));
	y = pk_vec_select(x == pk_vec_splat(0), pk_vec_splat(-INFINITY), y);
	y = pk_vec_select(x < pk_vec_splat(0), pk_vec_splat(NAN), y);
	// Infinity and NaN stay what they are.
	return pk_vec_select(x < pk_vec_splat(INFINITY), y, x + x);
}

// ln(1 + t) for t in 0..1: what rounding 1 + t did is put right by the factor.
PK_VEC_FN pk_vec pk_vec_log1p(pk_vec t)
{
	pk_vec u = 1.0F + t, d = u - 1.0F;
	pk_veci small = d == pk_vec_splat(0);
	pk_vec y = pk_vec_log(u) * (t / pk_vec_select(small, pk_vec_splat(1), d));
	return pk_vec_select(small, t, y);
}

PK_VEC_FN pk_vec pk_vec_softplus(pk_vec x)
{
	return pk_vec_at_least(x, pk_vec_splat(0)) + pk_vec_log1p(pk_vec_exp(-pk_vec_abs(x)));
}

// tanh(ln(1 + e)) = e (e + 2) / (e (e + 2) + 2), e = exp(x).
PK_VEC_FN pk_vec pk_vec_mish(pk_vec x)
{
	pk_vec e = pk_vec_exp(pk_vec_at_most(x, pk_vec_splat(20)));
	pk_vec n = e * (e + 2.0F);
	return x * (n / (n + 2.0F));
}

// Below 0.4 e^x - 1 would cancel: its series.
PK_VEC_FN pk_vec pk_vec_expm1(pk_vec x)
{
	static const float series[] = {
		1.0F / 40320, 1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F};
	pk_vec near = pk_vec_fma(PK_VEC_POLY(x, series) * x, x, x);
	return pk_vec_select(pk_vec_abs(x) < pk_vec_splat(0.4F), near, pk_vec_exp(x) - 1.0F);
}

// exp(z^2) erfc(z) / t as a polynomial of t = 1 / (1 + z / 2), for z from 0.9 on: least squares,
// relative error 2e-8.
PK_VEC_FN pk_vec pk_vec_erfc_far(pk_vec z)
{
	static const float fit[] = {0.0883958705F, -0.211713279F, 0.0651477616F, 0.0721104837F,
		0.174638207F, 0.247860473F, 0.281935368F, 0.282103423F};
	pk_vec t = 1.0F / pk_vec_fma(z, pk_vec_splat(0.5F), pk_vec_splat(1));
	return PK_VEC_POLY(t, fit) * t * pk_vec_exp(-z * z);
}

// Series to x^23 below 1.
PK_VEC_FN pk_vec pk_vec_erf_near(pk_vec x)
{
	static const float series[] = {-1.0F / 918086400, 1.0F / 76204800, -1.0F / 6894720,
		1.0F / 685440, -1.0F / 75600, 1.0F / 9360, -1.0F / 1320, 1.0F / 216, -1.0F / 42,
		0.1F, -1.0F / 3};
	pk_vec z = x * x, scaled = x * 1.1283791670955126F;
	return pk_vec_fma(PK_VEC_POLY(z, series) * z, scaled, scaled);
}

PK_VEC_FN pk_vec pk_vec_erf(pk_vec x)
{
	pk_vec z = pk_vec_abs(x), far = 1.0F - pk_vec_erfc_far(pk_vec_at_most(z, pk_vec_splat(9)));
	far = (pk_vec)((pk_veci)far | ((pk_veci)x & INT32_MIN));
	return pk_vec_select(
		z < pk_vec_splat(1), pk_vec_erf_near(x), pk_vec_select(x != x, x, far));
}

// Left of 0 through erfc: 1 + erf would cancel.
PK_VEC_FN pk_vec pk_vec_gelu(pk_vec x)
{
	pk_vec z = x * 0.70710678118654752F, half = x * 0.5F;
	pk_vec y = half * (1.0F + pk_vec_erf(z));
	pk_vec left = half * pk_vec_erfc_far(pk_vec_at_least(
				     pk_vec_at_most(-z, pk_vec_splat(9)), pk_vec_splat(0.9F)));
	return pk_vec_select(z < pk_vec_splat(-1), left, y);
}

// x (1 + tanh(u)) / 2 = x sigmoid(2 u).
PK_VEC_FN pk_vec pk_vec_gelu_tanh(pk_vec x)
{
	pk_vec u = x * pk_vec_fma(x * x, pk_vec_splat(0.044715F), pk_vec_splat(1));
	return x * pk_vec_sigmoid(u * 1.5957691216057308F);
}
