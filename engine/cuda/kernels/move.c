// SPDX-License-Identifier: Apache-2.0
// A copy along strides, and the kernel of copy.cu that does it best.
#include "engine/cuda/kernels/move.h"

#include <string.h>

#include "engine/cuda/kernels/row_util.h"

#define GRID_YZ_MAX 65535 // blocks along y and z
#define TURN_MIN    8     // sides from which on a transpose by tiles pays

void pk_cu_move_axis(struct pk_cu_move *move, int64_t dim, int64_t src, int64_t dst)
{
	int i = move->n_axes++;
	move->dims[i] = dim;
	move->src[i] = src;
	move->dst[i] = dst;
}

static void put_axis(struct pk_cu_move *move, int to, const struct pk_cu_move *old, int from)
{
	move->dims[to] = old->dims[from];
	move->src[to] = old->src[from];
	move->dst[to] = old->dst[from];
}

static void sort(struct pk_cu_move *move)
{
	struct pk_cu_move old = *move;
	move->n_axes = 0;
	for (int i = 0; i < old.n_axes; i++) {
		if (old.dims[i] == 1)
			continue;
		int at = move->n_axes++;
		for (; at > 0 && move->dst[at - 1] < old.dst[i]; at--)
			put_axis(move, at, move, at - 1);
		put_axis(move, at, &old, i);
	}
}

void pk_cu_move_fold(struct pk_cu_move *move)
{
	int kept = -1;
	sort(move);
	for (int i = 0; i < move->n_axes; i++) {
		bool merges = kept >= 0 && move->src[kept] == move->src[i] * move->dims[i] &&
			      move->dst[kept] == move->dst[i] * move->dims[i];
		int64_t times = merges ? move->dims[kept] : 1;
		put_axis(move, merges ? kept : ++kept, move, i);
		move->dims[kept] *= times;
	}
	move->n_axes = kept + 1;
	if (kept < 0)
		pk_cu_move_axis(move, 1, 1, 1);
}

const char *pk_cu_move_suffix(enum pk_dtype from, enum pk_dtype to)
{
	static const char *const by_bytes[] = {[1] = "b1", [2] = "b2", [4] = "b4", [8] = "b8"};
	if (from == to && pk_dtype_bytes(from))
		return by_bytes[pk_dtype_bytes(from)];
	if (from == PK_F16 && to == PK_F32)
		return "f16_f32";
	return from == PK_F32 && to == PK_F16 ? "f32_f16" : NULL;
}

static const struct {
	const char *suffix, *copy, *transpose;
} entries[] = {
	{"b1", "copy_b1", "transpose_b1"},
	{"b2", "copy_b2", "transpose_b2"},
	{"b4", "copy_b4", "transpose_b4"},
	{"b8", "copy_b8", "transpose_b8"},
	{"f16_f32", "copy_f16_f32", "transpose_f16_f32"},
	{"f32_f16", "copy_f32_f16", "transpose_f32_f16"},
};

// Elements of a 16-byte word, when everything moves in whole words; else 1.
static int word(const struct pk_cu_move *move)
{
	int last = move->n_axes - 1, k = (int)(16 / pk_dtype_bytes(move->from));
	bool whole = move->from == move->to && move->src[last] == 1 && move->dst[last] == 1 &&
		     move->dims[last] % k == 0 && move->src_offset % k == 0 &&
		     move->dst_offset % k == 0;
	for (int i = 0; i < last; i++)
		whole = whole && move->src[i] % k == 0 && move->dst[i] % k == 0;
	return whole ? k : 1;
}

// The axis that src runs along while dst runs along the last one; -1: no use to turn.
static int turned_axis(const struct pk_cu_move *move)
{
	int last = move->n_axes - 1;
	int64_t batches = 1;
	int found = -1;
	if (move->dst[last] != 1 || move->src[last] == 1 || move->dims[last] < TURN_MIN ||
		move->dims[last] > (int64_t)GRID_YZ_MAX * PK_CU_TILE)
		return -1;
	for (int i = 0; i < last; i++) {
		if (found < 0 && move->src[i] == 1 && move->dims[i] >= TURN_MIN)
			found = i;
		else
			batches *= move->dims[i];
	}
	return batches <= GRID_YZ_MAX ? found : -1;
}

static void transpose(const struct pk_cu_move *move, int turned, struct pk_cuda_launch *out)
{
	int last = move->n_axes - 1;
	struct pk_cu_transpose p = {
		.n_a = (int)move->dims[turned],
		.n_b = (int)move->dims[last],
		.src_b = (int)move->src[last],
		.dst_a = (int)move->dst[turned],
		.src_offset = (int)move->src_offset,
		.dst_offset = (int)move->dst_offset,
	};
	uint32_t batches = 1;
	for (int i = 0; i < last; i++) {
		if (i == turned)
			continue;
		p.dims[p.rank] = (int)move->dims[i];
		p.src[p.rank] = (int)move->src[i];
		p.dst[p.rank++] = (int)move->dst[i];
		batches *= (uint32_t)move->dims[i];
	}
	out->grid[0] = (uint32_t)(p.n_a + PK_CU_TILE - 1) / PK_CU_TILE;
	out->grid[1] = (uint32_t)(p.n_b + PK_CU_TILE - 1) / PK_CU_TILE;
	out->grid[2] = batches;
	out->block[0] = PK_CU_TILE;
	out->block[1] = PK_CU_TILE_ROW;
	pk_cu_params(out, &p, sizeof(p));
}

static void copy(const struct pk_cu_move *move, int k, struct pk_cuda_launch *out)
{
	struct pk_cu_copy p = {
		.rank = move->n_axes,
		.n = 1,
		.src_offset = (int)(move->src_offset / k),
		.dst_offset = (int)(move->dst_offset / k),
	};
	for (int i = 0, last = p.rank - 1; i < p.rank; i++) {
		p.dims[i] = (int)(i == last ? move->dims[i] / k : move->dims[i]);
		p.src[i] = (int)(i == last && k > 1 ? 1 : move->src[i] / k);
		p.dst[i] = (int)(i == last && k > 1 ? 1 : move->dst[i] / k);
		p.n *= p.dims[i];
	}
	pk_cu_launch(out, k > 1 ? "copy_b16" : out->function, p.n);
	pk_cu_params(out, &p, sizeof(p));
}

bool pk_cu_move_launch(const struct pk_cu_move *move, struct pk_cuda_launch *out)
{
	const char *suffix = pk_cu_move_suffix(move->from, move->to);
	if (!suffix || move->n_axes > PK_CU_RANK)
		return false;
	int turned = turned_axis(move), k = word(move), at = 0;
	while (strcmp(entries[at].suffix, suffix) != 0)
		at++;
	pk_cu_launch(out, turned < 0 ? entries[at].copy : entries[at].transpose, 1);
	if (turned < 0)
		copy(move, k, out);
	else
		transpose(move, turned, out);
	return true;
}
