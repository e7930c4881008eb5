// SPDX-License-Identifier: Apache-2.0
// What all families share: outputs by name, thresholds, suppression, the way back to the picture.
#include "pipeline/decode/decode.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "pipeline/decode/decoder.h"

// Numbers of one output at most; a head beyond this is a mistake, not a model for a node.
#define PK_DECODE_MAX_ELEMENTS (INT64_C(1) << 26)

static const struct pk_decoder_ops *const pk_decoder_table[] = {
	&pk_decoder_yolo_v8,
	&pk_decoder_yolo_anchors,
	&pk_decoder_yolo_dfl,
	&pk_decoder_yolox,
	&pk_decoder_end_to_end,
	&pk_decoder_boxes_scores,
	&pk_decoder_detr,
	&pk_decoder_ssd,
	&pk_decoder_detections,
	&pk_decoder_blazeface,
	&pk_decoder_classify,
	&pk_decoder_map,
	&pk_decoder_semantic,
	&pk_decoder_raw,
	NULL,
};

int pk_decoder_bad_shape(const struct pk_decoder *decoder, const struct pk_decode_output *output,
	struct pk_err *err, const char *expected, ...)
{
	char shape[PK_SHAPE_TEXT_MAX], want[PK_SHAPE_TEXT_MAX];
	va_list args;
	va_start(args, expected);
	vsnprintf(want, sizeof(want), expected, args);
	va_end(args);
	pk_shape_format(&output->shape, shape);
	return pk_fail(err, -EINVAL, "card `%s`: output `%s` is %s, expected %s",
		decoder->card->name, output->name, shape, want);
}

static const char *pk_role_name(enum pk_output_role role)
{
	static const char *const names[] = {[PK_ROLE_PRED] = "pred",
		[PK_ROLE_BOXES] = "boxes",
		[PK_ROLE_SCORES] = "scores",
		[PK_ROLE_LOGITS] = "logits",
		[PK_ROLE_MAP] = "map",
		[PK_ROLE_CLASSES] = "classes",
		[PK_ROLE_COUNT] = "count",
		[PK_ROLE_RAW] = "raw"};
	return (size_t)role < PK_ARRAY_LEN(names) ? names[role] : "?";
}

const struct pk_decode_output *pk_decoder_output(
	const struct pk_decoder *decoder, enum pk_output_role role, size_t n, struct pk_err *err)
{
	size_t seen = 0;
	for (size_t i = 0; i < decoder->n_outputs; i++)
		if (decoder->outputs[i].role == role && seen++ == n)
			return &decoder->outputs[i];
	pk_fail(err, -EINVAL, "card `%s`: family %s needs %s%zu output%s with role %s, found %zu",
		decoder->card->name, decoder->ops->name, n ? "at least " : "", n + 1, n ? "s" : "",
		pk_role_name(role), seen);
	return NULL;
}

void pk_decoder_read_box(
	const struct pk_decoder *decoder, const float v[4], struct pk_candidate *out)
{
	const struct pk_card *card = decoder->card;
	bool yx = card->decode.box_order == PK_BOX_YX;
	float a = v[yx ? 1 : 0], b = v[yx ? 0 : 1], c = v[yx ? 3 : 2], d = v[yx ? 2 : 3];
	switch (card->decode.box_format) {
	case PK_BOX_XYXY:
		break;
	case PK_BOX_XYWH:
		c += a;
		d += b;
		break;
	case PK_BOX_CXCYWH:
		a -= c / 2;
		b -= d / 2;
		c += a;
		d += b;
		break;
	}
	bool norm = card->decode.box_units == PK_BOX_NORM;
	float sx = norm ? (float)decoder->input_width : 1;
	float sy = norm ? (float)decoder->input_height : 1;
	out->x1 = a * sx;
	out->y1 = b * sy;
	out->x2 = c * sx;
	out->y2 = d * sy;
}

void pk_decoder_add(struct pk_decoder *decoder, const struct pk_candidate *candidate)
{
	if (decoder->n_candidates < decoder->max_candidates)
		decoder->candidates[decoder->n_candidates++] = *candidate;
}

double pk_decoder_number(
	const struct pk_decoder *decoder, const struct pk_decode_output *output, size_t i)
{
	const void *data = decoder->data[output - decoder->outputs];
	switch (output->dtype) {
	case PK_I64:
		return (double)((const int64_t *)data)[i];
	case PK_I32:
		return ((const int32_t *)data)[i];
	case PK_U8:
		return ((const uint8_t *)data)[i];
	default:
		return (double)((const float *)data)[i];
	}
}

int pk_decoder_grid(
	const struct pk_decoder *decoder, size_t i, struct pk_decode_grid *out, struct pk_err *err)
{
	*out = (struct pk_decode_grid){0};
	for (size_t at = 0; at <= i; at++) {
		int stride = decoder->card->decode.strides[at];
		out->first_idx += (size_t)out->columns * (size_t)out->rows;
		out->stride = stride;
		out->columns = stride > 0 ? decoder->input_width / stride : 0;
		out->rows = stride > 0 ? decoder->input_height / stride : 0;
		if (out->columns < 1 || out->rows < 1)
			return pk_fail(err, -EINVAL,
				"card `%s`: stride %d leaves no cell of an input of %d x %d",
				decoder->card->name, stride, decoder->input_width,
				decoder->input_height);
	}
	return 0;
}

int pk_decoder_best(const float *values, int n, size_t stride)
{
	int best = 0;
	for (int k = 1; k < n; k++)
		if (values[(size_t)k * stride] > values[(size_t)best * stride])
			best = k;
	return best;
}

float pk_decoder_sigmoid(float x)
{
	return 1.0f / (1.0f + expf(-x));
}

static const struct pk_binding *pk_decoder_find(
	const struct pk_binding *outputs, size_t n, const char *name, size_t *idx)
{
	bool only = n == 1 && (!name || !*name);
	for (size_t i = 0; i < n; i++) {
		if (!only && (!name || strcmp(outputs[i].name, name) != 0))
			continue;
		*idx = i;
		return &outputs[i];
	}
	return NULL;
}

// Class numbers and counts come as integers, too.
static bool pk_decoder_takes(enum pk_output_role role, enum pk_dtype dtype)
{
	bool whole = dtype == PK_I64 || dtype == PK_I32 || dtype == PK_U8;
	return whole && (role == PK_ROLE_CLASSES || role == PK_ROLE_COUNT || role == PK_ROLE_MAP);
}

static int pk_decoder_bind(struct pk_decoder *decoder, const struct pk_card_output *want,
	const struct pk_binding *outputs, size_t n_outputs, struct pk_err *err)
{
	size_t idx;
	const struct pk_binding *found = pk_decoder_find(outputs, n_outputs, want->name, &idx);
	if (!found)
		return pk_fail(err, -EINVAL, "card `%s`: the engine has no output `%s`",
			decoder->card->name, want->name ? want->name : "");
	if (found->dtype != PK_F32 && !pk_decoder_takes(want->role, found->dtype))
		return pk_fail(err, -EINVAL, "card `%s`: output `%s` is %s, expected f32",
			decoder->card->name, found->name, pk_dtype_name(found->dtype));
	int64_t n = pk_shape_elements(&found->shape);
	if (n < 1 || n > PK_DECODE_MAX_ELEMENTS)
		return pk_fail(err, -EINVAL, "card `%s`: output `%s` has too many or no elements",
			decoder->card->name, found->name);
	decoder->outputs[decoder->n_outputs++] = (struct pk_decode_output){.role = want->role,
		.engine_idx = idx,
		.name = found->name,
		.dtype = found->dtype,
		.shape = found->shape,
		.n = (size_t)n};
	return 0;
}

static int pk_decoder_bind_all(struct pk_decoder *decoder, const struct pk_binding *outputs,
	size_t n_outputs, struct pk_err *err)
{
	const struct pk_card *card = decoder->card;
	if (card->n_outputs > PK_ENGINE_MAX_BINDINGS)
		return pk_fail(err, -EINVAL, "card `%s`: more than %d outputs", card->name,
			PK_ENGINE_MAX_BINDINGS);
	for (size_t i = 0; i < card->n_outputs; i++) {
		int r = pk_decoder_bind(decoder, &card->outputs[i], outputs, n_outputs, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void pk_decoder_set_thresholds(struct pk_decoder *decoder, double conf)
{
	if (!(conf >= 0))
		conf = decoder->card->post.conf;
	conf = PK_MIN(conf, 1.0);
	decoder->conf = (float)conf;
	decoder->conf_logit = (float)log(conf / (1 - conf)); // -inf at 0, inf at 1: both right
}

static void pk_decoder_set_input(struct pk_decoder *decoder)
{
	const struct pk_card_input *in = &decoder->card->input;
	bool nhwc = in->layout == PK_CARD_NHWC;
	decoder->input_height = (int)in->shape[nhwc ? 1 : 2];
	decoder->input_width = (int)in->shape[nhwc ? 2 : 3];
}

static int pk_decoder_check(struct pk_decoder *decoder, struct pk_err *err)
{
	size_t scratch_bytes = 0;
	if (decoder->card->decode.classes < 1 && decoder->ops->run)
		return pk_fail(err, -EINVAL, "card `%s`: decode.classes must be 1 or more",
			decoder->card->name);
	int r = decoder->ops->check(decoder, &decoder->max_candidates, &scratch_bytes, err);
	if (r < 0)
		return r;
	decoder->candidates = calloc(decoder->max_candidates + 1, sizeof(*decoder->candidates));
	decoder->scratch = calloc(1, scratch_bytes + 1);
	if (!decoder->candidates || !decoder->scratch)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (decoder->ops->prepare)
		decoder->ops->prepare(decoder);
	return 0;
}

int pk_decoder_create(const struct pk_card *card, double conf, const struct pk_binding *outputs,
	size_t n_outputs, struct pk_decoder **out, struct pk_err *err)
{
	pk_auto(pk_decoder) decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return pk_fail(err, -ENOMEM, "out of memory");
	decoder->card = card;
	for (size_t i = 0; pk_decoder_table[i] && !decoder->ops; i++)
		if (pk_decoder_table[i]->family == card->decode.family)
			decoder->ops = pk_decoder_table[i];
	if (!decoder->ops)
		return pk_fail(err, -EINVAL, "card `%s`: unknown decode family", card->name);
	pk_decoder_set_thresholds(decoder, conf);
	pk_decoder_set_input(decoder);
	int r = pk_decoder_bind_all(decoder, outputs, n_outputs, err);
	if (r == 0)
		r = pk_decoder_check(decoder, err);
	if (r < 0)
		return r;
	*out = pk_steal(decoder);
	return 0;
}

void pk_decoder_destroy(struct pk_decoder *decoder)
{
	if (!decoder)
		return;
	free(decoder->candidates);
	free(decoder->scratch);
	free(decoder);
}

static float pk_clip(double v, double max)
{
	return (float)(v < 0 ? 0 : v > max ? max : v);
}

// False when nothing of the box lies in the picture (or it is NaN).
static bool pk_decoder_unmap(const struct pk_decoder *decoder, const struct pk_candidate *c,
	const struct pk_image_map *map, struct pk_detection *out)
{
	double w = map->src_width, h = map->src_height;
	float left = (float)map->left, top = (float)map->top;
	*out = (struct pk_detection){.x1 = left,
		.y1 = top,
		.x2 = left + (float)w,
		.y2 = top + (float)h,
		.score = PK_MIN(c->score, 1.0f),
		.class_idx = c->class_idx};
	if (decoder->ops->whole_picture)
		return true;
	out->x1 = left + pk_clip(c->x1 * map->scale_x + map->offset_x, w);
	out->y1 = top + pk_clip(c->y1 * map->scale_y + map->offset_y, h);
	out->x2 = left + pk_clip(c->x2 * map->scale_x + map->offset_x, w);
	out->y2 = top + pk_clip(c->y2 * map->scale_y + map->offset_y, h);
	return out->x2 > out->x1 && out->y2 > out->y1;
}

static size_t pk_decoder_finish(
	struct pk_decoder *decoder, const struct pk_image_map *map, struct pk_detection *out)
{
	const struct pk_card *card = decoder->card;
	size_t max = PK_RESULT_MAX_DETECTIONS;
	if (card->post.max_det > 0)
		max = PK_MIN(max, (size_t)card->post.max_det);
	bool nms = !decoder->ops->no_nms && !decoder->ops->whole_picture;
	size_t kept = pk_nms(decoder->candidates, decoder->n_candidates, nms ? card->post.iou : 1.0,
		card->post.class_agnostic, max);
	size_t n = 0;
	for (size_t i = 0; i < kept; i++)
		if (pk_decoder_unmap(decoder, &decoder->candidates[i], map, &out[n]))
			n++;
	return n;
}

// A class map lies over the whole input of the model.
static void pk_decoder_place_map(struct pk_decoder *decoder, const struct pk_image_map *map)
{
	double x = map->offset_x + map->left, y = map->offset_y + map->top;
	decoder->map.x1 = (float)x;
	decoder->map.y1 = (float)y;
	decoder->map.x2 = (float)(decoder->input_width * map->scale_x + x);
	decoder->map.y2 = (float)(decoder->input_height * map->scale_y + y);
}

size_t pk_decoder_run(struct pk_decoder *decoder, const void *const *tensors,
	const struct pk_image_map *map, struct pk_detection *out)
{
	for (size_t i = 0; i < decoder->n_outputs; i++)
		decoder->data[i] = tensors[decoder->outputs[i].engine_idx];
	for (size_t i = 0; i < decoder->n_tensors; i++)
		decoder->tensors[i].data = decoder->data[i];
	decoder->n_candidates = 0;
	if (!decoder->ops->run)
		return 0;
	decoder->ops->run(decoder);
	pk_decoder_place_map(decoder, map);
	return pk_decoder_finish(decoder, map, out);
}

size_t pk_decoder_tensors(const struct pk_decoder *decoder, const struct pk_result_tensor **out)
{
	*out = decoder->tensors;
	return decoder->n_tensors;
}

const struct pk_result_map *pk_decoder_class_map(const struct pk_decoder *decoder)
{
	return decoder->map.width ? &decoder->map : NULL;
}
