// SPDX-License-Identifier: Apache-2.0
// Convolution and transposed convolution of any geometry, groups and dilation: what runs where
// there is no cuDNN plan.
//
// One thread computes one output channel of PK_CU_PIXELS neighbours. Threads of a warp take
// neighbouring channels: they read one line of weights (packed with the output channel innermost)
// and the same input vector, which is one transaction for all. Each weight serves four pixels.
// Entries with _1 take any strides. Has never run on a GPU.

// What comes after the sum.
template <typename T>
PK_INLINE float pk_conv_finish(const struct pk_cu_conv &p, float v, const T *residual, int at)
{
	if (p.residual == PK_RESIDUAL_BEFORE_ACT)
		v += pk_get(residual[at]);
	v = pk_unary(p.act, v, p.alpha, p.beta);
	if (p.residual == PK_RESIDUAL_AFTER_ACT)
		v += pk_get(residual[at]);
	return v;
}

// Sum over the input channels of one cell at input offset `from`, for one output channel.
template <typename T, int V>
PK_INLINE float pk_conv_cell(const T *x, const T *w, int from, const struct pk_cu_conv &p)
{
	float sum = 0;
	for (int c = 0; c < p.in_c; c += V) {
		float v[V];
		pk_load(v, x + from + c * p.x_c);
#pragma unroll
		for (int k = 0; k < V; k++)
			sum += v[k] * pk_get(w[(c + k) * p.out_c]);
	}
	return sum;
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
	const float (&sum)[PK_CU_PIXELS], const float *bias, const T *residual, T *y)
{
	int to = at.n * p.y_n + at.m * p.y_c + at.o0 * p.y_s[0] + at.o1 * p.y_s[1];
#pragma unroll
	for (int k = 0; k < PK_CU_PIXELS; k++) {
		int here = to + (at.o2 + k) * p.y_s[2];
		if (at.o2 + k >= p.out[2])
			continue;
		if (at.m >= p.out_c)
			pk_put(y + here, 0);
		else
			pk_put(y + here, pk_conv_finish(p, sum[k] + bias[at.m], residual, here));
	}
}

template <typename T, int V>
PK_INLINE void pk_conv(
	const T *x, const T *residual, const char *packed, T *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	pk_conv_place at = pk_conv_at(p, i);
	float sum[PK_CU_PIXELS] = {0};
	const T *w = (const T *)(packed + p.weights) + at.m;
	int base = at.n * p.x_n + at.m / p.group_out * p.group_in * p.x_c;
	for (int k0 = 0; k0 < p.kernel[0] && at.m < p.out_c; k0++) {
		int i0 = at.o0 * p.stride[0] + k0 * p.dilation[0] - p.pad[0];
		for (int k1 = 0; k1 < p.kernel[1]; k1++) {
			int i1 = at.o1 * p.stride[1] + k1 * p.dilation[1] - p.pad[1];
			if (i0 < 0 || i0 >= p.in[0] || i1 < 0 || i1 >= p.in[1])
				continue;
			int row = base + i0 * p.x_s[0] + i1 * p.x_s[1];
			for (int k2 = 0; k2 < p.kernel[2]; k2++) {
				int cell = (k0 * p.kernel[1] + k1) * p.kernel[2] + k2;
#pragma unroll
				for (int k = 0; k < PK_CU_PIXELS; k++) {
					int i2 = (at.o2 + k) * p.stride[2] + k2 * p.dilation[2] -
						 p.pad[2];
					if (i2 >= 0 && i2 < p.in[2])
						sum[k] += pk_conv_cell<T, V>(x,
							w + cell * p.in_c * p.out_c,
							row + i2 * p.x_s[2], p);
				}
			}
		}
	}
	pk_conv_store(p, at, sum, (const float *)packed, residual, y);
}

// The input position that reaches output o through kernel cell k; -1: none.
PK_INLINE int pk_reaching(const struct pk_cu_conv &p, int axis, int o, int k)
{
	int t = o + p.pad[axis] - k * p.dilation[axis];
	if (t < 0 || t % p.stride[axis])
		return -1;
	t /= p.stride[axis];
	return t < p.in[axis] ? t : -1;
}

template <typename T, int V>
PK_INLINE void pk_conv_transpose(const T *x, const char *packed, T *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	pk_conv_place at = pk_conv_at(p, i);
	float sum[PK_CU_PIXELS] = {0};
	const T *w = (const T *)(packed + p.weights) + at.m;
	int base = at.n * p.x_n + at.m / p.group_out * p.group_in * p.x_c;
	for (int k0 = 0; k0 < p.kernel[0] && at.m < p.out_c; k0++) {
		int i0 = pk_reaching(p, 0, at.o0, k0);
		for (int k1 = 0; k1 < p.kernel[1]; k1++) {
			int i1 = pk_reaching(p, 1, at.o1, k1);
			if (i0 < 0 || i1 < 0)
				continue;
			int row = base + i0 * p.x_s[0] + i1 * p.x_s[1];
			for (int k2 = 0; k2 < p.kernel[2]; k2++) {
				int cell = (k0 * p.kernel[1] + k1) * p.kernel[2] + k2;
#pragma unroll
				for (int k = 0; k < PK_CU_PIXELS; k++) {
					int i2 = pk_reaching(p, 2, at.o2 + k, k2);
					if (i2 >= 0)
						sum[k] += pk_conv_cell<T, V>(x,
							w + cell * p.in_c * p.out_c,
							row + i2 * p.x_s[2], p);
				}
			}
		}
	}
	pk_conv_store(p, at, sum, (const float *)packed, (const T *)0, y);
}

#define CONV(name, T, V)                                                                           \
	PK_ENTRY conv_direct_##name(const T *x, const T *residual, const char *packed, T *y,       \
		const struct pk_cu_conv p)                                                         \
	{                                                                                          \
		pk_conv<T, V>(x, residual, packed, y, p);                                          \
	}                                                                                          \
	PK_EXPORT(conv_direct_##name)                                                              \
	PK_ENTRY conv_transpose_##name(                                                            \
		const T *x, const char *packed, T *y, const struct pk_cu_conv p)                   \
	{                                                                                          \
		pk_conv_transpose<T, V>(x, packed, y, p);                                          \
	}                                                                                          \
	PK_EXPORT(conv_transpose_##name)

CONV(f16, pk_half, 8)
CONV(f32, float, 4)
CONV(f16_1, pk_half, 1)
CONV(f32_1, float, 1)
