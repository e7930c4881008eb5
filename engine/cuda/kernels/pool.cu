// SPDX-License-Identifier: Apache-2.0
// Max and average pooling over up to three spatial axes, with dilation, ceil mode and padding.
//
// Entries without a suffix _1 take 16 bytes of channels a thread: neighbours in a warp read
// neighbouring channels of one pixel, so every load is a full line; windows overlap in the cache.
// _1 takes any strides, one element a thread. Has never run on a GPU.

#define PK_INF __int_as_float(0x7f800000)

// One axis of a window: those of its cells that lie inside the input are first..last, `counted`
// lie inside the padded input (ceil mode can reach beyond it).
struct pk_span {
	int base, first, last, counted;
};

PK_INLINE pk_span pk_span_of(const struct pk_cu_pool &p, int axis, int o)
{
	pk_span s;
	int d = p.dilation[axis], end = p.in[axis] + p.pad_end[axis];
	s.base = o * p.stride[axis] - p.pad[axis];
	s.first = s.base < 0 ? (-s.base + d - 1) / d : 0;
	s.last = s.base < p.in[axis] ? (p.in[axis] - 1 - s.base) / d : -1;
	s.last = s.last < p.kernel[axis] - 1 ? s.last : p.kernel[axis] - 1;
	s.counted = s.base < end ? (end - 1 - s.base) / d + 1 : 0;
	s.counted = s.counted < p.kernel[axis] ? s.counted : p.kernel[axis];
	return s;
}

PK_INLINE int pk_span_cells(const pk_span &s)
{
	return s.last < s.first ? 0 : s.last - s.first + 1;
}

template <typename T, int V, bool AVERAGE>
PK_INLINE void pk_pool(const T *x, T *y, const struct pk_cu_pool &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	int c = i % p.vectors, at = i / p.vectors;
	int o2 = at % p.out[2], o1 = at / p.out[2] % p.out[1];
	int o0 = at / (p.out[2] * p.out[1]) % p.out[0], n = at / (p.out[2] * p.out[1] * p.out[0]);
	pk_span s0 = pk_span_of(p, 0, o0), s1 = pk_span_of(p, 1, o1), s2 = pk_span_of(p, 2, o2);
	float sum[V];
#pragma unroll
	for (int k = 0; k < V; k++)
		sum[k] = AVERAGE ? 0 : -PK_INF;
	const T *from = x + n * p.x_n + c * p.x_c;
	for (int k0 = s0.first; k0 <= s0.last; k0++) {
		for (int k1 = s1.first; k1 <= s1.last; k1++) {
			const T *row = from + (s0.base + k0 * p.dilation[0]) * p.x_s[0] +
				       (s1.base + k1 * p.dilation[1]) * p.x_s[1];
			for (int k2 = s2.first; k2 <= s2.last; k2++) {
				float v[V];
				pk_load(v, row + (s2.base + k2 * p.dilation[2]) * p.x_s[2]);
#pragma unroll
				for (int k = 0; k < V; k++) {
					if (AVERAGE)
						sum[k] += v[k];
					else // keeps NaN
						sum[k] = v[k] > sum[k] || v[k] != v[k] ? v[k]
										       : sum[k];
				}
			}
		}
	}
	if (AVERAGE) {
		int cells = pk_span_cells(s0) * pk_span_cells(s1) * pk_span_cells(s2);
		if (p.count_pad)
			cells = s0.counted * s1.counted * s2.counted;
#pragma unroll
		for (int k = 0; k < V; k++)
			sum[k] = cells ? sum[k] / (float)cells : 0;
	}
	pk_save(y + n * p.y_n + c * p.y_c + o0 * p.y_s[0] + o1 * p.y_s[1] + o2 * p.y_s[2], sum);
}

#define POOL(name, T, V, AVERAGE)                                                                  \
	PK_ENTRY name(const T *x, T *y, const struct pk_cu_pool p)                                 \
	{                                                                                          \
		pk_pool<T, V, AVERAGE>(x, y, p);                                                   \
	}                                                                                          \
	PK_EXPORT(name)

POOL(pool_max_f16, pk_half, 8, false)
POOL(pool_max_f32, float, 4, false)
POOL(pool_max_i8, signed char, 8, false)
POOL(pool_max_u8, unsigned char, 8, false)
POOL(pool_max_f32_1, float, 1, false)
POOL(pool_avg_f16, pk_half, 8, true)
POOL(pool_avg_f32, float, 4, true)
POOL(pool_avg_f32_1, float, 1, true)
