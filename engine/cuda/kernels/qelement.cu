// SPDX-License-Identifier: Apache-2.0
// Element by element operators on quantised bytes: sums, differences and products of two tensors
// with their scales, and tables of 256 results. Each step is rounded as the operators say: products
// must not melt into sums. Has never run on a GPU.

PK_INLINE int pk_byte(const unsigned char *data, int i, bool is_signed)
{
	return is_signed ? (int)(signed char)data[i] : (int)data[i];
}

PK_ENTRY qbinary(const unsigned char *a, const unsigned char *b, const float *a_scale,
	const float *b_scale, const unsigned char *a_zero, const unsigned char *b_zero,
	const unsigned char *y_zero, unsigned char *y, const struct pk_cu_qbinary p)
{
	int i = PK_THREAD, from_a = 0, from_b = 0, to = 0;
	if (i >= p.n)
		return;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = i % p.dims[axis];
		i /= p.dims[axis];
		from_a += idx * p.a[axis];
		from_b += idx * p.b[axis];
		to += idx * p.y[axis];
	}
	int za = p.has_zero[0] ? pk_byte(a_zero, 0, p.is_signed[0]) : 0;
	int zb = p.has_zero[1] ? pk_byte(b_zero, 0, p.is_signed[1]) : 0;
	int zy = p.has_zero[2] ? pk_byte(y_zero, 0, p.is_signed[2]) : 0;
	float u = __fmul_rn((float)(pk_byte(a, from_a, p.is_signed[0]) - za), a_scale[0]);
	float v = __fmul_rn((float)(pk_byte(b, from_b, p.is_signed[1]) - zb), b_scale[0]);
	float r = p.fn == PK_FN_ADD ? u + v : p.fn == PK_FN_SUB ? u - v : __fmul_rn(u, v);
	r = pk_unary(p.act, r, p.alpha, p.beta);
	int low = p.is_signed[2] ? -128 : 0, high = p.is_signed[2] ? 127 : 255;
	float least = (float)(low - zy), most = (float)(high - zy);
	r = r > least ? r : least;
	r = r < most ? r : most;
	y[to] = (unsigned char)((int)rintf(r) + zy);
}
PK_EXPORT(qbinary)

// The table stays in the cache next to the processors: 256 bytes are two lines.
PK_ENTRY lookup(const unsigned char *x, const unsigned char *table, unsigned char *y,
	const struct pk_cu_lookup p)
{
	int i = PK_THREAD;
	if (i < p.n)
		y[i] = i % p.padded < p.channels ? table[x[i]] : 0;
}
PK_EXPORT(lookup)
