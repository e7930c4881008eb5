// SPDX-License-Identifier: Apache-2.0
// Matrix products of any strides: what runs where no library does.
//
// A block of 256 threads computes 64 x 64 results, 4 x 4 a thread, through tiles in shared memory:
// each element of a and b is read from there 4 times less often than it is used. Tiles are filled
// along whichever axis is contiguous. Rows of the a tile are padded by 4 floats, so that threads
// that fill a column of it meet different banks. No tensor cores. Has never run on a GPU.

#define PK_GEMM_SHARED                                                                             \
	__shared__ float a_tile[PK_CU_GEMM_DEEP][PK_CU_GEMM_SIDE + 4];                             \
	__shared__ float b_tile[PK_CU_GEMM_DEEP][PK_CU_GEMM_SIDE + 4]

typedef float pk_gemm_row[PK_CU_GEMM_SIDE + 4];

// Fills a tile of [k][i]; i runs along `step_i` in memory, from i0 of n; k from k0.
template <typename T>
PK_INLINE void pk_gemm_fill(
	pk_gemm_row *tile, const T *from, int i0, int n, int step_i, int k0, int n_k, int step_k)
{
	for (int t = (int)threadIdx.x; t < PK_CU_GEMM_SIDE * PK_CU_GEMM_DEEP; t += PK_CU_BLOCK) {
		bool along_k = step_k == 1;
		int k = along_k ? t % PK_CU_GEMM_DEEP : t / PK_CU_GEMM_SIDE;
		int i = along_k ? t / PK_CU_GEMM_DEEP : t % PK_CU_GEMM_SIDE;
		bool inside = i0 + i < n && k0 + k < n_k;
		tile[k][i] = inside ? pk_get(from[(i0 + i) * step_i + (k0 + k) * step_k]) : 0;
	}
}

template <typename A, typename B, typename Y>
PK_INLINE void pk_gemm(const A *a, const B *b, const float *c, Y *y, const struct pk_cu_gemm &p,
	pk_gemm_row *a_tile, pk_gemm_row *b_tile)
{
	int batch = (int)blockIdx.z, n0 = (int)blockIdx.x * PK_CU_GEMM_SIDE;
	int m0 = (int)blockIdx.y * PK_CU_GEMM_SIDE;
	int tm = (int)threadIdx.x / 16 * 4, tn = (int)threadIdx.x % 16 * 4;
	float sum[4][4] = {{0}};
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = batch % p.dims[axis];
		batch /= p.dims[axis];
		a += idx * p.a[axis];
		b += idx * p.b[axis];
		y += idx * p.y[axis];
	}
	for (int k0 = 0; k0 < p.k; k0 += PK_CU_GEMM_DEEP) {
		pk_gemm_fill(a_tile, a, m0, p.m, p.a_m, k0, p.k, p.a_k);
		pk_gemm_fill(b_tile, b, n0, p.n, p.b_n, k0, p.k, p.b_k);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < PK_CU_GEMM_DEEP; k++) {
			float left[4], right[4];
			pk_load(left, &a_tile[k][tm]);
			pk_load(right, &b_tile[k][tn]);
#pragma unroll
			for (int i = 0; i < 4; i++) {
#pragma unroll
				for (int j = 0; j < 4; j++)
					sum[i][j] += left[i] * right[j];
			}
		}
		__syncthreads(); // before the next tiles overwrite these
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
			int m = m0 + tm + i, n = n0 + tn + j;
			if (m >= p.m || n >= p.n)
				continue;
			float v = p.alpha * sum[i][j];
			if (p.has_c)
				v += p.beta * c[m * p.c_m + n * p.c_n];
			pk_put(y + m * p.y_m + n * p.y_n, v);
		}
	}
}

#define GEMM(name, A, B, Y)                                                                        \
	PK_ENTRY gemm_##name(                                                                      \
		const A *a, const B *b, const float *c, Y *y, const struct pk_cu_gemm p)           \
	{                                                                                          \
		PK_GEMM_SHARED;                                                                    \
		pk_gemm(a, b, c, y, p, a_tile, b_tile);                                            \
	}                                                                                          \
	PK_EXPORT_SYNC(gemm_##name)

GEMM(f32_f32_f32, float, float, float)
GEMM(f16_f16_f16, pk_half, pk_half, pk_half)
GEMM(f16_f32_f16, pk_half, float, pk_half)
GEMM(f32_f16_f16, float, pk_half, pk_half)
