// SPDX-License-Identifier: Apache-2.0
// Strided loops over up to four tensors at once.
#include "engine/cpu/kernels/walk.h"

#include <string.h>

void pk_walk_dense_strides(const struct pk_shape *shape, int64_t *strides)
{
	int64_t step = 1;
	for (int axis = shape->rank - 1; axis >= 0; axis--) {
		strides[axis] = step;
		step *= shape->dims[axis];
	}
}

void pk_walk_init(struct pk_walk *walk, const struct pk_shape *shape)
{
	memset(walk, 0, sizeof(*walk));
	walk->n = 1;
	walk->rank = shape->rank;
	for (int axis = 0; axis < shape->rank; axis++) {
		walk->dims[axis] = shape->dims[axis];
		walk->n *= shape->dims[axis];
	}
	if (!walk->rank) {
		walk->rank = 1;
		walk->dims[0] = 1;
	}
}

void pk_walk_add(struct pk_walk *walk, const int64_t *strides)
{
	memcpy(walk->strides[walk->n_operands++], strides, (size_t)walk->rank * sizeof(*strides));
}

void pk_walk_add_shape(struct pk_walk *walk, const struct pk_shape *shape)
{
	int64_t dense[PK_MAX_RANK] = {0}, strides[PK_WALK_RANK] = {0};
	pk_walk_dense_strides(shape, dense);
	for (int i = 0; i < shape->rank && i < walk->rank; i++) {
		int axis = shape->rank - 1 - i;
		bool moves = shape->dims[axis] != 1;
		strides[walk->rank - 1 - i] = moves ? dense[axis] : 0;
	}
	pk_walk_add(walk, strides);
}

static bool merges(const struct pk_walk *walk, int outer, int inner)
{
	for (int k = 0; k < walk->n_operands; k++) {
		if (walk->strides[k][outer] != walk->strides[k][inner] * walk->dims[inner])
			return false;
	}
	return true;
}

static void move_axis(struct pk_walk *walk, int to, int from)
{
	walk->dims[to] = walk->dims[from];
	for (int k = 0; k < walk->n_operands; k++)
		walk->strides[k][to] = walk->strides[k][from];
}

void pk_walk_fold(struct pk_walk *walk)
{
	int kept = -1; // last axis kept so far
	if (!walk->n)
		return;
	for (int axis = 0; axis < walk->rank; axis++) {
		if (walk->dims[axis] == 1)
			continue;
		if (kept >= 0 && merges(walk, kept, axis)) {
			int64_t dim = walk->dims[kept];
			move_axis(walk, kept, axis);
			walk->dims[kept] *= dim;
			continue;
		}
		move_axis(walk, ++kept, axis);
	}
	if (kept < 0) {
		kept = 0;
		walk->dims[0] = 1;
	}
	walk->rank = kept + 1;
}

bool pk_walk_next(const struct pk_walk *walk, struct pk_walk_pos *pos)
{
	for (int axis = walk->rank - 2; axis >= 0; axis--) {
		for (int k = 0; k < walk->n_operands; k++)
			pos->off[k] += walk->strides[k][axis];
		if (++pos->idx[axis] < walk->dims[axis])
			return true;
		for (int k = 0; k < walk->n_operands; k++)
			pos->off[k] -= walk->strides[k][axis] * walk->dims[axis];
		pos->idx[axis] = 0;
	}
	return false;
}

#define COPY_RUN(type)                                                                             \
	static void copy_##type(                                                                   \
		char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n)     \
	{                                                                                          \
		type *d = (type *)(void *)dst;                                                     \
		const type *s = (const type *)(const void *)src;                                   \
		for (int64_t i = 0; i < n; i++)                                                    \
			d[i * dst_stride] = s[i * src_stride];                                     \
	}
COPY_RUN(uint8_t)
COPY_RUN(uint16_t)
COPY_RUN(uint32_t)
COPY_RUN(uint64_t)

void pk_walk_copy_run(
	char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, size_t bytes)
{
	if (dst_stride == 1 && src_stride == 1)
		memcpy(dst, src, (size_t)n * bytes);
	else if (bytes == 4)
		copy_uint32_t(dst, dst_stride, src, src_stride, n);
	else if (bytes == 8)
		copy_uint64_t(dst, dst_stride, src, src_stride, n);
	else if (bytes == 2)
		copy_uint16_t(dst, dst_stride, src, src_stride, n);
	else
		copy_uint8_t(dst, dst_stride, src, src_stride, n);
}
