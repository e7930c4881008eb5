// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network: up to four input channels, NHWC.
//
// Tensor cores want eight channels and more, so a library wastes most of its work here. One thread
// computes PK_CU_STEM_OUT channels of one pixel. The weights of those channels lie in shared memory
// as floats: all threads of a warp read the same one, which is a broadcast, not a bank conflict.
// Neighbours in a warp take neighbouring pixels of a row. Has never run on a GPU.

template <typename T>
PK_INLINE void pk_stem(const T *x, const T *residual, const char *packed, T *y,
	const struct pk_cu_conv &p, float (*taps)[PK_CU_STEM_IN][PK_CU_STEM_OUT])
{
	int m0 = (int)blockIdx.y * PK_CU_STEM_OUT, cells = p.kernel[1] * p.kernel[2];
	const T *w = (const T *)(packed + p.weights);
	for (int i = (int)threadIdx.x; i < cells * PK_CU_STEM_IN * PK_CU_STEM_OUT;
		i += PK_CU_STEM_BLOCK) {
		int m = i % PK_CU_STEM_OUT, c = i / PK_CU_STEM_OUT % PK_CU_STEM_IN;
		int cell = i / PK_CU_STEM_OUT / PK_CU_STEM_IN;
		bool there = m0 + m < p.out_c && c < p.in_c;
		taps[cell][c][m] = there ? pk_get(w[(cell * p.in_c + c) * p.out_c + m0 + m]) : 0;
	}
	__syncthreads();
	int i = PK_THREAD;
	if (i >= p.n)
		return;
	int o2 = i % p.out[2], o1 = i / p.out[2] % p.out[1], n = i / p.out[2] / p.out[1];
	float sum[PK_CU_STEM_OUT] = {0};
	for (int k1 = 0; k1 < p.kernel[1]; k1++) {
		int i1 = o1 * p.stride[1] + k1 * p.dilation[1] - p.pad[1];
		for (int k2 = 0; k2 < p.kernel[2]; k2++) {
			int i2 = o2 * p.stride[2] + k2 * p.dilation[2] - p.pad[2];
			float v[PK_CU_STEM_IN];
			if (i1 < 0 || i1 >= p.in[1] || i2 < 0 || i2 >= p.in[2])
				continue;
			pk_load(v, x + n * p.x_n + i1 * p.x_s[1] + i2 * p.x_s[2]);
#pragma unroll
			for (int c = 0; c < PK_CU_STEM_IN; c++) {
#pragma unroll
				for (int m = 0; m < PK_CU_STEM_OUT; m++)
					sum[m] += v[c] * taps[k1 * p.kernel[2] + k2][c][m];
			}
		}
	}
	int to = n * p.y_n + o1 * p.y_s[1] + o2 * p.y_s[2] + m0;
	bool before = p.residual == PK_RESIDUAL_BEFORE_ACT,
	     after = p.residual == PK_RESIDUAL_AFTER_ACT;
#pragma unroll
	for (int m = 0; m < PK_CU_STEM_OUT; m++) {
		if (m0 + m < p.out_c)
			sum[m] += ((const float *)packed)[m0 + m] +
				  (before ? pk_get(residual[to + m]) : 0);
	}
	pk_act(p.act, sum, p.alpha, p.beta);
#pragma unroll
	for (int m = 0; m < PK_CU_STEM_OUT; m++) {
		if (m0 + m < p.out_c)
			pk_put(y + to + m, sum[m] + (after ? pk_get(residual[to + m]) : 0));
		else if (m0 + m < p.channels)
			pk_put(y + to + m, 0);
	}
}

#define STEM(name, T)                                                                              \
	PK_ENTRY stem_##name(const T *x, const T *residual, const char *packed, T *y,              \
		const struct pk_cu_conv p)                                                         \
	{                                                                                          \
		__shared__ float taps[PK_CU_STEM_CELLS][PK_CU_STEM_IN][PK_CU_STEM_OUT];            \
		pk_stem(x, residual, packed, y, p, taps);                                          \
	}                                                                                          \
	PK_EXPORT_SYNC(stem_##name)

STEM(f16, pk_half)
STEM(f32, float)
