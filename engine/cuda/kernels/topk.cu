// SPDX-License-Identifier: Apache-2.0
// The k first elements of each row, in order, and their places.
//
// Each thread owns one element and counts those that go before it: the count is its place in the
// answer, and equal values keep the order of their index, as the operator wants. No barrier, no
// shared memory; all threads of a warp read the same element at a time, which is one transaction
// from the cache. A thread ends when its count reaches k, so most end early: an element that is not
// among the answers has met k greater ones after k times n by its rank. Quadratic all the same: for
// heads of 300 of 24000, not for sorting. Has never run on a GPU.

// a (value va) goes before b: by value, NaN as the largest, then by index.
PK_INLINE bool pk_ranks_before(float va, int a, float vb, int b, bool largest)
{
	bool na = va != va, nb = vb != vb;
	int order = na || nb ? (int)na - (int)nb : (int)(va > vb) - (int)(va < vb);
	order = largest ? order : -order;
	return order ? order > 0 : a < b;
}

// Strides: y of the values, scale of the places.
template <typename T>
PK_INLINE void pk_top_k(const T *x, T *values, pk_i64 *places, const struct pk_cu_rows &p)
{
	int i = PK_THREAD, row = i / p.n, own = i % p.n, count = 0, from = 0, value = 0, place = 0;
	if (row >= p.rows)
		return;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = row % p.dims[axis];
		row /= p.dims[axis];
		from += idx * p.x[axis];
		value += idx * p.y[axis];
		place += idx * p.scale[axis];
	}
	float mine = pk_get(x[from + own * p.reduced_x[0]]);
	for (int other = 0; other < p.n; other++) {
		float v = pk_get(x[from + other * p.reduced_x[0]]);
		if (pk_ranks_before(v, other, mine, own, p.flags & PK_CU_LARGEST) &&
			++count == p.parts)
			return;
	}
	values[value + count * p.reduced_y[0]] = x[from + own * p.reduced_x[0]];
	places[place + count * p.reduced_scale[0]] = own;
}

#define TOP_K(name, T)                                                                             \
	PK_ENTRY top_k_##name(const T *x, T *values, pk_i64 *places, const struct pk_cu_rows p)    \
	{                                                                                          \
		pk_top_k(x, values, places, p);                                                    \
	}                                                                                          \
	PK_EXPORT(top_k_##name)

TOP_K(f16, pk_half)
TOP_K(f32, float)
