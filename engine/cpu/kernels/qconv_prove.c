// SPDX-License-Identifier: Apache-2.0
// Packs weights of integer convolutions so that sums of u8 * i8 products provably fit i16.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/qconv_direct.h"

// Bytes of x are at most 255: weights of one sign that are added may come to 128, 255 * 128 fits.
#define MAX_LOAD   128
#define MAX_ROWS   PK_QCONV_PANEL
#define CANDIDATES 24 // partners that are tried for one quad

// Per row, half and sign: what the weights of that sign come to.
struct load {
	uint16_t of[MAX_ROWS * 4];
	uint16_t most;
};

static struct load load_of(const int8_t w[][4], int64_t rows)
{
	struct load load = {0};
	for (int64_t i = 0; i < rows * 4; i++) {
		int v = w[i / 4][i % 4];
		uint16_t *to = &load.of[i / 4 * 4 + i % 4 / 2 * 2 + (v < 0)];
		*to = (uint16_t)(*to + abs(v));
		if (*to > load.most)
			load.most = *to;
	}
	return load;
}

static bool fits(const struct load *a, const struct load *b, int64_t rows)
{
	for (int64_t i = 0; i < rows * 4; i++)
		if (a->of[i] + b->of[i] > MAX_LOAD)
			return false;
	return true;
}

// A quad, or half of one whose weights are too large.
struct part {
	struct load load;
	uint32_t quad;
	bool taken;
	int8_t w[MAX_ROWS][4];
};

static int by_load(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->load.most != y->load.most)
		return x->load.most < y->load.most ? 1 : -1;
	return x->quad < y->quad ? -1 : x->quad > y->quad;
}

// Parts of all quads; 0 when a weight is no i8.
static int64_t make_parts(const int16_t *weights, int64_t n_quads, int64_t rows, struct part *parts)
{
	int64_t n = 0;
	for (int64_t q = 0; q < n_quads; q++) {
		struct part *part = &parts[n++];
		*part = (struct part){.quad = (uint32_t)q};
		for (int64_t i = 0; i < rows * 4; i++) {
			int16_t v = weights[(i / 4 * n_quads + q) * 4 + i % 4];
			if (v < -128 || v > 127)
				return 0;
			part->w[i / 4][i % 4] = (int8_t)v;
		}
		part->load = load_of(part->w, rows);
		if (part->load.most <= MAX_LOAD)
			continue;
		struct part *rest = &parts[n++];
		*rest = *part;
		for (int64_t i = 0; i < rows * 4; i++) {
			int8_t *w = &part->w[i / 4][i % 4];
			*w = (int8_t)(*w / 2);
			rest->w[i / 4][i % 4] = (int8_t)(rest->w[i / 4][i % 4] - *w);
		}
		part->load = load_of(part->w, rows);
		rest->load = load_of(rest->w, rows);
	}
	return n;
}

// Heaviest first, each with the heaviest that still fits among some of the lightest.
static struct part *partner(struct part *parts, int64_t i, int64_t n, int64_t rows)
{
	struct part *found = NULL;
	int tried = 0;
	for (int64_t j = n - 1; j > i && tried < CANDIDATES; j--) {
		if (parts[j].taken)
			continue;
		tried++;
		if (fits(&parts[i].load, &parts[j].load, rows))
			found = &parts[j];
	}
	return found;
}

// Steps written, at most max; 0: more are needed.
static int64_t write_steps(
	struct part *parts, int64_t n, int64_t rows, int64_t max, unsigned char *out)
{
	int64_t steps = 0, last = n;
	for (int64_t i = 0; i < n; i++) {
		if (parts[i].taken)
			continue;
		if (steps == max)
			return 0;
		parts[i].taken = true;
		while (last > 0 && parts[last - 1].taken)
			last--;
		struct part *other = partner(parts, i, last, rows);
		uint32_t quads[2] = {parts[i].quad, other ? other->quad : parts[i].quad};
		memcpy(out, quads, sizeof(quads));
		memcpy(out + 8, parts[i].w, (size_t)(rows * 4));
		memset(out + 8 + rows * 4, 0, (size_t)(rows * 4));
		if (other) {
			memcpy(out + 8 + rows * 4, other->w, (size_t)(rows * 4));
			other->taken = true;
		}
		out += 8 + rows * 8;
		steps++;
	}
	return steps;
}

static void write_wide(const int16_t *weights, int64_t n_quads, int64_t rows, unsigned char *out)
{
	for (int64_t q = 0; q < n_quads; q++) {
		for (int64_t half = 0; half < 2; half++) {
			for (int64_t r = 0; r < rows; r++, out += 4) {
				const int16_t *w = weights + (r * n_quads + q) * 4 + half;
				int16_t pair[2] = {w[0], w[2]};
				memcpy(out, pair, sizeof(pair));
			}
		}
	}
}

void pk_qconv_pack_panel(const int16_t *weights, int64_t n_quads, int64_t rows, void *panel)
{
	struct pk_qconv_panel head = {0};
	unsigned char *out = (unsigned char *)panel + sizeof(head);
	// A pair of quads costs three multiplications a row where two quads of i16 cost four;
	// beyond that, or without memory to sort in, i16 is the better form.
	int64_t max = rows == 1 ? n_quads : PK_MAX(2 * n_quads / 3, (n_quads + 1) / 2);
	struct part *parts = calloc((size_t)n_quads * 2, sizeof(*parts));
	int64_t n = parts ? make_parts(weights, n_quads, rows, parts) : 0;
	memset(panel, 0, (size_t)pk_qconv_panel_bytes(n_quads, rows));
	if (n > 0) {
		qsort(parts, (size_t)n, sizeof(*parts), by_load);
		head.n_steps = (uint32_t)write_steps(parts, n, rows, max, out);
	}
	if (!head.n_steps)
		write_wide(weights, n_quads, rows, out);
	memcpy(panel, &head, sizeof(head));
	free(parts);
}
