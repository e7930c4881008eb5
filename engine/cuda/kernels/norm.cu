// SPDX-License-Identifier: Apache-2.0
// Softmax along any axis, layer and instance normalisation, batch normalisation that no convolution
// took in. Sums are float; mean and variance are taken in two passes, as the reference does.
// Has never run on a GPU.

#define PK_INF __int_as_float(0x7f800000)

template <typename T>
PK_INLINE void pk_softmax(const T *x, T *y, const struct pk_cu_rows &p, float *shared)
{
	pk_rows_place at = pk_rows_at(p);
	bool works = at.row < p.rows; // the others still meet the barriers
	float most = -PK_INF, sum = 0;
	for (int i = at.part; works && i < p.n; i += p.parts) {
		float v = pk_get(x[at.x + i * p.reduced_x[0]]);
		most = v > most ? v : most; // like fmax: no NaN
	}
	most = pk_rows_join<PK_JOIN_MAX>(p, most, at.part, shared);
	for (int i = at.part; works && i < p.n; i += p.parts)
		sum += expf(pk_get(x[at.x + i * p.reduced_x[0]]) - most);
	sum = pk_rows_join<PK_JOIN_SUM>(p, sum, at.part, shared);
	float log_sum = logf(sum), inverse = 1 / sum;
	for (int i = at.part; works && i < p.n; i += p.parts) {
		float v = pk_get(x[at.x + i * p.reduced_x[0]]) - most;
		pk_put(y + at.y + i * p.reduced_y[0],
			p.fn == PK_FN_LOG_SOFTMAX ? v - log_sum : expf(v) * inverse);
	}
}

// scale and bias by element (layer) or by position (instance): their strides say which.
template <typename T>
PK_INLINE void pk_norm(const T *x, const float *scale, const float *bias, T *y,
	const struct pk_cu_rows &p, float *shared)
{
	pk_rows_place at = pk_rows_at(p);
	bool works = at.row < p.rows;
	float sum = 0, squares = 0;
	for (int i = at.part; works && i < p.n; i += p.parts)
		sum += pk_get(x[at.x + pk_rows_step(p, p.reduced_x, i)]);
	float mean = pk_rows_join<PK_JOIN_SUM>(p, sum, at.part, shared) / (float)p.n;
	for (int i = at.part; works && i < p.n; i += p.parts) {
		float d = pk_get(x[at.x + pk_rows_step(p, p.reduced_x, i)]) - mean;
		squares += d * d;
	}
	squares = pk_rows_join<PK_JOIN_SUM>(p, squares, at.part, shared);
	float inverse = 1 / sqrtf(squares / (float)p.n + p.epsilon);
	for (int i = at.part; works && i < p.n; i += p.parts) {
		int s = at.scale + pk_rows_step(p, p.reduced_scale, i);
		float v = (pk_get(x[at.x + pk_rows_step(p, p.reduced_x, i)]) - mean) * inverse;
		float b = p.flags & PK_CU_HAS_BIAS ? bias[s] : 0;
		pk_put(y + at.y + pk_rows_step(p, p.reduced_y, i), v * scale[s] + b);
	}
}

// One position a thread, nothing is reduced: (x - mean) * scale / sqrt(var + epsilon) + bias.
template <typename T>
PK_INLINE void pk_batch_norm(const T *x, const float *scale, const float *bias, const float *mean,
	const float *var, T *y, const struct pk_cu_rows &p)
{
	pk_rows_place at = pk_rows_at(p);
	if (at.row >= p.rows)
		return;
	float factor = scale[at.scale] / sqrtf(var[at.scale] + p.epsilon);
	pk_put(y + at.y, (pk_get(x[at.x]) - mean[at.scale]) * factor + bias[at.scale]);
}

#define NORM(name, T)                                                                              \
	PK_ENTRY norm_##name(const T *x, const float *scale, const float *bias, T *y,              \
		const struct pk_cu_rows p)                                                         \
	{                                                                                          \
		__shared__ float shared[PK_CU_BLOCK];                                              \
		pk_norm(x, scale, bias, y, p, shared);                                             \
	}                                                                                          \
	PK_EXPORT_SYNC(norm_##name)

#define SOFTMAX(name, T)                                                                           \
	PK_ENTRY softmax_##name(const T *x, T *y, const struct pk_cu_rows p)                       \
	{                                                                                          \
		__shared__ float shared[PK_CU_BLOCK];                                              \
		pk_softmax(x, y, p, shared);                                                       \
	}                                                                                          \
	PK_EXPORT_SYNC(softmax_##name)                                                             \
	PK_ENTRY batch_norm_##name(const T *x, const float *scale, const float *bias,              \
		const float *mean, const float *var, T *y, const struct pk_cu_rows p)              \
	{                                                                                          \
		pk_batch_norm(x, scale, bias, mean, var, y, p);                                    \
	}                                                                                          \
	PK_EXPORT(batch_norm_##name)

SOFTMAX(f16, pk_half)
SOFTMAX(f32, float)
NORM(f16, pk_half)
NORM(f32, float)
