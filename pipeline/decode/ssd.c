// SPDX-License-Identifier: Apache-2.0
// Boxes [1,N,4] as offsets from anchors on grids, scores [1,N,nc] with or without a background
// class (Liu et al. 2016, arXiv:1512.02325). Anchors are generated from the card's anchor_grid.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "pipeline/decode/decoder.h"

#define REDUCED_FIRST  3 // anchors of a reduced first layer
#define SMALLEST_SCALE 0.1

struct pk_ssd_anchor {
	float cx, cy, w, h; // of the input, 0..1
};

static size_t pk_ssd_per_cell(const struct pk_card *card, size_t layer)
{
	if (layer == 0 && card->decode.anchor_grid.reduce_first)
		return REDUCED_FIRST;
	return card->decode.anchor_grid.n_aspect_ratios + 1;
}

// Cells of a layer: TensorFlow's feature maps round up.
static int pk_ssd_cells(int input, int stride)
{
	return (input + stride - 1) / stride;
}

static int pk_ssd_count(const struct pk_decoder *decoder, size_t *n, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	*n = 0;
	if (card->decode.n_strides < 1 || card->decode.anchor_grid.n_aspect_ratios < 1)
		return pk_fail(err, -EINVAL, "card `%s`: family ssd needs strides and anchor_grid",
			card->name);
	for (size_t i = 0; i < card->decode.n_strides; i++) {
		int stride = card->decode.strides[i];
		if (stride < 1)
			return pk_fail(
				err, -EINVAL, "card `%s`: strides must be 1 or more", card->name);
		*n += (size_t)pk_ssd_cells(decoder->input_width, stride) *
		      (size_t)pk_ssd_cells(decoder->input_height, stride) *
		      pk_ssd_per_cell(card, i);
	}
	return 0;
}

static int pk_ssd_columns(const struct pk_card *card)
{
	return card->decode.classes + (card->decode.background != PK_BACKGROUND_NONE ? 1 : 0);
}

static int pk_ssd_check(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
	struct pk_err *err)
{
	const struct pk_decode_output *boxes = pk_decoder_output(decoder, PK_ROLE_BOXES, 0, err);
	const struct pk_decode_output *scores =
		boxes ? pk_decoder_output(decoder, PK_ROLE_SCORES, 0, err) : NULL;
	size_t n;
	if (!scores || pk_ssd_count(decoder, &n, err) < 0)
		return -EINVAL;
	const int columns = pk_ssd_columns(decoder->card);
	// [1,N,4]; TensorFlow leaves [1,N,1,4], which reads the same.
	if (boxes->n != n * 4 || boxes->shape.dims[boxes->shape.rank - 1] != 4)
		return pk_decoder_bad_shape(
			decoder, boxes, err, "[1,%zu,4] (as strides and anchor_grid say)", n);
	if (scores->n != n * (size_t)columns)
		return pk_decoder_bad_shape(decoder, scores, err, "[1,%zu,%d]", n, columns);
	*max_candidates = n;
	*scratch_bytes = n * sizeof(struct pk_ssd_anchor);
	return 0;
}

// Size of layer i's anchors; the layer after the last is the whole input.
static double pk_ssd_scale(const struct pk_card *card, size_t i)
{
	const double min = card->decode.anchor_grid.min_scale;
	const double max = card->decode.anchor_grid.max_scale;
	const size_t n = card->decode.n_strides;
	if (i >= n)
		return 1;
	return n > 1 ? min + (max - min) * (double)i / (double)(n - 1) : min;
}

// Width and height of anchor k of layer i's cells.
static void pk_ssd_size(const struct pk_card *card, size_t i, size_t k, double *w, double *h)
{
	static const double reduced[REDUCED_FIRST] = {1, 2, 0.5};
	const bool first = i == 0 && card->decode.anchor_grid.reduce_first;
	const size_t n_ratios = card->decode.anchor_grid.n_aspect_ratios;
	double scale = pk_ssd_scale(card, i), ratio = 1;
	if (first) {
		ratio = reduced[k];
		scale = k == 0 ? SMALLEST_SCALE : scale;
	} else if (k < n_ratios) {
		ratio = card->decode.anchor_grid.aspect_ratios[k];
	} else {
		scale = sqrt(scale * pk_ssd_scale(card, i + 1));
	}
	*w = scale * sqrt(ratio);
	*h = scale / sqrt(ratio);
}

static struct pk_ssd_anchor *pk_ssd_fill(
	const struct pk_decoder *decoder, size_t i, struct pk_ssd_anchor *out)
{
	const struct pk_card *card = decoder->card;
	const int stride = card->decode.strides[i];
	const int columns = pk_ssd_cells(decoder->input_width, stride);
	const int rows = pk_ssd_cells(decoder->input_height, stride);
	for (int cell = 0; cell < columns * rows; cell++) {
		for (size_t k = 0; k < pk_ssd_per_cell(card, i); k++) {
			double w, h;
			pk_ssd_size(card, i, k, &w, &h);
			*out++ = (struct pk_ssd_anchor){
				.cx = ((float)(cell % columns) + 0.5f) / (float)columns,
				.cy = ((float)(cell / columns) + 0.5f) / (float)rows,
				.w = (float)w,
				.h = (float)h};
		}
	}
	return out;
}

static void pk_ssd_prepare(struct pk_decoder *decoder)
{
	struct pk_ssd_anchor *out = decoder->scratch;
	for (size_t i = 0; i < decoder->card->decode.n_strides; i++)
		out = pk_ssd_fill(decoder, i, out);
}

static void pk_ssd_take(struct pk_decoder *decoder, const float v[4], const struct pk_ssd_anchor *a,
	struct pk_candidate *c)
{
	const struct pk_card *card = decoder->card;
	const bool yx = card->decode.box_order == PK_BOX_YX;
	const float of_centre = (float)card->decode.variances[0];
	const float of_size = (float)card->decode.variances[1];
	const float width = (float)decoder->input_width, height = (float)decoder->input_height;
	const float cx = (v[yx ? 1 : 0] * of_centre * a->w + a->cx) * width;
	const float cy = (v[yx ? 0 : 1] * of_centre * a->h + a->cy) * height;
	const float w = expf(v[yx ? 3 : 2] * of_size) * a->w * width;
	const float h = expf(v[yx ? 2 : 3] * of_size) * a->h * height;
	c->x1 = cx - w / 2;
	c->y1 = cy - h / 2;
	c->x2 = cx + w / 2;
	c->y2 = cy + h / 2;
}

static void pk_ssd_run(struct pk_decoder *decoder)
{
	const struct pk_card *card = decoder->card;
	const struct pk_ssd_anchor *anchors = decoder->scratch;
	const float *boxes =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_BOXES, 0, NULL));
	const float *row =
		pk_decoder_data(decoder, pk_decoder_output(decoder, PK_ROLE_SCORES, 0, NULL));
	const int columns = pk_ssd_columns(card);
	for (size_t i = 0; i < decoder->max_candidates; i++, row += columns) {
		struct pk_candidate c = {.idx = (uint32_t)i};
		if (!pk_decoder_classify_row(decoder, row, columns, &c))
			continue;
		pk_ssd_take(decoder, boxes + i * 4, &anchors[i], &c);
		pk_decoder_add(decoder, &c);
	}
}

const struct pk_decoder_ops pk_decoder_ssd = {
	.family = PK_DECODE_SSD,
	.name = "ssd",
	.check = pk_ssd_check,
	.prepare = pk_ssd_prepare,
	.run = pk_ssd_run,
};
