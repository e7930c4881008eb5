// SPDX-License-Identifier: Apache-2.0
// Sums, means, extremes, products and norms along any axes, and where extremes stand.
//
// Global pools are these too: along NHWC pixels neighbours of a warp read neighbouring channels,
// and the pixels are shared out among the threads of a block. Has never run on a GPU.

#define PK_INF __int_as_float(0x7f800000)

template <typename S>
PK_INLINE float pk_reduce_part(const S *x, const struct pk_cu_rows &p, const pk_rows_place &at)
{
	bool most = p.fn == PK_FN_REDUCE_MAX, least = p.fn == PK_FN_REDUCE_MIN;
	float sum = most ? -PK_INF : least ? PK_INF : p.fn == PK_FN_REDUCE_PROD ? 1.0F : 0.0F;
	if (at.row >= p.rows)
		return sum;
	for (int i = at.part; i < p.n; i += p.parts) {
		float v = pk_get(x[at.x + pk_rows_step(p, p.reduced_x, i)]);
		if (most)
			sum = pk_join<PK_JOIN_MAX>(sum, v);
		else if (least)
			sum = pk_join<PK_JOIN_MIN>(sum, v);
		else if (p.fn == PK_FN_REDUCE_PROD)
			sum *= v;
		else
			sum += p.fn == PK_FN_REDUCE_L2   ? v * v
			       : p.fn == PK_FN_REDUCE_L1 ? fabsf(v)
							 : v;
	}
	return sum;
}

template <typename S, typename D>
PK_INLINE void pk_reduce(const S *x, D *y, const struct pk_cu_rows &p, float *shared)
{
	pk_rows_place at = pk_rows_at(p);
	float v = pk_reduce_part(x, p, at);
	if (p.fn == PK_FN_REDUCE_MAX)
		v = pk_rows_join<PK_JOIN_MAX>(p, v, at.part, shared);
	else if (p.fn == PK_FN_REDUCE_MIN)
		v = pk_rows_join<PK_JOIN_MIN>(p, v, at.part, shared);
	else if (p.fn == PK_FN_REDUCE_PROD)
		v = pk_rows_join<PK_JOIN_PROD>(p, v, at.part, shared);
	else
		v = pk_rows_join<PK_JOIN_SUM>(p, v, at.part, shared);
	if (p.fn == PK_FN_REDUCE_MEAN)
		v /= (float)p.n;
	if (p.fn == PK_FN_REDUCE_L2)
		v = sqrtf(v);
	if (at.part == 0 && at.row < p.rows)
		pk_put(y + at.y, v);
}

// Element a (of value va) goes before b: by value, NaN as the largest, then by place.
PK_INLINE bool pk_goes_before(float va, int a, float vb, int b, int flags)
{
	bool na = va != va, nb = vb != vb;
	int order = na || nb ? (int)na - (int)nb : (int)(va > vb) - (int)(va < vb);
	order = flags & PK_CU_LARGEST ? order : -order;
	if (order)
		return order > 0;
	return flags & PK_CU_SELECT_LAST ? a > b : a < b;
}

template <typename T>
PK_INLINE void pk_arg_reduce(
	const T *x, pk_i64 *y, const struct pk_cu_rows &p, float *values, int *places)
{
	pk_rows_place at = pk_rows_at(p);
	int t = (int)threadIdx.x, best = -1; // -1: this thread has seen no element
	float most = 0;
	for (int i = at.part; at.row < p.rows && i < p.n; i += p.parts) {
		float v = pk_get(x[at.x + i * p.reduced_x[0]]);
		if (best < 0 || pk_goes_before(v, i, most, best, p.flags)) {
			most = v;
			best = i;
		}
	}
	values[t] = most;
	places[t] = best;
	for (int step = p.parts / 2; step > 0; step /= 2) {
		int other = t + step * p.apart;
		__syncthreads();
		if (at.part >= step || places[other] < 0)
			continue;
		if (places[t] < 0 || pk_goes_before(values[other], places[other], values[t],
					     places[t], p.flags)) {
			values[t] = values[other];
			places[t] = places[other];
		}
	}
	if (at.part == 0 && at.row < p.rows)
		y[at.y] = places[t];
}

#define REDUCE(name, S, D)                                                                         \
	PK_ENTRY reduce_##name(const S *x, D *y, const struct pk_cu_rows p)                        \
	{                                                                                          \
		__shared__ float shared[PK_CU_BLOCK];                                              \
		pk_reduce(x, y, p, shared);                                                        \
	}                                                                                          \
	PK_EXPORT_SYNC(reduce_##name)

REDUCE(f16_f16, pk_half, pk_half)
REDUCE(f16_f32, pk_half, float)
REDUCE(f32_f32, float, float)

#define ARG(name, T)                                                                               \
	PK_ENTRY arg_reduce_##name(const T *x, pk_i64 *y, const struct pk_cu_rows p)               \
	{                                                                                          \
		__shared__ float values[PK_CU_BLOCK];                                              \
		__shared__ int places[PK_CU_BLOCK];                                                \
		pk_arg_reduce(x, y, p, values, places);                                            \
	}                                                                                          \
	PK_EXPORT_SYNC(arg_reduce_##name)

ARG(f16, pk_half)
ARG(f32, float)
