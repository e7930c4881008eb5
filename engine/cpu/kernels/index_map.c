// SPDX-License-Identifier: Apache-2.0
// Copies a tensor through one index table per axis.
#include "engine/cpu/kernels/index_map.h"

#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/walk.h"

struct pk_index_map *pk_index_map_create(
	const struct pk_node *node, struct pk_arena *arena, double fill)
{
	struct pk_index_map *map = pk_arena_new(arena, struct pk_index_map);
	if (!map)
		return NULL;
	map->out = *pk_check_out_shape(node);
	map->n = pk_shape_elements(&map->out);
	map->bytes = pk_dtype_bytes(node->outputs[0]->dtype);
	_Alignas(8) uint8_t element[8] = {0};
	pk_number_set_f(node->outputs[0]->dtype, element, 0, fill);
	memcpy(map->fill, element, sizeof(element));
	pk_walk_dense_strides(pk_check_in_shape(node, 0), map->src_strides);
	for (int axis = 0; axis < map->out.rank; axis++) {
		map->maps[axis] =
			pk_arena_array(arena, (size_t)map->out.dims[axis] + 1, sizeof(int64_t));
		if (!map->maps[axis])
			return NULL;
	}
	return map;
}

#define COPY_ROW(type)                                                                             \
	static void row_##type(const struct pk_index_map *map, const char *x, char *y)             \
	{                                                                                          \
		const int64_t *idx = map->maps[map->out.rank - 1];                                 \
		const type *src = (const type *)(const void *)x;                                   \
		type *dst = (type *)(void *)y, fill;                                               \
		memcpy(&fill, map->fill, sizeof(fill));                                            \
		for (int64_t i = 0; i < map->out.dims[map->out.rank - 1]; i++)                     \
			dst[i] = idx[i] < 0 ? fill : src[idx[i]];                                  \
	}
COPY_ROW(uint8_t)
COPY_ROW(uint16_t)
COPY_ROW(uint32_t)
COPY_ROW(uint64_t)

static void copy_row(const struct pk_index_map *map, const char *x, char *y)
{
	if (map->bytes == 4)
		row_uint32_t(map, x, y);
	else if (map->bytes == 8)
		row_uint64_t(map, x, y);
	else if (map->bytes == 2)
		row_uint16_t(map, x, y);
	else
		row_uint8_t(map, x, y);
}

static void fill_row(const struct pk_index_map *map, char *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		memcpy(y + i * (int64_t)map->bytes, map->fill, map->bytes);
}

// Input offset of an output row, in elements; -1: the row is all fill.
static int64_t row_offset(const struct pk_index_map *map, const int64_t *at)
{
	int64_t offset = 0;
	for (int axis = 0; axis < map->out.rank - 1; axis++) {
		int64_t idx = map->maps[axis][at[axis]];
		if (idx < 0)
			return -1;
		offset += idx * map->src_strides[axis];
	}
	return offset;
}

void pk_index_map_run(const struct pk_index_map *map, const void *x, void *y)
{
	int64_t at[PK_MAX_RANK] = {0}, bytes = (int64_t)map->bytes;
	if (!map->n)
		return;
	if (!map->out.rank) {
		memcpy(y, x, map->bytes);
		return;
	}
	int64_t inner = map->out.dims[map->out.rank - 1];
	char *dst = y, *last_row = NULL;
	int64_t last = -1;
	for (int64_t row = 0; row < map->n / inner; row++, dst += inner * bytes) {
		int64_t offset = row_offset(map, at);
		if (offset < 0)
			fill_row(map, dst, inner);
		else if (offset == last) // a row repeats when upscaled
			memcpy(dst, last_row, (size_t)(inner * bytes));
		else
			copy_row(map, (const char *)x + offset * bytes, dst);
		last = offset;
		last_row = dst;
		for (int axis = map->out.rank - 2; axis >= 0; axis--) {
			if (++at[axis] < map->out.dims[axis])
				break;
			at[axis] = 0;
		}
	}
}
