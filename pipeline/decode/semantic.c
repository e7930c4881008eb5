// SPDX-License-Identifier: Apache-2.0
// A class for every pixel: scores [1,nc,h,w] or class numbers [1,h,w] (also [1,1,h,w]). The result
// carries the map, and one detection per class that is there: the box around its pixels.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/decode/decoder.h"

#define MAX_CLASSES 1024

struct pk_semantic_class {
	int x0, y0, x1, y1; // cells, inclusive
	size_t area;
	double sum; // of its scores
};

// Scratch: one record a column, then the map.
struct pk_semantic {
	int width, height, columns, background; // background: its column, -1: none
	bool numbers;                           // class numbers instead of scores
	uint16_t *classes;
	struct pk_semantic_class *found;
};

static int pk_semantic_columns(const struct pk_card *card)
{
	return card->decode.classes + (card->decode.background != PK_BACKGROUND_NONE ? 1 : 0);
}

static struct pk_semantic pk_semantic_of(const struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const struct pk_decode_output *map = pk_decoder_output(decoder, PK_ROLE_MAP, 0, NULL);
	const int rank = map->shape.rank;
	struct pk_semantic s = {
		.width = (int)map->shape.dims[rank - 1],
		.height = (int)map->shape.dims[rank - 2],
		.columns = pk_semantic_columns(card),
		.background = card->decode.background == PK_BACKGROUND_FIRST  ? 0
			      : card->decode.background == PK_BACKGROUND_LAST ? card->decode.classes
									      : -1,
		.found = decoder->scratch,
	};
	s.numbers = map->n == (size_t)s.width * (size_t)s.height;
	s.classes = (uint16_t *)(s.found + s.columns);
	return s;
}

static int pk_semantic_check(struct pk_decoder *decoder, size_t *max_candidates,
	size_t *scratch_bytes, struct pk_err *err)
{
	const struct pk_decode_output *map = pk_decoder_output(decoder, PK_ROLE_MAP, 0, err);
	if (!map)
		return -EINVAL;
	const struct pk_shape *s = &map->shape;
	const int columns = pk_semantic_columns(decoder->card);
	if (columns > MAX_CLASSES)
		return pk_fail(err, -EINVAL, "card `%s`: family semantic takes %d classes at most",
			decoder->card->name, MAX_CLASSES);
	const bool scores = s->rank == 4 && s->dims[0] == 1 && s->dims[1] == columns &&
			    columns > 1 && map->dtype == PK_F32;
	const bool numbers = (s->rank == 3 && s->dims[0] == 1) ||
			     (s->rank == 4 && s->dims[0] == 1 && s->dims[1] == 1);
	if (!scores && !numbers)
		return pk_decoder_bad_shape(decoder, map, err,
			"scores [1,%d,h,w] (f32) or class numbers [1,h,w]", columns);
	size_t cells = (size_t)(s->dims[s->rank - 1] * s->dims[s->rank - 2]);
	*max_candidates = (size_t)columns;
	*scratch_bytes =
		(size_t)columns * sizeof(struct pk_semantic_class) + cells * sizeof(uint16_t);
	return 0;
}

// The best class of a cell and how sure the model is of it.
static int pk_semantic_look(const struct pk_decoder *decoder, const struct pk_semantic *s,
	const float *scores, size_t cell, float *score)
{
	const size_t step = (size_t)s->width * (size_t)s->height;
	const float *at = scores + cell;
	int best = pk_decoder_best(at, s->columns, step);
	float v = at[(size_t)best * step];
	if (decoder->card->decode.activation == PK_SCORE_SOFTMAX) {
		float sum = 0;
		for (int k = 0; k < s->columns; k++)
			sum += expf(at[(size_t)k * step] - v);
		*score = 1 / sum;
	} else {
		*score = pk_decoder_activate(decoder, v);
	}
	return best;
}

static void pk_semantic_count(struct pk_semantic_class *found, int x, int y, float score)
{
	if (found->area == 0)
		*found = (struct pk_semantic_class){.x0 = x, .y0 = y, .x1 = x, .y1 = y};
	found->x0 = x < found->x0 ? x : found->x0;
	found->x1 = x > found->x1 ? x : found->x1;
	found->y1 = y;
	found->area++;
	found->sum += (double)score;
}

static void pk_semantic_fill(const struct pk_decoder *decoder, const struct pk_semantic *s)
{
	const struct pk_decode_output *map = pk_decoder_output(decoder, PK_ROLE_MAP, 0, NULL);
	const float *scores = pk_decoder_data(decoder, map);
	for (size_t cell = 0; cell < (size_t)s->width * (size_t)s->height; cell++) {
		float score = 1;
		int at;
		if (s->numbers) {
			double number = pk_decoder_number(decoder, map, cell);
			at = number >= 0 && number < s->columns ? (int)number
			     : s->background >= 0               ? s->background
								: 0;
		} else {
			at = pk_semantic_look(decoder, s, scores, cell, &score);
		}
		s->classes[cell] = (uint16_t)at;
		pk_semantic_count(&s->found[at], (int)(cell % (size_t)s->width),
			(int)(cell / (size_t)s->width), score);
	}
}

static void pk_semantic_take(struct pk_decoder *decoder, const struct pk_semantic *s, int column)
{
	const struct pk_semantic_class *found = &s->found[column];
	if (found->area == 0 || (double)found->area < decoder->card->post.min_area)
		return;
	const float score = (float)(found->sum / (double)found->area);
	if (!(score >= decoder->conf))
		return;
	const float sx = (float)decoder->input_width / (float)s->width;
	const float sy = (float)decoder->input_height / (float)s->height;
	pk_decoder_add(decoder, &(struct pk_candidate){.x1 = (float)found->x0 * sx,
					.y1 = (float)found->y0 * sy,
					.x2 = (float)(found->x1 + 1) * sx,
					.y2 = (float)(found->y1 + 1) * sy,
					.score = score,
					.class_idx = s->background == 0 ? column - 1 : column,
					.idx = (uint32_t)column});
}

static void pk_semantic_run(struct pk_decoder *decoder)
{
	const struct pk_semantic s = pk_semantic_of(decoder);
	memset(s.found, 0, (size_t)s.columns * sizeof(*s.found));
	pk_semantic_fill(decoder, &s);
	for (int column = 0; column < s.columns; column++)
		if (column != s.background)
			pk_semantic_take(decoder, &s, column);
	decoder->map.width = s.width;
	decoder->map.height = s.height;
	decoder->map.classes = s.classes;
}

const struct pk_decoder_ops pk_decoder_semantic = {
	.family = PK_DECODE_SEMANTIC,
	.name = "semantic",
	.check = pk_semantic_check,
	.run = pk_semantic_run,
	.no_nms = true,
};
