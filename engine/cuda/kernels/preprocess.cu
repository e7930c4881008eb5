// SPDX-License-Identifier: Apache-2.0
// From a camera picture to the input tensor in one pass: bilinear resize with edge clamp,
// letterbox, colour conversion, normalisation, layout. Says what engine/image/preprocess.c says.
//
// Planes may lie in pinned host memory: on an integrated GPU it is the same DRAM, read here once
// and not copied. One thread computes one pixel of the tensor; neighbours in a warp read
// neighbouring bytes of the same rows. Positions are fixed-point: double arithmetic is slow on
// these GPUs, and float has too few bits for large pictures. Channels-last tensors are written by
// one store of 8 channels with the zeros of padding. Has never run on a GPU.

struct pk_taps {
	int low, high;
	float part;
};

PK_INLINE pk_taps pk_taps_at(const struct pk_cu_axis &axis, int i)
{
	pk_i64 at = axis.start + i * axis.step, end = (pk_i64)axis.last << 32;
	at = at < 0 ? 0 : at > end ? end : at;
	pk_taps t;
	t.low = (int)(at >> 32);
	t.high = t.low < axis.last ? t.low + 1 : axis.last;
	t.part = (float)(unsigned)at * 2.3283064365386963e-10F; // 2^-32
	return t;
}

// Component at `offset` of `step` bytes a pixel: blended along the column first, as the reference.
PK_INLINE float pk_sample(const unsigned char *plane, int stride, const pk_taps &x,
	const pk_taps &y, int step, int offset)
{
	const unsigned char *top = plane + (pk_i64)y.low * stride + offset;
	const unsigned char *bottom = plane + (pk_i64)y.high * stride + offset;
	int a0 = top[x.low * step], a1 = bottom[x.low * step];
	int b0 = top[x.high * step], b1 = bottom[x.high * step];
	float a = (float)a0 + y.part * (float)(a1 - a0), b = (float)b0 + y.part * (float)(b1 - b0);
	return a + x.part * (b - a);
}

PK_INLINE void pk_from_yuv(const unsigned char *const (&planes)[3],
	const struct pk_cu_preprocess &p, int x, int y, float (&out)[3])
{
	float luma =
		pk_sample(planes[0], p.strides[0], pk_taps_at(p.x, x), pk_taps_at(p.y, y), 1, 0);
	luma = (luma - p.luma_base) * p.luma_scale;
	out[0] = pk_clip(luma, 0, 255);
	if (p.n_channels == 1)
		return;
	pk_taps cx = pk_taps_at(p.chroma_x, x), cy = pk_taps_at(p.chroma_y, y);
	bool pairs = p.format == PK_CU_NV12;
	float u = pk_sample(planes[1], p.strides[1], cx, cy, pairs ? 2 : 1, 0) - 128;
	float v = pk_sample(planes[pairs ? 1 : 2], p.strides[pairs ? 1 : 2], cx, cy, pairs ? 2 : 1,
			  pairs) -
		  128;
	float r = pk_clip(luma + p.r_v * v, 0, 255), b = pk_clip(luma + p.b_u * u, 0, 255);
	out[0] = p.swapped ? b : r;
	out[1] = pk_clip(luma + p.g_u * u + p.g_v * v, 0, 255);
	out[2] = p.swapped ? r : b;
}

PK_INLINE void pk_from_packed(
	const unsigned char *plane, const struct pk_cu_preprocess &p, int x, int y, float (&out)[3])
{
	pk_taps tx = pk_taps_at(p.x, x), ty = pk_taps_at(p.y, y);
	bool gray = p.format == PK_CU_GRAY8, bgr = p.format == PK_CU_BGR;
	float v[3];
#pragma unroll
	for (int c = 0; c < 3; c++)
		v[c] = pk_sample(plane, p.strides[0], tx, ty, gray ? 1 : 3,
			gray  ? 0
			: bgr ? 2 - c
			      : c);
	if (p.n_channels == 1) {
		out[0] = gray ? v[0] : 0.299F * v[0] + 0.587F * v[1] + 0.114F * v[2];
		return;
	}
	out[0] = p.swapped ? v[2] : v[0];
	out[1] = v[1];
	out[2] = p.swapped ? v[0] : v[2];
}

template <typename T>
PK_INLINE void pk_preprocess(
	const unsigned char *const (&planes)[3], T *y, const struct pk_cu_preprocess &p)
{
	int i = PK_THREAD, row = i / p.width, column = i % p.width;
	float v[8] = {0}, pixel[3] = {0};
	if (i >= p.width * p.height)
		return;
	bool covered = column >= p.x0 && column < p.x1 && row >= p.y0 && row < p.y1;
	if (covered && p.format <= PK_CU_I420)
		pk_from_yuv(planes, p, column, row, pixel);
	else if (covered)
		pk_from_packed(planes[0], p, column, row, pixel);
#pragma unroll
	for (int c = 0; c < 3; c++) {
		if (c < p.n_channels)
			v[c] = covered ? pixel[c] * p.scale[c] + p.offset[c] : p.border[c];
	}
	T *here = y + p.to + row * p.to_h + column * p.to_w;
	if (p.to_c == 1 && p.to_w == 8) {
		pk_save(here, v);
		return;
	}
#pragma unroll
	for (int c = 0; c < 3; c++) {
		if (c < p.n_channels)
			pk_put(here + c * p.to_c, v[c]);
	}
}

#define PREPROCESS(name, T)                                                                        \
	PK_ENTRY preprocess_##name(const unsigned char *p0, const unsigned char *p1,               \
		const unsigned char *p2, T *y, const struct pk_cu_preprocess p)                    \
	{                                                                                          \
		const unsigned char *const planes[3] = {p0, p1, p2};                               \
		pk_preprocess(planes, y, p);                                                       \
	}                                                                                          \
	PK_EXPORT(preprocess_##name)

PREPROCESS(f16, pk_half)
PREPROCESS(f32, float)
