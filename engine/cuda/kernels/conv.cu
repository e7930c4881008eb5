// SPDX-License-Identifier: Apache-2.0
// Convolution and transposed convolution of any geometry, groups and dilation: what runs where
// there is no cuDNN plan.
//
// One thread computes one output channel of PK_CU_PIXELS neighbours. Threads of a warp take
// neighbouring channels: they read one line of weights (packed with the output channel innermost)
// and the same input vector, which is one transaction for all. Each weight serves four pixels.
// Entries with _1 take any strides. Has never run on a GPU.

// Adds one kernel cell for one output channel: pixel k reads the input at from[k], -1: padding.
template <typename T, int V>
PK_INLINE void pk_conv_cell(float (&sum)[PK_CU_PIXELS], const T *x, const T *w,
	const int (&from)[PK_CU_PIXELS], const struct pk_cu_conv &p)
{
#pragma unroll 1
	for (int c = 0; c < p.in_c; c += V) {
		float weights[V];
#pragma unroll
		for (int k = 0; k < V; k++)
			weights[k] = pk_get(w[(c + k) * p.out_c]);
#pragma unroll
		for (int o = 0; o < PK_CU_PIXELS; o++) {
			float v[V];
			if (from[o] < 0)
				continue;
			pk_load(v, x + from[o] + c * p.x_c);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum[o] += v[k] * weights[k];
		}
	}
}

// Where the thread works: output channel, picture and position.
struct pk_conv_place {
	int m, n, o0, o1, o2;
};
PK_INLINE pk_conv_place pk_conv_at(const struct pk_cu_conv &p, int i)
{
	pk_conv_place at;
	at.m = i % p.channels;
	i /= p.channels;
	at.o2 = i % p.across * PK_CU_PIXELS;
	i /= p.across;
	at.o1 = i % p.out[1];
	i /= p.out[1];
	at.o0 = i % p.out[0];
	at.n = i / p.out[0];
	return at;
}

template <typename T>
PK_INLINE void pk_conv_store(const struct pk_cu_conv &p, const pk_conv_place &at,
	float (&sum)[PK_CU_PIXELS], const float *bias, const T *residual, T *y)
{
	int to = at.n * p.y_n + at.m * p.y_c + at.o0 * p.y_s[0] + at.o1 * p.y_s[1];
	float r[PK_CU_PIXELS] = {0}, b = at.m < p.out_c ? bias[at.m] : 0;
	bool padding = at.m >= p.out_c;
#pragma unroll
	for (int k = 0; k < PK_CU_PIXELS; k++) {
		if (p.residual != PK_RESIDUAL_NONE && !padding && at.o2 + k < p.out[2])
			r[k] = pk_get(residual[to + (at.o2 + k) * p.y_s[2]]);
		sum[k] += b + (p.residual == PK_RESIDUAL_BEFORE_ACT ? r[k] : 0);
	}
	pk_act(p.act, sum, p.alpha, p.beta);
#pragma unroll
	for (int k = 0; k < PK_CU_PIXELS; k++) {
		float v = sum[k] + (p.residual == PK_RESIDUAL_AFTER_ACT ? r[k] : 0);
		if (at.o2 + k < p.out[2])
			pk_put(y + to + (at.o2 + k) * p.y_s[2], padding ? 0 : v);
	}
}

// The input position that output o reads through kernel cell k; -1: none.
PK_INLINE int pk_read(const struct pk_cu_conv &p, int axis, int o, int k)
{
	int i = o * p.stride[axis] + k * p.dilation[axis] - p.pad[axis];
	return i < p.in[axis] ? i : -1;
}
// Transposed: the one that reaches output o.
PK_INLINE int pk_reach(const struct pk_cu_conv &p, int axis, int o, int k)
{
	int t = o + p.pad[axis] - k * p.dilation[axis];
	if (t < 0 || t % p.stride[axis])
		return -1;
	t /= p.stride[axis];
	return t < p.in[axis] ? t : -1;
}

template <typename T, int V, bool TRANSPOSED>
PK_INLINE void pk_conv(
	const T *x, const T *residual, const char *packed, T *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD, cells = p.kernel[0] * p.kernel[1] * p.kernel[2];
	if (i >= p.n)
		return;
	pk_conv_place at = pk_conv_at(p, i);
	float sum[PK_CU_PIXELS] = {0};
	const T *w = (const T *)(packed + p.weights) + at.m;
	int base = at.n * p.x_n + at.m / p.group_out * p.group_in * p.x_c;
#pragma unroll 1
	for (int cell = 0; cell < cells && at.m < p.out_c; cell++) {
		int k2 = cell % p.kernel[2], k1 = cell / p.kernel[2] % p.kernel[1];
		int k0 = cell / (p.kernel[2] * p.kernel[1]), from[PK_CU_PIXELS];
		int i0 = TRANSPOSED ? pk_reach(p, 0, at.o0, k0) : pk_read(p, 0, at.o0, k0);
		int i1 = TRANSPOSED ? pk_reach(p, 1, at.o1, k1) : pk_read(p, 1, at.o1, k1);
		if (i0 < 0 || i1 < 0)
			continue;
#pragma unroll
		for (int k = 0; k < PK_CU_PIXELS; k++) {
			int o2 = at.o2 + k;
			int i2 = TRANSPOSED ? pk_reach(p, 2, o2, k2) : pk_read(p, 2, o2, k2);
			from[k] =
				i2 < 0 ? -1 : base + i0 * p.x_s[0] + i1 * p.x_s[1] + i2 * p.x_s[2];
		}
		pk_conv_cell<T, V>(sum, x, w + cell * p.in_c * p.out_c, from, p);
	}
	pk_conv_store(p, at, sum, (const float *)packed, residual, y);
}

#define CONV(name, T, V)                                                                           \
	PK_ENTRY conv_direct_##name(const T *x, const T *residual, const char *packed, T *y,       \
		const struct pk_cu_conv p)                                                         \
	{                                                                                          \
		pk_conv<T, V, false>(x, residual, packed, y, p);                                   \
	}                                                                                          \
	PK_EXPORT(conv_direct_##name)                                                              \
	PK_ENTRY conv_transpose_##name(                                                            \
		const T *x, const char *packed, T *y, const struct pk_cu_conv p)                   \
	{                                                                                          \
		pk_conv<T, V, true>(x, (const T *)0, packed, y, p);                                \
	}                                                                                          \
	PK_EXPORT(conv_transpose_##name)

CONV(f16, pk_half, 8)
CONV(f32, float, 4)
CONV(f16_1, pk_half, 1)
CONV(f32_1, float, 1)
