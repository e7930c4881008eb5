// SPDX-License-Identifier: Apache-2.0
// Vectors of floats on compiler extensions: 4 lanes anywhere, 8 with FMA where
// PK_VEC_AVX2 is set, 16 where PK_VEC_AVX512 is.
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(PK_VEC_AVX512)
#include <immintrin.h>
#define PK_VEC_BYTES 64
#define PK_TILE_ROWS 6
#define PK_TILE_VECS 2
#elif defined(PK_VEC_AVX2)
#include <immintrin.h>
#define PK_VEC_BYTES 32
#define PK_TILE_ROWS 6 // 12 sums, 2 operands and a broadcast fit 16 registers
#define PK_TILE_VECS 2
#elif defined(__aarch64__)
#include <arm_neon.h>
#define PK_VEC_BYTES 16
#define PK_TILE_ROWS 6 // 24 sums of 32 registers
#define PK_TILE_VECS 4
#else
#define PK_VEC_BYTES 16
#define PK_TILE_ROWS 4 // no FMA: products need registers too
#define PK_TILE_VECS 2
#endif

#define PK_VEC_LANES    (PK_VEC_BYTES / 4)
#define PK_TILE_COLUMNS (PK_TILE_VECS * PK_VEC_LANES)

typedef float pk_vec __attribute__((vector_size(PK_VEC_BYTES)));
typedef int32_t pk_veci __attribute__((vector_size(PK_VEC_BYTES)));
typedef float pk_vec_unaligned __attribute__((vector_size(PK_VEC_BYTES), aligned(4), may_alias));

// Loops over register arrays must be unrolled for the arrays to live in registers.
#if defined(__clang__)
#define PK_VEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PK_VEC_UNROLL _Pragma("GCC unroll 16")
#endif
#define PK_VEC_FN static inline __attribute__((always_inline, unused))

PK_VEC_FN pk_vec pk_vec_load(const float *p)
{
	return *(const pk_vec_unaligned *)p;
}
PK_VEC_FN void pk_vec_store(float *p, pk_vec v)
{
	*(pk_vec_unaligned *)p = v;
}
PK_VEC_FN pk_vec pk_vec_splat(float v)
{
	return v - (pk_vec){0}; // 0 - 0 would lose the sign of -0 the other way round
}
PK_VEC_FN pk_vec pk_vec_fma(pk_vec a, pk_vec b, pk_vec c)
{
#if defined(PK_VEC_AVX512)
	return (pk_vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(PK_VEC_AVX2)
	return (pk_vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
	return (pk_vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
	return a * b + c;
#endif
}
// yes where mask is set (all bits of a lane), no elsewhere.
PK_VEC_FN pk_vec pk_vec_select(pk_veci mask, pk_vec yes, pk_vec no)
{
	return (pk_vec)((mask & (pk_veci)yes) | (~mask & (pk_veci)no));
}
// NaN in v stays NaN.
PK_VEC_FN pk_vec pk_vec_at_least(pk_vec v, pk_vec low)
{
#if defined(PK_VEC_AVX512)
	return (pk_vec)_mm512_max_ps((__m512)low, (__m512)v); // of NaN and another: the second
#elif defined(PK_VEC_AVX2)
	return (pk_vec)_mm256_max_ps((__m256)low, (__m256)v);
#else
	return pk_vec_select(v < low, low, v);
#endif
}
PK_VEC_FN pk_vec pk_vec_at_most(pk_vec v, pk_vec high)
{
#if defined(PK_VEC_AVX512)
	return (pk_vec)_mm512_min_ps((__m512)high, (__m512)v);
#elif defined(PK_VEC_AVX2)
	return (pk_vec)_mm256_min_ps((__m256)high, (__m256)v);
#else
	return pk_vec_select(v > high, high, v);
#endif
}
PK_VEC_FN pk_vec pk_vec_abs(pk_vec v)
{
	return (pk_vec)((pk_veci)v & 0x7fffffff);
}

// e^x to about 1 ulp: x = n ln 2 + r, Taylor series to r^7 (|r| <= 0.347: 5e-9 left out), and 2^n
// in two factors so that the ends of the range (subnormal, infinite) come out by themselves.
PK_VEC_FN pk_vec pk_vec_exp(pk_vec x)
{
	const pk_vec round = pk_vec_splat(0x1.8p23F);
	x = pk_vec_at_most(pk_vec_at_least(x, pk_vec_splat(-105)), pk_vec_splat(89));
	pk_vec shifted = pk_vec_fma(x, pk_vec_splat(0x1.715476p0F), round);
	pk_veci n = (pk_veci)shifted - (pk_veci)round;
	pk_vec whole = shifted - round;
	pk_vec r = pk_vec_fma(whole, pk_vec_splat(-0x1.63p-1F), x); // 0x1.63p-1: exact products
	r = pk_vec_fma(whole, pk_vec_splat(0x1.bd0106p-13F), r);
	pk_vec p = pk_vec_splat(1.0F / 5040);
	p = pk_vec_fma(p, r, pk_vec_splat(1.0F / 720));
	p = pk_vec_fma(p, r, pk_vec_splat(1.0F / 120));
	p = pk_vec_fma(p, r, pk_vec_splat(1.0F / 24));
	p = pk_vec_fma(p, r, pk_vec_splat(1.0F / 6));
	p = pk_vec_fma(p, r, pk_vec_splat(0.5F));
	p = pk_vec_fma(p, r, pk_vec_splat(1));
	p = pk_vec_fma(p, r, pk_vec_splat(1));
	pk_veci half = n >> 1;
	pk_vec a = (pk_vec)((half + 127) << 23), b = (pk_vec)((n - half + 127) << 23);
	return p * a * b;
}

PK_VEC_FN pk_vec pk_vec_sigmoid(pk_vec x)
{
	return 1.0F / (1.0F + pk_vec_exp(-x));
}

// Series to x^13 below 0.45, where 1 - 2 / (e^2x + 1) would cancel.
PK_VEC_FN pk_vec pk_vec_tanh(pk_vec x)
{
	pk_vec z = x * x, far = 1.0F - 2.0F / (pk_vec_exp(x + x) + 1.0F);
	pk_vec p = pk_vec_splat(21844.0F / 6081075);
	p = pk_vec_fma(p, z, pk_vec_splat(-1382.0F / 155925));
	p = pk_vec_fma(p, z, pk_vec_splat(62.0F / 2835));
	p = pk_vec_fma(p, z, pk_vec_splat(-17.0F / 315));
	p = pk_vec_fma(p, z, pk_vec_splat(2.0F / 15));
	p = pk_vec_fma(p, z, pk_vec_splat(-1.0F / 3));
	pk_vec near = pk_vec_fma(p * z, x, x);
	return pk_vec_select(pk_vec_abs(x) < pk_vec_splat(0.45F), near, far);
}

// Lane i of the result is lane pick[i] of a and, from its lanes on, b. pick is constant.
PK_VEC_FN pk_vec pk_vec_pick(pk_vec a, pk_vec b, pk_veci pick)
{
#if defined(__clang__)
	pk_vec out;
	PK_VEC_UNROLL
	for (int i = 0; i < PK_VEC_LANES; i++)
		out[i] = pick[i] < PK_VEC_LANES ? a[pick[i]] : b[pick[i] - PK_VEC_LANES];
	return out;
#else
	return __builtin_shuffle(a, b, pick);
#endif
}

// First n lanes only; the others are 0 and stay unread.
PK_VEC_FN pk_vec pk_vec_load_part(const float *p, int64_t n)
{
	float lanes[PK_VEC_LANES] = {0};
	memcpy(lanes, p, (size_t)n * sizeof(float));
	return pk_vec_load(lanes);
}
PK_VEC_FN void pk_vec_store_part(float *p, pk_vec v, int64_t n)
{
	float lanes[PK_VEC_LANES];
	pk_vec_store(lanes, v);
	memcpy(p, lanes, (size_t)n * sizeof(float));
}
