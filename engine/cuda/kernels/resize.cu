// SPDX-License-Identifier: Apache-2.0
// Linear and cubic resizing in every ONNX mode: the taps of each output row and column come in
// tables, made on the host by the code that the cpu runtime uses, so that rounding is the same.
//
// Threads take 16 bytes of channels; neighbours in a warp share their taps. Entry _1 takes any
// strides. Has never run on a GPU.

template <typename T, int V>
PK_INLINE void pk_resize(
	const T *x, const struct pk_cu_tap *taps, T *y, const struct pk_cu_resize &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	int c = i % p.vectors, at = i / p.vectors;
	int o1 = at % p.out[1], o0 = at / p.out[1] % p.out[0], n = at / p.out[1] / p.out[0];
	const struct pk_cu_tap *t0 = taps + p.table[0] + o0 * p.taps[0];
	const struct pk_cu_tap *t1 = taps + p.table[1] + o1 * p.taps[1];
	float sum[V] = {0};
	bool outside = t0[0].at < 0 || t1[0].at < 0;
	for (int a = 0; a < p.taps[0] && !outside; a++) {
		for (int b = 0; b < p.taps[1]; b++) {
			float v[V], weight = t0[a].weight * t1[b].weight;
			if (weight == 0) // what it stands for may be infinite
				continue;
			pk_load(v, x + n * p.x_n + c * p.x_c + t0[a].at + t1[b].at);
#pragma unroll
			for (int k = 0; k < V; k++)
				sum[k] += weight * v[k];
		}
	}
#pragma unroll
	for (int k = 0; k < V; k++) {
		if (outside)
			sum[k] = c * V + k < p.channels ? p.outside : 0;
	}
	pk_save(y + n * p.y_n + c * p.y_c + o0 * p.y_s[0] + o1 * p.y_s[1], sum);
}

#define RESIZE(name, T, V)                                                                         \
	PK_ENTRY resize_##name(                                                                    \
		const T *x, const struct pk_cu_tap *taps, T *y, const struct pk_cu_resize p)       \
	{                                                                                          \
		pk_resize<T, V>(x, taps, y, p);                                                    \
	}                                                                                          \
	PK_EXPORT(resize_##name)

RESIZE(f16, pk_half, 8)
RESIZE(f32, float, 4)
RESIZE(f32_1, float, 1)
