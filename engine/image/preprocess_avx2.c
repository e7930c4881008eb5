// SPDX-License-Identifier: Apache-2.0
// Output rows eight columns at a time with AVX2: no blended row in between, every step in the order
// of preprocess_row.c, so that results are the same to the bit.
#include "engine/image/preprocess.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define LANES  PK_IMAGE_VECTOR
#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(32)));
typedef int32_t veci __attribute__((vector_size(32)));
typedef float vec_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t veci_unaligned __attribute__((vector_size(32), aligned(4), may_alias));

INLINE vec load(const float *p)
{
	return *(const vec_unaligned *)p;
}
INLINE veci load_int(const int *p)
{
	return *(const veci_unaligned *)p;
}
INLINE void store(float *p, vec v)
{
	*(vec_unaligned *)p = v;
}
INLINE vec splat(float v)
{
	return v - (vec){0};
}

// Two source rows under an output row.
struct rows {
	const uint8_t *a, *b;
	float part;
};

static struct rows rows_of(
	const struct pk_sampler *s, const struct pk_image *image, int plane, int i)
{
	const uint8_t *p = image->planes[plane];
	ptrdiff_t stride = image->strides[plane];
	return (struct rows){.a = p + s->y.low[i] * stride,
		.b = p + s->y.high[i] * stride,
		.part = s->y.part[i]};
}

// The windows of eight outputs in both rows.
struct span {
	__m256i a, b;
};

INLINE __m256i two_windows(const uint8_t *row, const int at[2])
{
	__m128i first = _mm_loadu_si128((const void *)(row + at[0]));
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(first), _mm_loadu_si128((const void *)(row + at[1])), 1);
}

INLINE struct span load_span(const struct pk_sampler *s, const struct rows *rows, int x)
{
	const int *at = s->windows.at + x / 4;
	return (struct span){two_windows(rows->a, at), two_windows(rows->b, at)};
}

// The taps of one side, `component` bytes above their first, blended between the rows.
INLINE vec blend(const struct span *span, const uint32_t *taps, int component, vec part)
{
	__m256i mask = (__m256i)(load_int((const int *)taps) + component);
	veci a = (veci)_mm256_shuffle_epi8(span->a, mask);
	veci b = (veci)_mm256_shuffle_epi8(span->b, mask);
	vec from = __builtin_convertvector(a, vec);
	return from + part * __builtin_convertvector(b - a, vec);
}

INLINE vec between(vec low, vec high, vec part)
{
	return low + part * (high - low);
}

INLINE vec sample_component(
	const struct pk_sampler *s, const struct span *span, int component, float row_part, int x)
{
	vec down = splat(row_part), across = load(s->x.part + x);
	return between(blend(span, s->windows.low + x, component, down),
		blend(span, s->windows.high + x, component, down), across);
}

INLINE vec sample(const struct pk_sampler *s, const struct rows *rows, int x)
{
	struct span span = load_span(s, rows, x);
	return sample_component(s, &span, 0, rows->part, x);
}

INLINE vec clamp(vec v)
{
	veci below = v<0.0F, above = v> 255.0F;
	v = (vec)(~below & (veci)v);
	return (vec)((above & (veci)splat(255)) | (~above & (veci)v));
}

INLINE void convert(const struct pk_preprocess *pre, vec y, vec u, vec v, int x)
{
	bool bgr = pre->spec.color == PK_COLOR_BGR;
	float v0 = bgr ? 0 : pre->r_v, u0 = bgr ? pre->b_u : 0;
	float v2 = bgr ? pre->r_v : 0, u2 = bgr ? 0 : pre->b_u;
	y = (y - pre->luma_base) * pre->luma_scale;
	u -= 128;
	v -= 128;
	store(pre->pixels[0] + x, clamp(y + u0 * u + v0 * v));
	store(pre->pixels[1] + x, clamp(y + pre->g_u * u + pre->g_v * v));
	store(pre->pixels[2] + x, clamp(y + u2 * u + v2 * v));
}

static int n_columns(const struct pk_preprocess *pre)
{
	return pre->map.x1 - pre->map.x0;
}

static void row_nv12(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	const struct pk_sampler *s = &pre->chroma;
	struct rows luma = rows_of(&pre->luma, image, 0, i), chroma = rows_of(s, image, 1, i);
	for (int x = 0; x < n_columns(pre); x += LANES) {
		struct span span = load_span(s, &chroma, x);
		vec u = sample_component(s, &span, 0, chroma.part, x);
		vec v = sample_component(s, &span, 1, chroma.part, x);
		convert(pre, sample(&pre->luma, &luma, x), u, v, x);
	}
}

static void row_i420(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	struct rows luma = rows_of(&pre->luma, image, 0, i);
	struct rows u = rows_of(&pre->chroma, image, 1, i), v = rows_of(&pre->chroma, image, 2, i);
	for (int x = 0; x < n_columns(pre); x += LANES)
		convert(pre, sample(&pre->luma, &luma, x), sample(&pre->chroma, &u, x),
			sample(&pre->chroma, &v, x), x);
}

static void row_yuv_to_gray(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	struct rows luma = rows_of(&pre->luma, image, 0, i);
	for (int x = 0; x < n_columns(pre); x += LANES) {
		vec y = sample(&pre->luma, &luma, x);
		store(pre->pixels[0] + x, clamp((y - pre->luma_base) * pre->luma_scale));
	}
}

static void row_gray(struct pk_preprocess *pre, const struct pk_image *image, int i)
{
	struct rows luma = rows_of(&pre->luma, image, 0, i);
	for (int x = 0; x < n_columns(pre); x += LANES) {
		vec y = sample(&pre->luma, &luma, x);
		for (int c = 0; c < pre->n_channels; c++)
			store(pre->pixels[c] + x, y);
	}
}

void pk_preprocess_choose_row_avx2(struct pk_preprocess *pre)
{
	typedef void row_fn(struct pk_preprocess *, const struct pk_image *, int);
	static row_fn *const color[] = {
		[PK_PIXEL_NV12] = row_nv12,
		[PK_PIXEL_I420] = row_i420,
		[PK_PIXEL_GRAY8] = row_gray,
	};
	static row_fn *const gray[] = {
		[PK_PIXEL_NV12] = row_yuv_to_gray,
		[PK_PIXEL_I420] = row_yuv_to_gray,
		[PK_PIXEL_GRAY8] = row_gray,
	};
	row_fn *row = pre->n_channels == 1 ? gray[pre->format] : color[pre->format];
	pre->row = row ? row : pre->row;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
