// SPDX-License-Identifier: Apache-2.0
// What softmax, normalisations and reductions share: which threads work on one position, and how
// they bring their parts together. Has never run on a GPU.
#pragma once

struct pk_rows_place {
	int row;         // position; may be beyond the last
	int part;        // which of its threads this is
	int x, y, scale; // offsets of the position
};

PK_INLINE pk_rows_place pk_rows_at(const struct pk_cu_rows &p)
{
	pk_rows_place at = {0, 0, 0, 0, 0};
	int t = (int)threadIdx.x, rows = PK_CU_BLOCK / p.parts;
	at.part = p.apart == 1 ? t % p.parts : t / rows;
	at.row = (int)blockIdx.x * rows + (p.apart == 1 ? t / p.parts : t % rows);
	int i = at.row;
#pragma unroll 1
	for (int axis = p.rank - 1; axis >= 0; axis--) {
		int idx = i % p.dims[axis];
		i /= p.dims[axis];
		at.x += idx * p.x[axis];
		at.y += idx * p.y[axis];
		at.scale += idx * p.scale[axis];
	}
	return at;
}

// Offset of the i-th reduced element along the given strides.
PK_INLINE int pk_rows_step(const struct pk_cu_rows &p, const int *strides, int i)
{
	int at = 0;
#pragma unroll 1
	for (int axis = p.reduced_rank - 1; axis > 0; axis--) {
		at += i % p.reduced_dims[axis] * strides[axis];
		i /= p.reduced_dims[axis];
	}
	return at + i * strides[0];
}

enum pk_joint { PK_JOIN_SUM, PK_JOIN_MAX, PK_JOIN_MIN, PK_JOIN_PROD };

// NaN in either stays.
template <int JOINT> PK_INLINE float pk_join(float a, float b)
{
	if (JOINT == PK_JOIN_SUM)
		return a + b;
	if (JOINT == PK_JOIN_PROD)
		return a * b;
	if (JOINT == PK_JOIN_MAX)
		return a != a || a > b ? a : b;
	return a != a || a < b ? a : b;
}

// The parts of every position joined, for all of its threads. Halving in shared memory: each step
// reads floats that lie `apart * step` away, neighbours read neighbours, no bank is met twice.
template <int JOINT>
PK_INLINE float pk_rows_join(const struct pk_cu_rows &p, float v, int part, float *shared)
{
	int t = (int)threadIdx.x;
	shared[t] = v;
	for (int step = p.parts / 2; step > 0; step /= 2) {
		__syncthreads();
		if (part < step)
			shared[t] = pk_join<JOINT>(shared[t], shared[t + step * p.apart]);
	}
	__syncthreads();
	v = shared[t - part * p.apart];
	__syncthreads(); // before the next use of shared
	return v;
}
