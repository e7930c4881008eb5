// SPDX-License-Identifier: Apache-2.0
// Quantise and dequantise: between floats and integers with a scale, and maybe a zero point, for
// the tensor or for each index of an axis. Halves go to the even number, results are saturated.
//
// One element a thread along the memory order of the result. Has never run on a GPU.

template <typename T> struct pk_range;
template <> struct pk_range<signed char> {
	static const int low = -128, high = 127;
};
template <> struct pk_range<unsigned char> {
	static const int low = 0, high = 255;
};

// NaN gives low, as the reference's comparisons do.
PK_INLINE float pk_quant_round(float v, float low, float high)
{
	v = v > low ? v : low;
	v = v < high ? v : high;
	return rintf(v);
}

PK_INLINE int pk_quant_at(const struct pk_cu_quant &p, int i, int *x, int *y)
{
	int scale = 0;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = i % p.dims[axis];
		i /= p.dims[axis];
		*x += idx * p.x[axis];
		*y += idx * p.y[axis];
		scale += idx * p.scale[axis];
	}
	return scale;
}

template <typename S, typename D>
PK_INLINE void pk_quantize(
	const S *x, const float *scale, const D *zero, D *y, const struct pk_cu_quant &p)
{
	int i = PK_THREAD, from = 0, to = 0;
	if (i >= p.n)
		return;
	int s = pk_quant_at(p, i, &from, &to), z = p.has_zero ? zero[s] : 0;
	float low = (float)(pk_range<D>::low - z), high = (float)(pk_range<D>::high - z);
	y[to] = (D)((int)pk_quant_round(pk_get(x[from]) / scale[s], low, high) + z);
}

template <typename S, typename D>
PK_INLINE void pk_dequantize(
	const S *x, const float *scale, const S *zero, D *y, const struct pk_cu_quant &p)
{
	int i = PK_THREAD, from = 0, to = 0;
	if (i >= p.n)
		return;
	int s = pk_quant_at(p, i, &from, &to);
	pk_i64 difference = (pk_i64)x[from] - (p.has_zero ? (pk_i64)zero[s] : 0);
	pk_put(y + to, (float)difference * scale[s]);
}

#define QUANTIZE(name, S, D)                                                                       \
	PK_ENTRY quantize_##name(                                                                  \
		const S *x, const float *scale, const D *zero, D *y, const struct pk_cu_quant p)   \
	{                                                                                          \
		pk_quantize(x, scale, zero, y, p);                                                 \
	}                                                                                          \
	PK_EXPORT(quantize_##name)
#define DEQUANTIZE(name, S, D)                                                                     \
	PK_ENTRY dequantize_##name(                                                                \
		const S *x, const float *scale, const S *zero, D *y, const struct pk_cu_quant p)   \
	{                                                                                          \
		pk_dequantize(x, scale, zero, y, p);                                               \
	}                                                                                          \
	PK_EXPORT(dequantize_##name)

QUANTIZE(f16_i8, pk_half, signed char)
QUANTIZE(f16_u8, pk_half, unsigned char)
QUANTIZE(f32_i8, float, signed char)
QUANTIZE(f32_u8, float, unsigned char)
DEQUANTIZE(i8_f16, signed char, pk_half)
DEQUANTIZE(u8_f16, unsigned char, pk_half)
DEQUANTIZE(i32_f16, int, pk_half)
DEQUANTIZE(i8_f32, signed char, float)
DEQUANTIZE(u8_f32, unsigned char, float)
DEQUANTIZE(i32_f32, int, float)
