// SPDX-License-Identifier: Apache-2.0
// Everything that only moves elements: strided copies (slice, transpose, expand, tile, concat,
// layouts), copies between shapes, gathers, index tables (pad, nearest resize), zeros of padding.
//
// One thread moves one element of 1 to 16 bytes: rows fold axes first and count whole vectors as
// one element where both sides are contiguous, so that warps move full lines. Where the sides run
// along different axes a tile in shared memory turns them. Has never run on a GPU.

// 16 bytes a thread are the widest move; uint4 is known to the compiler.
PK_INLINE void pk_move(float *dst, pk_half src)
{
	*dst = pk_half_to_float(src);
}
PK_INLINE void pk_move(pk_half *dst, float src)
{
	*dst = pk_half_of(src);
}
template <typename T> PK_INLINE void pk_move(T *dst, T src)
{
	*dst = src;
}

// Position i of a walk as offsets along two sets of strides.
PK_INLINE void pk_walk(
	int i, int rank, const int *dims, const int *a, const int *b, int *at_a, int *at_b)
{
#pragma unroll 1 // divisions are long, and the text compiles on the node
	for (int axis = rank - 1; axis > 0; axis--) {
		int idx = i % dims[axis];
		i /= dims[axis];
		*at_a += idx * a[axis];
		*at_b += idx * b[axis];
	}
	*at_a += i * a[0];
	*at_b += i * b[0];
}

template <typename S, typename D>
PK_INLINE void pk_copy(const S *src, D *dst, const struct pk_cu_copy &p)
{
	int i = PK_THREAD, from = p.src_offset, to = p.dst_offset;
	if (i >= p.n)
		return;
	pk_walk(i, p.rank, p.dims, p.src, p.dst, &from, &to);
	pk_move(dst + to, src[from]);
}

// 33 columns: threads of a warp that read a column of the tile then meet 32 different banks.
template <typename S, typename D>
PK_INLINE void pk_transpose(
	const S *src, D *dst, const struct pk_cu_transpose &p, S (*tile)[PK_CU_TILE + 1])
{
	int batch = (int)blockIdx.z, from = p.src_offset, to = p.dst_offset;
	int a0 = (int)blockIdx.x * PK_CU_TILE, b0 = (int)blockIdx.y * PK_CU_TILE;
	int lane = (int)threadIdx.x, row = (int)threadIdx.y;
	pk_walk(batch, p.rank, p.dims, p.src, p.dst, &from, &to);
	for (int r = row; r < PK_CU_TILE; r += PK_CU_TILE_ROW) {
		if (a0 + lane < p.n_a && b0 + r < p.n_b)
			tile[r][lane] = src[from + a0 + lane + (b0 + r) * p.src_b];
	}
	__syncthreads();
	for (int r = row; r < PK_CU_TILE; r += PK_CU_TILE_ROW) {
		if (a0 + r < p.n_a && b0 + lane < p.n_b)
			pk_move(dst + to + b0 + lane + (a0 + r) * p.dst_a, tile[lane][r]);
	}
}

template <typename S, typename D>
PK_INLINE void pk_reshape(const S *src, D *dst, const struct pk_cu_reshape &p)
{
	int i = PK_THREAD, to = 0, logical = 0, from = 0, none = 0;
	if (i >= p.n)
		return;
	pk_walk(i, p.dst_rank, p.dst_dims, p.dst, p.logical, &to, &logical);
	pk_walk(logical, p.src_rank, p.src_dims, p.src, p.src, &from, &none);
	pk_move(dst + to, src[from]);
}

// Indices are data: one out of range takes the nearest element instead of foreign memory.
template <typename S, typename D>
PK_INLINE void pk_gather(const S *x, const void *indices, D *y, const struct pk_cu_gather &p)
{
	int i = PK_THREAD, from = 0, to = 0, at = 0;
	if (i >= p.n)
		return;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = i % p.dims[axis];
		i /= p.dims[axis];
		from += idx * p.x[axis];
		at += idx * p.index[axis];
		to += idx * p.y[axis];
	}
	pk_i64 index = p.wide ? ((const pk_i64 *)indices)[at] : ((const int *)indices)[at];
	index += index < 0 && index >= -p.n_axis ? p.n_axis : 0;
	index = index < 0 ? 0 : index >= p.n_axis ? p.n_axis - 1 : index;
	pk_move(y + to, x[from + (int)index * p.axis_stride]);
}

template <typename T>
PK_INLINE void pk_map(const T *x, T *y, const int *tables, const struct pk_cu_map &p)
{
	int i = PK_THREAD, from = 0, to = 0;
	bool fill = false;
	if (i >= p.n)
		return;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = i % p.dims[axis], offset = tables[p.table[axis] + idx];
		i /= p.dims[axis];
		fill |= offset < 0;
		from += offset;
		to += idx * p.y[axis];
	}
	if (fill)
		memcpy(y + to, p.fill, sizeof(T));
	else
		y[to] = x[from];
}

#define COPY(name, S, D)                                                                           \
	PK_ENTRY copy_##name(const S *src, D *dst, const struct pk_cu_copy p)                      \
	{                                                                                          \
		pk_copy(src, dst, p);                                                              \
	}                                                                                          \
	PK_EXPORT(copy_##name)                                                                     \
	PK_ENTRY transpose_##name(const S *src, D *dst, const struct pk_cu_transpose p)            \
	{                                                                                          \
		__shared__ S tile[PK_CU_TILE][PK_CU_TILE + 1];                                     \
		pk_transpose(src, dst, p, tile);                                                   \
	}                                                                                          \
	PK_EXPORT_SYNC(transpose_##name)                                                           \
	PK_ENTRY reshape_##name(const S *src, D *dst, const struct pk_cu_reshape p)                \
	{                                                                                          \
		pk_reshape(src, dst, p);                                                           \
	}                                                                                          \
	PK_EXPORT(reshape_##name)                                                                  \
	PK_ENTRY gather_##name(const S *x, const void *indices, D *y, const struct pk_cu_gather p) \
	{                                                                                          \
		pk_gather(x, indices, y, p);                                                       \
	}                                                                                          \
	PK_EXPORT(gather_##name)

COPY(b1, unsigned char, unsigned char)
COPY(b2, unsigned short, unsigned short)
COPY(b4, unsigned, unsigned)
COPY(b8, uint2, uint2)
COPY(f16_f32, pk_half, float)
COPY(f32_f16, float, pk_half)

PK_ENTRY copy_b16(const uint4 *src, uint4 *dst, const struct pk_cu_copy p)
{
	pk_copy(src, dst, p);
}
PK_EXPORT(copy_b16)

#define MAP(name, T)                                                                               \
	PK_ENTRY map_##name(const T *x, T *y, const int *tables, const struct pk_cu_map p)         \
	{                                                                                          \
		pk_map(x, y, tables, p);                                                           \
	}                                                                                          \
	PK_EXPORT(map_##name)

MAP(b1, unsigned char)
MAP(b2, unsigned short)
MAP(b4, unsigned)
MAP(b8, uint2)
MAP(b16, uint4)

// One thread a pixel: there are at most seven channels of padding.
template <typename T> PK_INLINE void pk_pads(T *y, const struct pk_cu_pads &p)
{
	int i = PK_THREAD;
	if (i >= p.pixels)
		return;
	for (int c = p.channels; c < p.padded; c++)
		y[i * p.padded + c] = 0;
}

#define PADS(name, T)                                                                              \
	PK_ENTRY pads_##name(T *y, const struct pk_cu_pads p)                                      \
	{                                                                                          \
		pk_pads(y, p);                                                                     \
	}                                                                                          \
	PK_EXPORT(pads_##name)

PADS(b1, unsigned char)
PADS(b2, unsigned short)
PADS(b4, unsigned)
