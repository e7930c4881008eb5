// SPDX-License-Identifier: Apache-2.0
// Implementers' door of decode/: what a family of heads provides and what it is given.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/engine.h"
#include "engine/image/image.h"
#include "pipeline/nms.h"
#include "pipeline/result.h"

// An output that the card names, in the card's order.
struct pk_decode_output {
	enum pk_output_role role;
	size_t engine_idx; // position among the engine's outputs
	const char *name;
	enum pk_dtype dtype; // f32; class numbers and counts may be integers
	struct pk_shape shape;
	size_t n; // elements
};

// What a family sees. Candidates are boxes in pixels of the model's input.
struct pk_decoder {
	const struct pk_decoder_ops *ops;
	const struct pk_card *card;
	float conf;       // 0..1
	float conf_logit; // the same before a sigmoid
	int input_width, input_height;
	struct pk_decode_output outputs[PK_ENGINE_MAX_BINDINGS];
	size_t n_outputs;
	const void *data[PK_ENGINE_MAX_BINDINGS]; // of this run, in the order of outputs
	struct pk_candidate *candidates;
	size_t n_candidates, max_candidates;
	void *scratch;
	struct pk_result_tensor tensors[PK_ENGINE_MAX_BINDINGS];
	size_t n_tensors;
	struct pk_result_map map; // family semantic; width 0: there is none
};

struct pk_decoder_ops {
	enum pk_decode_family family;
	const char *name;
	// Checks shapes; says how many candidates and scratch bytes a run may need at most.
	int (*check)(struct pk_decoder *decoder, size_t *max_candidates, size_t *scratch_bytes,
		struct pk_err *err);
	// Once, after check, with scratch zeroed: tables that every run reads. NULL: none.
	void (*prepare)(struct pk_decoder *decoder);
	// Fills candidates. NULL for families without boxes.
	void (*run)(struct pk_decoder *decoder);
	bool whole_picture; // candidates carry no box: they speak of the whole picture
	bool no_nms;        // regions cannot overlap
};

extern const struct pk_decoder_ops pk_decoder_yolo_v8;
extern const struct pk_decoder_ops pk_decoder_yolo_anchors;
extern const struct pk_decoder_ops pk_decoder_yolo_dfl;
extern const struct pk_decoder_ops pk_decoder_yolox;
extern const struct pk_decoder_ops pk_decoder_end_to_end;
extern const struct pk_decoder_ops pk_decoder_boxes_scores;
extern const struct pk_decoder_ops pk_decoder_detr;
extern const struct pk_decoder_ops pk_decoder_ssd;
extern const struct pk_decoder_ops pk_decoder_detections;
extern const struct pk_decoder_ops pk_decoder_blazeface;
extern const struct pk_decoder_ops pk_decoder_classify;
extern const struct pk_decoder_ops pk_decoder_map;
extern const struct pk_decoder_ops pk_decoder_semantic;
extern const struct pk_decoder_ops pk_decoder_raw;

// For checks: "card `x`: output `y` is [..], expected WHAT". Returns -EINVAL.
int pk_decoder_bad_shape(const struct pk_decoder *decoder, const struct pk_decode_output *output,
	struct pk_err *err, const char *expected, ...) pk_printf(4, 5);
// The n-th output of a role (from 0), or NULL with err filled.
const struct pk_decode_output *pk_decoder_output(
	const struct pk_decoder *decoder, enum pk_output_role role, size_t n, struct pk_err *err);
// Where this run's numbers of an output are.
static inline const float *pk_decoder_data(
	const struct pk_decoder *decoder, const struct pk_decode_output *output)
{
	return decoder->data[output - decoder->outputs];
}

// Element i of an output of any type.
double pk_decoder_number(
	const struct pk_decoder *decoder, const struct pk_decode_output *output, size_t i);

// A layer of a head that has one tensor a stride: cell (x, y) covers stride x stride input pixels.
struct pk_decode_grid {
	int stride, columns, rows;
	size_t first_idx; // cells of the layers before
};
// Layer i of the card's strides; -EINVAL when it divides the input into nothing.
int pk_decoder_grid(
	const struct pk_decoder *decoder, size_t i, struct pk_decode_grid *out, struct pk_err *err);
// The greatest of n values that stand stride elements apart; ties go to the first.
int pk_decoder_best(const float *values, int n, size_t stride);

// The best class of a row of scores with the card's background and activation: fills score and
// class_idx; false when it is below the threshold.
bool pk_decoder_classify_row(
	const struct pk_decoder *decoder, const float *row, int columns, struct pk_candidate *out);

// Four numbers of the model as the card's box format, units and order read them.
void pk_decoder_read_box(
	const struct pk_decoder *decoder, const float v[4], struct pk_candidate *out);
// Adds a candidate unless memory is full.
void pk_decoder_add(struct pk_decoder *decoder, const struct pk_candidate *candidate);

float pk_decoder_sigmoid(float x);
// A score as the head gives it, to be compared with pk_decoder_threshold, and as a probability.
static inline float pk_decoder_threshold(const struct pk_decoder *decoder)
{
	return decoder->card->decode.activation == PK_SCORE_SIGMOID ? decoder->conf_logit
								    : decoder->conf;
}
static inline float pk_decoder_activate(const struct pk_decoder *decoder, float v)
{
	return decoder->card->decode.activation == PK_SCORE_SIGMOID ? pk_decoder_sigmoid(v) : v;
}
