// SPDX-License-Identifier: Apache-2.0
// Integer convolution with requantisation, of any geometry: what runs where there is no cuDNN plan
// (zero points, odd types).
//
// As conv.cu: one thread computes one output channel of PK_CU_PIXELS neighbours. Weights come less
// their zero point as 16-bit integers, sums are 32-bit. Has never run on a GPU.

template <typename T>
PK_INLINE void pk_qconv_put(T *y, float v, const struct pk_cu_qconv_head &head, int low, int high)
{
	if (head.has_scale)
		v /= head.y_scale;
	float least = (float)(low - head.y_zero), most = (float)(high - head.y_zero);
	v = v > least ? v : least;
	v = v < most ? v : most;
	*y = (T)((int)rintf(v) + head.y_zero);
}
PK_INLINE void pk_qconv_finish(signed char *y, float v, int, const struct pk_cu_qconv_head &head)
{
	pk_qconv_put(y, v, head, -128, 127);
}
PK_INLINE void pk_qconv_finish(unsigned char *y, float v, int, const struct pk_cu_qconv_head &head)
{
	pk_qconv_put(y, v, head, 0, 255);
}
PK_INLINE void pk_qconv_finish(int *y, float, int sum, const struct pk_cu_qconv_head &)
{
	*y = sum;
}
PK_INLINE void pk_qconv_finish(float *y, float v, int, const struct pk_cu_qconv_head &)
{
	*y = v;
}
PK_INLINE void pk_qconv_finish(pk_half *y, float v, int, const struct pk_cu_qconv_head &)
{
	*y = pk_half_of(v);
}

template <typename T, typename Y>
PK_INLINE void pk_qconv(const T *x, const char *packed, Y *y, const struct pk_cu_conv &p)
{
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	const struct pk_cu_qconv_head head = *(const struct pk_cu_qconv_head *)packed;
	const int *bias = (const int *)(packed + sizeof(struct pk_cu_qconv_head));
	const float *mult = (const float *)(bias + p.out_c);
	int m = i % p.channels, at = i / p.channels;
	int o2 = at % p.across * PK_CU_PIXELS, o1 = at / p.across % p.out[1];
	int o0 = at / p.across / p.out[1] % p.out[0], n = at / p.across / p.out[1] / p.out[0];
	const short *w = (const short *)(packed + p.weights) + m;
	unsigned sum[PK_CU_PIXELS] = {0}; // sums wrap around
	int base = n * p.x_n + m / p.group_out * p.group_in * p.x_c;
	for (int k0 = 0; k0 < p.kernel[0] && m < p.out_c; k0++) {
		int i0 = o0 * p.stride[0] + k0 * p.dilation[0] - p.pad[0];
		for (int k1 = 0; k1 < p.kernel[1]; k1++) {
			int i1 = o1 * p.stride[1] + k1 * p.dilation[1] - p.pad[1];
			if (i0 < 0 || i0 >= p.in[0] || i1 < 0 || i1 >= p.in[1])
				continue;
			int row = base + i0 * p.x_s[0] + i1 * p.x_s[1];
			for (int k2 = 0; k2 < p.kernel[2]; k2++) {
				int cell = (k0 * p.kernel[1] + k1) * p.kernel[2] + k2;
				for (int c = 0; c < p.in_c; c++) {
					int weight = w[(cell * p.in_c + c) * p.out_c];
#pragma unroll
					for (int k = 0; k < PK_CU_PIXELS; k++) {
						int i2 = (o2 + k) * p.stride[2] +
							 k2 * p.dilation[2] - p.pad[2];
						if (i2 < 0 || i2 >= p.in[2])
							continue;
						int v = (int)x[row + i2 * p.x_s[2] + c * p.x_c] -
							head.x_zero;
						sum[k] += (unsigned)(weight * v);
					}
				}
			}
		}
	}
	int to = n * p.y_n + m * p.y_c + o0 * p.y_s[0] + o1 * p.y_s[1];
	float v[PK_CU_PIXELS];
#pragma unroll
	for (int k = 0; k < PK_CU_PIXELS; k++) {
		sum[k] += m < p.out_c ? (unsigned)bias[m] : 0;
		v[k] = m < p.out_c ? (float)(int)sum[k] * mult[m] : 0;
	}
	pk_act(p.act, v, p.alpha, p.beta);
#pragma unroll
	for (int k = 0; k < PK_CU_PIXELS; k++) {
		Y *here = y + to + (o2 + k) * p.y_s[2];
		if (o2 + k >= p.out[2])
			continue;
		if (m < p.out_c)
			pk_qconv_finish(here, v[k], (int)sum[k], head);
		else
			*here = Y();
	}
}

#define QCONV(name, T, Y)                                                                          \
	PK_ENTRY qconv_##name(const T *x, const char *packed, Y *y, const struct pk_cu_conv p)     \
	{                                                                                          \
		pk_qconv(x, packed, y, p);                                                         \
	}                                                                                          \
	PK_EXPORT(qconv_##name)
#define QCONV_OF(name, T)                                                                          \
	QCONV(name##_i8, T, signed char)                                                           \
	QCONV(name##_u8, T, unsigned char)                                                         \
	QCONV(name##_i32, T, int)                                                                  \
	QCONV(name##_f32, T, float)                                                                \
	QCONV(name##_f16, T, pk_half)

QCONV_OF(i8, signed char)
QCONV_OF(u8, unsigned char)
