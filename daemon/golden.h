// SPDX-License-Identifier: Apache-2.0
// The artifact's golden samples: pictures with the detections that its maker got from them.
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/gate/gate.h"

// golden.json: {"samples":[{"file":"a.rgb","width":256,"height":192,"detections":[{"label":"gear",
// "box":[x1,y1,x2,y2],"score":0.9}],"labels":[{"label":"gear","box":[…]}]}]}, each .rgb raw RGB24
// of width x height. `labels`, the truth, may be left out.
struct pk_golden;

// Reads and preprocesses the samples. files: {title: path}. *out is NULL without golden.json. The
// card must outlive it. -EINVAL: the samples are broken, or the card's input is no picture.
int pk_golden_load(const struct pk_card *card, const json_t *files, struct pk_golden **out,
	struct pk_err *err) pk_must_check;
void pk_golden_destroy(struct pk_golden *golden);
PK_DEFINE_AUTO(pk_golden, pk_golden_destroy);

// The pictures as input tensors, for the engine's gate. golden may be NULL: none.
const struct pk_gate_sample *pk_golden_samples(const struct pk_golden *golden, size_t *n);

// Runs an engine file on every sample and fills the rows G4 to G7 of the verdict: decoded
// detections against the expected ones at the card's gate.match_iou and gate.match_score, average
// precision where there are labels. Nothing to detect at all is inconclusive, not passed. Negative:
// the engine does not load or run, or its bindings do not fit the card.
int pk_golden_judge(const struct pk_golden *golden, const char *engine_path,
	const struct pk_gate_profile *profile, struct pk_gate_verdict *verdict, struct pk_err *err)
	pk_must_check;
