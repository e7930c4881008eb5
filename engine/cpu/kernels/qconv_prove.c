// SPDX-License-Identifier: Apache-2.0
// Packs weights of integer convolutions so that sums of u8 * i8 products provably fit i16.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernels/qconv_direct.h"

// Bytes of x are at most 255: weights of one sign that are added may come to 128, 255 * 128 fits.
#define MAX_LOAD   128
#define MAX_ROWS   PK_QCONV_PANEL
#define CANDIDATES 16 // partners that are tried for one quad

// Vector operations that a row costs in a step of two quads, of one quad, of one quad of i16. A
// remainder is a step of one quad and one row.
#define COST_DOUBLE 5
#define COST_SINGLE 3
#define COST_WIDE   4

struct quad {
	uint32_t idx;
	int most; // largest load of a half
	bool taken;
	struct quad *partner; // in one step with this one, which leads
	int8_t w[MAX_ROWS][4];
};

// What is left of one row of a quad after its weights were made to fit.
struct rest {
	uint32_t idx;
	int8_t w[4];
};

struct packer {
	int64_t n_quads, rows;
	struct quad *quads;           // by index
	struct quad **order;          // by load
	struct rest *rests[MAX_ROWS]; // 2 * n_quads each
	uint32_t n_rests[MAX_ROWS];
	unsigned char *out, *end;
	struct pk_qconv_panel head;
};

// The weights of one sign in a half of a row.
static int load_of(const int8_t *w, int sign)
{
	int a = w[0] * sign, b = w[1] * sign;
	return PK_MAX(a, 0) + PK_MAX(b, 0);
}

// Takes at least `excess` off the weights of one sign of a half; 0 when more is there than a step
// of its own may take.
static bool take_off(int8_t *w, int sign, int excess, int8_t *rest)
{
	if (excess > MAX_LOAD || load_of(w, sign) < excess)
		return false;
	int first = w[0] * sign >= w[1] * sign ? 0 : 1;
	for (int i = 0; i < 2 && excess > 0; i++) {
		int at = i ? 1 - first : first;
		int take = PK_MIN(PK_MAX(w[at] * sign, 0), excess);
		// A rest of 128 is no i8 where it is positive.
		take = sign > 0 ? PK_MIN(take, 127) : take;
		w[at] = (int8_t)(w[at] - take * sign);
		rest[at] = (int8_t)(take * sign);
		excess -= take;
	}
	return excess == 0;
}

// Makes row r of quads a and b (or of a alone) fit; rests get what was taken off.
static bool fit_row(int8_t *a, int8_t *b, int8_t rests[2][4])
{
	memset(rests, 0, 8);
	for (int i = 0; i < 4; i++) {
		int half = i / 2 * 2, sign = i % 2 ? -1 : 1;
		int la = load_of(a + half, sign), lb = b ? load_of(b + half, sign) : 0;
		int excess = la + lb - MAX_LOAD;
		if (excess <= 0)
			continue;
		bool from_b = lb >= excess && (lb > la || la < excess);
		if (!take_off(from_b ? b + half : a + half, sign, excess, rests[from_b] + half))
			return false;
	}
	return true;
}

static bool is_any(const int8_t w[4])
{
	return w[0] || w[1] || w[2] || w[3];
}

// Rests of quads a and b in one step (b NULL: of a alone), or -1 when they do not go together.
static int count_rests(const struct quad *a, const struct quad *b, int64_t rows)
{
	int n = 0;
	for (int64_t r = 0; r < rows; r++) {
		int8_t wa[4], wb[4], rests[2][4];
		memcpy(wa, a->w[r], 4);
		memcpy(wb, b ? b->w[r] : a->w[r], 4);
		if (!fit_row(wa, b ? wb : NULL, rests))
			return -1;
		n += is_any(rests[0]) + is_any(rests[1]);
	}
	return n;
}

static void put_rest(struct packer *p, int64_t r, uint32_t idx, const int8_t w[4])
{
	if (!is_any(w))
		return;
	struct rest *rest = &p->rests[r][p->n_rests[r]++];
	rest->idx = idx;
	memcpy(rest->w, w, 4);
}

// A step of two quads, made to fit.
static void put_double(struct packer *p, struct quad *a, struct quad *b)
{
	memcpy(p->out, &a->idx, 4);
	memcpy(p->out + 4, &b->idx, 4);
	for (int64_t r = 0; r < p->rows; r++) {
		int8_t rests[2][4];
		fit_row(a->w[r], b->w[r], rests);
		put_rest(p, r, a->idx, rests[0]);
		put_rest(p, r, b->idx, rests[1]);
		memcpy(p->out + 8 + 4 * r, a->w[r], 4);
		memcpy(p->out + 8 + 4 * (p->rows + r), b->w[r], 4);
	}
	p->out += 8 + 8 * p->rows;
	p->head.n_doubles++;
}

static void put_single(struct packer *p, struct quad *a)
{
	for (int64_t r = 0; r < p->rows; r++) {
		int8_t rests[2][4];
		fit_row(a->w[r], NULL, rests);
		put_rest(p, r, a->idx, a->w[r]);
		put_rest(p, r, a->idx, rests[0]);
	}
}

// The best partner for quad i among some of the lightest before `last`; NULL: it stays alone.
static struct quad *partner(const struct packer *p, int64_t i, int64_t last)
{
	struct quad *found = NULL, *a = p->order[i];
	int64_t saved = p->rows * (2 * COST_SINGLE - COST_DOUBLE);
	int alone = count_rests(a, NULL, p->rows), tried = 0;
	for (int64_t j = last - 1; j > i && tried < CANDIDATES; j--) {
		struct quad *b = p->order[j];
		if (b->taken)
			continue;
		tried++;
		int n = count_rests(a, b, p->rows);
		int64_t gain = p->rows * (2 * COST_SINGLE - COST_DOUBLE) -
			       COST_SINGLE * (n - alone - count_rests(b, NULL, p->rows));
		if (n < 0 || gain < 0 || (found && gain < saved))
			continue;
		found = b;
		saved = gain;
	}
	return found;
}

static int by_load(const void *a, const void *b)
{
	const struct quad *x = *(struct quad *const *)a, *y = *(struct quad *const *)b;
	if (x->most != y->most)
		return x->most < y->most ? 1 : -1;
	return x->idx < y->idx ? -1 : x->idx > y->idx;
}

// False when a weight is no i8.
static bool make_quads(struct packer *p, const int16_t *weights)
{
	for (int64_t q = 0; q < p->n_quads; q++) {
		struct quad *quad = &p->quads[q];
		*quad = (struct quad){.idx = (uint32_t)q};
		p->order[q] = quad;
		for (int64_t i = 0; i < p->rows * 4; i++) {
			int16_t v = weights[(i / 4 * p->n_quads + q) * 4 + i % 4];
			if (v < -128 || v > 127)
				return false;
			quad->w[i / 4][i % 4] = (int8_t)v;
		}
		for (int64_t i = 0; i < p->rows * 4; i++) {
			int load = load_of(&quad->w[i / 4][i % 4 / 2 * 2], i % 2 ? -1 : 1);
			quad->most = PK_MAX(quad->most, load);
		}
	}
	qsort(p->order, (size_t)p->n_quads, sizeof(struct quad *), by_load);
	return true;
}

static void find_pairs(struct packer *p)
{
	int64_t last = p->n_quads;
	for (int64_t i = 0; i < p->n_quads; i++) {
		struct quad *a = p->order[i];
		while (last > 0 && p->order[last - 1]->taken)
			last--;
		if (a->taken)
			continue;
		a->partner = partner(p, i, last);
		if (a->partner)
			a->taken = a->partner->taken = true;
	}
}

// Steps whose rows have quads of their own, as many as the row with the most of them needs.
static bool put_singles(struct packer *p)
{
	uint32_t n = 0;
	for (int64_t r = 0; r < p->rows; r++)
		n = PK_MAX(n, p->n_rests[r]);
	if (p->end - p->out < (int64_t)n * 8 * p->rows)
		return false;
	for (uint32_t i = 0; i < n; i++, p->out += 8 * p->rows) {
		for (int64_t r = 0; r < p->rows; r++) {
			struct rest rest = i < p->n_rests[r] ? p->rests[r][i] : (struct rest){0};
			memcpy(p->out + 4 * r, &rest.idx, 4);
			memcpy(p->out + 4 * (p->rows + r), rest.w, 4);
		}
	}
	p->head.n_singles = n;
	return true;
}

// Pairs in the order of their quads, so that cells are read in an order, then what is left. False
// when i16 is the better form.
static bool put_steps(struct packer *p)
{
	find_pairs(p);
	for (int64_t i = 0; i < p->n_quads; i++) {
		struct quad *a = &p->quads[i];
		if (a->partner)
			put_double(p, a, a->partner);
		else if (!a->taken)
			put_single(p, a);
	}
	int64_t cost = p->rows * p->head.n_doubles * COST_DOUBLE;
	return put_singles(p) &&
	       cost + p->rows * p->head.n_singles * COST_SINGLE < p->rows * p->n_quads * COST_WIDE;
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

static bool allocate(struct packer *p)
{
	size_t n = (size_t)p->n_quads;
	p->quads = calloc(n, sizeof(*p->quads));
	p->order = calloc(n, sizeof(struct quad *));
	p->rests[0] = calloc(2 * n * MAX_ROWS, sizeof(struct rest));
	for (size_t r = 1; p->rests[0] && r < MAX_ROWS; r++)
		p->rests[r] = p->rests[0] + 2 * n * r;
	return p->quads && p->order && p->rests[0];
}

void pk_qconv_pack_panel(const int16_t *weights, int64_t n_quads, int64_t rows, void *panel)
{
	int64_t bytes = pk_qconv_panel_bytes(n_quads, rows);
	unsigned char *first = (unsigned char *)panel + sizeof(struct pk_qconv_panel);
	struct packer p = {.n_quads = n_quads,
		.rows = rows,
		.out = first,
		.end = (unsigned char *)panel + bytes};
	memset(panel, 0, (size_t)bytes);
	// Without memory to sort in, i16 too.
	if (!allocate(&p) || !make_quads(&p, weights) || !put_steps(&p)) {
		p.head = (struct pk_qconv_panel){0};
		memset(panel, 0, (size_t)bytes);
		write_wide(weights, n_quads, rows, first);
	}
	memcpy(panel, &p.head, sizeof(p.head));
	free(p.quads);
	free(p.order);
	free(p.rests[0]);
}
