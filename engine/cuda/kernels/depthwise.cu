// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution (one input channel an output channel) of NHWC tensors, bias, activation and
// residual in one pass.
//
// One thread takes 16 bytes of channels and PK_CU_PIXELS neighbours along the row: input columns
// are read once for all of them, weights once a row. Nothing is multiplied twice, so the memory
// system decides: every load is 16 bytes, neighbours in a warp read neighbouring channels. The
// usual kernels are unrolled, others (_any) loop over one pixel. Has never run on a GPU.

template <typename T, int V>
PK_INLINE void pk_depthwise_store(const struct pk_cu_conv &p, float (&sum)[V], const float *bias,
	const T *residual, T *y, int c, int to)
{
	float b[V], r[V] = {0};
	pk_load(b, bias + c);
	if (p.residual != PK_RESIDUAL_NONE)
		pk_load(r, residual + to);
#pragma unroll
	for (int k = 0; k < V; k++)
		sum[k] += b[k] + (p.residual == PK_RESIDUAL_BEFORE_ACT ? r[k] : 0);
	pk_act(p.act, sum, p.alpha, p.beta);
#pragma unroll
	for (int k = 0; k < V; k++) {
		float v = sum[k] + (p.residual == PK_RESIDUAL_AFTER_ACT ? r[k] : 0);
		sum[k] = c + k < p.out_c ? v : 0;
	}
	pk_save(y + to, sum);
}

// K: side of the kernel, S: stride, both alike along both axes; dilation 1.
template <typename T, int V, int K, int S>
PK_INLINE void pk_depthwise(
	const T *x, const T *residual, const char *packed, T *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	int vectors = p.channels / V, c = i % vectors * V;
	i /= vectors;
	int o2 = i % p.across * PK_CU_PIXELS, o1 = i / p.across % p.out[1],
	    n = i / p.across / p.out[1];
	const T *w = (const T *)(packed + p.weights) + c;
	float sum[PK_CU_PIXELS][V] = {{0}};
#pragma unroll 1
	for (int k1 = 0; k1 < K; k1++) {
		int i1 = o1 * S + k1 - p.pad[1], i2 = o2 * S - p.pad[2];
		float taps[K][V];
		if (i1 < 0 || i1 >= p.in[1])
			continue;
#pragma unroll
		for (int k = 0; k < K; k++)
			pk_load(taps[k], w + (k1 * K + k) * p.channels);
		const T *row = x + n * p.x_n + i1 * p.x_s[1] + c;
#pragma unroll
		for (int j = 0; j < (PK_CU_PIXELS - 1) * S + K; j++) {
			float v[V];
			if (i2 + j < 0 || i2 + j >= p.in[2])
				continue;
			pk_load(v, row + (i2 + j) * p.x_s[2]);
#pragma unroll
			for (int o = 0; o < PK_CU_PIXELS; o++) {
				if (j - o * S < 0 || j - o * S >= K)
					continue;
#pragma unroll
				for (int k = 0; k < V; k++)
					sum[o][k] += v[k] * taps[j - o * S][k];
			}
		}
	}
#pragma unroll
	for (int o = 0; o < PK_CU_PIXELS; o++) {
		if (o2 + o < p.out[2])
			pk_depthwise_store(p, sum[o], (const float *)packed, residual, y, c,
				n * p.y_n + o1 * p.y_s[1] + (o2 + o) * p.y_s[2] + c);
	}
}

template <typename T, int V>
PK_INLINE void pk_depthwise_any(
	const T *x, const T *residual, const char *packed, T *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	int vectors = p.channels / V, c = i % vectors * V;
	i /= vectors;
	int o2 = i % p.out[2], o1 = i / p.out[2] % p.out[1], n = i / p.out[2] / p.out[1];
	const T *w = (const T *)(packed + p.weights) + c;
	float sum[V] = {0};
	for (int k1 = 0; k1 < p.kernel[1]; k1++) {
		int i1 = o1 * p.stride[1] + k1 * p.dilation[1] - p.pad[1];
		for (int k2 = 0; k2 < p.kernel[2]; k2++) {
			int i2 = o2 * p.stride[2] + k2 * p.dilation[2] - p.pad[2];
			float v[V], tap[V];
			if (i1 < 0 || i1 >= p.in[1] || i2 < 0 || i2 >= p.in[2])
				continue;
			pk_load(v, x + n * p.x_n + i1 * p.x_s[1] + i2 * p.x_s[2] + c);
			pk_load(tap, w + (k1 * p.kernel[2] + k2) * p.channels);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum[k] += v[k] * tap[k];
		}
	}
	pk_depthwise_store(p, sum, (const float *)packed, residual, y, c,
		n * p.y_n + o1 * p.y_s[1] + o2 * p.y_s[2] + c);
}

#define DEPTHWISE(name, body, T)                                                                   \
	PK_ENTRY depthwise_##name(const T *x, const T *residual, const char *packed, T *y,         \
		const struct pk_cu_conv p)                                                         \
	{                                                                                          \
		body(x, residual, packed, y, p);                                                   \
	}                                                                                          \
	PK_EXPORT(depthwise_##name)

DEPTHWISE(3_1_f16, (pk_depthwise<pk_half, 8, 3, 1>), pk_half)
DEPTHWISE(3_2_f16, (pk_depthwise<pk_half, 8, 3, 2>), pk_half)
DEPTHWISE(5_1_f16, (pk_depthwise<pk_half, 8, 5, 1>), pk_half)
DEPTHWISE(5_2_f16, (pk_depthwise<pk_half, 8, 5, 2>), pk_half)
DEPTHWISE(any_f16, (pk_depthwise_any<pk_half, 8>), pk_half)
DEPTHWISE(3_1_f32, (pk_depthwise<float, 4, 3, 1>), float)
DEPTHWISE(3_2_f32, (pk_depthwise<float, 4, 3, 2>), float)
DEPTHWISE(5_1_f32, (pk_depthwise<float, 4, 5, 1>), float)
DEPTHWISE(5_2_f32, (pk_depthwise<float, 4, 5, 2>), float)
DEPTHWISE(any_f32, (pk_depthwise_any<float, 4>), float)
