// SPDX-License-Identifier: Apache-2.0
// What every kernel text begins with: half floats, numbers of any type, vectors, activations.
//
// NVRTC gets no header of the toolkit: runtime-only images have none, so half floats are converted
// by two PTX instructions here. tests/gpu builds the same texts for the host, where the shim
// (tests/gpu/cuda_host.h) comes before and defines PK_CUDA_HOST. None of it has run on a GPU yet.
#pragma once

enum pk_fn {
#define X(id, name, class) PK_FN_##id,
	PK_FN_LIST(X)
#undef X
		PK_N_FNS,
};

enum pk_enum_word {
#define X(attr, value, text) value,
	PK_ENUM_LIST(X)
#undef X
};

// An entry: pointers, then one params struct. PK_EXPORT names it for the host's table, with _SYNC
// when its threads meet at barriers.
#define PK_ENTRY extern "C" __global__ void
#ifndef PK_CUDA_HOST
#define PK_EXPORT(name)
#define PK_EXPORT_SYNC(name)
#define PK_INLINE   __device__ __forceinline__
#define PK_NOINLINE __device__ __noinline__
#endif

// Index of the thread over the whole grid, in one dimension.
#define PK_THREAD ((int)(blockIdx.x * blockDim.x + threadIdx.x))

typedef long long pk_i64;

struct pk_half {
	unsigned short bits;
};

#ifndef PK_CUDA_HOST
PK_INLINE float pk_half_to_float(pk_half h)
{
	float v;
	asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h.bits));
	return v;
}
PK_INLINE pk_half pk_half_of(float v)
{
	pk_half h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(v));
	return h;
}
#endif

// v cut off toward zero and kept within low..high, both of which a float holds; NaN gives 0.
PK_INLINE pk_i64 pk_saturate(float v, float low, float high)
{
	if (v != v)
		return 0;
	v = truncf(v);
	return (pk_i64)(v < low ? low : v > high ? high : v);
}

// One element as float.
PK_INLINE float pk_get(float v)
{
	return v;
}
PK_INLINE float pk_get(pk_half v)
{
	return pk_half_to_float(v);
}
PK_INLINE float pk_get(signed char v)
{
	return (float)v;
}
PK_INLINE float pk_get(unsigned char v)
{
	return (float)v;
}
PK_INLINE void pk_put(float *p, float v)
{
	*p = v;
}
PK_INLINE void pk_put(pk_half *p, float v)
{
	*p = pk_half_of(v);
}
PK_INLINE void pk_put(signed char *p, float v)
{
	*p = (signed char)pk_saturate(v, -128, 127);
}
PK_INLINE void pk_put(unsigned char *p, float v)
{
	*p = (unsigned char)pk_saturate(v, 0, 255);
}

// V neighbours, moved by one instruction: the memory system serves 16 bytes a thread best.
template <typename T, int V> struct alignas(sizeof(T) * V) pk_vec {
	T at[V];
};
template <typename T, int V> PK_INLINE void pk_load(float (&out)[V], const T *p)
{
	pk_vec<T, V> v = *(const pk_vec<T, V> *)p;
#pragma unroll
	for (int i = 0; i < V; i++)
		out[i] = pk_get(v.at[i]);
}
template <typename T, int V> PK_INLINE void pk_save(T *p, const float (&in)[V])
{
	pk_vec<T, V> v;
#pragma unroll
	for (int i = 0; i < V; i++)
		pk_put(&v.at[i], in[i]);
	*(pk_vec<T, V> *)p = v;
}

PK_INLINE float pk_clip(float x, float low, float high)
{
	x = x < low ? low : x;
	return x > high ? high : x;
}
PK_INLINE float pk_sigmoid(float x)
{
	return __fdividef(1, 1 + expf(-x)); // 2 units in the last place, a fifth of the code
}
PK_INLINE float pk_softplus(float x)
{
	return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}
PK_INLINE float pk_elu(float x, float alpha)
{
	return x < 0 ? alpha * expm1f(x) : x;
}

// Class U of PK_FN_LIST. The switch is on a number that all threads share: no divergence.
PK_INLINE float pk_unary(int fn, float x, float alpha, float beta)
{
	switch (fn) {
	case PK_FN_RELU:
		return x < 0 ? 0 : x;
	case PK_FN_LEAKY_RELU:
		return x < 0 ? alpha * x : x;
	case PK_FN_CLIP:
		return pk_clip(x, alpha, beta);
	case PK_FN_SIGMOID:
		return pk_sigmoid(x);
	case PK_FN_TANH:
		return tanhf(x);
	case PK_FN_SILU:
		return x * pk_sigmoid(x);
	case PK_FN_HARD_SIGMOID:
		return pk_clip(alpha * x + beta, 0, 1);
	case PK_FN_HARD_SWISH:
		return x * pk_clip(x / 6 + 0.5F, 0, 1);
	case PK_FN_ELU:
		return pk_elu(x, alpha);
	case PK_FN_SELU:
		return beta * pk_elu(x, alpha);
	case PK_FN_GELU:
		return 0.5F * x * (1 + erff(x * 0.707106781F));
	case PK_FN_GELU_TANH:
		return 0.5F * x * (1 + tanhf(0.797884561F * (x + 0.044715F * x * x * x)));
	case PK_FN_MISH:
		return x * tanhf(pk_softplus(x));
	case PK_FN_SOFTPLUS:
		return pk_softplus(x);
	case PK_FN_SOFTSIGN:
		return x / (1 + fabsf(x));
	case PK_FN_EXP:
		return expf(x);
	case PK_FN_LOG:
		return logf(x);
	case PK_FN_SQRT:
		return sqrtf(x);
	case PK_FN_RECIPROCAL:
		return 1 / x;
	case PK_FN_ABS:
		return fabsf(x);
	case PK_FN_NEG:
		return -x;
	case PK_FN_SIGN:
		return x > 0 ? 1 : x < 0 ? -1 : x;
	case PK_FN_FLOOR:
		return floorf(x);
	case PK_FN_CEIL:
		return ceilf(x);
	case PK_FN_ROUND:
		return rintf(x);
	case PK_FN_ERF:
		return erff(x);
	case PK_FN_SIN:
		return sinf(x);
	case PK_FN_COS:
		return cosf(x);
	case PK_FN_NOT:
		return x == 0;
	default:
		return x;
	}
}

// For the epilogues, which are unrolled over many values: the usual activations in place, all others
// by a call, else the text would take minutes to compile on the node.
template <typename T> PK_NOINLINE T pk_unary_call(int fn, T x, float alpha, float beta)
{
	return pk_unary(fn, x, alpha, beta);
}
template <int N> PK_INLINE void pk_act(int fn, float (&v)[N], float alpha, float beta)
{
	if (fn == PK_FN_NONE)
		return;
	if (fn == PK_FN_RELU) {
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = v[i] < 0 ? 0 : v[i];
	} else if (fn == PK_FN_SILU) {
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] *= pk_sigmoid(v[i]);
	} else {
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = pk_unary_call(fn, v[i], alpha, beta);
	}
}
