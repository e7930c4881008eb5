// SPDX-License-Identifier: Apache-2.0
// Raw heads with anchors, one tensor a stride: [1,na*(5+nc),h,w] or [1,na,h,w,5+nc], each candidate
// x, y, w, h, objectness and class scores (YOLOv3 arXiv:1804.02767; the v5 formula is YOLOv5's).
#include <errno.h>
#include <math.h>

#include "pipeline/decode/decoder.h"

// Element (anchor, row, column, value k) lies at anchor * per_anchor + cell * per_cell + k *
// per_value.
struct pk_anchor_layer {
	struct pk_decode_grid grid;
	const struct pk_decode_output *pred;
	size_t n_anchors, per_anchor, per_cell, per_value;
	const double *anchors; // w, h
};

static bool pk_anchor_shaped(const struct pk_shape *s, const int64_t *dims, int rank)
{
	bool same = s->rank == rank;
	for (int i = 0; same && i < rank; i++)
		same = s->dims[i] == dims[i];
	return same;
}

static int pk_anchor_layer_of(
	const struct pk_decoder *decoder, size_t i, struct pk_anchor_layer *out, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	size_t width = (size_t)card->decode.classes + 5;
	out->pred = pk_decoder_output(decoder, PK_ROLE_PRED, i, err);
	if (!out->pred || pk_decoder_grid(decoder, i, &out->grid, err) < 0)
		return -EINVAL;
	out->n_anchors = card->decode.n_anchors / 2 / card->decode.n_strides;
	out->anchors = card->decode.anchors + i * out->n_anchors * 2;
	const int64_t h = out->grid.rows, w = out->grid.columns, na = (int64_t)out->n_anchors;
	const size_t cells = (size_t)(h * w);
	const int64_t planar[] = {1, na * (int64_t)width, h, w};
	const int64_t packed[] = {1, na, h, w, (int64_t)width};
	out->per_anchor = width * cells;
	out->per_cell = width;
	out->per_value = 1;
	if (pk_anchor_shaped(&out->pred->shape, packed, 5))
		return 0;
	out->per_cell = 1;
	out->per_value = cells;
	if (pk_anchor_shaped(&out->pred->shape, planar, 4))
		return 0;
	return pk_decoder_bad_shape(decoder, out->pred, err, "[1,%d,%d,%d] or [1,%d,%d,%d,%d]",
		(int)planar[1], (int)h, (int)w, (int)na, (int)h, (int)w, (int)width);
}

static int pk_anchor_check(struct pk_decoder *decoder, size_t *max_candidates,
	size_t *scratch_bytes, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	size_t n_strides = card->decode.n_strides;
	if (n_strides < 1 || card->decode.n_anchors < 2 ||
		card->decode.n_anchors % (2 * n_strides) != 0)
		return pk_fail(err, -EINVAL,
			"card `%s`: family yolo-anchors needs strides and as many anchors for each",
			card->name);
	if (card->decode.activation == PK_SCORE_SOFTMAX)
		return pk_fail(err, -EINVAL,
			"card `%s`: decode.score: softmax is not for family yolo-anchors",
			card->name);
	*max_candidates = *scratch_bytes = 0;
	for (size_t i = 0; i < n_strides; i++) {
		struct pk_anchor_layer layer;
		if (pk_anchor_layer_of(decoder, i, &layer, err) < 0)
			return -EINVAL;
		*max_candidates +=
			layer.n_anchors * layer.per_anchor / ((size_t)card->decode.classes + 5);
	}
	return 0;
}

static void pk_anchor_take(struct pk_decoder *decoder, const struct pk_anchor_layer *layer,
	size_t anchor, size_t cell, struct pk_candidate *c)
{
	const float *at = pk_decoder_data(decoder, layer->pred) + anchor * layer->per_anchor +
			  cell * layer->per_cell;
	const size_t step = layer->per_value;
	const float stride = (float)layer->grid.stride;
	const float x = (float)(cell % (size_t)layer->grid.columns);
	const float y = (float)(cell / (size_t)layer->grid.columns);
	const float sx = pk_decoder_activate(decoder, at[0]);
	const float sy = pk_decoder_activate(decoder, at[step]);
	float w, h, cx, cy;
	if (decoder->card->decode.formula == PK_FORMULA_V5) {
		float sw = 2 * pk_decoder_activate(decoder, at[2 * step]);
		float sh = 2 * pk_decoder_activate(decoder, at[3 * step]);
		cx = (2 * sx - 0.5f + x) * stride;
		cy = (2 * sy - 0.5f + y) * stride;
		w = sw * sw * (float)layer->anchors[2 * anchor];
		h = sh * sh * (float)layer->anchors[2 * anchor + 1];
	} else {
		cx = (sx + x) * stride;
		cy = (sy + y) * stride;
		w = expf(at[2 * step]) * (float)layer->anchors[2 * anchor];
		h = expf(at[3 * step]) * (float)layer->anchors[2 * anchor + 1];
	}
	c->x1 = cx - w / 2;
	c->y1 = cy - h / 2;
	c->x2 = cx + w / 2;
	c->y2 = cy + h / 2;
}

static void pk_anchor_run_plane(
	struct pk_decoder *decoder, const struct pk_anchor_layer *layer, size_t anchor)
{
	const size_t cells = (size_t)layer->grid.columns * (size_t)layer->grid.rows;
	const float *plane = pk_decoder_data(decoder, layer->pred) + anchor * layer->per_anchor;
	const float threshold = pk_decoder_threshold(decoder);
	for (size_t cell = 0; cell < cells; cell++) {
		const float *at = plane + cell * layer->per_cell;
		// A class score is at most 1, so the objectness alone already bounds the product.
		if (!(at[4 * layer->per_value] >= threshold))
			continue;
		const float *scores = at + 5 * layer->per_value;
		int best = pk_decoder_best(scores, decoder->card->decode.classes, layer->per_value);
		struct pk_candidate c = {
			.score = pk_decoder_activate(decoder, at[4 * layer->per_value]) *
				 pk_decoder_activate(
					 decoder, scores[(size_t)best * layer->per_value]),
			.class_idx = best,
			.idx = (uint32_t)((layer->grid.first_idx + cell) * layer->n_anchors +
					  anchor)};
		if (!(c.score >= decoder->conf))
			continue;
		pk_anchor_take(decoder, layer, anchor, cell, &c);
		pk_decoder_add(decoder, &c);
	}
}

static void pk_anchor_run(struct pk_decoder *decoder)
{
	for (size_t i = 0; i < decoder->card->decode.n_strides; i++) {
		struct pk_anchor_layer layer;
		if (pk_anchor_layer_of(decoder, i, &layer, NULL) < 0)
			return;
		for (size_t anchor = 0; anchor < layer.n_anchors; anchor++)
			pk_anchor_run_plane(decoder, &layer, anchor);
	}
}

const struct pk_decoder_ops pk_decoder_yolo_anchors = {
	.family = PK_DECODE_YOLO_ANCHORS,
	.name = "yolo-anchors",
	.check = pk_anchor_check,
	.run = pk_anchor_run,
};
